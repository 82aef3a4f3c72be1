#include "scenarios/ops/tensor_digest.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/kernels/cuda/tensor_digest.cuh"
#include "tests/model/kernels/gpu/gpu_machine.h"

namespace redraft::scenarios {
namespace {

/// Of every length from nothing to a few words, at every alignment, and one that fills many blocks.
std::vector<at::Tensor> samples() {
  std::vector<at::Tensor> all;
  const at::Tensor bytes = at::randint(0, 256, {4096}, at::kByte);
  for (std::int64_t length = 0; length < 40; ++length)
    for (std::int64_t from = 0; from < 8; ++from) all.push_back(bytes.narrow(0, from, length));
  all.push_back(at::randn({3000, 1001}));
  all.push_back(at::randn({64, 33}).to(at::kBFloat16));
  all.push_back(at::randn({64, 33}).t());
  all.push_back(at::randn({64, 33}).narrow(1, 3, 7));
  return all;
}

TEST(TensorDigestTest, EveryBitAndEveryPlaceCounts) {
  const at::Tensor values = at::zeros({100});
  std::set<std::uint64_t> seen = {digestOnHost(values)};
  auto* bits = reinterpret_cast<std::uint32_t*>(values.data_ptr<float>());
  for (std::int64_t place = 0; place < values.numel(); ++place) {
    for (int bit = 0; bit < 32; ++bit) {
      bits[place] = 1u << bit;
      seen.insert(digestOnHost(values));
    }
    bits[place] = 0;
  }
  EXPECT_EQ(seen.size(), 1u + 100 * 32);
}

TEST(TensorDigestTest, ANanIsItsBitsAndMinusZeroIsNotZero) {
  const at::Tensor nan = at::full({4}, std::nan(""));
  EXPECT_EQ(digestOnHost(nan), digestOnHost(nan.clone()));
  EXPECT_NE(digestOnHost(at::zeros({4})), digestOnHost(at::zeros({4}).neg()));
}

TEST(TensorDigestTest, DoesNotDependOnAlignmentOrOnHowManyThreadsShareIt) {
  for (const at::Tensor& each : samples()) {
    const at::Tensor copy = each.clone(at::MemoryFormat::Contiguous);
    if (each.is_contiguous()) {
      EXPECT_EQ(digestOnHost(each), digestOnHost(copy));
    }
    const auto* bytes = static_cast<const unsigned char*>(copy.const_data_ptr());
    for (const std::int64_t threads : {1, 3, 256}) {
      model::gpu::DigestWord sum = 0;
      for (std::int64_t t = 0; t < threads; ++t)
        sum += model::gpu::digestShare(bytes, static_cast<std::int64_t>(copy.nbytes()), t, threads);
      EXPECT_EQ(sum, copy.numel() == 0 ? 0 : digestOnHost(copy)) << threads;
    }
  }
}

TEST(GpuTensorDigestTest, TheKernelCompilesForEveryArchitectureThatAttentionDoes) {
  if (const std::string why = devices::Nvrtc::whyNone(); !why.empty()) GTEST_SKIP() << why;
  for (const int architecture : {80, 90, 100})
    EXPECT_FALSE(devices::Nvrtc::open().compile(model::gpu::tensorDigestSource(), architecture).bytes.empty());
}

TEST(GpuTensorDigestTest, IsTheHostsOnAGpu) {
  const model::testing::GpuMachine& machine = model::testing::gpuMachine();
  if (!machine.whyNone.empty()) GTEST_SKIP() << machine.whyNone;
  TensorDigests digests(machine.driver);
  digests.prepare(0, devices::cudaArchitecture(*machine.driver, 0));
  std::vector<DigestTicket> tickets;
  const std::vector<at::Tensor> all = samples();
  for (const at::Tensor& each : all) {
    const at::Tensor whole = each.clone(at::MemoryFormat::Contiguous);
    // A byte tensor's own address decides its alignment there.
    const at::Tensor padded = at::zeros({whole.numel() + 8}, whole.options().device(at::kCUDA));
    const at::Tensor there = padded.narrow(0, whole.numel() % 8, whole.numel());
    there.copy_(whole.view({-1}));
    tickets.push_back(digests.take(there));
  }
  digests.finish();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const at::Tensor whole = all[i].clone(at::MemoryFormat::Contiguous);
    EXPECT_EQ(digests.valueOf(tickets[i]).value(), digestOnHost(whole)) << all[i].sizes();
  }
}

}  // namespace
}  // namespace redraft::scenarios
