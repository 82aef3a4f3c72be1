// Compiled attention, its mask and the dense path on tensors of a real GPU.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <cmath>
#include <exception>
#include <optional>
#include <thread>

#include "devices/kernel_cache.h"
#include "tests/model/kernels/gpu/gpu_machine.h"
#include "tests/model/kernels/gpu_reference.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using devices::Status;

const at::Device kGpu0(at::kCUDA, 0);

class CudaAttentionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (gpuMachine().whyNone.empty()) compileAll(gpuMachine());
  }
  void SetUp() override {
    const GpuMachine& machine = gpuMachine();
    if (!machine.whyNone.empty()) GTEST_SKIP() << machine.whyNone;
    cache_.emplace(*machine.driver, machine.compile);
    setKernelCache(&*cache_);
  }
  void TearDown() override {
    if (!cache_) return;
    synchronize();
    setKernelCache(nullptr);
  }

  static devices::Driver& driver() { return *gpuMachine().driver; }
  static void synchronize() {
    for (int device = 0; device < driver().deviceCount(); ++device) {
      c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
    }
  }

  std::optional<devices::KernelCache> cache_;
};

/// The mask, built on `device` of the same anchors.
BlockMask maskOn(at::Device device, const BlockMask& cpu) {
  if (cpu.kind == MaskKind::kCausal) return makeCausalMask(cpu.batch, cpu.queries, cpu.keys, device);
  return makeDraftMask(cpu.anchors.to(at::kLong).to(device), cpu.keep.to(at::kBool).to(device), cpu.context,
                       cpu.blockSize, cpu.window);
}

/// Mask, forward and backward there; the results on the CPU.
Results attentionOn(at::Device device, const Inputs& in, const BlockMask& mask, at::ScalarType type = at::kBFloat16) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(type).to(device).requires_grad_(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const at::Tensor out = attention(q, k, v, maskOn(device, mask), in.scale);
  const auto grads = gradients(out, in.grad.to(type).to(device), {q, k, v});
  return {out.detach().cpu(), {}, grads[0].cpu(), grads[1].cpu(), grads[2].cpu()};
}

void expectSameBits(const Results& a, const Results& b) {
  EXPECT_TRUE(sameBits(a.out, b.out));
  EXPECT_TRUE(sameBits(a.gradQ, b.gradQ));
  EXPECT_TRUE(sameBits(a.gradK, b.gradK));
  EXPECT_TRUE(sameBits(a.gradV, b.gradV));
}

void expectTheDenseReference(const GpuCase& c, std::int64_t dim) {
  SCOPED_TRACE(::testing::Message() << "d" << dim << " B" << c.batch << " heads " << c.heads << '/' << c.keyHeads
                                    << " N" << c.blocks << " b" << c.blockSize << " S" << c.context << " W"
                                    << c.window);
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, dim);
  expectWithin(attentionOn(kGpu0, in, mask), reference(in, mask));
}

TEST_F(CudaAttentionTest, SmallestOfEachKind) {
  expectTheDenseReference({1, 2, 1, 9, 8, 70, 0}, 16);
  expectTheDenseReference({1, 2, 1, 9, 8, 70, 20}, 16);
  expectTheDenseReference({1, 2, 1, 0, 70, 130, 0}, 16);
}

TEST_F(CudaAttentionTest, EveryHeadDimAndMaskIsTheDenseReference) {
  for (const std::int64_t dim : {16, 32, 64, 128}) {
    expectTheDenseReference({2, 4, 2, 9, 7, 100, 0}, dim);
    expectTheDenseReference({2, 6, 2, 13, 16, 200, 70}, dim);
    expectTheDenseReference({1, 3, 3, 0, 130, 130, 0}, dim);
    expectTheDenseReference({2, 8, 1, 0, 1, 300, 0}, dim);
  }
}

TEST_F(CudaAttentionTest, ManyTilesAreTheDenseReference) {
  expectTheDenseReference({1, 4, 2, 64, 16, 1000, 0}, 128);
  expectTheDenseReference({1, 4, 1, 64, 16, 1000, 256}, 64);
}

