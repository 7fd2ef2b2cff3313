#include "core/ops/cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"
#include "core/ops/cpu/transpose.h"

// Matrix product by blocks, after Goto and van de Geijn 2008 ("Anatomy of high-performance matrix
// multiplication"). Three nested blocks, one for each level of memory:
//
//   B block [kDepth, kColumns]  packed, stays in L3 (or L2)
//   A block [kRows, kDepth]     packed, stays in L2
//   tile    [kTileRows, kTileColumns] of C, in registers; while it is summed, one panel of B [kDepth,
//   kTileColumns]
//                               stays in L1 and panels of A [kTileRows, kDepth] stream through.
//
// Packing lays the elements out in the order in which the tile reads them.

namespace tandem::ops::cpu {

namespace {

// A tile of kTileRows × 2 vectors of sums, plus two vectors of B and a broadcast element of A, fills the
// registers.
constexpr int kTileRows = kVectorRegisters == 32 ? 14 : 6;
template <class T>
constexpr int kTileColumns = 2 * kLanes<T>;

constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kRows = 28 * kTileRows;
constexpr std::int64_t kColumns = 1024;

// A panel of A keeps the order of its source, so that packing is copying: rows one after the other (padded,
// or all rows would fall on the same lines of L1), or columns one after the other.
struct RowPanel {
  static constexpr std::int64_t kRowStride = kDepth + 16, kDepthStride = 1;
};
struct ColumnPanel {
  static constexpr std::int64_t kRowStride = 1, kDepthStride = kTileRows;
};
constexpr std::int64_t kPanelSize = kTileRows * RowPanel::kRowStride;

/// Packed blocks of one thread. They are reused by every product that the thread ever makes: allocating per
/// call would break the rule that a step allocates nothing, and a caller that had to bring them would learn
/// the block sizes. Nothing is remembered in them from one call to the next.
template <class T>
struct Blocks {
  alignas(256) T a[kRows / kTileRows * kPanelSize];
  alignas(256) T b[kDepth * kColumns];

