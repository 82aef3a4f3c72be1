#include <vector>

#include "base/philox.h"
#include "model/kernels/attention.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

constexpr std::uint32_t kPartial = 0x80000000u;

struct MaskCase {
  std::int64_t batch, blocks, blockSize, context, window;
};

void PrintTo(const MaskCase& c, std::ostream* out) {
  *out << "B" << c.batch << " N" << c.blocks << " b" << c.blockSize << " S" << c.context << " W" << c.window;
}

/// The training mask as the reference writes it, one element at a time.
bool visible(const MaskCase& c, std::int64_t anchor, bool keep, std::int64_t q, std::int64_t kv) {
  const std::int64_t j = q / c.blockSize, o = q % c.blockSize;
  if (!keep) return false;
  if (kv < c.context) return kv < anchor && (c.window == 0 || kv >= anchor + o - (c.window - 1));
  return (kv - c.context) / c.blockSize == j && (c.window == 0 || (kv - c.context) % c.blockSize <= o);
}

struct Inputs {
  at::Tensor anchors, keep;
};

/// Unsorted anchors with repeats, up to the very end of the context; about a fifth of the blocks dropped.
Inputs randomInputs(const MaskCase& c, std::uint64_t seed) {
  const at::Tensor anchors = integers({c.batch, c.blocks}, c.context + 1, seed);
  return {anchors, integers({c.batch, c.blocks}, 5, seed + 1).ne(0)};
}

class DraftMaskTest : public ::testing::TestWithParam<MaskCase> {};

TEST_P(DraftMaskTest, DenseFormEqualsTheFormula) {
  const MaskCase c = GetParam();
  const auto [anchors, keep] = randomInputs(c, 1);
  const BlockMask mask = makeDraftMask(anchors, keep, c.context, c.blockSize, c.window);
  const at::Tensor dense = denseMask(mask);
  ASSERT_EQ(dense.sizes(), at::IntArrayRef({c.batch, mask.queries, mask.keys}));
  const bool* at = dense.const_data_ptr<bool>();
  const std::int64_t* a = anchors.const_data_ptr<std::int64_t>();
  const bool* k = keep.const_data_ptr<bool>();
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t q = 0; q < mask.queries; ++q) {
      const std::int64_t block = b * c.blocks + q / c.blockSize;
      for (std::int64_t kv = 0; kv < mask.keys; ++kv) {
        ASSERT_EQ(*at++, visible(c, a[block], k[block], q, kv)) << "b " << b << " q " << q << " kv " << kv;
      }
    }
  }
}

/// Every listed tile has a visible pair, every visible pair a listed tile, and a full tile only visible pairs.
void expectExactTiles(const BlockMask& mask) {
  const at::Tensor dense = denseMask(mask);
  const bool* at = dense.const_data_ptr<bool>();
  const std::int64_t queryTiles = (mask.queries + mask.queryTile - 1) / mask.queryTile;
  const std::int64_t keyTiles = (mask.keys + mask.keyTile - 1) / mask.keyTile;
  const auto* offsets = mask.rowOffsets.const_data_ptr<std::int32_t>();
  ASSERT_EQ(mask.rowOffsets.numel(), mask.batch * queryTiles + 1);
  ASSERT_EQ(mask.columns.numel(), offsets[mask.batch * queryTiles]);
  for (std::int64_t row = 0; row < mask.batch * queryTiles; ++row) {
    std::vector<int> listed(static_cast<std::size_t>(keyTiles), 0);  // 0 no, 1 partial, 2 full
    std::int64_t last = -1;
    for (std::int32_t e = offsets[row]; e < offsets[row + 1]; ++e) {
      const auto column = static_cast<std::uint32_t>(mask.columns.const_data_ptr<std::int32_t>()[e]);
      const std::int64_t tile = column & ~kPartial;
      ASSERT_LT(last, tile) << "columns must ascend";
      ASSERT_LT(tile, keyTiles);
      last = tile;
      listed[static_cast<std::size_t>(tile)] = (column & kPartial) != 0 ? 1 : 2;
    }
    const std::int64_t batch = row / queryTiles, first = row % queryTiles * mask.queryTile;
    for (std::int64_t tile = 0; tile < keyTiles; ++tile) {
      std::int64_t seen = 0, pairs = 0;
      for (std::int64_t q = first; q < std::min(first + mask.queryTile, mask.queries); ++q) {
        for (std::int64_t kv = tile * mask.keyTile; kv < (tile + 1) * mask.keyTile; ++kv, ++pairs) {
          if (kv < mask.keys) seen += at[(batch * mask.queries + q) * mask.keys + kv];
        }
      }
      const int kind = listed[static_cast<std::size_t>(tile)];
      ASSERT_EQ(kind != 0, seen > 0) << "row " << row << " tile " << tile;
      if (kind == 2) {
        ASSERT_EQ(seen, pairs) << "row " << row << " tile " << tile;
      }
      const bool contextOnly = (tile + 1) * mask.keyTile <= mask.context;
      if (contextOnly && seen == pairs && pairs > 0) {
        ASSERT_EQ(kind, 2) << "row " << row << " tile " << tile;
      }
    }
  }
}

