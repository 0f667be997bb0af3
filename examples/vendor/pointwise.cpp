/// add, mul, maximum, neg and sqrt, with the in-place functions of the standard.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "tensor.hpp"

using namespace vendor;

namespace {

double number(const diopiScalar_t* scalar) {
    constexpr diopiDtype_t kFloating[] = {diopi_dtype_float16, diopi_dtype_bfloat16, diopi_dtype_float32,
                                          diopi_dtype_float64};
    const bool is_floating =
        std::find(std::begin(kFloating), std::end(kFloating), scalar->stype) != std::end(kFloating);
    return is_floating ? scalar->fval : static_cast<double>(scalar->ival);
}

}  // namespace

extern "C" {

diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    const double factor = number(alpha);
    return map(describe(out), describe(input), describe(other),
               [factor](auto a, auto b) { return a + static_cast<decltype(b)>(factor) * b; });
}

diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return diopiAdd(ctx, input, input, other, alpha);
}

diopiError_t diopiAddScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    const double term = number(alpha) * number(other);
    return map(describe(out), describe(input), [term](auto x) { return x + static_cast<decltype(x)>(term); });
}

diopiError_t diopiAddInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return diopiAddScalar(ctx, input, input, other, alpha);
}

diopiError_t diopiMul(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
    return map(describe(out), describe(input), describe(other), [](auto a, auto b) { return a * b; });
}

diopiError_t diopiMulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other) {
    return diopiMul(ctx, input, input, other);
}

diopiError_t diopiMulScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    const double factor = number(other);
    return map(describe(out), describe(input), [factor](auto x) { return x * static_cast<decltype(x)>(factor); });
}

diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return diopiMulScalar(ctx, input, input, other);
}

/// NaN if either operand is NaN.
diopiError_t diopiMaximum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return map(describe(out), describe(input), describe(other), [](auto a, auto b) { return a > b || a != a ? a : b; });
}

diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(describe(out), describe(input), [](auto x) { return -x; });
}

diopiError_t diopiNegInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiNeg(ctx, input, input); }

diopiError_t diopiSqrt(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(describe(out), describe(input), [](auto x) { return std::sqrt(x); });
}

diopiError_t diopiSqrtInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiSqrt(ctx, input, input); }

}  // extern "C"
