/// Copies between layouts and dtypes, and constants.
#include "kernels/cuda/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "kernels/cuda/element/map.cuh"
#include "kernels/cuda/element/units.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/promotion.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Same {
    __device__ C operator()(C x) const { return x; }
};

constexpr int kSide = 32;
constexpr int kTileRows = kThreads / kSide;

/// Two dimensions of a copy, `row` along the source's neighbours and `column` along the output's, in tiles; and how
/// many of them there are. Strides count elements: of the output, of the source.
struct Crossing {
    FastSize row_tiles, column_tiles;
    int32_t rows, columns;
    int32_t row_strides[2], column_strides[2];
};

/// Copies through a tile of shared memory, so that loads and stores both go along neighbours. `outer` walks the other
/// dimensions.
template <class T>
__global__ void transpose_kernel(T* out, const T* in, Walk<int32_t, 2> outer, Crossing c, int32_t tiles) {
    __shared__ T tile[kSide][kSide + 1];
    const int32_t x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    for (int64_t item = blockIdx.x; item < tiles; item += gridDim.x) {
        const auto number = static_cast<int32_t>(item);
        const int32_t rest = c.column_tiles.quotient(number), batch = c.row_tiles.quotient(rest);
        const int32_t first_column = (number - rest * c.column_tiles.value()) * kSide;
        const int32_t first_row = (rest - batch * c.row_tiles.value()) * kSide;
        int32_t places[2];
        outer.find(batch, places);
        for (int32_t k = y; k < kSide; k += kTileRows) {
            const int32_t row = first_row + x, column = first_column + k;
            if (row >= c.rows || column >= c.columns) continue;
            tile[k][x] = in[places[1] + row * c.row_strides[1] + column * c.column_strides[1]];
        }
        __syncthreads();
        for (int32_t k = y; k < kSide; k += kTileRows) {
            const int32_t row = first_row + k, column = first_column + x;
            if (row >= c.rows || column >= c.columns) continue;
            out[places[0] + row * c.row_strides[0] + column * c.column_strides[0]] = tile[x][k];
        }
        __syncthreads();
    }
}

/// The dimension in which the source's neighbours lie, where that is not the output's innermost one and both are long
/// enough for tiles; else that one.
size_t crossing_dim(const Nest& nest) {
    const auto last = static_cast<size_t>(nest.rank - 1);
    size_t nearest = last;
    for (size_t d = 0; d < last; ++d) {
        const int64_t stride = std::abs(nest.strides[1][d]);
        if (stride != 0 && stride < std::abs(nest.strides[1][nearest])) nearest = d;
    }
    const bool is_long = std::min(nest.sizes[nearest], nest.sizes[last]) >= kSide / 2;
    return is_long && nest.fits_32_bits() ? nearest : last;
}

template <class T>
diopiError_t transpose(diopiContextHandle_t ctx, std::string_view op, Nest nest, size_t dim, T* out, const T* in) {
    const auto last = static_cast<size_t>(nest.rank - 1);
    const auto tiles_of = [&](size_t d) { return (nest.sizes[d] + kSide - 1) / kSide; };
    Crossing c{FastSize::of(tiles_of(dim)),
               FastSize::of(tiles_of(last)),
               static_cast<int32_t>(nest.sizes[dim]),
               static_cast<int32_t>(nest.sizes[last]),
               {},
               {}};
    for (size_t k = 0; k < 2; ++k) {
        c.row_strides[k] = static_cast<int32_t>(nest.strides[k][dim]);
        c.column_strides[k] = static_cast<int32_t>(nest.strides[k][last]);
    }
    const int64_t tiles = nest.numel / nest.sizes[dim] / nest.sizes[last] * tiles_of(dim) * tiles_of(last);
    nest.sizes[dim] = nest.sizes[last] = 1;
    const auto blocks = static_cast<unsigned>(std::min(tiles, kMostBlocks));
    return launch(ctx, op, {blocks, kThreads}, transpose_kernel<T>, out, in, walk_of<int32_t, 2>(nest), c, tiles);
}

diopiError_t accepted(std::string_view op, std::string_view doing, cudaError_t error) {
    if (error == cudaSuccess) return diopiSuccess;
    (void)cudaGetLastError();
    return fail(diopiErrorOccurred, cuda_error_text(std::string(op).append(": ").append(doing), error));
}

