/// threshold, whose gradient at 0 is relu's.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

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

diopiError_t replace_below(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const diopiScalar_t* threshold, const diopiScalar_t* value) {
    const View y = view(out), x = view(input);
    if (!is_ordered_number(x.dtype)) return unsupported(op, "input", x.dtype, "a real dtype");
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    const diopiScalar_t limit = threshold_in(x.dtype, *threshold);
    return with_wide_type(x.dtype, [&]<class T>(Dtype compute) {
        ThresholdOf<T> f{number<T>(limit), number<T>(*value)};
        return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, unary<T>(compute, f));
    });
}

diopiError_t replace_below_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
    const View gx = view(grad_input);
    const std::array ins = {view(grad_output), view(input)};
    if (!is_ordered_number(gx.dtype)) return unsupported(op, "grad_input", gx.dtype, "a real dtype");
    return with_wide_type(gx.dtype, [&]<class T>(Dtype compute) {
        ThresholdSlope<T> f{number<T>(*threshold)};
        return for_each_tile(ctx, op, {&gx, 1}, ins, binary<T>(compute, f));
    });
}

}  // namespace

#include "kernels/entries/activation_threshold.inc"

}  // namespace diopi::cpu