TEST_F(CudaAttentionTest, TheBoundsSeeAKeyTooMany) {
  const GpuCase c{1, 2, 1, 9, 16, 100, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 32);
  const Reference want = reference(in, mask);
  const BlockMask other =
      makeDraftMask((mask.anchors + 1).to(at::kLong), mask.keep.to(at::kBool), c.context, c.blockSize, c.window);
  const Results got = attentionOn(kGpu0, in, other);
  EXPECT_FALSE(within(got.out, want.out.want, want.out.bound));
  EXPECT_FALSE(within(got.gradV, want.gradV.want, want.gradV.bound));
}

TEST_F(CudaAttentionTest, QueriesThatSeeNothingGiveZeros) {
  const GpuCase c{1, 2, 1, 9, 16, 64, 0};
  BlockMask mask = maskOf(c);
  mask = makeDraftMask(mask.anchors.to(at::kLong), at::zeros({1, c.blocks}, at::kBool), c.context, c.blockSize, 0);
  const Results r = attentionOn(kGpu0, inputs(c, mask, 64), mask);
  for (const at::Tensor& x : {r.out, r.gradQ, r.gradK, r.gradV}) EXPECT_TRUE(x.eq(0).all().item<bool>());
}

TEST_F(CudaAttentionTest, NoQueriesGiveZeroGradients) {
  const BlockMask none = makeDraftMask(at::empty({2, 0}, at::kLong), at::empty({2, 0}, at::kBool), 30, 16, 0);
  const Inputs in{at::empty({2, 4, 0, 16}, at::kBFloat16), normal({2, 2, 30, 16}, 2, at::kBFloat16),
                  normal({2, 2, 30, 16}, 3, at::kBFloat16), at::empty({2, 4, 0, 16}, at::kBFloat16), 0.25};
  const Results got = attentionOn(kGpu0, in, none);
  EXPECT_TRUE(sameBits(got.gradK, at::zeros_like(in.k)));
  EXPECT_TRUE(sameBits(got.gradV, at::zeros_like(in.v)));
}

TEST_F(CudaAttentionTest, Float32HasTheBitsOfItsRoundedInputs) {
  const GpuCase c{2, 4, 2, 9, 7, 100, 20};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 64);
  const Results narrow = attentionOn(kGpu0, in, mask), wide = attentionOn(kGpu0, in, mask, at::kFloat);
  EXPECT_EQ(wide.out.scalar_type(), at::kFloat);
  const auto widened = [](const at::Tensor& x) { return x.to(at::kFloat); };
  expectSameBits(wide, {widened(narrow.out), {}, widened(narrow.gradQ), widened(narrow.gradK), widened(narrow.gradV)});
}

TEST_F(CudaAttentionTest, TakesStridedAndUnalignedInputs) {
  const GpuCase c{1, 4, 2, 9, 7, 100, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 32);
  const Results want = attentionOn(kGpu0, in, mask);
  const auto strided = [](const at::Tensor& x) { return x.transpose(1, 2).contiguous().to(kGpu0).transpose(1, 2); };
  const auto shifted = [](const at::Tensor& x) {
    at::Tensor room = at::empty({x.numel() + 1}, x.options().device(kGpu0));
    at::Tensor view = room.slice(0, 1).view(x.sizes());
    view.copy_(x);
    return view;
  };
  const BlockMask there = maskOn(kGpu0, mask);
  EXPECT_TRUE(sameBits(attention(strided(in.q), strided(in.k), strided(in.v), there, in.scale).cpu(), want.out));
  EXPECT_TRUE(sameBits(attention(shifted(in.q), shifted(in.k), shifted(in.v), there, in.scale).cpu(), want.out));
}

TEST_F(CudaAttentionTest, TheSameCallTwiceGivesTheSameBits) {
  const GpuCase c{2, 8, 2, 64, 16, 700, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 128);
  const Results first = attentionOn(kGpu0, in, mask);
  for (int i = 0; i < 3; ++i) expectSameBits(attentionOn(kGpu0, in, mask), first);
}

