#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/pipeline/target_worker.h"

namespace redraft::model {
namespace {

at::Tensor numberedRows(std::int64_t rows) {  // row r holds r, r
  return at::arange(rows, at::kFloat).view({rows, 1}).expand({rows, 2}).contiguous();
}

TEST(TableFeatureTest, IsARowOfTheTableForEachLayerByTokenAndPosition) {
  const at::Tensor ids = at::tensor({5, 5, 8}, at::kLong).view({1, 3});
  const at::Tensor feature = tableFeature(ids, numberedRows(1000), {1, 4});
  ASSERT_EQ(feature.sizes(), (std::vector<std::int64_t>{1, 3, 4}));
  const at::Tensor rows = feature.select(0, 0).select(1, 0);
  EXPECT_EQ(rows[0].item<float>(), static_cast<float>((5 + 2 * 104729) % 1000));
  EXPECT_EQ(rows[1].item<float>(), static_cast<float>((5 + 7919 + 2 * 104729) % 1000)) << "another position";
  EXPECT_NE(feature[0][0][0].item<float>(), feature[0][0][2].item<float>()) << "another layer";
  EXPECT_TRUE(at::equal(feature, tableFeature(ids, numberedRows(1000), {1, 4})));
}

}  // namespace
}  // namespace redraft::model
