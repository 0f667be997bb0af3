/// sum and mean. Sums of float32 and half types are formed in float32, of float64 in float64, of integers in int64.
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/reduce.cuh"
#include "kernels/cuda/reduce/staging.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// The sum, or the mean: the sum divided.
template <class C>
struct Sum {
    using State = C;
    C divisor;
    bool is_mean;

    __device__ State identity() const { return State(0); }
    __device__ void take(State& sum, C x) const { sum += x; }
    __device__ State combine(State a, State b) const { return a + b; }
    __device__ C finish(State sum) const { return is_mean ? sum / divisor : sum; }
};

/// Integers wrap.
template <>
struct Sum<int64_t> {
    using State = uint64_t;

    __device__ State identity() const { return 0; }
    __device__ void take(State& sum, int64_t x) const { sum += static_cast<uint64_t>(x); }
    __device__ State combine(State a, State b) const { return a + b; }
    __device__ int64_t finish(State sum) const { return static_cast<int64_t>(sum); }
};

/// A tensor's real and imaginary parts along a dimension of their own, the last one.
struct Parts {
    Shape shape, strides;
    View view;

    explicit Parts(const View& tensor) : shape(tensor.shape.begin(), tensor.shape.end()) {
        for (const int64_t stride : tensor.strides) strides.push_back(2 * stride);
        shape.push_back(2);
        strides.push_back(1);
        view = {tensor.data, real_of(tensor.dtype), shape, strides, 2 * tensor.numel};
    }
    static Dtype real_of(Dtype dtype) {
        return dtype == Dtype::complex128  ? Dtype::float64
               : dtype == Dtype::complex64 ? Dtype::float32
                                           : Dtype::float16;
    }
    /// The real parts of all elements (0), or the imaginary ones (1).
    [[nodiscard]] View part(int64_t number) const {
        View v = view;
        if (v.data != nullptr) v.data += number * v.item_size();
        v.shape = v.shape.first(v.shape.size() - 1);
        v.strides = v.strides.first(v.shape.size());
        v.numel /= 2;
        return v;
    }
};

/// The sum or mean of real tensors over the dimensions of `plan`.
diopiError_t sum_real(diopiContextHandle_t ctx, std::string_view op, const Reduction& plan, const View& out,
                      const View& in, bool mean) {
    if (!is_floating(in.dtype) && !mean) return reduce<int64_t>(ctx, op, plan, out, in, Sum<int64_t>{});
    const auto count = static_cast<double>(plan.count);
    if (!is_floating(in.dtype) || in.dtype == Dtype::float64 || out.dtype == Dtype::float64) {
        return reduce<double>(ctx, op, plan, out, in, Sum<double>{count, mean});
    }
    return reduce<float>(ctx, op, plan, out, in, Sum<float>{static_cast<float>(count), mean});
}

/// The dimensions counted from the front: they have the same numbers in a tensor with one more at the end.
Shape from_front(const View& in, ShapeView dims) {
    Shape all;
    const auto rank = static_cast<int64_t>(in.shape.size());
    if (dims.empty()) {
        for (int64_t d = 0; d < rank; ++d) all.push_back(d);
    }
    for (const int64_t dim : dims) {
        if (rank > 0) all.push_back(dim < 0 ? dim + rank : dim);
    }
    return all;
}

diopiError_t sum_complex(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in, ShapeView dims,
                         bool mean) {
    const Parts from(in), to(out);
    const Shape chosen = from_front(in, dims);
    // A 0-dim tensor has one element; no dimension of its parts is joined.
    std::array<View, 1> ins{from.view};
    Reduction plan;
    if (in.shape.empty()) {
        plan = make_reduction(ins, {}, to.view.strides);
    } else if (const diopiError_t error = plan_reduction(op, to.view, from.view, chosen, plan); error != diopiSuccess) {
        return error;
    }
    return sum_real(ctx, op, plan, to.view, from.view, mean);
}

/// Sums into the real parts of the results; their imaginary parts become 0.
diopiError_t sum_into_complex(diopiContextHandle_t ctx, std::string_view op, const Reduction& plan, const View& out,
                              const View& in, ShapeView dims, bool mean) {
    const Parts to(out);
    Reduction real = plan;
    const View parts[] = {to.part(0), to.part(1)};
    if (const diopiError_t error = plan_reduction(op, parts[0], in, dims, real); error != diopiSuccess) return error;
    if (const diopiError_t error = sum_real(ctx, op, real, parts[0], in, mean); error != diopiSuccess) return error;
    return fill(ctx, op, parts[1], whole_number(0));
}

template <bool kMean>
diopiError_t sum_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t to,
                       diopiConstTensorHandle_t from, diopiSize_t dim) {
    const ShapeView dims = list_of(dim);
    const View given = view(to), in = view(from), out = result_view(given, in, dims);
    Reduction plan;
    const diopiError_t error = plan_sum(op, given, in, dims, kMean, plan);
    if (error != diopiSuccess || out.numel == 0) return error;
    if (is_complex(in.dtype)) return sum_complex(ctx, op, out, in, dims, kMean);
    if (is_complex(out.dtype)) return sum_into_complex(ctx, op, plan, out, in, dims, kMean);
    return sum_real(ctx, op, plan, out, in, kMean);
}

}  // namespace

#include "kernels/entries/reduction.inc"

}  // namespace diopi::cuda