TEST_P(DraftMaskTest, TilesListWhatTheDenseFormShows) {
  const MaskCase c = GetParam();
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const auto [anchors, keep] = randomInputs(c, 10 * seed);
    expectExactTiles(makeDraftMask(anchors, keep, c.context, c.blockSize, c.window));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DraftMaskTest,
                         ::testing::Values(MaskCase{1, 1, 1, 1, 0}, MaskCase{2, 9, 7, 100, 0},
                                           MaskCase{1, 8, 16, 256, 0}, MaskCase{2, 9, 7, 100, 1},
                                           MaskCase{1, 30, 5, 300, 20}, MaskCase{3, 5, 16, 200, 64},
                                           MaskCase{1, 2, 150, 130, 0}, MaskCase{1, 2, 150, 130, 90},
                                           MaskCase{2, 3, 4, 0, 0}, MaskCase{1, 40, 8, 640, 1000}));

TEST(DraftMaskEdgeTest, DroppedBlocksListNothing) {
  const BlockMask mask = makeDraftMask(at::zeros({2, 8}, at::kLong), at::zeros({2, 8}, at::kBool), 100, 16, 0);
  EXPECT_EQ(mask.columns.numel(), 0);
  EXPECT_FALSE(denseMask(mask).any().item().toBool());
}

TEST(DraftMaskEdgeTest, NoBlocksMakeAMaskWithoutQueries) {
  const BlockMask mask = makeDraftMask(at::empty({2, 0}, at::kLong), at::empty({2, 0}, at::kBool), 100, 16, 0);
  EXPECT_EQ(mask.queries, 0);
  EXPECT_EQ(mask.columns.numel(), 0);
}

TEST(DraftMaskEdgeTest, AnAnchorAtTheEndOfTheContextShowsAllOfIt) {
  // What generation asks for: one block after the whole context.
  const BlockMask mask = makeDraftMask(at::full({1, 1}, 70, at::kLong), at::ones({1, 1}, at::kBool), 70, 4, 0);
  EXPECT_TRUE(denseMask(mask).all().item().toBool());
  expectExactTiles(mask);
}

TEST(CausalMaskTest, ShowsEachQueryTheKeysUpToItsOwn) {
  for (const auto& [queries, keys] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {64, 64}, {100, 100}, {1, 300}, {70, 200}, {130, 193}}) {
    const BlockMask mask = makeCausalMask(2, queries, keys, at::kCPU);
    const at::Tensor want = at::ones({queries, keys}, at::kBool).tril(keys - queries);
    EXPECT_TRUE(sameBits(denseMask(mask), want.expand({2, queries, keys})));
    expectExactTiles(mask);
  }
}

}  // namespace
}  // namespace redraft::model::testing
