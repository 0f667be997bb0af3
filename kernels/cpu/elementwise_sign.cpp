/// The sign.
#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Negate {
    T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(0 - x);
        else
            return -x;
    }
};

diopiError_t negate(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (x.dtype == Dtype::boolean) return unsupported(op, "input", x.dtype, "numbers: use logical_not for bool");
    if (!std::ranges::equal(y.shape, x.shape)) return wrong_shape(op, "out", y.shape, to_string(x.shape));
    const Dtype compute = compute_dtype(x.dtype, {&y, 1}, {&x, 1});
    return with_wrapping_type(compute, [&]<class T>() {
        if constexpr (std::is_same_v<T, Bool>) {
            return unsupported(op, "input", x.dtype, "numbers");
        } else {
            Negate<T> f;
            return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, unary<T>(compute, f));
        }
    });
}

}  // namespace

diopiError_t diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return negate(ctx, "diopiNeg", out, input);
}

diopiError_t diopiNegInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return negate(ctx, "diopiNegInp", input, input);
}

}  // namespace diopi::cpu