TEST_F(CudaAttentionTest, TwoThreadsOnStreamsOfTheirOwnGetTheBitsOfOne) {
  const GpuCase c{1, 4, 2, 32, 16, 500, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 64);
  const Results want = attentionOn(kGpu0, in, mask);
  std::array<std::vector<Results>, 2> results;
  std::array<std::exception_ptr, 2> errors;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const c10::impl::VirtualGuardImpl guard(at::kCUDA);
        guard.exchangeStream(guard.getStreamFromGlobalPool(kGpu0, false));
        for (int n = 0; n < 10; ++n) results[i].push_back(attentionOn(kGpu0, in, mask));
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    for (const Results& got : results[i]) expectSameBits(got, want);
  }
}

TEST_F(CudaAttentionTest, LaunchesOnLibTorchsCurrentStream) {
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  const c10::Stream one = guard.getStreamFromGlobalPool(kGpu0, false),
                    two = guard.getStreamFromGlobalPool(kGpu0, false);
  devices::Stream first, again, second, none;
  EXPECT_EQ(driver().adoptStream(guard.getStreamNativeHandle(one), &first), Status::kSuccess);
  EXPECT_EQ(driver().adoptStream(guard.getStreamNativeHandle(one), &again), Status::kSuccess);
  EXPECT_EQ(driver().adoptStream(guard.getStreamNativeHandle(two), &second), Status::kSuccess);
  EXPECT_EQ(driver().adoptStream(nullptr, &none), Status::kSuccess);
  EXPECT_TRUE(first);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, second);
  EXPECT_FALSE(none);
  EXPECT_EQ(driver().destroyStream(first), Status::kInvalidHandle);

  const GpuCase c{1, 2, 1, 9, 8, 70, 0};
  const BlockMask mask = maskOf(c);
  const auto before = driver().log().records();
  const std::uint64_t from = before.empty() ? 0 : before.back().sequence + 1;
  const c10::Stream former = guard.exchangeStream(one);
  attentionOn(kGpu0, inputs(c, mask, 16), mask);
  guard.exchangeStream(former);
  int launches = 0;
  for (const devices::LogRecord& record : driver().log().records()) {
    launches += record.kind == devices::CallKind::kLaunch && record.sequence >= from && record.stream == first.id;
  }
  EXPECT_EQ(launches, 5);  // two of the mask, one forward, two backward
}

TEST_F(CudaAttentionTest, TheContextThatLibTorchBoundIsTheDevicesPrimary) {
  devices::Context primary, bound;
  std::thread([&] {
    at::zeros({1}, at::device(kGpu0)).item<float>();
    EXPECT_EQ(driver().current(&bound), Status::kSuccess);
    EXPECT_EQ(driver().primaryContext(0, &primary), Status::kSuccess);
  }).join();
  EXPECT_TRUE(bound);
  EXPECT_EQ(bound, primary);
}

TEST_F(CudaAttentionTest, AThreadWithoutAContextMayLaunchFirst) {
  const GpuCase c{1, 2, 1, 9, 8, 70, 0};
  const BlockMask mask = maskOf(c), there = maskOn(kGpu0, mask);
  const Inputs in = inputs(c, mask, 16);
  const at::Tensor q = in.q.to(kGpu0), k = in.k.to(kGpu0), v = in.v.to(kGpu0);
  const at::Tensor want = attention(q, k, v, there, in.scale).cpu();
  at::Tensor got;
  std::thread([&] {
    EXPECT_EQ(driver().setCurrent({}), Status::kSuccess);
    got = attention(q, k, v, there, in.scale).cpu();
  }).join();
  EXPECT_TRUE(sameBits(got, want));
}

