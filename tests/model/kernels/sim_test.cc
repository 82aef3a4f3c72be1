// The pinned operations and the compiled attention on simulated devices: the same bits as on the CPU, launched where
// the tensors are, and refused as CUDA refuses when the wrong kernel is launched.

#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "base/error.h"
#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "model/instrument.h"
#include "model/kernels/attention.h"
#include "model/kernels/ops.h"
#include "model/sim/sim_backend.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using devices::CallKind;
using devices::LogRecord;

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

class SimTest : public ::testing::Test {
 protected:
  SimTest() : cache_(testDriver(), compileAttention) { setKernelCache(&cache_); }
  ~SimTest() override {
    setKernelCache(nullptr);
    setInstrument(nullptr);
  }

  static at::Tensor on(int index, const at::Tensor& tensor) { return tensor.to(simDevice(index)); }

  /// Launches since `from`, oldest first.
  static std::vector<LogRecord> launches(std::size_t from) {
    std::vector<LogRecord> found;
    for (const LogRecord& record : testDriver().log().records()) {
      if (record.kind == CallKind::kLaunch && record.sequence >= from &&
          record.name.find("attention") != std::string::npos) {
        found.push_back(record);
      }
    }
    return found;
  }
  static std::size_t now() {
    const auto records = testDriver().log().records();
    return records.empty() ? 0 : records.back().sequence + 1;
  }

  devices::KernelCache cache_;
};

struct Attention {
  at::Tensor q, k, v, grad, anchors, keep;
};

Attention attentionInputs() {
  return {normal({2, 4, 40, 16}, 1), normal({2, 2, 140, 16}, 2), normal({2, 2, 140, 16}, 3),
          normal({2, 4, 40, 16}, 4), integers({2, 5}, 100, 5),   at::ones({2, 5}, at::kBool)};
}

/// Output, then gradients of q, k and v, computed on `device`.
std::vector<at::Tensor> attentionOn(at::Device device, std::optional<at::Device> maskDevice = {}) {
  const Attention in = attentionInputs();
  const at::Device mask = maskDevice.value_or(device);
  const BlockMask blockMask = makeDraftMask(in.anchors.to(mask), in.keep.to(mask), 100, 8, 0);
  at::Tensor q = in.q.to(device).requires_grad_(true), k = in.k.to(device).requires_grad_(true),
             v = in.v.to(device).requires_grad_(true);
  const at::Tensor out = attention(q, k, v, blockMask, 0.25);
  std::vector<at::Tensor> results = gradients(out, in.grad.to(device), {q, k, v});
  results.insert(results.begin(), out);
  return results;
}

TEST_F(SimTest, AttentionHasTheBitsOfTheCpuForwardAndBackward) {
  const auto cpu = attentionOn(at::kCPU), sim = attentionOn(simDevice(3));
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_EQ(sim[i].device(), simDevice(3));
    EXPECT_TRUE(sameBits(sim[i].cpu(), cpu[i])) << i;
  }
}

TEST_F(SimTest, LaunchesForwardAndBackwardOnTheTensorsDeviceWhateverIsCurrent) {
  const std::size_t before = now();
  attentionOn(simDevice(5));
  const auto found = launches(before);
  ASSERT_EQ(found.size(), 2u);
  for (const LogRecord& record : found) {
    EXPECT_EQ(record.device, 5);
    EXPECT_EQ(record.objectDevice, 5);
    EXPECT_EQ(record.status, devices::Status::kSuccess);
    EXPECT_TRUE(record.foreign.empty());
  }
  EXPECT_EQ(cache_.compiles(), 2);
}

TEST_F(SimTest, LaunchesOnTheCurrentStream) {
  const std::size_t before = now();
  const c10::impl::VirtualGuardImpl guard(at::kPrivateUse1);
  const c10::Stream stream = guard.getStreamFromGlobalPool(simDevice(2), false);
  const c10::Stream former = guard.exchangeStream(stream);
  attentionOn(simDevice(2));
  guard.exchangeStream(former);
  const auto found = launches(before);
  ASSERT_EQ(found.size(), 2u);
  for (const LogRecord& record : found) EXPECT_EQ(record.stream, static_cast<std::uint64_t>(stream.id()));
}

/// The DeviceError of the call.
template <class Call>
std::optional<devices::DeviceError> deviceError(Call call) {
  try {
    call();
  } catch (const devices::DeviceError& error) {
    return error;
  }
  return std::nullopt;
}

