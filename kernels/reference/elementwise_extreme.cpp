/// The larger and the smaller of two numbers.
#include <cmath>

#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The larger (smaller) one; NaN where either is NaN.
diopiError_t extreme(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other,
                     bool larger) {
    return kernel([&] {
        const Other second{.tensor = other};
        switch (common_kind(input, second)) {
            case Kind::kComplex:
                refuse_dtype("input", view_of(input).dtype, "a real dtype: complex numbers have no order");
            case Kind::kFloating:
                return apply<double>(out, input, second, [larger](double a, double b) {
                    if (std::isnan(a)) return a;
                    if (std::isnan(b)) return b;
                    return (a > b) == larger ? a : b;
                });
            case Kind::kInteger:
            case Kind::kBool:
                return apply<int64_t>(out, input, second,
                                      [larger](int64_t a, int64_t b) { return (a > b) == larger ? a : b; });
        }
    });
}

}  // namespace

diopiError_t diopiMaximum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme(out, input, other, true);
}

diopiError_t diopiMinimum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme(out, input, other, false);
}

}  // namespace diopi::reference
