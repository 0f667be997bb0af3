/// Functions of the C library on arrays, in vectors where it has them (glibc's libmvec on x86-64). Their errors are up
/// to 4 ulp of float64, which is too much for results of that type and nothing for narrower ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/context.hpp"

namespace diopi::reference {

/// Whether the call's results have so few digits.
[[nodiscard]] bool allows_vectors(const Context& context);

/// y[i] = f(x[i]) for i from 0 to n - 1; y may be x.
using ArrayFunction = void(const double* x, double* y, int64_t n);

/// The functions that have such versions.
// clang-format off
#define DIOPI_VECTOR_FUNCTIONS(F)                                                              \
    F(exp) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) F(asin) F(acos)      \
    F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc)
// clang-format on

namespace in_vectors {
#define DIOPI_DECLARE(name) ArrayFunction name;
DIOPI_VECTOR_FUNCTIONS(DIOPI_DECLARE)
#undef DIOPI_DECLARE

/// z[i] = x[i]^y[i] for i from 0 to n - 1; z may be x or y.
void pow(const double* x, const double* y, double* z, int64_t n);
}  // namespace in_vectors

/// y[i] = after(x[i], f(before(x[i]))); y may be x.
template <ArrayFunction* f, class Before, class After>
void map_blocks(const double* x, double* y, int64_t n, const Before& before, const After& after) {
    std::array<double, 1024> block;
    for (int64_t first = 0; first < n; first += std::ssize(block)) {
        const int64_t count = std::min(n - first, static_cast<int64_t>(std::ssize(block)));
        for (int64_t i = 0; i < count; ++i) block[static_cast<size_t>(i)] = before(x[first + i]);
        f(block.data(), block.data(), count);
        for (int64_t i = 0; i < count; ++i) y[first + i] = after(x[first + i], block[static_cast<size_t>(i)]);
    }
}

/// A formula of one element with a version for arrays.
template <double (*kExact)(double), ArrayFunction* kVectors>
struct InVectors {
    double operator()(double x) const { return kExact(x); }
    static constexpr ArrayFunction* in_vectors = kVectors;
};

}  // namespace diopi::reference