  static Blocks& of_this_thread() {
    thread_local const std::unique_ptr<Blocks> blocks(new Blocks);
    return *blocks;
  }
};

/// Packs a panel of B [depth, columns], depth-major; columns missing from kTileColumns are zero.
template <class T>
void pack_panel(MatrixView<T> b, std::int64_t depth, std::int64_t columns, T* panel) {
  constexpr int kWidth = kTileColumns<T>, kLane = kLanes<T>;
  if (columns < kWidth) {
    std::fill_n(panel, depth * kWidth, T(0));
    for (std::int64_t p = 0; p < depth; ++p)
      for (std::int64_t j = 0; j < columns; ++j) panel[p * kWidth + j] = *b.at(p, j);
  } else if (b.column_stride == 1) {
    for (std::int64_t p = 0; p < depth; ++p) std::memcpy(panel + p * kWidth, b.at(p, 0), kWidth * sizeof(T));
  } else {
    const std::int64_t whole = depth / kLane * kLane;
    for (std::int64_t j = 0; j < kWidth; j += kLane) {
      for (std::int64_t p = 0; p < whole; p += kLane)
        transpose_block(b.at(p, j), b.column_stride, panel + p * kWidth + j, kWidth);
      for (std::int64_t p = whole; p < depth; ++p)
        for (std::int64_t x = 0; x < kLane; ++x) panel[p * kWidth + j + x] = *b.at(p, j + x);
    }
  }
}

/// `rows` rows are cut into tiles of nearly the same height: a low one at the end would leave the arithmetic
/// units half idle.
std::int64_t tiles_for(std::int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
std::int64_t tile_rows(std::int64_t rows) {
  const std::int64_t tiles = tiles_for(rows);
  return (rows + tiles - 1) / tiles;
}

/// Packs A [rows, depth], rows contiguous, as one panel for each tile.
template <class T>
void pack_row_panels(MatrixView<T> a, std::int64_t rows, std::int64_t depth, T* packed) {
  const std::int64_t height = tile_rows(rows);
  for (std::int64_t i = 0; i < rows; ++i)
    std::memcpy(packed + i / height * kPanelSize + i % height * RowPanel::kRowStride, a.at(i, 0),
                static_cast<std::size_t>(depth) * sizeof(T));
}

/// Packs A [rows, depth], columns contiguous, as one panel for each tile.
template <class T>
void pack_column_panels(MatrixView<T> a, std::int64_t rows, std::int64_t depth, T* packed) {
  const std::int64_t height = tile_rows(rows);
  for (std::int64_t p = 0; p < depth; ++p) {
    T* column = packed + p * kTileRows;
    std::int64_t i = 0;  // a copy of fixed length takes two moves; what it takes too much is not read
    for (; i + kTileRows <= rows; i += height, column += kPanelSize)
      std::memcpy(column, a.at(i, p), kTileRows * sizeof(T));
    for (; i < rows; i += height, column += kPanelSize)
      std::memcpy(column, a.at(i, p), static_cast<std::size_t>(std::min(height, rows - i)) * sizeof(T));
  }
}

/// What a tile's sums start from: C or zero, plus a bias [columns] unless it is null.
template <class T>
struct Start {
  bool add;
  const T* bias;
};

/// C [Rows, kTileColumns] = start + a panel of A · a panel of B.
template <int Rows, class Panel, class T>
void full_tile(std::int64_t depth, const T* a, const T* b, T* c, std::int64_t c_stride, Start<T> start) {
  constexpr int kLane = kLanes<T>;
  Vec<T> sums[Rows][2];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
      sums[i][j] = (start.add ? load(c + i * c_stride + j * kLane) : Vec<T>{}) +
                   (start.bias ? load(start.bias + j * kLane) : Vec<T>{});
  for (std::int64_t p = 0; p < depth; ++p, a += Panel::kDepthStride, b += 2 * kLane) {
    const Vec<T> b0 = load(b), b1 = load(b + kLane);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] += a[i * Panel::kRowStride] * b0;
      sums[i][1] += a[i * Panel::kRowStride] * b1;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) store(c + i * c_stride + j * kLane, sums[i][j]);
}

/// The same for a tile with fewer columns: computed in a full one beside C.
template <int Rows, class Panel, class T>
void narrow_tile(std::int64_t depth, const T* a, const T* b, T* c, std::int64_t c_stride,
                 std::int64_t columns, Start<T> start) {
  constexpr int kWidth = kTileColumns<T>;
  const auto bytes = static_cast<std::size_t>(columns) * sizeof(T);
  alignas(kVectorBytes) T tile[Rows * kWidth] = {};
  alignas(kVectorBytes) T bias[kWidth] = {};
  if (start.add)
    for (int i = 0; i < Rows; ++i) std::memcpy(tile + i * kWidth, c + i * c_stride, bytes);
  if (start.bias) std::memcpy(bias, start.bias, bytes);
  full_tile<Rows, Panel, T>(depth, a, b, tile, kWidth, {start.add, start.bias ? bias : nullptr});
  for (int i = 0; i < Rows; ++i) std::memcpy(c + i * c_stride, tile + i * kWidth, bytes);
}

/// Picks the tile made for `rows` (≤ Rows) rows.
template <int Rows, class Panel, class T>
void tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a, const T* b, T* c,
          std::int64_t c_stride, Start<T> start) {
  if constexpr (Rows > 1)
    if (rows < Rows) return tile<Rows - 1, Panel, T>(rows, columns, depth, a, b, c, c_stride, start);
  if (columns == kTileColumns<T>)
    full_tile<Rows, Panel, T>(depth, a, b, c, c_stride, start);
  else
    narrow_tile<Rows, Panel, T>(depth, a, b, c, c_stride, columns, start);
}

/// Asks for the share `part` of `parts` of B [depth, columns] to be brought near.
template <class T>
void prefetch(MatrixView<T> b, std::int64_t depth, std::int64_t columns, std::int64_t part,
              std::int64_t parts) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const bool by_rows = b.column_stride == 1;
  const std::int64_t lines = by_rows ? depth : columns, length = by_rows ? columns : depth;
  const std::int64_t stride = by_rows ? b.row_stride : b.column_stride;
  for (std::int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i)
    for (std::int64_t j = 0; j < length; j += kLine) __builtin_prefetch(b.data + i * stride + j, 0, 2);
}

