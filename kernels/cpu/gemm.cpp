#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernels/cpu/gemm.hpp"
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
static_assert(kRowBlock % kTileRows == 0 && kColumnBlock % kTileColumns<float> == 0);

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

/// Packing buffers of one thread.
template <class T>
T* packing_space() {
    constexpr size_t kBytes = (kRowBlock + kColumnBlock) * kDepthBlock * sizeof(T);
    thread_local const std::unique_ptr<T, Free> memory(static_cast<T*>(std::aligned_alloc(64, kBytes)));
    return memory.get();
}

/// Copies `rows` lines of a into panels of `tile` lines, each panel depth-major; missing lines are 0.
template <class T>
void pack(const T* from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth, int64_t tile, T* to) {
    for (int64_t first = 0; first < lines; first += tile) {
        const int64_t present = std::min(tile, lines - first);
        const T* panel = from + first * line_stride;
        if (present < tile) std::fill_n(to, tile * depth, T{});
        if (line_stride == 1) {
            for (int64_t k = 0; k < depth; ++k) std::copy_n(panel + k * depth_stride, present, to + k * tile);
        } else {
            for (int64_t i = 0; i < present; ++i) {
                for (int64_t k = 0; k < depth; ++k) to[k * tile + i] = panel[i * line_stride + k * depth_stride];
            }
        }
        to += tile * depth;
    }
}

/// One tile of c from a panel of a and a panel of b; `rows` and `columns` of it are stored.
template <class T>
void tile_product(int64_t depth, const T* a, const T* b, T* c, int64_t c_stride, int64_t rows, int64_t columns,
                  bool accumulate) {
    const hn::ScalableTag<T> d;
    hn::Vec<decltype(d)> sum[kTileRows][2];
    // Every loop over `sum` is unrolled: an index known only at run time would keep it in memory.
#pragma GCC unroll 12
    for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = hn::Zero(d);
    for (int64_t k = 0; k < depth; ++k) {
        const auto b0 = hn::Load(d, b + k * kTileColumns<T>), b1 = hn::Load(d, b + k * kTileColumns<T> + kLanes<T>);
#pragma GCC unroll 12
        for (int64_t i = 0; i < kTileRows; ++i) {
            const auto factor = hn::Set(d, a[k * kTileRows + i]);
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
    T* packed_a = packing_space<T>();
    T* packed_b = packed_a + kRowBlock * kDepthBlock;
    for (int64_t column = 0; column < n; column += kColumnBlock) {
        const int64_t columns = std::min(kColumnBlock, n - column);
        for (int64_t start = 0; start < k; start += kDepthBlock) {
            const int64_t depth = std::min(kDepthBlock, k - start);
            const bool adds = accumulate || start > 0;
            pack(b.data + start * b.row_stride + column * b.column_stride, b.column_stride, b.row_stride, columns,
                 depth, kTileColumns<T>, packed_b);
            for (int64_t row = 0; row < m; row += kRowBlock) {
                const int64_t rows = std::min(kRowBlock, m - row);
                pack(a.data + row * a.row_stride + start * a.column_stride, a.row_stride, a.column_stride, rows, depth,
                     kTileRows, packed_a);
                for (int64_t j = 0; j < columns; j += kTileColumns<T>) {
                    for (int64_t i = 0; i < rows; i += kTileRows) {
                        tile_product(depth, packed_a + i * depth, packed_b + j * depth,
                                     c + (row + i) * c_stride + column + j, c_stride, std::min(kTileRows, rows - i),
                                     std::min(kTileColumns<T>, columns - j), adds);
                    }
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
