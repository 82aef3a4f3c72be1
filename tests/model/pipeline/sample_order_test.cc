#include "model/pipeline/sample_order.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace redraft::model {
namespace {

std::vector<std::int64_t> epoch(const SampleOrder& order, std::int64_t number) {
  std::vector<std::int64_t> drawn;
  for (std::int64_t i = 0; i < order.count(); ++i) drawn.push_back(order.at(number * order.count() + i));
  return drawn;
}

TEST(SampleOrderTest, EveryEpochDrawsEverySampleOnce) {
  for (std::int64_t count = 1; count <= 130; ++count) {
    const SampleOrder order(7, count);
    for (std::int64_t e = 0; e < 3; ++e) {
      const std::vector<std::int64_t> drawn = epoch(order, e);
      const std::set<std::int64_t> distinct(drawn.begin(), drawn.end());
      ASSERT_EQ(distinct.size(), static_cast<std::size_t>(count));
      ASSERT_EQ(*distinct.begin(), 0);
      ASSERT_EQ(*distinct.rbegin(), count - 1);
    }
  }
}

TEST(SampleOrderTest, SeedsAndEpochsGiveOtherOrders) {
  const SampleOrder order(1, 100);
  EXPECT_EQ(epoch(order, 0), epoch(SampleOrder(1, 100), 0));
  EXPECT_NE(epoch(order, 0), epoch(order, 1));
  EXPECT_NE(epoch(order, 0), epoch(SampleOrder(2, 100), 0));
}

TEST(SampleOrderTest, EverySampleReachesEveryPlaceAboutEquallyOften) {
  constexpr std::int64_t kCount = 10;
  constexpr std::int64_t kEpochs = 4000;
  const SampleOrder order(3, kCount);
  double chiSquare = 0;
  for (std::int64_t place = 0; place < kCount; ++place) {
    std::vector<int> seen(kCount, 0);
    for (std::int64_t e = 0; e < kEpochs; ++e) ++seen[static_cast<std::size_t>(order.at(e * kCount + place))];
    const double expected = static_cast<double>(kEpochs) / kCount;
    for (const int n : seen) chiSquare += (n - expected) * (n - expected) / expected;
  }
  // 81 degrees of freedom: the mean is 81 and the standard deviation 12.7; six of them above is 157.
  EXPECT_LT(chiSquare, 157);
}

TEST(SampleOrderTest, LargeCountsNeedNoMemoryAndStayInRange) {
  const SampleOrder order(9, std::int64_t{1} << 40);
  for (std::int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(order.at(i), 0);
    EXPECT_LT(order.at(i), std::int64_t{1} << 40);
  }
}

}  // namespace
}  // namespace redraft::model
