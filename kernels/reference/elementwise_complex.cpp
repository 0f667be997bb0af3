/// Complex numbers and their parts.
#include <cmath>
#include <concepts>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

constexpr auto Cartesian = [](double re, double im) { return Complex(re, im); };
constexpr auto Polar = [](double abs, double angle) { return Complex(abs * std::cos(angle), abs * std::sin(angle)); };
constexpr auto Conj =
    ByKind{[](double x) { return x; }, [](int64_t x) { return x; }, [](Complex x) { return std::conj(x); }};
constexpr auto Real =
    ByKind{[](double x) { return x; }, [](int64_t x) { return x; }, [](Complex x) { return x.real(); }};
constexpr auto Imaginary = []<std::same_as<Complex> T>(T x) { return x.imag(); };

constexpr auto real_part = map_same<Real>, imaginary_part = map_same<Imaginary>;

/// A complex number of two real ones. Source: torch.complex, torch.polar.
template <auto kFormula>
diopiError_t join(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t first,
                  diopiConstTensorHandle_t second) {
    return kernel([&] {
        const Operand<double> a(first, "the first operand"), b(second, "the second operand");
        const Dtype dtype = view_of(out).dtype;
        if (!is_complex(dtype)) refuse_dtype("out", dtype, "a complex dtype");
        Output<Complex> y(out, "out");
        require_broadcast(y.shape(), a.shape(), b.shape());
        broadcast(y, a.data(), a.shape(), b.data(), b.shape(), kFormula);
        y.store();
    });
}

}  // namespace

#include "kernels/entries/elementwise_complex.inc"

}  // namespace diopi::reference
