/// threshold, whose gradient at 0 is relu's.
#include "kernels/cuda/element/map.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// NaN stays.
template <class C>
struct ThresholdOf {
    C limit, value;
    __device__ C operator()(C x) const { return x <= limit ? value : x; }
};

template <class C>
struct ThresholdSlope {
    C limit;
    __device__ C operator()(C g, C x) const { return x <= limit ? C(0) : g; }
};

/// Calls f<C>(); uint64 computes in int64, because a limit may be below 0.
template <class F>
diopiError_t with_signed_type(Dtype dtype, F&& f) {
    return with_compute_type(is_floating(dtype) ? dtype : Dtype::int64, f);
}

diopiError_t replace_below(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const diopiScalar_t* threshold, const diopiScalar_t* value) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_unary(op, y, x, true); error != diopiSuccess) return error;
    const diopiScalar_t limit = threshold_in(x.dtype, *threshold);
    return with_signed_type(x.dtype, [&]<class C>() {
        return map<C, 1>(ctx, op, y, {x}, ThresholdOf<C>{number<C>(limit), number<C>(*value)});
    });
}

diopiError_t replace_below_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
    const View gx = view(grad_input), g = view(grad_output), x = view(input);
    if (!is_ordered_number(gx.dtype)) return unsupported(op, "grad_input", gx.dtype, "a real dtype");
    for (const Dtype dtype : {g.dtype, x.dtype}) {
        if (is_complex(dtype)) return unsupported(op, "an input", dtype, "a real dtype");
    }
    return with_signed_type(gx.dtype, [&]<class C>() {
        return map<C, 2>(ctx, op, gx, {g, x}, ThresholdSlope<C>{number<C>(*threshold)});
    });
}

}  // namespace

#include "kernels/entries/activation_threshold.inc"

}  // namespace diopi::cuda
