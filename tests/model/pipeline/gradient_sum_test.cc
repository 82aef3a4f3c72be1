#include "model/pipeline/gradient_sum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/philox.h"
#include "model/pipeline/micro_batch_plan.h"
#include "model/pipeline/thread_collective.h"

namespace redraft::model {
namespace {

constexpr std::chrono::seconds kLong{30};
constexpr std::int64_t kSize = 1003;  // no multiple of any member count below

/// Leaves whose float sum depends on the order of additions.
at::Tensor leafVector(std::int64_t leaf) {
  at::Tensor vector = at::empty({kSize}, at::kFloat);
  CounterRng rng(5, "gradient", static_cast<std::uint64_t>(leaf));
  for (std::int64_t i = 0; i < kSize; ++i)
    vector.mutable_data_ptr<float>()[i] = rng.normal() * (leaf % 3 == 0 ? 1e4f : 1.0f);
  return vector;
}

/// What each of `members` holds after reducing `leaves` leaves.
std::vector<at::Tensor> reduceBy(int members, std::int64_t leaves) {
  RunMonitor monitor(kLong);
  std::vector<std::string> names;
  for (int m = 0; m < members; ++m) names.push_back("drafter[" + std::to_string(m) + "]");
  GradientSum sum(monitor, names, leaves);
  std::vector<at::Tensor> results(static_cast<std::size_t>(members));
  std::vector<std::thread> threads;
  for (int m = 0; m < members; ++m) {
    threads.emplace_back([&, m] {
      GradientTree tree(leaves);
      for (std::int64_t i = leaves * m / members; i < leaves * (m + 1) / members; ++i) {
        tree.add({0, i, leafVector(i)}, combineGradients);
      }
      results[static_cast<std::size_t>(m)] = sum.reduce(m, tree.take(), at::kCPU);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// What `drafters` drafters, shared out to `ranks` processes, each hold after reducing `leaves` leaves.
std::vector<at::Tensor> reduceByRanks(int ranks, int drafters, std::int64_t leaves) {
  RunMonitor monitor(kLong);
  ThreadGroup group(monitor, ranks);
  const MicroBatchPlan plan(leaves, ranks, drafters);
  std::vector<std::pair<std::int64_t, std::int64_t>> leavesOf;
  std::vector<std::unique_ptr<Collective>> collectives;
  std::vector<std::unique_ptr<GradientSum>> sums;
  std::vector<at::Tensor> results(static_cast<std::size_t>(drafters));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    const WorkerPart part = partOfRank(ranks, drafters, r, ranks);
    leavesOf.emplace_back(plan.first(part.firstDrafter), plan.first(part.lastDrafter));
  }
  for (int r = 0; r < ranks; ++r) {
    const WorkerPart part = partOfRank(ranks, drafters, r, ranks);
    collectives.push_back(group.rank(r));
    sums.push_back(std::make_unique<GradientSum>(
        monitor, std::vector<std::string>(static_cast<std::size_t>(part.lastDrafter - part.firstDrafter), "drafter"),
        leaves, GradientRanks{collectives.back().get(), leavesOf}));
    for (int d = part.firstDrafter; d < part.lastDrafter; ++d) {
      threads.emplace_back([&, sum = sums.back().get(), d, member = d - part.firstDrafter] {
        GradientTree tree(leaves);
        for (std::int64_t i = plan.first(d); i < plan.last(d); ++i) tree.add({0, i, leafVector(i)}, combineGradients);
        results[static_cast<std::size_t>(d)] = sum->reduce(member, tree.take(), at::kCPU);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(GradientSumTest, ProcessesGiveTheSameBitsAsThreads) {
  for (const std::int64_t leaves : {4, 6, 7, 13}) {
    const at::Tensor alone = reduceBy(1, leaves).front();
    for (int drafters = 2; drafters <= 4; ++drafters) {
      for (int ranks = 2; ranks <= drafters; ++ranks) {
        std::vector<at::Tensor> results = reduceByRanks(ranks, drafters, leaves);
        for (const at::Tensor& result : results)
          EXPECT_TRUE(at::equal(result, alone)) << leaves << ' ' << drafters << ' ' << ranks;
        results.front().zero_();  // nobody's is another's
        EXPECT_TRUE(at::equal(results.back(), alone));
      }
    }
  }
}

TEST(GradientSumTest, EveryMemberHoldsTheSameBitsWhateverTheirNumber) {
  for (const std::int64_t leaves : {4, 5, 6, 7, 12}) {
    const at::Tensor alone = reduceBy(1, leaves).front();
    for (int members = 2; members <= 4; ++members) {
      for (const at::Tensor& result : reduceBy(members, leaves))
        EXPECT_TRUE(at::equal(result, alone)) << leaves << ' ' << members;
    }
  }
}

TEST(GradientSumTest, ARunningSumARankWouldGiveOtherBits) {
  at::Tensor running = leafVector(0).clone();
  for (std::int64_t i = 1; i < 12; ++i) running += leafVector(i);
  EXPECT_FALSE(at::equal(running, reduceBy(1, 12).front()));
}

TEST(GradientSumTest, AMemberThatFailsEndsTheOthersWait) {
  RunMonitor monitor(kLong);
  GradientSum sum(monitor, {"drafter[0]", "drafter[1]"}, 2);
  std::thread failing([&] { monitor.fail(std::make_exception_ptr(std::runtime_error("lost"))); });
  EXPECT_THROW(sum.reduce(0, {{0, 0, leafVector(0)}}, at::kCPU), RunStopped);
  failing.join();
}

TEST(GradientSumTest, ATimeOutNamesTheMissingMember) {
  RunMonitor monitor(std::chrono::milliseconds(20));
  GradientSum sum(monitor, {"drafter[0]", "drafter[1]"}, 2);
  try {
    sum.reduce(0, {{0, 0, leafVector(0)}}, at::kCPU);
    FAIL() << "drafter[1] never came";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "drafter[0]");
    EXPECT_NE(error.message().find("the gradients of drafter[1]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace redraft::model
