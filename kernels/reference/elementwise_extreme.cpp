/// The larger and the smaller of two numbers.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

constexpr bool Larger = true, Smaller = false;

/// The larger (smaller) one; NaN where either is NaN.
template <bool kLarger>
diopiError_t extreme(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     const Other& other) {
    return kernel([&] {
        switch (common_kind(input, other)) {
            case Kind::kComplex:
                refuse_dtype("input", view_of(input).dtype, "a real dtype: complex numbers have no order");
            case Kind::kFloating:
                return apply<double>(out, input, other, [](double a, double b) {
                    if (std::isnan(a)) return a;
                    if (std::isnan(b)) return b;
                    return (a > b) == kLarger ? a : b;
                });
            case Kind::kInteger:
            case Kind::kBool:
                return apply<int64_t>(out, input, other,
                                      [](int64_t a, int64_t b) { return (a > b) == kLarger ? a : b; });
        }
    });
}

}  // namespace

#include "kernels/entries/elementwise_extreme.inc"

}  // namespace diopi::reference
