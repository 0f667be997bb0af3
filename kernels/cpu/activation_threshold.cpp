/// threshold, whose gradient at 0 is relu's.
#include <algorithm>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// NaN stays.
template <class T>
struct ThresholdOf {
    T limit, value;
    T operator()(T x) const { return x <= limit ? value : x; }
};

template <class T>
struct ThresholdSlope {
    T limit;
    T operator()(T g, T x) const { return x <= limit ? T(0) : g; }
};

/// Runs f<T>() with the type that a real dtype computes in; integers as int64.
template <class F>
diopiError_t with_wide_type(Dtype dtype, F&& f) {
    const Dtype compute = wide(dtype);
    if (compute == Dtype::float32) return f.template operator()<float>(compute);
    if (compute == Dtype::float64) return f.template operator()<double>(compute);
    return f.template operator()<int64_t>(compute);
}

bool is_real(Dtype dtype) { return !is_complex(dtype) && dtype != Dtype::boolean; }

diopiError_t threshold_any(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const diopiScalar_t& threshold, const diopiScalar_t& value) {
    const View y = view(out), x = view(input);
    if (!is_real(x.dtype)) return unsupported(op, "input", x.dtype, "a real dtype");
    if (!std::ranges::equal(y.shape, x.shape)) return wrong_shape(op, "out", y.shape, to_string(x.shape));
    return with_wide_type(x.dtype, [&]<class T>(Dtype compute) {
        ThresholdOf<T> f{number<T>(threshold), number<T>(value)};
        return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, unary<T>(compute, f));
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
    const View gx = view(grad_input);
    const std::array ins = {view(grad_output), view(input)};
    if (!is_real(gx.dtype)) return unsupported(kOp, "grad_input", gx.dtype, "a real dtype");
    return with_wide_type(gx.dtype, [&]<class T>(Dtype compute) {
        ThresholdSlope<T> f{number<T>(*threshold)};
        return for_each_tile(ctx, kOp, {&gx, 1}, ins, binary<T>(compute, f));
    });
}

}  // namespace diopi::cpu
