#include "model/pipeline/gradient_buckets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace redraft::model {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

std::vector<at::Tensor> parametersOf(const std::vector<std::int64_t>& sizes) {
  std::vector<at::Tensor> parameters;
  for (const std::int64_t size : sizes) parameters.push_back(at::zeros({size, 2}, at::kFloat));
  return parameters;
}

TEST(GradientBucketsTest, ABucketIsClosedWhenItHoldsItsSizeInTheGivenOrder) {
  const GradientBuckets buckets(parametersOf({1, 2, 3, 4}), {3, 1, 0, 2}, 9 * kFloatBytes);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets.members(0), (std::vector<std::size_t>{3, 1}));  // 8 elements are too few, 12 enough
  EXPECT_EQ(buckets.members(1), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(buckets.elements(0), 12);
  EXPECT_EQ(buckets.bucketOf(2), 1u);
}

TEST(GradientBucketsTest, ViewsAreTheParametersInTheirOwnOrderAndShareTheVectors) {
  const std::vector<at::Tensor> parameters = parametersOf({1, 2, 3});
  const GradientBuckets buckets(parameters, {2, 0, 1}, 1);
  ASSERT_EQ(buckets.size(), 3u);
  std::vector<at::Tensor> vectors;
  for (std::size_t b = 0; b < buckets.size(); ++b) vectors.push_back(buckets.makeVector(b).zero_());
  buckets.view(vectors[buckets.bucketOf(1)], 1).fill_(7);
  const std::vector<at::Tensor> views = buckets.views(vectors);
  ASSERT_EQ(views.size(), 3u);
  for (std::size_t p = 0; p < views.size(); ++p) {
    EXPECT_EQ(views[p].sizes(), parameters[p].sizes());
    EXPECT_EQ(views[p].sum().item<float>(), p == 1 ? 28.0f : 0.0f);
  }
}

TEST(GradientBucketsDeathTest, AnOrderThatLeavesAParameterOutIsRefused) {
  EXPECT_DEATH(GradientBuckets(parametersOf({1, 2}), {0}, 1), "every parameter has a bucket");
  EXPECT_DEATH(GradientBuckets(parametersOf({1, 2}), {0, 0}, 1), "a parameter is in one bucket");
}

}  // namespace
}  // namespace redraft::model
