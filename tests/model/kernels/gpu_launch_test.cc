// attention() and the masks as they go to a GPU, without one: the GPU's programs, run by the emulator as the kernels of
// simulated devices, get the launches, parameters, scratch memory and streams that a GPU would get. What is not seen
// here is what CUDA's driver makes of the same calls.
#include <ATen/ATen.h>

#include "base/error.h"
#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "model/kernels/attention_artefact.h"
#include "model/kernels/block_mask_gpu.h"
#include "model/kernels/cuda/attention_backward.cuh"
#include "model/kernels/cuda/attention_forward.cuh"
#include "model/kernels/cuda/block_mask.cuh"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/sim/sim_backend.h"
#include "tests/model/kernels/gpu_emulator.h"
#include "tests/model/kernels/gpu_reference.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using devices::CallKind;
using devices::LogRecord;
using gpu::BFloat16;

constexpr int kDim = 16;

/// The value that launch parameter `index` points at.
template <class T>
T parameter(void** params, int index) {
  return *static_cast<T*>(params[index]);
}

/// Runs `kernel` under the grid that the program's launch `index` has.
void emulateProgram(gpu::Program program, std::size_t index, const AttentionShape& shape,
                    const std::function<void()>& kernel) {
  emulateLaunch(gpu::launches(program, shape).at(index).shape, ThreadOrder::kAscending, kernel);
}

// As attention_forward.cu, attention_backward.cu and block_mask.cu declare them.
template <MaskRule kRule>
void forwardEntry(void** p) {
  const auto shape = parameter<AttentionShape>(p, 9);
  emulateProgram(gpu::Program::kAttentionForward, 0, shape, [&] {
    gpu::attentionForward<kDim, kRule>(parameter<const BFloat16*>(p, 0), parameter<const BFloat16*>(p, 1),
                                       parameter<const BFloat16*>(p, 2), parameter<BFloat16*>(p, 3),
                                       parameter<float*>(p, 4), parameter<const std::int32_t*>(p, 5),
                                       parameter<const std::uint32_t*>(p, 6), parameter<const std::int32_t*>(p, 7),
                                       parameter<const std::uint8_t*>(p, 8), shape);
  });
}

gpu::BackwardArguments backwardArguments(void** p) {
  return {parameter<const BFloat16*>(p, 0),
          parameter<const BFloat16*>(p, 1),
          parameter<const BFloat16*>(p, 2),
          parameter<const BFloat16*>(p, 3),
          parameter<const float*>(p, 4),
          parameter<const BFloat16*>(p, 5),
          parameter<BFloat16*>(p, 6),
          parameter<BFloat16*>(p, 7),
          parameter<BFloat16*>(p, 8),
          parameter<const std::int32_t*>(p, 9),
          parameter<const std::uint32_t*>(p, 10),
          parameter<const std::int32_t*>(p, 11),
          parameter<const std::uint8_t*>(p, 12),
          parameter<float*>(p, 14)};
}
template <MaskRule kRule>
void backwardQueriesEntry(void** p) {
  const auto shape = parameter<AttentionShape>(p, 13);
  const gpu::BackwardArguments a = backwardArguments(p);
  emulateProgram(gpu::Program::kAttentionBackward, 0, shape,
                 [&] { gpu::attentionBackwardQueries<kDim, kRule>(a, shape); });
}
template <MaskRule kRule>
void backwardKeysEntry(void** p) {
  const auto shape = parameter<AttentionShape>(p, 13);
  const gpu::BackwardArguments a = backwardArguments(p);
  emulateProgram(gpu::Program::kAttentionBackward, 1, shape,
                 [&] { gpu::attentionBackwardKeys<kDim, kRule>(a, shape); });
}

template <MaskRule kRule>
void maskCountEntry(void** p) {
  const auto shape = parameter<AttentionShape>(p, 3);
  emulateProgram(gpu::Program::kBlockMask, 0, shape, [&] {
    gpu::blockMaskCount(kRule, parameter<const std::int32_t*>(p, 0), parameter<const std::uint8_t*>(p, 1),
                        parameter<std::int32_t*>(p, 2), shape);
  });
}
template <MaskRule kRule>
void maskFillEntry(void** p) {
  const auto shape = parameter<AttentionShape>(p, 5);
  emulateProgram(gpu::Program::kBlockMask, 1, shape, [&] {
    gpu::blockMaskFill(kRule, parameter<const std::int32_t*>(p, 0), parameter<const std::uint8_t*>(p, 1),
                       parameter<const std::int32_t*>(p, 2), parameter<std::int32_t*>(p, 3),
                       parameter<std::uint32_t*>(p, 4), shape);
  });
}