diopiError_t move_bits(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to) {
    return with_bits(to.item_size(), [&]<class T>() {
        elementwise_detail::Plan<T, 1> p;
        std::array ins = {from};
        const diopiError_t error = elementwise_detail::plan<false>(ctx, op, to, ins, {}, p);
        if (error != diopiSuccess) return error;
        if (p.nest.is_run() && !p.in.repeats[0]) {
            const auto nbytes = static_cast<size_t>(to.numel * to.item_size());
            return accepted(op, "copying",
                            cudaMemcpyAsync(to.data, p.in.data[0], nbytes, cudaMemcpyDeviceToDevice, stream_of(ctx)));
        }
        const size_t dim = crossing_dim(p.nest);
        if (dim + 1 == static_cast<size_t>(p.nest.rank)) {
            return elementwise_detail::launch_typed<T>(ctx, op, p, Same<T>{});
        }
        return transpose(ctx, op, p.nest, dim, reinterpret_cast<T*>(p.out.data), static_cast<const T*>(p.in.data[0]));
    });
}

}  // namespace

diopiError_t copy_into(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to) {
    if (const diopiError_t error = check_source(op, from, to); error != diopiSuccess) return error;
    if (const diopiError_t error = check_views(op, to, {&from, 1}); error != diopiSuccess) return error;
    if (to.numel == 0 || (from.data == to.data && from.dtype == to.dtype && !aliases_differently(to, from))) {
        return diopiSuccess;
    }
    if (from.dtype == to.dtype) return move_bits(ctx, op, from, to);
    const Dtype compute = is_complex(to.dtype) ? to.dtype : from.dtype;
    return with_any_compute_type(compute, [&]<class C>() { return map<C, 1>(ctx, op, to, {from}, Same<C>{}); });
}

diopiError_t copy_of(diopiContextHandle_t ctx, std::string_view op, const View& view, View& made) {
    View copy;  // `made` may be `view`
    diopiError_t error = require(ctx, view.shape, view.dtype, copy);
    if (error == diopiSuccess) error = copy_into(ctx, op, view, copy);
    made = copy;
    return error;
}

diopiError_t contiguous_as(diopiContextHandle_t ctx, std::string_view op, const View& from, Dtype dtype, View& made) {
    View dense = from;
    if (from.dtype != dtype || !from.is_contiguous()) {
        diopiError_t error = require(ctx, from.shape, dtype, dense);
        if (error == diopiSuccess) error = copy_into(ctx, op, from, dense);
        if (error != diopiSuccess) return error;
    }
    made = dense;
    return diopiSuccess;
}

diopiError_t fill(diopiContextHandle_t ctx, std::string_view op, const View& to, const diopiScalar_t& value) {
    const diopiScalar_t element = as_element(value, to.dtype);
    return with_any_compute_type(to.dtype, [&]<class C>() {
        return map<C, 1>(ctx, op, to, {number_view(to.dtype)}, Same<C>{}, {compute_number<C>(element)});
    });
}

diopiError_t fill_all(diopiContextHandle_t ctx, std::string_view op, std::initializer_list<diopiTensorHandle_t> tensors,
                      double value) {
    for (const diopiTensorHandle_t tensor : tensors) {
        if (tensor == nullptr) continue;
        const diopiError_t error = fill(ctx, op, view(tensor), real_number(value));
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t DenseOut::begin(diopiContextHandle_t ctx, const View& out) {
    out_ = out;
    return require_dense(ctx, out, dense_);
}

diopiError_t DenseOut::finish(diopiContextHandle_t ctx, std::string_view op) const {
    return dense_.data == out_.data ? diopiSuccess : copy_into(ctx, op, dense_, out_);
}

namespace {

constexpr auto copy_from = copy_from_by<copy_into>;
constexpr auto cast = cast_by<copy_into>;
constexpr auto expand = expand_by<copy_into>;

diopiError_t fill_with(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t input,
                       const diopiScalar_t* value) {
    return fill(ctx, op, view(input), *value);
}

template <int kValue>
diopiError_t constant(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiSize_t size) {
    const View to = view(out);
    const diopiError_t error = check_shape(op, "out", to, list_of(size));
    return error != diopiSuccess ? error : fill(ctx, op, to, whole_number(kValue));
}

diopiError_t set_zero(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t self) {
    return fill(ctx, op, view(self), whole_number(0));
}

}  // namespace

#include "kernels/entries/shape_copy.inc"

}  // namespace diopi::cuda