/// Which block of A meets a block of B.
struct Turn {
  bool first, only;
};

/// C [rows, columns] = start + packed A · B, panel by panel of B. The first block of A packs each panel just
/// before it is multiplied, and has the next one fetched meanwhile: where A has few rows, reading B takes as
/// long as multiplying with it. If no other block of A follows, the panels share one place, which stays in
/// L1.
template <class Panel, class T>
void multiply_blocks(std::int64_t rows, std::int64_t columns, std::int64_t depth, Turn turn, MatrixView<T> b,
                     Blocks<T>& blocks, T* c, std::int64_t c_stride, Start<T> start) {
  constexpr std::int64_t kWidth = kTileColumns<T>;
  const std::int64_t tiles = tiles_for(rows), height = tile_rows(rows);
  for (std::int64_t j = 0; j < columns; j += kWidth) {
    const std::int64_t width = std::min(kWidth, columns - j), next = std::min(kWidth, columns - j - width);
    T* panel = blocks.b + (turn.only ? 0 : j * depth);
    if (turn.first) pack_panel(b.from(0, j), depth, width, panel);
    for (std::int64_t k = 0; k < tiles; ++k) {
      if (turn.first) prefetch(b.from(0, j + width), depth, next, k, tiles);
      const std::int64_t i = k * height;
      tile<kTileRows, Panel, T>(std::min(height, rows - i), width, depth, blocks.a + k * kPanelSize, panel,
                                c + i * c_stride + j, c_stride,
                                {start.add, start.bias ? start.bias + j : nullptr});
    }
  }
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
          std::int64_t c_stride, Write write, const T* bias) {
  Blocks<T>& blocks = Blocks<T>::of_this_thread();
  const bool row_panels = a.column_stride == 1;
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - j);
    for (std::int64_t p = 0; p < std::max<std::int64_t>(k, 1); p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      const Start<T> start{write == Write::add || p > 0, bias && p == 0 ? bias + j : nullptr};
      for (std::int64_t i = 0; i < m; i += kRows) {
        const std::int64_t rows = std::min(kRows, m - i);
        const Turn turn{i == 0, m <= kRows};
        T* out = c + i * c_stride + j;
        if (row_panels) {
          pack_row_panels(a.from(i, p), rows, depth, blocks.a);
          multiply_blocks<RowPanel>(rows, columns, depth, turn, b.from(p, j), blocks, out, c_stride, start);
        } else {
          pack_column_panels(a.from(i, p), rows, depth, blocks.a);
          multiply_blocks<ColumnPanel>(rows, columns, depth, turn, b.from(p, j), blocks, out, c_stride,
                                       start);
        }
      }
    }
  }
}

template <class T>
void gemm(const Context& context, std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a,
          MatrixView<T> b, T* c, std::int64_t c_stride, Write write, const T* bias) {
  if (m >= n)
    parallel_for(context, m, kTileRows, kTileRows, [&](std::int64_t begin, std::int64_t end) {
      gemm<T>(end - begin, n, k, a.from(begin, 0), b, c + begin * c_stride, c_stride, write, bias);
    });
  else
    parallel_for(context, n, kTileColumns<T>, kTileColumns<T>, [&](std::int64_t begin, std::int64_t end) {
      gemm<T>(m, end - begin, k, a, b.from(0, begin), c + begin, c_stride, write,
              bias ? bias + begin : nullptr);
    });
}

#define TANDEM_INSTANTIATE(T)                                                                       \
  template void gemm<T>(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, \
                        std::int64_t, Write, const T*);                                             \
  template void gemm<T>(const Context&, std::int64_t, std::int64_t, std::int64_t, MatrixView<T>,    \
                        MatrixView<T>, T*, std::int64_t, Write, const T*)
TANDEM_INSTANTIATE(float);
TANDEM_INSTANTIATE(double);
#undef TANDEM_INSTANTIATE

}  // namespace tandem::ops::cpu