template <MaskRule kRule>
devices::Image imageOf(const std::string& name) {
  devices::Image image;
  image.name = name;
  image.hostKernels = {{"attention_forward", forwardEntry<kRule>},
                       {"attention_backward_queries", backwardQueriesEntry<kRule>},
                       {"attention_backward_keys", backwardKeysEntry<kRule>},
                       {"block_mask_count", maskCountEntry<kRule>},
                       {"block_mask_fill", maskFillEntry<kRule>}};
  return image;
}

/// gpuAttentionCompiler's counterpart for the simulator, for head dim kDim.
devices::Image compileForEmulator(const std::string& name) {
  MaskKind kind = MaskKind::kCausal;
  if (const auto mask = blockMaskKind(name)) {
    kind = *mask;
  } else {
    const AttentionArtefact artefact = parseAttentionArtefact(name);
    EXPECT_TRUE(artefact.bfloat16 && artefact.headDim == kDim) << name;
    kind = artefact.kind;
  }
  switch (kind) {
    case MaskKind::kCausal:
      return imageOf<MaskRule::kCausal>(name);
    case MaskKind::kDraftFull:
      return imageOf<MaskRule::kDraftFull>(name);
    case MaskKind::kDraftSliding:
      return imageOf<MaskRule::kDraftSliding>(name);
  }
  return {};
}

devices::SimDriver& testDriver() {
  static devices::SimDriver* const driver = [] {
    devices::SimOptions options;
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        if (from != to) options.topology.copyEdges.emplace_back(from, to);
      }
    }
    auto* made = devices::makeSimDriver(options).release();  // outlives every tensor
    registerSim(*made);
    return made;
  }();
  return *driver;
}

class GpuLaunchTest : public ::testing::Test {
 protected:
  // The emulator runs one block at a time, on one thread.
  GpuLaunchTest() : cache_(testDriver(), compileForEmulator) { setKernelCache(&cache_, KernelCode::kGpu); }
  ~GpuLaunchTest() override { setKernelCache(nullptr); }

  static std::vector<LogRecord> launchesSince(std::size_t from) {
    std::vector<LogRecord> found;
    for (const LogRecord& record : testDriver().log().records()) {
      const bool ours = record.name.rfind("attention_", 0) == 0 || record.name.rfind("block_mask", 0) == 0;
      if (record.kind == CallKind::kLaunch && record.sequence >= from && ours) found.push_back(record);
    }
    return found;
  }
  static std::size_t now() {
    const auto records = testDriver().log().records();
    return records.empty() ? 0 : records.back().sequence + 1;
  }

  devices::KernelCache cache_;
};

Results attentionOn(at::Device device, const Inputs& in, const BlockMask& mask, at::ScalarType type) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(type).to(device).requires_grad_(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const at::Tensor out = attention(q, k, v, mask.to(device), in.scale);
  const auto grads = gradients(out, in.grad.to(type).to(device), {q, k, v});
  return {out.detach(), {}, grads[0], grads[1], grads[2]};
}

TEST_F(GpuLaunchTest, ForwardAndBackwardGetWhatTheirKernelsDeclare) {
  for (const GpuCase& c :
       {GpuCase{2, 4, 2, 9, 8, 70, 0}, GpuCase{1, 2, 1, 9, 16, 100, 20}, GpuCase{1, 2, 2, 0, 70, 130, 0}}) {
    const BlockMask mask = maskOf(c);
    const Inputs in = inputs(c, mask, kDim);
    const Results got = attentionOn(simDevice(3), in, mask, at::kBFloat16);
    EXPECT_EQ(got.gradK.scalar_type(), at::kBFloat16);
    expectWithin(got, reference(in, mask));
  }
}

TEST_F(GpuLaunchTest, Float32IsRoundedToBFloat16AndBack) {
  const GpuCase c{1, 2, 1, 9, 8, 70, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, kDim);
  const Results narrow = attentionOn(simDevice(1), in, mask, at::kBFloat16);
  const Results wide = attentionOn(simDevice(1), in, mask, at::kFloat);
  EXPECT_EQ(wide.out.scalar_type(), at::kFloat);
  EXPECT_EQ(wide.gradV.scalar_type(), at::kFloat);
  EXPECT_TRUE(sameBits(wide.out.cpu(), narrow.out.cpu().to(at::kFloat)));
  EXPECT_TRUE(sameBits(wide.gradQ.cpu(), narrow.gradQ.cpu().to(at::kFloat)));
  EXPECT_TRUE(sameBits(wide.gradK.cpu(), narrow.gradK.cpu().to(at::kFloat)));
  EXPECT_TRUE(sameBits(wide.gradV.cpu(), narrow.gradV.cpu().to(at::kFloat)));
}

