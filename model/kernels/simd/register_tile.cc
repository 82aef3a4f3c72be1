#include "model/kernels/simd/register_tile.h"

#include "model/kernels/simd/micro.h"

namespace redraft::model::simd {
namespace {

constexpr std::int64_t kNarrow = 16;

void narrowTile(int rows, std::int64_t depth, Strided a, const float* panel, float* c, std::int64_t cStride,
                bool fresh) {
  registerRows<2>(rows, depth, a, panel, kNarrow, c, cStride, fresh);
}

}  // namespace

const std::vector<RegisterTile>& registerTiles() {
  static const std::vector<RegisterTile> tiles = [] {
    std::vector<RegisterTile> found = {{"avx2", 6, kNarrow, narrowTile}};
    if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512f", 12, 32, wideTile});
    return found;
  }();
  return tiles;
}

}  // namespace redraft::model::simd
