#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/packing_space.hpp"
#include "kernels/cpu/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The tile of c in registers, of which AVX-512 has 32, and the blocks of a and b that stay in the caches (L1 32 KiB,
/// L2 1 MiB); not tuned further.
template <class T>
constexpr int64_t kLanes = HWY_LANES(T);
constexpr int64_t kTileRows = HWY_MAX_BYTES == 64 ? 12 : 6;
template <class T>
constexpr int64_t kTileColumns = 2 * kLanes<T>;
constexpr int64_t kRowBlock = 96, kColumnBlock = 1024, kDepthBlock = 256;
constexpr int64_t kFewColumns = 128;  ///< up to so many, packing rows of a does not pay
static_assert(kRowBlock % kTileRows == 0 && kColumnBlock % kTileColumns<float> == 0);

/// Vectors of 16 bytes, which every instruction set has.
template <class T>
constexpr int64_t kCorner = 16 / sizeof(T);

/// Turns kCorner lines of as many neighbours over: to[k * tile + i] = from[i * line_stride + k].
template <class T>
HWY_INLINE void transpose_corner(const T* from, int64_t line_stride, T* to, int64_t tile) {
    const hn::FixedTag<T, kCorner<T>> d;
    const auto line = [&](int64_t i) { return hn::LoadU(d, from + i * line_stride); };
    if constexpr (sizeof(T) == 8) {
        hn::StoreU(hn::InterleaveLower(d, line(0), line(1)), d, to);
        hn::StoreU(hn::InterleaveUpper(d, line(0), line(1)), d, to + tile);
    } else {
        const hn::FixedTag<double, 2> pairs;
        const auto low = [&](auto a, auto b) { return hn::BitCast(pairs, hn::InterleaveLower(d, a, b)); };
        const auto high = [&](auto a, auto b) { return hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)); };
        const auto store = [&](auto x, int64_t k) { hn::StoreU(hn::BitCast(d, x), d, to + k * tile); };
        const auto low01 = low(line(0), line(1)), low23 = low(line(2), line(3));
        const auto high01 = high(line(0), line(1)), high23 = high(line(2), line(3));
        store(hn::InterleaveLower(pairs, low01, low23), 0);
        store(hn::InterleaveUpper(pairs, low01, low23), 1);
        store(hn::InterleaveLower(pairs, high01, high23), 2);
        store(hn::InterleaveUpper(pairs, high01, high23), 3);
    }
}

/// to[k * kTile + i] = from[i * line_stride + k] of `lines` lines of `depth` neighbours.
template <int64_t kTile, class T>
void transpose(const T* from, int64_t line_stride, int64_t lines, int64_t depth, T* to) {
    const int64_t whole_lines = lines / kCorner<T> * kCorner<T>, whole = depth / kCorner<T> * kCorner<T>;
    for (int64_t k = 0; k < whole; k += kCorner<T>) {
        for (int64_t i = 0; i < whole_lines; i += kCorner<T>) {
            transpose_corner(from + i * line_stride + k, line_stride, to + k * kTile + i, kTile);
        }
        for (int64_t i = whole_lines; i < lines; ++i) {
            for (int64_t j = k; j < k + kCorner<T>; ++j) to[j * kTile + i] = from[i * line_stride + j];
        }
    }
    for (int64_t k = whole; k < depth; ++k) {
        for (int64_t i = 0; i < lines; ++i) to[k * kTile + i] = from[i * line_stride + k];
    }
}

/// Copies lines into panels of kTile lines, each panel depth-major; missing lines are 0.
template <int64_t kTile, class T>
void pack(const T* from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth, T* to) {
    for (int64_t first = 0; first < lines; first += kTile) {
        const int64_t present = std::min(kTile, lines - first);
        const T* panel = from + first * line_stride;
        if (present < kTile) std::fill_n(to, kTile * depth, T{});
        if (line_stride == 1 && present == kTile) {
            constexpr size_t kBytes = kTile * sizeof(T);  // known, so that no function is called
            for (int64_t k = 0; k < depth; ++k) std::memcpy(to + k * kTile, panel + k * depth_stride, kBytes);
        } else if (line_stride == 1) {
            for (int64_t k = 0; k < depth; ++k) std::copy_n(panel + k * depth_stride, present, to + k * kTile);
        } else if (depth_stride == 1) {
            transpose<kTile>(panel, line_stride, present, depth, to);
        } else {
            for (int64_t i = 0; i < present; ++i) {
                for (int64_t k = 0; k < depth; ++k) to[k * kTile + i] = panel[i * line_stride + k * depth_stride];
            }
        }
        to += kTile * depth;
    }
}

/// A panel of a, packed.
template <class T>
struct PackedRows {
    const T* panel;
    [[nodiscard]] HWY_INLINE T at(int64_t i, int64_t k) const { return panel[k * kTileRows + i]; }
};
/// Rows of a where they are, each of neighbours; the last one stands for those that are missing.
template <class T>
struct RowsInPlace {
    const T* row[kTileRows];
    RowsInPlace(const T* first, int64_t stride, int64_t rows) {
        for (int64_t i = 0; i < kTileRows; ++i) row[i] = first + std::min(i, rows - 1) * stride;
    }
    [[nodiscard]] HWY_INLINE T at(int64_t i, int64_t k) const { return row[i][k]; }
};

