#include "model/kernels/simd/register_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"

namespace redraft::model::simd {
namespace {

struct Operands {
  Operands(int rows, std::int64_t cols, std::int64_t depth, std::int64_t cStride)
      : a(static_cast<std::size_t>(rows * depth)),
        panel(static_cast<std::size_t>(depth * cols)),
        c(static_cast<std::size_t>(rows * cStride)) {
    CounterRng rng(7, "tile");
    for (std::vector<float>* values : {&a, &panel, &c})
      for (float& value : *values) value = static_cast<float>(rng.uniform() - 0.5);
  }
  std::vector<float> a, panel, c;
};

/// One chain of fused multiply-adds an element, depth ascending.
std::vector<float> chains(const Operands& in, int rows, std::int64_t cols, std::int64_t depth, Strided a,
                          std::int64_t cStride, bool fresh) {
  std::vector<float> c = in.c;
  for (int r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < cols; ++j) {
      float& sum = c[static_cast<std::size_t>(r * cStride + j)];
      if (fresh) sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const float left = a.data[r * a.rowStride + k * a.depthStride];
        sum = std::fma(left, in.panel[static_cast<std::size_t>(k * cols + j)], sum);
      }
    }
  }
  return c;
}

TEST(RegisterTileTest, EveryWidthGivesTheBitsOfOneChainAnElement) {
  constexpr std::int64_t kDepth = 37, kStride = 37;
  ASSERT_FALSE(registerTiles().empty());
  for (const RegisterTile& tile : registerTiles()) {
    ASSERT_LE(tile.rows * tile.cols, kMostTileElements);
    ASSERT_LE(tile.cols, kStride);
    for (int rows = 1; rows <= tile.rows; ++rows) {
      for (const bool fresh : {false, true}) {
        for (const bool transposed : {false, true}) {
          Operands in(rows, tile.cols, kDepth, kStride);
          const Strided a = transposed ? Strided{in.a.data(), 1, rows} : Strided{in.a.data(), kDepth, 1};
          const std::vector<float> want = chains(in, rows, tile.cols, kDepth, a, kStride, fresh);
          tile.run(rows, kDepth, a, in.panel.data(), in.c.data(), kStride, fresh);
          EXPECT_EQ(in.c, want) << tile.name << ", " << rows << " rows, fresh " << fresh << ", transposed "
                                << transposed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace redraft::model::simd
