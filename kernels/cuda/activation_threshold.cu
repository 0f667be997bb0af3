/// threshold, whose gradient at 0 is relu's.
#include <algorithm>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
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

/// Calls f<C>(); uint64 computes in int64, for a limit may be below 0.
template <class F>
diopiError_t with_signed_type(Dtype dtype, F&& f) {
    return with_compute_type(is_floating(dtype) ? dtype : Dtype::int64, f);
}

bool is_real(Dtype dtype) { return !is_complex(dtype) && dtype != Dtype::boolean; }

diopiError_t threshold_any(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const diopiScalar_t& threshold, const diopiScalar_t& value) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_unary(op, y, x, true); error != diopiSuccess) return error;
    return with_signed_type(x.dtype, [&]<class C>() {
        return map<C, 1>(ctx, op, y, {x}, ThresholdOf<C>{number<C>(threshold), number<C>(value)});
    });
}

}  // namespace

diopiError_t diopiThreshold(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* threshold, const diopiScalar_t* value) {
    return threshold_any(ctx, "diopiThreshold", out, input, *threshold, *value);
}

diopiError_t diopiThresholdInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* threshold,
                               const diopiScalar_t* value) {
    return threshold_any(ctx, "diopiThresholdInp", input, input, *threshold, *value);
}

diopiError_t diopiThresholdBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
    constexpr std::string_view kOp = "diopiThresholdBackward";
    const View gx = view(grad_input), g = view(grad_output), x = view(input);
    if (!is_real(gx.dtype)) return unsupported(kOp, "grad_input", gx.dtype, "a real dtype");
    for (const Dtype dtype : {g.dtype, x.dtype}) {
        if (is_complex(dtype)) return unsupported(kOp, "an input", dtype, "a real dtype");
    }
    return with_signed_type(gx.dtype, [&]<class C>() {
        return map<C, 2>(ctx, kOp, gx, {g, x}, ThresholdSlope<C>{number<C>(*threshold)});
    });
}

}  // namespace diopi::cuda
