/// The modulus, the sign, whole numbers. Integers and bool are whole; bool has no negative numbers.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

int64_t sign(int64_t x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }
/// 0 for NaN.
double sign(double x) { return (x > 0 ? 1.0 : 0.0) - (x < 0 ? 1.0 : 0.0); }

/// |x|; the least integer stays.
constexpr auto Abs = ByKind{[](double x) { return std::fabs(x); }, [](Complex x) { return std::abs(x); },
                            [](int64_t x) { return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x; }};
constexpr auto Sign = ByKind{[](double x) { return sign(x); }, [](int64_t x) { return sign(x); }};
/// The sign; x / |x| of a complex number: 0 at 0, NaN at infinity.
constexpr auto Sgn = ByKind{[](double x) { return sign(x); }, [](int64_t x) { return sign(x); },
                            [](Complex x) {
                                const double modulus = std::abs(x);
                                return modulus == 0 ? x : std::isinf(modulus) ? Complex(NAN, NAN) : x / modulus;
                            }};
/// The largest whole number that is not above.
constexpr auto Floor = ByKind{[](double x) { return std::floor(x); }, [](int64_t x) { return x; }};
/// The smallest whole number that is not below.
constexpr auto Ceil = ByKind{[](double x) { return std::ceil(x); }, [](int64_t x) { return x; }};

template <auto kFormula>
constexpr auto map_whole = map_same<kFormula>;

/// Source: torch.abs, which has no in-place form for complex numbers.
diopiError_t modulus(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input) {
    return kernel([&] {
        if (is_complex(view_of(out).dtype)) refuse_dtype("out", view_of(out).dtype, "a real dtype");
        const diopiError_t error = map_same<Abs>(ctx, op, out, input);
        if (error != diopiSuccess) throw Refusal{error, last_error()};
    });
}

}  // namespace

#include "kernels/entries/elementwise_rounding.inc"

}  // namespace diopi::reference