TEST_F(SimTest, ASingletonCacheIsRefusedOnTheSecondDeviceNamingKernelAndTensor) {
  cache_.setKey(devices::keyByArtefact());
  attentionOn(simDevice(0));
  const auto error = deviceError([] { attentionOn(simDevice(1)); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->status(), devices::Status::kInvalidHandle);
  EXPECT_EQ(error->device(), 1);
  const std::string text = error->what();
  EXPECT_NE(text.find("attention_forward/d16/draft_full/f32/q64k64"), std::string::npos) << text;
  EXPECT_NE(text.find("[2, 4, 40, 16] on sim:1"), std::string::npos) << text;
}

struct PassesNoDevice : Instrument {
  std::optional<int> kernelCallSiteDevice(int) const override { return std::nullopt; }
};

TEST_F(SimTest, ADeviceKeyThatCallersDoNotPassIsRefusedToo) {
  PassesNoDevice instrument;
  setInstrument(&instrument);
  attentionOn(simDevice(0));
  const auto error = deviceError([] { attentionOn(simDevice(1)); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->status(), devices::Status::kInvalidHandle);
}

struct CountsSyncPoints : Instrument {
  void syncPoint(SyncPoint point, std::int64_t) override {
    lookups += point == SyncPoint::kKernelLookup;
    launches += point == SyncPoint::kKernelLaunch;
  }
  std::atomic<int> lookups{0}, launches{0};
};

TEST_F(SimTest, MarksLookupAndLaunchOfBothDirections) {
  CountsSyncPoints instrument;
  setInstrument(&instrument);
  attentionOn(simDevice(0));
  EXPECT_EQ(instrument.lookups, 2);
  EXPECT_EQ(instrument.launches, 2);
}

TEST_F(SimTest, AMaskOnAnotherDeviceIsSilentWithPeerAccessAndLogged) {
  devices::check(testDriver().enablePeerAccess(1, 4), "enablePeerAccess", 1);
  const std::size_t before = now();
  attentionOn(simDevice(1), simDevice(4));
  const auto found = launches(before);
  ASSERT_EQ(found.size(), 2u);
  for (const LogRecord& record : found) {
    ASSERT_EQ(record.foreign.size(), 4u);
    for (const auto& touch : record.foreign) {
      EXPECT_EQ(touch.name.rfind("block_mask.", 0), 0u) << touch.name;
      EXPECT_EQ(touch.device, 4);
      EXPECT_FALSE(touch.written);
    }
  }
}

TEST_F(SimTest, TwoThreadsOnTwoDevicesGetTheirOwnHandles) {
  std::vector<std::thread> threads;
  std::array<std::vector<at::Tensor>, 2> results;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&results, i] { results[i] = attentionOn(simDevice(6 + i)); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_TRUE(sameBits(results[0][i].cpu(), results[1][i].cpu()));
  }
  EXPECT_EQ(cache_.compiles(), 2);
  EXPECT_EQ(cache_.loads(), 4);
}

TEST_F(SimTest, WithoutACacheItSaysWhatIsMissing) {
  setKernelCache(nullptr);
  try {
    attentionOn(simDevice(0));
    FAIL() << "ran";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("setKernelCache"), std::string::npos) << error.message();
  }
}

TEST_F(SimTest, TheMaskIsBuiltWhereItsAnchorsLie) {
  const Attention in = attentionInputs();
  const BlockMask sim = makeDraftMask(on(2, in.anchors), on(2, in.keep), 100, 8, 16);
  const BlockMask cpu = makeDraftMask(in.anchors, in.keep, 100, 8, 16);
  for (const auto& [a, b] : {std::pair(sim.rowOffsets, cpu.rowOffsets),
                             {sim.columns, cpu.columns},
                             {sim.anchors, cpu.anchors},
                             {sim.keep, cpu.keep}}) {
    EXPECT_EQ(a.device(), simDevice(2));
    EXPECT_TRUE(sameBits(a.cpu(), b));
  }
  EXPECT_TRUE(sameBits(denseMask(sim).cpu(), denseMask(cpu)));
}

TEST_F(SimTest, OperationsHaveTheBitsOfTheCpu) {
  const auto run = [](at::Device device) {
    at::Tensor x = normal({6, 24}, 1).to(device).requires_grad_(true);
    at::Tensor w = normal({24, 24}, 2).to(device).requires_grad_(true);
    at::Tensor g = normal({24}, 3).to(device).requires_grad_(true);
    const at::Tensor y = rmsNorm(siluMul(model::linear(x, w), x), g, 1e-6);
    const auto [cos, sin] = ropeTable(at::arange(6, at::kLong).view({1, 6}).to(device), 24, 1e4);
    const at::Tensor logits = applyRope(y.view({1, 1, 6, 24}), cos, sin).view({6, 24});
    const auto [loss, argmax, probability] = crossEntropy(logits, integers({6}, 24, 4).to(device));
    std::vector<at::Tensor> results = gradients(loss, normal({6}, 5).to(device), {x, w, g});
    results.insert(results.end(), {loss, argmax, probability});
    at::Tensor p = w.detach().clone(), m = at::zeros_like(p), v = at::zeros_like(p);
    adamwStep(p, m, v, results[1], 1e-3, 0.9, 0.95, 1e-8, 0.01, 1);
    results.insert(results.end(), {p, m, v, addExact(p, m), at::full({}, sumOfSquares(p), at::kDouble)});
    return results;
  };
  const auto cpu = run(at::kCPU), sim = run(simDevice(7));
  for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_TRUE(sameBits(sim[i].cpu(), cpu[i])) << i;
}

TEST_F(SimTest, TwoDevicesInOneOperationAreRefused) {
  const at::Tensor x = on(6, normal({4, 8}, 1)), w = on(7, normal({3, 8}, 2));
  EXPECT_THROW(model::linear(x, w), c10::Error);
  const Attention in = attentionInputs();
  const BlockMask mask = makeDraftMask(on(6, in.anchors), on(6, in.keep), 100, 8, 0);
  EXPECT_THROW(attention(on(6, in.q), on(7, in.k), on(7, in.v), mask, 0.25), Error);
}

}  // namespace
}  // namespace redraft::model::testing