TEST_F(CudaAttentionTest, MasksAreTheCpusElementForElement) {
  for (const GpuCase& c :
       {GpuCase{2, 1, 1, 9, 16, 100, 0}, GpuCase{1, 1, 1, 20, 7, 300, 0}, GpuCase{2, 1, 1, 9, 16, 200, 5},
        GpuCase{1, 1, 1, 70, 1, 130, 3}, GpuCase{1, 1, 1, 2, 100, 64, 0}, GpuCase{1, 1, 1, 512, 16, 3072, 0},
        GpuCase{1, 1, 1, 40, 16, 10000, 4096}, GpuCase{2, 1, 1, 0, 150, 301, 0}, GpuCase{1, 1, 1, 0, 1, 9000, 0}}) {
    SCOPED_TRACE(::testing::Message() << "B" << c.batch << " N" << c.blocks << " b" << c.blockSize << " S" << c.context
                                      << " W" << c.window);
    const BlockMask cpu = maskOf(c), there = maskOn(kGpu0, cpu);
    EXPECT_EQ(there.columns.device(), kGpu0);
    EXPECT_TRUE(sameBits(there.rowOffsets.cpu(), cpu.rowOffsets));
    EXPECT_TRUE(sameBits(there.columns.cpu().narrow(0, 0, cpu.columns.numel()), cpu.columns));
    EXPECT_TRUE(sameBits(there.anchors.cpu(), cpu.anchors));
    EXPECT_TRUE(sameBits(there.keep.cpu(), cpu.keep));
    EXPECT_TRUE(sameBits(denseMask(there).cpu(), denseMask(cpu)));
  }
}

TEST_F(CudaAttentionTest, TheDensePathIsThereToo) {
  const GpuCase c{2, 4, 2, 9, 7, 100, 20};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 32);
  const Reference want = reference(in, mask);
  const auto leaf = [&](const at::Tensor& x) { return x.to(at::kFloat).to(kGpu0).requires_grad_(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const at::Tensor out = attentionDense(q, k, v, maskOn(kGpu0, mask), in.scale);
  const auto grads = gradients(out, in.grad.to(at::kFloat).to(kGpu0), {q, k, v});
  const auto close = [](const at::Tensor& a, const at::Tensor& b) { return at::allclose(f64(a.cpu()), b, 1e-4, 1e-4); };
  EXPECT_TRUE(close(out, want.out.want));
  EXPECT_TRUE(close(grads[0], want.gradQ.want));
  EXPECT_TRUE(close(grads[1], want.gradK.want));
  EXPECT_TRUE(close(grads[2], want.gradV.want));
}

class CudaTwoDevicesTest : public CudaAttentionTest {
 protected:
  void SetUp() override {
    CudaAttentionTest::SetUp();
    if (gpuMachine().whyNone.empty() && driver().deviceCount() < 2) GTEST_SKIP() << "this machine has one GPU";
  }

  const GpuCase case_{1, 4, 2, 9, 16, 200, 0};
  const BlockMask mask_ = maskOf(case_);
  const Inputs in_ = inputs(case_, mask_, 64);
  const at::Device other_{at::kCUDA, 1};
};

TEST_F(CudaTwoDevicesTest, AHandleOfItsOwnForEachGivesTheSameBits) {
  const Results first = attentionOn(kGpu0, in_, mask_);
  expectSameBits(attentionOn(other_, in_, mask_), first);
  expectWithin(first, reference(in_, mask_));
  EXPECT_EQ(cache_->loads(), 2 * cache_->compiles());
  synchronize();
  EXPECT_NO_THROW(cache_->clear());  // modules of both, whichever device is current
}

TEST_F(CudaTwoDevicesTest, TheSingletonIsRefusedOnTheSecondWith400AndNothingSticks) {
  cache_->setKey(devices::keyByArtefact());
  const Results first = attentionOn(kGpu0, in_, mask_);
  try {
    attentionOn(other_, in_, mask_);
    ADD_FAILURE() << "it ran";
  } catch (const devices::DeviceError& error) {
    EXPECT_EQ(error.status(), Status::kInvalidHandle);
    EXPECT_EQ(error.device(), 1);
    EXPECT_NE(std::string(error.what()).find("block_mask/draft_full/q64k64"), std::string::npos) << error.what();
  }
  cache_->setKey(devices::keyByPassedDevice());
  expectSameBits(attentionOn(other_, in_, mask_), first);
}

}  // namespace
}  // namespace redraft::model::testing
