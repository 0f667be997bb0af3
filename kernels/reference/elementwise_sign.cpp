/// The sign.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

template <class T, class F>
void map_kind(diopiTensorHandle_t out, diopiConstTensorHandle_t input, F f) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    for (int64_t i = 0; i < x.numel(); ++i) y[i] = f(x[i]);
    wrap(y, view_of(input).dtype);
    y.store();
}

/// out = -input; integers wrap.
diopiError_t negate(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return map_kind<Complex>(out, input, [](Complex x) { return -x; });
            case Kind::kFloating:
                return map_kind<double>(out, input, [](double x) { return -x; });
            case Kind::kInteger:
                return map_kind<int64_t>(out, input,
                                         [](int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); });
            case Kind::kBool:
                refuse_dtype("input", Dtype::boolean, "a number: bool has no sign");
        }
    });
}

}  // namespace

#include "kernels/entries/elementwise_sign.inc"

}  // namespace diopi::reference
