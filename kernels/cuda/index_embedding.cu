/// Rows of a table by their numbers. A number that no row has is not refused, which would need a synchronisation: it
/// looks up zeros, and its gradient is dropped.
///
/// The gradient sorts the places of `indices` by row and adds up neighbours, always in the same order:
///
///     keys    row * n + place, sorted: tiles by counting, then pairs of runs by binary search
///     parts   neighbours of one row within a window of kWindow keys; a row's only part is its sum
///     join    the sums of parts, where a row goes on over windows
#include <algorithm>
#include <string>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/units.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"
#include "runtime/cuda/cuda_check.cuh"

namespace diopi::cuda {

namespace {

/// `n` numbers of rows, all of int64 or all of int32; the table has `count` rows.
struct Rows {
    const void* data;
    bool is_wide;
    int64_t n, count;

    /// -1 where there is no such row.
    __device__ int64_t at(int64_t i) const {
        const int64_t row = is_wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
        return row < count ? row : -1;
    }
};

/// Threads that share a row, as a power of two: enough for its items, at most a block.
int lanes_log(int64_t items) {
    int log = 0;
    while ((1U << log) < kThreads && int64_t{1} << log < items) ++log;
    return log;
}

template <class T>
__global__ void look_up_kernel(T* out, const T* table, Rows rows, int64_t units, int64_t pitch, int lanes_log) {
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, lanes = int64_t{1} << lanes_log;
    const int64_t step = int64_t{gridDim.x} * blockDim.x >> lanes_log;
    for (int64_t i = thread >> lanes_log; i < rows.n; i += step) {
        const int64_t row = rows.at(i);
        for (int64_t u = thread & (lanes - 1); u < units; u += lanes) {
            out[i * units + u] = row < 0 ? T{} : table[row * pitch + u];
        }
    }
}

// ---- the gradient: places sorted by row

constexpr int kTile = 512;
constexpr int kTileThreads = 256;

/// Sorts each tile by counting, for each key, those below it. No two keys are equal. Rows that get no gradient come
/// last.
__global__ void sort_tiles_kernel(uint64_t* keys, Rows rows, int64_t padding) {
    __shared__ uint64_t tile[kTile];
    const int64_t first = int64_t{blockIdx.x} * kTile;
    const int size = static_cast<int>(rows.n - first < kTile ? rows.n - first : kTile);
    for (int k = threadIdx.x; k < size; k += kTileThreads) {
        const int64_t row = rows.at(first + k);
        const int64_t place = row < 0 || row == padding ? rows.count : row;
        tile[k] = static_cast<uint64_t>(place) * static_cast<uint64_t>(rows.n) + static_cast<uint64_t>(first + k);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < size; k += kTileThreads) {
        const uint64_t key = tile[k];
        int below = 0;
        for (int other = 0; other < size; ++other) below += tile[other] < key ? 1 : 0;
        keys[first + below] = key;
    }
}

/// The first of [first, last) that is not below `key`.
__device__ int64_t lower_bound(const uint64_t* keys, int64_t first, int64_t last, uint64_t key) {
    while (first < last) {
        const int64_t middle = first + (last - first) / 2;
        if (keys[middle] < key)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/// Merges neighbouring sorted runs of 2^run_log keys: a key goes behind those below it in both.
__global__ void merge_kernel(uint64_t* out, const uint64_t* keys, int64_t n, int run_log) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
        const int64_t run = i >> run_log, own = run << run_log, other = (run ^ 1) << run_log;
        const int64_t begin = other < n ? other : n, end = other + (int64_t{1} << run_log);
        const int64_t below = lower_bound(keys, begin, end < n ? end : n, keys[i]) - begin;
        out[(own < other ? own : other) + (i - own) + below] = keys[i];
    }
}

// ---- the gradient: sums

constexpr int64_t kWindow = 64;
/// Columns that a thread adds up at once.
constexpr int kColumns = 4;

struct RowSums {
    const uint64_t* keys;
    int64_t n, count, size;  ///< keys, rows, columns
    bool by_frequency;
};

/// A row's part: keys [first, last), all below `end`, the least key of the next row.
struct Part {
    int64_t row, first, last;
    uint64_t end;
    bool begins, ends;  ///< with its row's first key, with its last one
};

/// The part that begins at key p, if one does.
__device__ bool part_at(const RowSums& a, int64_t p, Part& part) {
    const auto n = static_cast<uint64_t>(a.n);
    const uint64_t row = a.keys[p] / n, base = row * n;
    if (static_cast<int64_t>(row) >= a.count) return false;
    part.begins = p == 0 || a.keys[p - 1] < base;
    if (!part.begins && p % kWindow != 0) return false;
    const int64_t window_end = (p / kWindow + 1) * kWindow, limit = window_end < a.n ? window_end : a.n;
    part.row = static_cast<int64_t>(row);
    part.first = p;
    part.end = base + n;
    part.last = lower_bound(a.keys, p, limit, part.end);
    part.ends = part.last < limit || limit == a.n || a.keys[limit] >= part.end;
    return true;
}

/// The factor of a row's sum: its keys are [first, last).
template <class C>
__device__ C factor(const RowSums& a, int64_t first, int64_t last) {
    return a.by_frequency && last - first > 1 ? C(1) / static_cast<C>(last - first) : C(1);
}

/// Adds up each part: into the row where it is the row's only one, else into its window's two rows of `partial`, the
/// first for a part that continues one of the window before.
template <class C>
__global__ void add_parts_kernel(RowSums a, const void* grad, Dtype dtype, void* out, Dtype out_dtype, C* partial,
                                 int64_t chunks, int lanes_log) {
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, lanes = int64_t{1} << lanes_log;
    const int64_t step = int64_t{gridDim.x} * blockDim.x >> lanes_log;
    for (int64_t item = thread >> lanes_log; item < a.n * chunks; item += step) {
        const int64_t p = item / chunks, column = (item - p * chunks) * lanes * kColumns + (thread & (lanes - 1));
        Part part;
        if (!part_at(a, p, part)) continue;
        C sums[kColumns] = {};
        with_type(dtype, [&](auto typed) {
            const auto* from = static_cast<const decltype(typed)*>(grad);
            const uint64_t base = part.end - static_cast<uint64_t>(a.n);
            for (int64_t q = part.first; q < part.last; ++q) {
                const auto* row = from + static_cast<int64_t>(a.keys[q] - base) * a.size;
#pragma unroll
                for (int k = 0; k < kColumns; ++k) {
                    const int64_t at = column + k * lanes;
                    if (at < a.size) sums[k] += convert<C>(row[at]);
                }
            }
        });
        const C scale = factor<C>(a, part.first, part.last);
        for (int k = 0; k < kColumns; ++k) {
            const int64_t at = column + k * lanes;
            if (at >= a.size) continue;
            if (part.begins && part.ends)
                store(out, part.row * a.size + at, out_dtype, sums[k] * scale);
            else
                partial[(p / kWindow * 2 + (part.begins ? 1 : 0)) * a.size + at] = sums[k];
        }
    }
}

/// Adds up the parts of each row that begins in a window and continues in the next one.
template <class C>
__global__ void join_parts_kernel(RowSums a, const C* partial, void* out, Dtype out_dtype, int lanes_log) {
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, lanes = int64_t{1} << lanes_log;
    const int64_t step = int64_t{gridDim.x} * blockDim.x >> lanes_log;
    const auto n = static_cast<uint64_t>(a.n);
    for (int64_t window = thread >> lanes_log; (window + 1) * kWindow < a.n; window += step) {
        const int64_t edge = (window + 1) * kWindow;
        const uint64_t row = a.keys[edge - 1] / n, base = row * n;
        if (static_cast<int64_t>(row) >= a.count || a.keys[edge] >= base + n) continue;
        const int64_t first = lower_bound(a.keys, window * kWindow, edge, base);
        if (first == window * kWindow && first > 0 && a.keys[first - 1] >= base) continue;  // begins earlier
        const int64_t last = lower_bound(a.keys, edge, a.n, base + n);
        const C scale = factor<C>(a, first, last);
        for (int64_t at = thread & (lanes - 1); at < a.size; at += lanes) {
            C sum = partial[(window * 2 + 1) * a.size + at];
            for (int64_t next = window + 1; next * kWindow < last; ++next) sum += partial[next * 2 * a.size + at];
            store(out, static_cast<int64_t>(row) * a.size + at, out_dtype, sum * scale);
        }
    }
}

/// `keys`: the places sorted by row; `spare` is as large.
diopiError_t sort_places(diopiContextHandle_t ctx, std::string_view op, const Rows& rows, int64_t padding,
                         uint64_t*& keys, uint64_t* spare) {
    const auto tiles = static_cast<unsigned>((rows.n + kTile - 1) / kTile);
    diopiError_t error = launch(ctx, op, {tiles, kTileThreads}, sort_tiles_kernel, keys, rows, padding);
    for (int run_log = 9; error == diopiSuccess && int64_t{1} << run_log < rows.n; ++run_log) {
        error = launch(ctx, op, launch_for(rows.n, 1), merge_kernel, spare, keys, rows.n, run_log);
        std::swap(keys, spare);
    }
    return error;
}
static_assert(kTile == 1 << 9);

template <class C>
diopiError_t add_up(diopiContextHandle_t ctx, std::string_view op, const RowSums& a, const View& grad,
                    const View& out) {
    const int64_t windows = (a.n + kWindow - 1) / kWindow;
    View partial;
    const int64_t shape[] = {windows * 2, a.size};
    const Dtype dtype = sizeof(C) == 8 ? Dtype::float64 : Dtype::float32;
    if (const diopiError_t error = require(ctx, shape, dtype, partial); error != diopiSuccess) return error;
    C* sums = reinterpret_cast<C*>(partial.data);
    const int log = lanes_log((a.size + kColumns - 1) / kColumns);
    const int64_t lanes = int64_t{1} << log, chunks = (a.size + lanes * kColumns - 1) / (lanes * kColumns);
    const diopiError_t error = launch(ctx, op, launch_for(a.n * chunks * lanes, 1), add_parts_kernel<C>, a, grad.data,
                                      grad.dtype, out.data, out.dtype, sums, chunks, log);
    if (error != diopiSuccess || windows == 1) return error;
    const int join_log = lanes_log(a.size);
    return launch(ctx, op, launch_for(windows << join_log, 1), join_parts_kernel<C>, a, sums, out.data, out.dtype,
                  join_log);
}

/// The dense rows of out, from the dense rows of grad.
diopiError_t scatter(diopiContextHandle_t ctx, std::string_view op, const Rows& rows, int64_t padding,
                     bool by_frequency, const View& grad, const View& out) {
    const auto nbytes = static_cast<size_t>(out.numel * out.item_size());
    const cudaError_t zeroed = cudaMemsetAsync(out.data, 0, nbytes, stream_of(ctx));
    if (zeroed != cudaSuccess) {
        (void)cudaGetLastError();
        return fail(diopiErrorOccurred, cuda_error_text(std::string(op) + ": setting out to zero", zeroed));
    }
    if (rows.n == 0) return diopiSuccess;
    View first, second;
    for (View* keys : {&first, &second}) {
        if (const diopiError_t error = require(ctx, {&rows.n, 1}, Dtype::uint64, *keys); error != diopiSuccess) {
            return error;
        }
    }
    auto* keys = reinterpret_cast<uint64_t*>(first.data);
    const diopiError_t error = sort_places(ctx, op, rows, padding, keys, reinterpret_cast<uint64_t*>(second.data));
    if (error != diopiSuccess) return error;
    const RowSums a{keys, rows.n, rows.count, out.shape[1], by_frequency};
    const bool is_wide = grad.dtype == Dtype::float64 || out.dtype == Dtype::float64;
    return (is_wide ? add_up<double> : add_up<float>)(ctx, op, a, grad, out);
}

diopiError_t embedding(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices, int64_t, bool, bool) {
    const View y = view(out);
    View table = view(weight), at = view(indices);
    if (const diopiError_t error = check_embedding(op, y, table, at); error != diopiSuccess) return error;
    const int64_t size = table.shape[1], item = table.item_size();
    if (y.numel == 0) return diopiSuccess;
    DenseOut dense;
    diopiError_t error = contiguous_as(ctx, op, at, at.dtype, at);
    if (error == diopiSuccess && size > 1 && table.strides[1] != 1) error = copy_of(ctx, op, table, table);
    if (error == diopiSuccess) error = dense.begin(ctx, y);
    if (error != diopiSuccess) return error;
    const Rows rows{at.data, at.dtype == Dtype::int64, at.numel, table.shape[0]};
    const int64_t pitch = table.strides[0] * item, row_bytes = size * item;
    UnitSize unit;
    unit.divides(dense.view().data).divides(table.data).divides(pitch).divides(row_bytes);
    const int64_t nbytes = unit.nbytes(), units = row_bytes / nbytes;
    const int log = lanes_log(units);
    error = with_bits(nbytes, [&]<class T>() {
        return launch(ctx, op, launch_for(rows.n << log, 1), look_up_kernel<T>, reinterpret_cast<T*>(dense.view().data),
                      reinterpret_cast<const T*>(table.data), rows, units, pitch / nbytes, log);
    });
    return error == diopiSuccess ? dense.finish(ctx, op) : error;
}

diopiError_t embedding_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_byfreq, bool sparse) {
    const View gw = view(out);
    View g = view(grad), at = view(indices);
    const diopiError_t refused = check_embedding_gradient(op, gw, g, at, num_weights, sparse);
    if (refused != diopiSuccess) return refused;
    if (gw.numel == 0) return diopiSuccess;
    int64_t most = 0;
    if (__builtin_mul_overflow(num_weights + 1, at.numel, &most)) {
        return refuse(op,
                      "num_weights times the number of indices passes 2^63; split the indices and add the gradients");
    }
    DenseOut dense;
    diopiError_t error = contiguous_as(ctx, op, at, at.dtype, at);
    if (error == diopiSuccess) error = contiguous_as(ctx, op, g, g.dtype, g);
    if (error == diopiSuccess) error = dense.begin(ctx, gw);
    if (error != diopiSuccess) return error;
    const Rows rows{at.data, at.dtype == Dtype::int64, at.numel, num_weights};
    error = scatter(ctx, op, rows, padding_idx, scale_grad_byfreq, g, dense.view());
    return error == diopiSuccess ? dense.finish(ctx, op) : error;
}

}  // namespace

#include "kernels/entries/index_embedding.inc"

}  // namespace diopi::cuda
