#include "kernels/cuda/product/sums.hpp"

#include <algorithm>
#include <array>

#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/product/copies.hpp"

namespace diopi::cuda {

namespace {

/// A block has rows of kLanes threads, along the kept or the summed elements, whichever are neighbours in memory.
constexpr int kLanes = 32, kRows = 8;
/// Blocks enough to fill 132 multiprocessors (H200) eight times. An estimate, not measured.
constexpr int64_t kFullDevice = 1056;
/// The least number of elements that a thread sums when sums are split.
constexpr int64_t kLeastTerms = 16;

/// The target of the sums: they are rounded into out, or partial sums go to `parts`.
struct SumTarget {
    void* out;
    Dtype dtype;
    double* parts;  ///< (splits, kept); null if there is one split
};

struct SumShape {
    int64_t kept, terms;
    int64_t tiles;  ///< tiles of the kept elements, one for each block
    int64_t terms_of_split;
    bool kept_are_neighbours;
};

/// Block b sums the terms of split b / tiles for the kept elements of tile b % tiles.
template <class T, class Index>
__global__ void sum_kernel(const T* in, SumTarget target, Walk<Index, 2> kept, Walk<Index, 1> terms, SumShape s) {
    __shared__ double sums[kRows][kLanes + 1];
    const int lane = threadIdx.x % kLanes, row = threadIdx.x / kLanes;
    const int width = s.kept_are_neighbours ? kLanes : kRows, depth = s.kept_are_neighbours ? kRows : kLanes;
    const int64_t split = blockIdx.x / s.tiles, tile = blockIdx.x % s.tiles;
    const int64_t element = tile * width + (s.kept_are_neighbours ? lane : row);
    Index places[2] = {0, 0};
    double sum = 0;
    if (element < s.kept) {
        kept.find(static_cast<Index>(element), places);
        const int64_t end = split * s.terms_of_split + s.terms_of_split;
        const int64_t last = end < s.terms ? end : s.terms;
#pragma unroll 4
        for (int64_t k = split * s.terms_of_split + (s.kept_are_neighbours ? row : lane); k < last; k += depth) {
            Index term[1];
            terms.find(static_cast<Index>(k), term);
            sum += convert<double>(in[places[0] + term[0]]);
        }
    }
    sums[row][lane] = sum;
    __syncthreads();
    const bool is_first = s.kept_are_neighbours ? row == 0 : lane == 0;
    if (!is_first || element >= s.kept) return;
    for (int k = 1; k < depth; ++k) sum += s.kept_are_neighbours ? sums[k][lane] : sums[row][k];
    if (target.parts != nullptr) {
        target.parts[split * s.kept + element] = sum;
    } else {
        store(target.out, places[1], target.dtype, sum);
    }
}

/// Some of the dimensions of a tensor.
struct Dims {
    std::array<int64_t, kMaxRank> shape{}, in{}, out{};
    size_t rank = 0;

