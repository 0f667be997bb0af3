/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions: the C library in float64. Integers and bool
/// give floating results.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// e^x.
constexpr auto Exp = [](double x) { return std::exp(x); };
/// e^x - 1.
constexpr auto Expm1 = [](double x) { return std::expm1(x); };
/// ln x; -inf at 0, NaN below.
constexpr auto Log = [](double x) { return std::log(x); };
constexpr auto Log2 = [](double x) { return std::log2(x); };
constexpr auto Log10 = [](double x) { return std::log10(x); };
/// ln(1 + x).
constexpr auto Log1p = [](double x) { return std::log1p(x); };
/// NaN below 0.
constexpr auto Sqrt = [](double x) { return std::sqrt(x); };
/// 1 / sqrt(x); inf at 0, NaN below.
constexpr auto Rsqrt = [](double x) { return 1.0 / std::sqrt(x); };
/// 1 / x; inf at 0.
constexpr auto Reciprocal = [](double x) { return 1.0 / x; };
/// NaN at infinity.
constexpr auto Sin = [](double x) { return std::sin(x); };
/// NaN at infinity.
constexpr auto Cos = [](double x) { return std::cos(x); };
constexpr auto Erf = [](double x) { return std::erf(x); };
constexpr auto Asinh = [](double x) { return std::asinh(x); };
/// NaN below 1.
constexpr auto Acosh = [](double x) { return std::acosh(x); };
/// Infinite at -1 and 1, NaN beyond.
constexpr auto Atanh = [](double x) { return std::atanh(x); };
constexpr auto Tanh = [](double x) { return std::tanh(x); };
/// g (1 - y^2).
constexpr auto TanhBackward = [](auto g, auto y) { return g * (1.0 - y * y); };

}  // namespace

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::reference
