#include "kernels/reference/vector_math.hpp"

#include <algorithm>
#include <array>

#include "core/instruction_sets.hpp"

// Only glibc's own headers tell the compiler of its vectors, and only with -ffast-math; here the functions are declared
// once more, by other names for the same symbols.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define DIOPI_WITH_VECTORS __attribute__((simd("notinbranch"), const))
#else
#define DIOPI_WITH_VECTORS __attribute__((const))
#endif
extern "C" {
#define DIOPI_DECLARE(name) double diopi_vector_##name(double x) noexcept __asm__(#name) DIOPI_WITH_VECTORS;
DIOPI_VECTOR_FUNCTIONS(DIOPI_DECLARE)
#undef DIOPI_DECLARE
}

namespace diopi::reference {

namespace {

constexpr int kVectorDigits = 24;  // of float32

/// Elements in the widest vectors, unrolled twice.
constexpr int64_t kWhole = 16;

template <double (*kFunction)(double)>
void each(const double* x, double* y, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = kFunction(x[i]);
}

/// Calls the loop on whole vectors only, the last ones padded: a result depends on its element, and not on its place.
void on_whole_vectors(ArrayFunction* loop, const double* x, double* y, int64_t n) {
    const int64_t whole = n / kWhole * kWhole;
    loop(x, y, whole);
    if (whole == n) return;
    std::array<double, kWhole> rest = {};
    std::copy(x + whole, x + n, rest.begin());
    loop(rest.data(), rest.data(), kWhole);
    std::copy_n(rest.begin(), n - whole, y + whole);
}

}  // namespace

bool allows_vectors(const Context& context) { return context.digits <= kVectorDigits; }

namespace in_vectors {
#define DIOPI_DEFINE(name) \
    void name(const double* x, double* y, int64_t n) { on_whole_vectors(best<each<diopi_vector_##name>>(), x, y, n); }
DIOPI_VECTOR_FUNCTIONS(DIOPI_DEFINE)
#undef DIOPI_DEFINE
}  // namespace in_vectors

}  // namespace diopi::reference
