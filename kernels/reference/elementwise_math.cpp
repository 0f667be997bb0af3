/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions: the C library in float64. Integers and bool
/// give floating results.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// e^x.
constexpr InVectors<std::exp, in_vectors::exp> Exp;
/// e^x - 1.
constexpr InVectors<std::expm1, in_vectors::expm1> Expm1;
/// ln x; -inf at 0, NaN below.
constexpr InVectors<std::log, in_vectors::log> Log;
constexpr InVectors<std::log2, in_vectors::log2> Log2;
constexpr InVectors<std::log10, in_vectors::log10> Log10;
/// ln(1 + x).
constexpr InVectors<std::log1p, in_vectors::log1p> Log1p;
/// NaN below 0.
constexpr auto Sqrt = [](double x) { return std::sqrt(x); };
/// 1 / sqrt(x); inf at 0, NaN below.
constexpr auto Rsqrt = [](double x) { return 1.0 / std::sqrt(x); };
/// 1 / x; inf at 0.
constexpr auto Reciprocal = [](double x) { return 1.0 / x; };
/// NaN at infinity.
constexpr InVectors<std::sin, in_vectors::sin> Sin;
/// NaN at infinity.
constexpr InVectors<std::cos, in_vectors::cos> Cos;
constexpr InVectors<std::erf, in_vectors::erf> Erf;
constexpr InVectors<std::asinh, in_vectors::asinh> Asinh;
/// NaN below 1.
constexpr InVectors<std::acosh, in_vectors::acosh> Acosh;
/// Infinite at -1 and 1, NaN beyond.
constexpr InVectors<std::atanh, in_vectors::atanh> Atanh;
constexpr InVectors<std::tanh, in_vectors::tanh> Tanh;
/// g (1 - y^2).
constexpr auto TanhBackward = [](auto g, auto y) { return g * (1.0 - y * y); };

}  // namespace

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::reference
