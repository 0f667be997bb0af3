/// Powers.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/vector_math.hpp"

namespace diopi::reference {

namespace {

/// base^exponent modulo 2^64. A negative exponent gives the whole part: 0 but for 1 and -1. Source: torch.pow.
int64_t integer_power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 == 0 ? 1 : -1;
    uint64_t result = 1;
    for (auto square = static_cast<uint64_t>(base); exponent > 0; exponent /= 2, square *= square) {
        if (exponent % 2 == 1) result *= square;
    }
    return static_cast<int64_t>(result);
}

/// a^b, or b^a where reversed.
template <bool kReversed>
struct Power {
    bool allows_vectors;

    double operator()(double a, double b) const { return kReversed ? std::pow(b, a) : std::pow(a, b); }
    void in_vectors(const double* a, const double* b, double* out, int64_t n) const {
        kReversed ? reference::in_vectors::pow(b, a, out, n) : reference::in_vectors::pow(a, b, out, n);
    }
};

/// out = a^b. A number is the exponent b, or the base where `reversed`.
diopiError_t power(const Context& ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other,
                   bool reversed) {
    return kernel([&] {
        switch (common_kind(input, other)) {
            case Kind::kComplex:
            case Kind::kBool:
                refuse_dtype("input", view_of(input).dtype, "an integer or floating dtype, or a number that is one");
            case Kind::kFloating:
                if (reversed) return apply<double>(out, input, other, Power<true>{allows_vectors(ctx)});
                return apply<double>(out, input, other, Power<false>{allows_vectors(ctx)});
            case Kind::kInteger:
                if (other.tensor == nullptr && !reversed && other.scalar->ival < 0) {
                    refuse("exponent is " + std::to_string(other.scalar->ival) +
                           ", wanted none below 0 for integers; use a floating exponent");
                }
                if (reversed) {
                    return apply<int64_t>(out, input, other, [](int64_t b, int64_t a) { return integer_power(a, b); });
                }
                return apply<int64_t>(out, input, other, integer_power);
        }
    });
}

diopiError_t power(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   const Other& exponent) {
    return power(*ctx, out, input, exponent, false);
}
diopiError_t power_of_number(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                             const diopiScalar_t* base, diopiConstTensorHandle_t exponent) {
    return power(*ctx, out, exponent, base, true);
}

}  // namespace

#include "kernels/entries/elementwise_pow.inc"

}  // namespace diopi::reference
