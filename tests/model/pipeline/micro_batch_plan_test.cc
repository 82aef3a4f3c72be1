#include "model/pipeline/micro_batch_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace redraft::model {
namespace {

TEST(MicroBatchPlanTest, ProcessesShareAStepAndHaveQueuesOfTheirOwn) {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    std::set<std::int64_t> indices;
    for (int r = 0; r < ranks; ++r) {
      const WorkerPart part = partOfRank(4, 3, r, ranks);
      const MicroBatchPlan plan(7, 4, 3, part);
      EXPECT_EQ(plan.microBatches(), 7);
      for (std::int64_t sequence = 2 * plan.queued(); sequence < 3 * plan.queued(); ++sequence) {
        const MicroBatchRef ref = plan.at(sequence);
        EXPECT_EQ(ref.step, 2);
        EXPECT_TRUE(ref.drafter >= part.firstDrafter && ref.drafter < part.lastDrafter);
        EXPECT_TRUE(ref.target >= part.firstTarget && ref.target < part.lastTarget);
        EXPECT_TRUE(ref.index >= plan.first(ref.drafter) && ref.index < plan.last(ref.drafter));
        EXPECT_TRUE(indices.insert(ref.index).second);
      }
    }
    EXPECT_EQ(indices.size(), 7u);
  }
}

TEST(MicroBatchPlanTest, EveryMicroBatchOfAStepBelongsToOneDrafterAndOneTarget) {
  for (int drafters = 1; drafters <= 4; ++drafters) {
    for (int targets = 1; targets <= 6; ++targets) {
      for (std::int64_t count = drafters; count <= 9; ++count) {
        const MicroBatchPlan plan(count, targets, drafters);
        std::set<std::int64_t> byDrafter;
        std::set<std::int64_t> byTarget;
        for (int d = 0; d < drafters; ++d) {
          for (const MicroBatchRef& ref : plan.ofDrafter(d, 5)) EXPECT_TRUE(byDrafter.insert(ref.sequence).second);
        }
        for (int t = 0; t < targets; ++t) {
          for (const MicroBatchRef& ref : plan.ofTarget(t, 5)) EXPECT_TRUE(byTarget.insert(ref.sequence).second);
        }
        EXPECT_EQ(byDrafter.size(), static_cast<std::size_t>(count));
        EXPECT_EQ(byDrafter, byTarget);
        EXPECT_EQ(*byDrafter.begin(), 5 * count);
        EXPECT_EQ(*byDrafter.rbegin(), 6 * count - 1);
      }
    }
  }
}

TEST(MicroBatchPlanTest, ADrafterHoldsAContiguousRunInAscendingOrder) {
  const MicroBatchPlan plan(7, 2, 3);
  for (int d = 0; d < 3; ++d) {
    std::int64_t expected = plan.first(d);
    for (const MicroBatchRef& ref : plan.ofDrafter(d, 0)) EXPECT_EQ(ref.index, expected++);
    EXPECT_EQ(expected, plan.last(d));
  }
  EXPECT_EQ(plan.first(0), 0);
  EXPECT_EQ(plan.last(2), 7);
}

TEST(MicroBatchPlanTest, TheQueueFeedsTheDraftersInTurn) {
  const MicroBatchPlan plan(4, 1, 2);
  std::vector<int> drafters;
  std::vector<std::int64_t> indices;
  for (std::int64_t s = 0; s < 4; ++s) {
    drafters.push_back(plan.at(s).drafter);
    indices.push_back(plan.at(s).index);
  }
  EXPECT_EQ(drafters, std::vector<int>({0, 1, 0, 1}));
  EXPECT_EQ(indices, std::vector<std::int64_t>({0, 2, 1, 3}));
}

TEST(MicroBatchPlanTest, FewerMicroBatchesThanDraftersIsBadInput) {
  EXPECT_THROW(MicroBatchPlan(1, 1, 2), Error);
  EXPECT_THROW(MicroBatchPlan(1, 0, 1), Error);
}

}  // namespace
}  // namespace redraft::model
