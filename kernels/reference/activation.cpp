/// relu.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out = 0 if x < 0, else x: NaN is not less than 0 and stays.
template <class T>
void relu_of(diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    const T* from = x.data();
    T* to = y.data();
    const int64_t n = x.numel();
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] < T(0) ? T(0) : from[i];
    y.store();
}

diopiError_t relu(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        switch (kind_of(dtype)) {
            case Kind::kFloating:
                return relu_of<double>(out, input);
            case Kind::kInteger:
                return relu_of<int64_t>(out, input);
            case Kind::kBool:
            case Kind::kComplex:
                refuse_dtype("input", dtype, "an integer or floating dtype");
        }
    });
}

}  // namespace

#include "kernels/entries/activation.inc"

}  // namespace diopi::reference