TEST_F(GpuLaunchTest, LaunchesInOrderOnTheTensorsDevice) {
  const GpuCase c{1, 2, 1, 5, 8, 40, 0};
  const BlockMask mask = maskOf(c);
  const std::size_t before = now();
  attentionOn(simDevice(5), inputs(c, mask, kDim), mask, at::kBFloat16);
  const auto found = launchesSince(before);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "attention_forward");
  EXPECT_EQ(found[1].name, "attention_backward_queries");
  EXPECT_EQ(found[2].name, "attention_backward_keys");
  for (const LogRecord& record : found) {
    EXPECT_EQ(record.device, 5);
    EXPECT_EQ(record.objectDevice, 5);
    EXPECT_TRUE(record.foreign.empty());
  }
}

TEST_F(GpuLaunchTest, EmptyQueriesLeaveNothingUnwritten) {
  const BlockMask none = makeDraftMask(at::empty({2, 0}, at::kLong), at::empty({2, 0}, at::kBool), 30, 16, 0);
  const Inputs in{at::empty({2, 4, 0, kDim}, at::kBFloat16), normal({2, 2, 30, kDim}, 2, at::kBFloat16),
                  normal({2, 2, 30, kDim}, 3, at::kBFloat16), at::empty({2, 4, 0, kDim}, at::kBFloat16), 0.25};
  const Results got = attentionOn(simDevice(0), in, none, at::kBFloat16);
  EXPECT_TRUE(sameBits(got.gradK.cpu(), at::zeros_like(in.k)));
  EXPECT_TRUE(sameBits(got.gradV.cpu(), at::zeros_like(in.v)));
}

TEST_F(GpuLaunchTest, AnAddressThatIsNotAlignedIsCopied) {
  const GpuCase c{1, 2, 1, 5, 8, 40, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, kDim);
  const Results want = attentionOn(simDevice(2), in, mask, at::kBFloat16);
  const auto shifted = [](const at::Tensor& x) {
    at::Tensor room = at::empty({x.numel() + 1}, x.options()).to(simDevice(2));
    at::Tensor view = room.slice(0, 1).view(x.sizes());
    view.copy_(x);
    return view;
  };
  const at::Tensor out = attention(shifted(in.q), shifted(in.k), shifted(in.v), mask.to(simDevice(2)), in.scale);
  EXPECT_TRUE(sameBits(out.cpu(), want.out.cpu()));
}

void expectTheCpusTiles(const BlockMask& mask) {
  AttentionShape shape{};
  shape.batch = mask.batch;
  shape.queries = mask.queries;
  shape.keys = mask.keys;
  shape.context = mask.context;
  shape.blockSize = mask.blockSize;
  shape.window = mask.window;
  shape.blocks = mask.anchors.size(1);
  const MaskTiles tiles = buildTilesOnGpu(mask.kind, shape, mask.anchors.to(simDevice(4)), mask.keep.to(simDevice(4)));
  EXPECT_EQ(tiles.columns.device(), simDevice(4));
  EXPECT_TRUE(sameBits(tiles.rowOffsets.cpu(), mask.rowOffsets));
  EXPECT_TRUE(sameBits(tiles.columns.cpu().narrow(0, 0, mask.columns.numel()), mask.columns));
}

TEST_F(GpuLaunchTest, MasksAreBuiltOnTheirDevice) {
  const std::size_t before = now();
  for (const GpuCase& c :
       {GpuCase{2, 1, 1, 9, 16, 100, 0}, GpuCase{2, 1, 1, 20, 7, 300, 9}, GpuCase{1, 1, 1, 0, 150, 301, 0}}) {
    expectTheCpusTiles(maskOf(c));
  }
  const auto found = launchesSince(before);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].name, "block_mask_count");
  EXPECT_EQ(found[1].name, "block_mask_fill");
  EXPECT_EQ(found[1].device, 4);
}

TEST_F(GpuLaunchTest, ACausalMaskAskedForThereIsBuiltThere) {
  const BlockMask cpu = makeCausalMask(2, 70, 200, at::kCPU), there = makeCausalMask(2, 70, 200, simDevice(6));
  EXPECT_EQ(there.anchors.device(), simDevice(6));
  EXPECT_TRUE(sameBits(there.rowOffsets.cpu(), cpu.rowOffsets));
  EXPECT_TRUE(sameBits(there.columns.cpu().narrow(0, 0, cpu.columns.numel()), cpu.columns));
  EXPECT_TRUE(sameBits(denseMask(there).cpu(), denseMask(cpu)));
}

TEST_F(GpuLaunchTest, AMaskOfNoQueriesNeedsNoLaunch) {
  const std::size_t before = now();
  expectTheCpusTiles(makeDraftMask(at::empty({2, 0}, at::kLong), at::empty({2, 0}, at::kBool), 30, 16, 0));
  EXPECT_TRUE(launchesSince(before).empty());
}

}  // namespace
}  // namespace redraft::model::testing
