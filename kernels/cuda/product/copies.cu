#include "kernels/cuda/product/copies.hpp"

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/map.cuh"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Scaled {
    C factor;
    __device__ C operator()(C p) const { return factor * p; }
};

template <class C>
struct WeightedSum {
    C weight, factor;
    __device__ C operator()(C p, C x) const { return fma(factor, p, weight * x); }
};

/// Calls f<C>() with the wider of float and double.
template <class F>
diopiError_t in_float(bool is_wide, F&& f) {
    return is_wide ? f.template operator()<double>() : f.template operator()<float>();
}

}  // namespace

diopiError_t assign(diopiContextHandle_t ctx, std::string_view op, const View& to, const View& from) {
    for (const auto& [v, argument] : {std::pair{&to, "an output"}, {&from, "an input"}}) {
        if (is_complex(v->dtype)) return unsupported(op, argument, v->dtype, "a real dtype");
    }
    return copy_into(ctx, op, from, to);
}

diopiError_t assign_zero(diopiContextHandle_t ctx, std::string_view op, const View& to) {
    if (is_complex(to.dtype)) return unsupported(op, "an output", to.dtype, "a real dtype");
    return fill(ctx, op, to, whole_number(0));
}

diopiError_t copy_as(diopiContextHandle_t ctx, std::string_view op, const View& view, Dtype dtype, View& made) {
    View copy;  // `made` may be `view`
    if (const diopiError_t error = require(ctx, view.shape, dtype, copy); error != diopiSuccess) return error;
    const diopiError_t error = assign(ctx, op, copy, view);
    made = copy;
    return error;
}

diopiError_t combine(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& addend,
                     const View& product, double beta, double alpha) {
    return in_float(product.dtype == Dtype::float64, [&]<class C>() {
        if (beta == 0) return map<C, 1>(ctx, op, out, {product}, Scaled<C>{static_cast<C>(alpha)});
        return map<C, 2>(ctx, op, out, {product, addend}, WeightedSum<C>{static_cast<C>(beta), static_cast<C>(alpha)});
    });
}

}  // namespace diopi::cuda
