#include "golden/quantile.h"

#include <gtest/gtest.h>

namespace redraft::golden {
namespace {

TEST(QuantileTest, LiesBetweenNeighbours) {
  EXPECT_EQ(quantileOf({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantileOf({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantileOf({4, 1, 2, 3}, 0.25), 1.75);
  EXPECT_EQ(quantileOf({5}, 0.25), 5);
}

TEST(QuantileTest, EndsAreTheSmallestAndTheLargest) {
  EXPECT_EQ(quantileOf({4, 1, 2, 3}, 0), 1);
  EXPECT_EQ(quantileOf({4, 1, 2, 3}, 1), 4);
}

TEST(MedianTest, IsAValueThatOccurs) {
  EXPECT_EQ(medianOf({3, 1, 2}), 2);
  EXPECT_EQ(medianOf({4, 1, 2, 3}), 3) << "the upper one of two";
}

}  // namespace
}  // namespace redraft::golden
