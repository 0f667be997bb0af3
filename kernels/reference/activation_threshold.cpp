/// threshold, whose gradient at 0 is relu's.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// The limit in the dtype of the elements: PyTorch wraps one below 0 in an unsigned dtype.
int64_t limit_in(int64_t number, Dtype dtype) { return is_unsigned(dtype) ? wrap_integer(number, dtype) : number; }
double limit_in(double number, Dtype) { return number; }

/// out = x <= threshold ? value : x; NaN stays. Integers compare with the whole part of a fraction.
template <class T>
void threshold_of(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const diopiScalar_t& threshold,
                  const diopiScalar_t& value) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    const T limit = limit_in(scalar_as<T>(threshold), view_of(input).dtype);
    const T other = scalar_as<T>(value);
    for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] <= limit ? other : x[i];
    y.store();
}

diopiError_t replace_below(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const diopiScalar_t* threshold, const diopiScalar_t* value) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        switch (kind_of(dtype)) {
            case Kind::kFloating:
                return threshold_of<double>(out, input, *threshold, *value);
            case Kind::kInteger:
                return threshold_of<int64_t>(out, input, *threshold, *value);
            case Kind::kBool:
            case Kind::kComplex:
                refuse_dtype("input", dtype, "an integer or floating dtype");
        }
    });
}

/// grad_input = x <= threshold ? 0 : g; the gradient of relu with a threshold of 0.
diopiError_t replace_below_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
    return map_gradient(ctx, grad_input, grad_output, input,
                        [limit = scalar_as<double>(*threshold)]<class T>(T g, T x) { return x <= limit ? T(0) : g; });
}

}  // namespace

#include "kernels/entries/activation_threshold.inc"

}  // namespace diopi::reference
