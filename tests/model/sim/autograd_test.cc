// Backward on sim: its threads, their device and role, and errors out of them; then many threads at once.
#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <thread>

#include "model/role.h"
#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

using ::testing::HasSubstr;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward of the identity below saw.
struct Seen {
  std::thread::id thread;
  int device = -1;
  devices::Origin origin;
} seen;

struct NoteBackward : torch::autograd::Function<NoteBackward> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& input) { return input.clone(); }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    seen = {std::this_thread::get_id(), at::globalContext().getAcceleratorHooksInterface().getCurrentDevice(),
            devices::currentOrigin()};
    return gradients;
  }
};

struct MixInBackward : torch::autograd::Function<MixInBackward> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& input) { return input.clone(); }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0].mul(at::ones({2}, simOptions(7)))};
  }
};

TEST(SimBackwardTest, RunsOnAnotherThreadWithTheTensorsDeviceAndTheCallersRole) {
  const RoleScope role("drafter[1]");
  const StepScope step(12);
  const at::Tensor leaf = at::ones({2}, simOptions(6)).requires_grad_();
  const at::Tensor loss = NoteBackward::apply(leaf).sum();
  {
    const PhaseScope phase(devices::Phase::kBackward);
    loss.backward();
  }
  EXPECT_NE(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(seen.device, 6);
  EXPECT_EQ(devices::roleName(seen.origin.role), "drafter[1]");
  EXPECT_EQ(seen.origin.step, 12);
  EXPECT_EQ(seen.origin.phase, devices::Phase::kBackward);
}

TEST(SimBackwardTest, TwoRolesOnOneDeviceKeepTheirNames) {
  for (const char* name : {"drafter[0]", "drafter[1]", "drafter[0]"}) {
    const RoleScope role(name);
    const at::Tensor leaf = at::ones({2}, simOptions(6)).requires_grad_();
    NoteBackward::apply(leaf).sum().backward();
    EXPECT_EQ(devices::roleName(seen.origin.role), name);
  }
}

TEST(SimBackwardTest, AMixedDeviceInBackwardReachesTheCallerWithItsNode) {
  const RoleScope role("drafter[0]");
  const at::Tensor leaf = at::ones({2}, simOptions(6)).requires_grad_();
  const at::Tensor loss = MixInBackward::apply(leaf).sum();
  const std::string message = messageOf([&] { loss.backward(); });
  EXPECT_THAT(message, HasSubstr("aten::mul: tensors on sim:6 (self) and sim:7 (other)"));
  EXPECT_THAT(message, HasSubstr("role drafter[0]"));
  EXPECT_THAT(message, HasSubstr("MixInBackward"));
}

TEST(SimBackwardTest, GradientsCrossDevicesByCopies) {
  const at::Tensor leaf = at::ones({2}, simOptions(6)).requires_grad_();
  (leaf.to(simDevice(7)) * 3).to(simDevice(4)).sum().backward();
  EXPECT_EQ(leaf.grad().device(), simDevice(6));
  EXPECT_TRUE(sameBits(leaf.grad(), at::full({2}, 3.0f)));
}

/// Loss and gradients of a small network with the ops of a drafter layer.
std::vector<at::Tensor> trainStep(at::Device device, std::int64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
  const auto draw = [&](at::IntArrayRef sizes) { return at::randn(sizes, generator).to(device); };
  const at::Tensor input = draw({8, 16}), labels = at::arange(8, at::kLong).to(device);
  const at::Tensor first = draw({16, 32}).requires_grad_(), second = draw({32, 10}).requires_grad_();
  const at::Tensor gain = draw({32}).requires_grad_();
  at::Tensor hidden = at::silu(input.mm(first));
  hidden = hidden * at::rsqrt(hidden.pow(2).mean(-1, true) + 1e-6) * gain;
  const at::Tensor logits = hidden.mm(second);
  const at::Tensor query = logits.view({1, 2, 4, 10});
  const at::Tensor attended = std::get<0>(at::_scaled_dot_product_attention_math(query, query, query));
  const at::Tensor loss = at::cross_entropy_loss(logits, labels) + attended.logsumexp(-1).mean();
  loss.backward();
  return {loss.detach().cpu(), first.grad().cpu(), second.grad().cpu(), gain.grad().cpu()};
}

void expectSameBits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(sameBits(a[i], b[i])) << i;
}

TEST(SimBackwardTest, ANetworkHasTheBitsOfTheCpu) {
  expectSameBits(trainStep(simDevice(5), 3), trainStep(at::kCPU, 3));
}

TEST(SimBackwardTest, AttentionTakesTheMathPath) {
  const at::Tensor q = at::randn({1, 2, 4, 8}), k = at::randn({1, 2, 6, 8});
  EXPECT_TRUE(sameBits(at::scaled_dot_product_attention(on(6, q), on(6, k), on(6, k)),
                       std::get<0>(at::_scaled_dot_product_attention_math(q, k, k))));
}

TEST(SimThreadsTest, EightDevicesTrainAtOnceWithTheBitsOfTheCpu) {
  constexpr int kThreads = 16, kRounds = 10;
  std::vector<std::vector<at::Tensor>> expected;
  for (int seed = 0; seed < kRounds; ++seed) expected.push_back(trainStep(at::kCPU, seed));
  std::vector<std::int64_t> before;
  for (int device = 0; device < 8; ++device) before.push_back(liveBytes(device));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const RoleScope role("stress[" + std::to_string(i) + "]");
      const c10::DeviceGuard guard(simDevice(i % 8));
      for (int seed = 0; seed < kRounds; ++seed) expectSameBits(trainStep(simDevice(i % 8), seed), expected[seed]);
    });
  for (auto& thread : threads) thread.join();
  for (int device = 0; device < 8; ++device) EXPECT_EQ(liveBytes(device), before[device]) << device;
}

TEST(SimThreadsTest, ThreadsMayReadOneTensorAtOnce) {
  const at::Tensor weight = on(6, at::ones({64, 64}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        EXPECT_EQ(weight.mm(weight).select(0, 0).select(0, 0).item<float>(), 64);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace redraft::model::simtest