/// One tile of c from a panel of a and a panel of b; `rows` and `columns` of it are stored.
template <class T, class Rows>
void tile_product(int64_t depth, const Rows& given, const T* b, T* c, int64_t c_stride, int64_t rows, int64_t columns,
                  bool accumulate) {
    const Rows a = given;
    const hn::ScalableTag<T> d;
    hn::Vec<decltype(d)> sum[kTileRows][2];
    // Every loop over `sum` is unrolled: an index known only at run time would keep it in memory.
#pragma GCC unroll 12
    for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = hn::Zero(d);
    for (int64_t k = 0; k < depth; ++k) {
        const auto b0 = hn::Load(d, b + k * kTileColumns<T>), b1 = hn::Load(d, b + k * kTileColumns<T> + kLanes<T>);
#pragma GCC unroll 12
        for (int64_t i = 0; i < kTileRows; ++i) {
            const auto factor = hn::Set(d, a.at(i, k));
            sum[i][0] = hn::MulAdd(factor, b0, sum[i][0]);
            sum[i][1] = hn::MulAdd(factor, b1, sum[i][1]);
        }
    }
    if (rows == kTileRows && columns == kTileColumns<T>) {
#pragma GCC unroll 12
        for (int64_t i = 0; i < kTileRows; ++i) {
            T* row = c + i * c_stride;
            if (accumulate) {
                sum[i][0] = sum[i][0] + hn::LoadU(d, row);
                sum[i][1] = sum[i][1] + hn::LoadU(d, row + kLanes<T>);
            }
            hn::StoreU(sum[i][0], d, row);
            hn::StoreU(sum[i][1], d, row + kLanes<T>);
        }
        return;
    }
    HWY_ALIGN T tile[kTileRows][kTileColumns<T>];
#pragma GCC unroll 12
    for (int64_t i = 0; i < kTileRows; ++i) {
        hn::Store(sum[i][0], d, tile[i]);
        hn::Store(sum[i][1], d, tile[i] + kLanes<T>);
    }
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            c[i * c_stride + j] = accumulate ? c[i * c_stride + j] + tile[i][j] : tile[i][j];
        }
    }
}

template <class T>
void serial_gemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride,
                 bool accumulate) {
    constexpr size_t kBytes = (kRowBlock + kColumnBlock) * kDepthBlock * sizeof(T);
    auto* packed_a = static_cast<T*>(packing_space<kBytes>());
    T* packed_b = packed_a + kRowBlock * kDepthBlock;
    for (int64_t column = 0; column < n; column += kColumnBlock) {
        const int64_t columns = std::min(kColumnBlock, n - column);
        for (int64_t start = 0; start < k; start += kDepthBlock) {
            const int64_t depth = std::min(kDepthBlock, k - start);
            const bool adds = accumulate || start > 0;
            pack<kTileColumns<T>>(b.data + start * b.row_stride + column * b.column_stride, b.column_stride,
                                  b.row_stride, columns, depth, packed_b);
            const auto each_tile = [&](int64_t row, int64_t rows, const auto& rows_at) {
                for (int64_t j = 0; j < columns; j += kTileColumns<T>) {
                    for (int64_t i = 0; i < rows; i += kTileRows) {
                        tile_product(depth, rows_at(i), packed_b + j * depth, c + (row + i) * c_stride + column + j,
                                     c_stride, std::min(kTileRows, rows - i), std::min(kTileColumns<T>, columns - j),
                                     adds);
                    }
                }
            };
            for (int64_t row = 0; row < m; row += kRowBlock) {
                const int64_t rows = std::min(kRowBlock, m - row);
                const T* lines = a.data + row * a.row_stride + start * a.column_stride;
                if (a.column_stride == 1 && columns <= kFewColumns) {
                    each_tile(row, rows, [&](int64_t i) {
                        return RowsInPlace<T>(lines + i * a.row_stride, a.row_stride, rows - i);
                    });
                } else {
                    pack<kTileRows>(lines, a.row_stride, a.column_stride, rows, depth, packed_a);
                    each_tile(row, rows, [&](int64_t i) { return PackedRows<T>{packed_a + i * depth}; });
                }
            }
        }
    }
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride,
             bool accumulate) {
    if (k == 0 && !accumulate) {
        for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T{});
    }
    if (m == 0 || n == 0 || k == 0) return;
    // Each thread takes whole tiles of the longer side, so that every sum is the same for any number of threads.
    const bool by_rows = m * kTileColumns<T> >= n * kTileRows;
    const int64_t tile = by_rows ? kTileRows : kTileColumns<T>, length = by_rows ? m : n;
    const int64_t work = std::max<int64_t>(tile * (by_rows ? n : m) / 8 * k, 1);
    parallel_for((length + tile - 1) / tile, work, [&](int64_t first, int64_t last) {
        const int64_t begin = first * tile, size = std::min(last * tile, length) - begin;
        if (by_rows) {
            const MatrixView<T> part{a.data + begin * a.row_stride, a.row_stride, a.column_stride};
            serial_gemm(size, n, k, part, b, c + begin * c_stride, c_stride, accumulate);
        } else {
            const MatrixView<T> part{b.data + begin * b.column_stride, b.row_stride, b.column_stride};
            serial_gemm(m, size, k, a, part, c + begin, c_stride, accumulate);
        }
    });
}

GemmKernels Kernels() { return {product<float>, product<double>}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

HWY_EXPORT(Kernels);

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride, bool accumulate) {
    static const GemmKernels kBest = HWY_DYNAMIC_DISPATCH(Kernels)();
    std::get<GemmKernel<T>>(kBest)(m, n, k, a, b, c, c_stride, accumulate);
}
template void gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c,
                   int64_t c_stride, bool accumulate);
template void gemm(int64_t m, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c,
                   int64_t c_stride, bool accumulate);

}  // namespace diopi::cpu
#endif
