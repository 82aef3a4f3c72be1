#include "model/kernels/simd/gemm.h"

#include <algorithm>

#include "model/kernels/parallel.h"
#include "model/kernels/simd/register_tile.h"
#include "model/kernels/simd/scratch.h"
#include "model/kernels/simd/transpose.h"
#include "model/kernels/simd/vec.h"

namespace redraft::model::simd {
namespace {

// Blocking after Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication": a panel of B (kDepth × 16 or
// 32 columns, as wide as the register tile) stays in the first-level cache, a block of A (kRows × kDepth, 96 KiB) in
// the second, all of B's block in the third.
constexpr std::int64_t kRows = 96;
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kCols = 2048;
constexpr std::int64_t kSerialTerms = std::int64_t{1} << 20;  // below this many terms one thread is faster

thread_local Scratch tPanels, tBlockA, tBlockC;

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
const T* at(const MatrixView& m, std::int64_t row, std::int64_t col) {
  const auto* data = static_cast<const T*>(m.data);
  return m.transposed ? data + col * m.stride + row : data + row * m.stride + col;
}

/// dst[k · dstStride + n] = w[n · stride + k] for n < width, and 0 from there to the next multiple of 8 that is
/// `padded`.
template <class T>
void packTransposed(const T* w, std::int64_t stride, std::int64_t depth, std::int64_t width, std::int64_t padded,
                    float* dst, std::int64_t dstStride) {
  for (std::int64_t first = 0; first < padded; first += 8) {
    const std::int64_t lanes = std::clamp<std::int64_t>(width - first, 0, 8);
    for (std::int64_t k = 0; k < depth; k += 8) {
      const std::int64_t count = std::min<std::int64_t>(8, depth - k);
      __m256 r[8];
      for (std::int64_t n = 0; n < 8; ++n) {
        const T* p = w + (first + n) * stride + k;
        r[n] = n >= lanes ? _mm256_setzero_ps() : count == 8 ? load8(p) : loadPart(p, count);
      }
      transpose8(r);
      for (std::int64_t i = 0; i < count; ++i) store8(dst + (k + i) * dstStride + first, r[i]);
    }
  }
}

/// dst[k · padded + n] = b[k · stride + n] for n < width, and 0 from there to `padded`.
template <class T>
void packNatural(const T* b, std::int64_t stride, std::int64_t depth, std::int64_t width, std::int64_t padded,
                 float* dst) {
  for (std::int64_t k = 0; k < depth; ++k, b += stride, dst += padded) {
    for (std::int64_t n = 0; n < padded; n += 8) {
      const std::int64_t lanes = width - n;
      store8(dst + n, lanes >= 8 ? load8(b + n) : lanes > 0 ? loadPart(b + n, lanes) : _mm256_setzero_ps());
    }
  }
}

template <class T>
void widenRow(const T* src, std::int64_t count, float* dst) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) store8(dst + i, load8(src + i));
  if (i < count) storePart(dst + i, count - i, loadPart(src + i, count - i));
}

template <class T>
void narrow(const float* src, std::int64_t count, T* dst) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) store8(dst + i, load8(src + i));
  if (i < count) storePart(dst + i, count - i, load8(src + i));
}

const RegisterTile& registerTile() {
  static const RegisterTile fastest = registerTiles().back();
  return fastest;
}

/// One pass over depth k0 … k0 + depth of columns n0 … n0 + cols.
struct Slice {
  std::int64_t n0, cols, k0, depth;
  const float* panels;  // panels of depth × the register tile's columns
  float* c;             // element (0, n0) of the float32 result
  std::int64_t cStride;
  bool fresh;
};

/// A(row … row + rows, k0 …) as floats: in place where that is near enough, otherwise copied to this thread's block.
template <class T>
Strided blockOfA(const Product& p, const Slice& s, std::int64_t row, std::int64_t rows) {
  const T* src = at<T>(p.a, row, s.k0);
  if constexpr (std::is_same_v<T, float>) {
    const bool once = s.cols <= 64;
    const bool compact = p.a.stride <= kDepth && p.depth <= kDepth;
    if (once || compact) {
      return p.a.transposed ? Strided{src, 1, p.a.stride} : Strided{src, p.a.stride, 1};
    }
  }
  // Depth-major, so that a register tile reads its rows from one place.
  float* block = tBlockA.floats(kRows * kDepth);
  if (p.a.transposed) {
    for (std::int64_t k = 0; k < s.depth; ++k) widenRow(src + k * p.a.stride, rows, block + k * kRows);
  } else {
    packTransposed(src, p.a.stride, s.depth, rows, ceilDiv(rows, 8) * 8, block, kRows);
  }
  return {block, 1, kRows};
}

