#include "model/pipeline/gradient_exchange.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "base/error.h"
#include "model/checkpoint.h"
#include "tests/model/pipeline/tiny_training.h"

namespace redraft::model {
namespace {

Drafter tinyDrafter() {
  const DrafterConfig config = tinyDrafterConfig();
  return Drafter(config, randomParameters(drafterParameters(config), 3, 0.1));
}

/// Something of which every parameter has a gradient, another one for each `leaf`, but for those in `without`.
void backward(const Drafter& drafter, std::int64_t leaf, const std::vector<std::size_t>& without = {}) {
  at::Tensor sum = at::zeros({}, at::kFloat);
  std::vector<at::Tensor> with;
  for (std::size_t p = 0; p < drafter.parameters().size(); ++p) {
    if (std::find(without.begin(), without.end(), p) != without.end()) continue;
    with.push_back(drafter.parameters()[p]);
    sum = sum + (with.back() * (with.back() + static_cast<double>(leaf * 7 + 1)) * static_cast<double>(p + 1)).sum();
  }
  torch::autograd::grad({sum}, with);
}

/// The only micro-batch of step 0.
void lonelyStep(GradientExchange& exchange, const Drafter& drafter, const std::vector<std::size_t>& without = {}) {
  exchange.beginMicroBatch(0, 0, true);
  backward(drafter, 0, without);
  exchange.endMicroBatch();
}

std::vector<at::Tensor> gradientOf(GradientExchange& exchange, const std::vector<HandOff>& sums) {
  std::vector<at::Tensor> vectors;
  for (const HandOff& sum : sums) vectors.push_back(sum.tensors().front());
  return exchange.buckets().views(vectors);
}

/// What each of `members` holds after a step of `leaves` micro-batches.
std::vector<std::vector<at::Tensor>> exchanged(int members, std::int64_t leaves, const ExchangeOptions& options) {
  RunMonitor monitor(std::chrono::seconds(30));
  std::vector<std::string> names;
  for (int m = 0; m < members; ++m) names.push_back("drafter[" + std::to_string(m) + "]");
  GradientSum sum(monitor, names, leaves);
  std::vector<std::vector<at::Tensor>> results(static_cast<std::size_t>(members));
  std::vector<std::thread> threads;
  for (int m = 0; m < members; ++m) {
    threads.emplace_back([&, m] {
      const Drafter drafter = tinyDrafter();
      GradientExchange exchange(sum, monitor, m, names[static_cast<std::size_t>(m)], drafter, leaves, options);
      for (std::int64_t step = 0; step < 2; ++step) {
        for (std::int64_t i = leaves * m / members; i < leaves * (m + 1) / members; ++i) {
          exchange.beginMicroBatch(i, step, i + 1 == leaves * (m + 1) / members);
          backward(drafter, i + step);
          exchange.endMicroBatch();
        }
        results[static_cast<std::size_t>(m)] = gradientOf(exchange, exchange.finish());
      }
      EXPECT_EQ(exchange.takeExposedSeconds(), 0) << "the CPU has no streams";
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void expectEqual(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t p = 0; p < a.size(); ++p) EXPECT_TRUE(at::equal(a[p], b[p])) << p;
}

TEST(GradientExchangeTest, GivesTheSameBitsInBucketsOfAnySizeNowOrLaterByAnyNumberOfDrafters) {
  const std::vector<at::Tensor> alone = exchanged(1, 4, {.bucketBytes = 1 << 30, .overlapped = false}).front();
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{2000}, std::int64_t{1} << 30}) {
    for (const bool overlapped : {true, false}) {
      for (const int members : {1, 2, 4}) {
        for (const auto& result : exchanged(members, 4, {bytes, overlapped})) expectEqual(result, alone);
      }
    }
  }
}

TEST(GradientExchangeTest, AParameterWithoutAGradientCountsAsZeros) {
  RunMonitor monitor(std::chrono::seconds(30));
  GradientSum sum(monitor, {"drafter[0]"}, 1);
  const Drafter drafter = tinyDrafter();
  GradientExchange exchange(sum, monitor, 0, "drafter[0]", drafter, 1, {.bucketBytes = 600});
  lonelyStep(exchange, drafter, {0, 5});
  const std::vector<at::Tensor> gradients = gradientOf(exchange, exchange.finish());
  for (std::size_t p = 0; p < gradients.size(); ++p)
    EXPECT_EQ(at::all(gradients[p] == 0).item<bool>(), p == 0 || p == 5) << p;
}

TEST(GradientExchangeTest, ADrafterThatNeverComesIsNamed) {
  RunMonitor monitor(std::chrono::milliseconds(30));
  GradientSum sum(monitor, {"drafter[0]", "drafter[1]"}, 2);
  const Drafter drafter = tinyDrafter();
  GradientExchange exchange(sum, monitor, 0, "drafter[0]", drafter, 2, {});
  lonelyStep(exchange, drafter);
  try {
    exchange.finish();
    FAIL() << "drafter[1] never came";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "drafter[0]");
    EXPECT_NE(error.message().find("the gradients of drafter[1]"), std::string::npos) << error.what();
  }
}

TEST(GradientExchangeTest, EndsWithTheRunThatFails) {
  RunMonitor monitor(std::chrono::seconds(30));
  GradientSum sum(monitor, {"drafter[0]", "drafter[1]"}, 2);
  const Drafter drafter = tinyDrafter();
  GradientExchange exchange(sum, monitor, 0, "drafter[0]", drafter, 2, {});
  lonelyStep(exchange, drafter);
  monitor.fail(std::make_exception_ptr(std::runtime_error("lost")));
  EXPECT_THROW(exchange.finish(), RunStopped);
}

}  // namespace
}  // namespace redraft::model