    void add(int64_t size, int64_t in_step, int64_t out_step) {
        shape[rank] = size, in[rank] = in_step, out[rank] = out_step;
        ++rank;
    }
    [[nodiscard]] Nest nest() const {
        View views[2];
        views[0].shape = views[1].shape = {shape.data(), rank};
        views[0].strides = {in.data(), rank}, views[1].strides = {out.data(), rank};
        views[0].numel = views[1].numel = numel(views[0].shape);
        return make_nest(views);
    }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

SumShape shape_of(const Nest& kept, const Nest& terms, bool may_split) {
    SumShape s{};
    s.kept = kept.numel, s.terms = terms.numel;
    const int64_t kept_step = std::abs(kept.strides[0][static_cast<size_t>(kept.rank - 1)]);
    const int64_t term_step = std::abs(terms.strides[0][static_cast<size_t>(terms.rank - 1)]);
    s.kept_are_neighbours = s.kept > 1 && (s.terms == 1 || kept_step < term_step);
    s.tiles = ceil_div(s.kept, s.kept_are_neighbours ? kLanes : kRows);
    const int64_t depth = s.kept_are_neighbours ? kRows : kLanes;
    const int64_t most = may_split ? ceil_div(kFullDevice, s.tiles) : 1;
    const int64_t splits = std::clamp(s.terms / (depth * kLeastTerms), int64_t{1}, most);
    s.terms_of_split = ceil_div(s.terms, splits);
    return s;
}

template <class T>
diopiError_t launch_sums(diopiContextHandle_t ctx, std::string_view op, const void* data, const SumTarget& target,
                         const Nest& kept, const Nest& terms, const SumShape& s, bool is_narrow) {
    const auto blocks = static_cast<unsigned>(s.tiles * ceil_div(s.terms, s.terms_of_split));
    const Launch grid{blocks, kLanes * kRows};
    const T* in = static_cast<const T*>(data);
    if (is_narrow) {
        return launch(ctx, op, grid, sum_kernel<T, int32_t>, in, target, walk_of<int32_t, 2>(kept),
                      walk_of<int32_t, 1>(terms), s);
    }
    return launch(ctx, op, grid, sum_kernel<T, int64_t>, in, target, walk_of<int64_t, 2>(kept),
                  walk_of<int64_t, 1>(terms), s);
}

/// The data and the loops over it; the second operand of `kept` is out.
struct Source {
    const void* data;
    Dtype dtype;
    Nest kept, terms;
    bool is_narrow;  ///< places fit 32 bits
};

diopiError_t sum_terms(diopiContextHandle_t ctx, std::string_view op, const Source& from, const SumTarget& target,
                       const SumShape& s) {
    const auto run = from.dtype == Dtype::float64    ? launch_sums<double>
                     : from.dtype == Dtype::float16  ? launch_sums<__half>
                     : from.dtype == Dtype::bfloat16 ? launch_sums<__nv_bfloat16>
                                                     : launch_sums<float>;
    return run(ctx, op, from.data, target, from.kept, from.terms, s, from.is_narrow);
}

/// The partial sums as terms of the next sum, in the shape (splits, kept).
Source parts_of(const Source& from, const View& parts, int64_t splits) {
    Source next{parts.data, Dtype::float64, from.kept, {}, from.is_narrow};
    int64_t step = 1;
    for (int d = from.kept.rank - 1; d >= 0; --d) {
        next.kept.strides[0][static_cast<size_t>(d)] = step;
        step *= from.kept.sizes[static_cast<size_t>(d)];
    }
    next.terms.numel = next.terms.sizes[0] = splits;
    next.terms.strides[0][0] = from.kept.numel;
    return next;
}

/// Separates the dimensions of `in` that out has from those that are summed.
Source source_of(const View& out, const View& in) {
    Dims kept, terms;
    const size_t missing = in.shape.size() - out.shape.size();
    for (size_t d = 0; d < in.shape.size(); ++d) {
        if (d >= missing && out.shape[d - missing] == in.shape[d]) {
            kept.add(in.shape[d], in.strides[d], out.strides[d - missing]);
        } else {
            terms.add(in.shape[d], in.strides[d], 0);
        }
    }
    Source from{in.data, in.dtype, kept.nest(), terms.nest(), false};
    from.is_narrow = make_nest({&in, 1}).fits_32_bits() && from.kept.fits_32_bits();
    return from;
}

}  // namespace

diopiError_t sum_to(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in) {
    const auto shape = broadcast_shapes(out.shape, in.shape);
    if (!shape || !std::ranges::equal(*shape, in.shape) || in.shape.size() > kMaxRank) {
        return wrong_shape(op, "a sum", out.shape, "one that broadcasts to " + to_string(in.shape));
    }
    if (!is_computable(in.dtype)) return unsupported(op, "grad_output", in.dtype, "a floating dtype");
    if (is_complex(out.dtype)) return unsupported(op, "a sum", out.dtype, "a real dtype");
    if (out.numel == 0) return diopiSuccess;
    if (in.numel == 0) return assign_zero(ctx, op, out);
    const Source from = source_of(out, in);
    const SumShape s = shape_of(from.kept, from.terms, true);
    const int64_t splits = ceil_div(s.terms, s.terms_of_split);
    if (splits == 1) return sum_terms(ctx, op, from, {out.data, out.dtype, nullptr}, s);

    View parts;
    const int64_t size[] = {splits, s.kept};
    diopiError_t error = require(ctx, size, Dtype::float64, parts);
    if (error != diopiSuccess) return error;
    error = sum_terms(ctx, op, from, {nullptr, Dtype::float64, reinterpret_cast<double*>(parts.data)}, s);
    if (error != diopiSuccess) return error;
    const Source last = parts_of(from, parts, splits);
    return sum_terms(ctx, op, last, {out.data, out.dtype, nullptr}, shape_of(last.kept, last.terms, false));
}

}  // namespace diopi::cuda