/// A tile whose columns run past the result goes through a whole one, so that every element sees the same arithmetic.
void edgeTile(const RegisterTile& tile, int rows, std::int64_t width, const Slice& s, Strided a, const float* panel,
              float* c) {
  float whole[kMostTileElements] = {};
  for (int r = 0; r < rows && !s.fresh; ++r) std::copy_n(c + r * s.cStride, width, whole + r * tile.cols);
  tile.run(rows, s.depth, a, panel, whole, tile.cols, s.fresh);
  for (int r = 0; r < rows; ++r) std::copy_n(whole + r * tile.cols, width, c + r * s.cStride);
}

void multiplyBlock(const Slice& s, Strided a, std::int64_t row, std::int64_t rows, std::int64_t panelBegin,
                   std::int64_t panelEnd) {
  const RegisterTile& tile = registerTile();
  for (std::int64_t j = panelBegin; j < panelEnd; ++j) {
    const float* panel = s.panels + j * s.depth * tile.cols;
    const std::int64_t width = std::min(tile.cols, s.cols - j * tile.cols);
    for (std::int64_t i = 0; i < rows; i += tile.rows) {
      const int height = static_cast<int>(std::min<std::int64_t>(tile.rows, rows - i));
      const Strided sliver{a.data + i * a.rowStride, a.rowStride, a.depthStride};
      float* c = s.c + (row + i) * s.cStride + j * tile.cols;
      if (width == tile.cols) {
        tile.run(height, s.depth, sliver, panel, c, s.cStride, s.fresh);
      } else {
        edgeTile(tile, height, width, s, sliver, panel, c);
      }
    }
  }
}

template <class T>
void multiplySlice(const Product& p, Slice s, bool serial) {
  const std::int64_t width = registerTile().cols;  // of a panel
  const std::int64_t panels = ceilDiv(s.cols, width);
  float* packed = tPanels.floats(static_cast<std::size_t>(panels * width * s.depth));
  s.panels = packed;
  parallelFor(panels, serial ? panels : 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      const T* src = at<T>(p.b, s.k0, s.n0 + j * width);
      const std::int64_t columns = std::min(width, s.cols - j * width);
      float* dst = packed + j * s.depth * width;
      if (p.b.transposed) {
        packTransposed(src, p.b.stride, s.depth, columns, width, dst, width);
      } else {
        packNatural(src, p.b.stride, s.depth, columns, width, dst);
      }
    }
  });
  const std::int64_t rowBlocks = ceilDiv(p.rows, kRows);
  // Few rows: cut the columns too, so that every thread has work.
  const std::int64_t colBlocks = serial || rowBlocks >= 16 ? 1 : std::min<std::int64_t>(panels, 8);
  const std::int64_t panelsEach = ceilDiv(panels, colBlocks);
  const std::int64_t tasks = rowBlocks * colBlocks;
  parallelFor(tasks, serial ? tasks : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t row = t / colBlocks * kRows;
      const std::int64_t first = t % colBlocks * panelsEach;
      const std::int64_t rows = std::min(kRows, p.rows - row);
      multiplyBlock(s, blockOfA<T>(p, s, row, rows), row, rows, first, std::min(panels, first + panelsEach));
    }
  });
}

template <class T>
void multiplyAs(const Product& p) {
  const bool serial = p.rows * p.cols * std::max<std::int64_t>(p.depth, 1) <= kSerialTerms;
  T* c = static_cast<T*>(p.c);
  if (p.depth == 0) std::fill_n(c, p.rows * p.cols, T{});
  for (std::int64_t n0 = 0; n0 < p.cols; n0 += kCols) {
    const std::int64_t cols = std::min(kCols, p.cols - n0);
    Slice s{n0, cols, 0, 0, nullptr, nullptr, p.cols, true};
    if constexpr (std::is_same_v<T, float>) {
      s.c = c + n0;
    } else {
      s.c = tBlockC.floats(static_cast<std::size_t>(p.rows * cols + 8));
      s.cStride = cols;
    }
    for (s.k0 = 0; s.k0 < p.depth; s.k0 += kDepth) {
      s.depth = std::min(kDepth, p.depth - s.k0);
      s.fresh = s.k0 == 0;
      multiplySlice<T>(p, s, serial);
    }
    if constexpr (!std::is_same_v<T, float>) {
      if (p.depth == 0) continue;
      for (std::int64_t i = 0; i < p.rows; ++i) narrow(s.c + i * cols, cols, c + i * p.cols + n0);
    }
  }
}

}  // namespace

void multiply(const Product& product) {
  if (product.rows == 0 || product.cols == 0) return;
  if (product.element == Element::kFloat) {
    multiplyAs<float>(product);
  } else {
    multiplyAs<BFloat>(product);
  }
}

}  // namespace redraft::model::simd
