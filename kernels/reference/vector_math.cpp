#include "kernels/reference/vector_math.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

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
double diopi_vector_pow(double x, double y) noexcept __asm__("pow") DIOPI_WITH_VECTORS;
}

namespace diopi::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr int kVectorDigits = 24;  // of float32

/// Elements in the widest vectors, unrolled twice.
constexpr int64_t kWhole = 16;

/// Where a logarithm is -infinity; NaN for other functions. For arguments there and below it the C library's vectors
/// call its scalar functions, which raise exceptions of the processor and take fifty times as long.
constexpr double pole_of(std::string_view name) {
    if (name == "log" || name == "log2" || name == "log10") return 0;
    return name == "log1p" ? -1 : kNaN;
}

template <double (*kFunction)(double), double kPole>
void each(const double* x, double* y, int64_t n) {
    if constexpr (kPole != kPole) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) y[i] = kFunction(x[i]);
    } else {
        // One loop would leave the function's call behind a branch.
        map_blocks<each<kFunction, kNaN>>(
            x, y, n, [](double a) { return a > kPole ? a : kPole + 1; },
            [](double a, double result) { return a > kPole    ? result
                                                 : a == kPole ? -kInfinity
                                                              : kNaN; });
    }
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

constexpr int64_t kPowers = 512;

/// Powers of at most kPowers numbers.
void powers(const double* x, const double* y, double* z, int64_t n) {
    // The rest are arguments whose powers have no pattern: 0, infinity and NaN.
    const auto is_plain = [](double a, double b) {
        return std::fabs(a) > 0 && std::fabs(a) < kInfinity && std::fabs(b) < kInfinity;
    };
    std::array<double, kPowers> base = {}, exponent = {};
    int64_t plain = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<size_t>(i);
        base[k] = is_plain(x[i], y[i]) ? std::fabs(x[i]) : 1;
        exponent[k] = is_plain(x[i], y[i]) ? y[i] : 1;
        plain += is_plain(x[i], y[i]) ? 1 : 0;
    }
    std::array<double, kPowers> power;
    const int64_t whole = (n + kWhole - 1) / kWhole * kWhole;
#pragma GCC ivdep
    for (int64_t i = 0; i < whole; ++i) power[i] = diopi_vector_pow(base[i], exponent[i]);
    for (int64_t i = 0; i < n; ++i) {
        const double b = y[i], half = 0.5 * b;
        const double of_negative = std::floor(b) != b ? kNaN : std::floor(half) == half ? power[i] : -power[i];
        power[i] = x[i] < 0 ? of_negative : power[i];
    }
    for (int64_t i = 0; plain < n && i < n; ++i) {
        if (!is_plain(x[i], y[i])) power[i] = std::pow(x[i], y[i]);
    }
    std::copy_n(power.begin(), n, z);
}

}  // namespace

bool allows_vectors(const Context& context) { return context.digits <= kVectorDigits; }

namespace in_vectors {
#define DIOPI_DEFINE(name)                                                            \
    void name(const double* x, double* y, int64_t n) {                                \
        on_whole_vectors(best<each<diopi_vector_##name, pole_of(#name)>>(), x, y, n); \
    }
DIOPI_VECTOR_FUNCTIONS(DIOPI_DEFINE)
#undef DIOPI_DEFINE

void pow(const double* x, const double* y, double* z, int64_t n) {
    const auto loop = best<powers>();
    for (int64_t i = 0; i < n; i += kPowers) loop(x + i, y + i, z + i, std::min(kPowers, n - i));
}
}  // namespace in_vectors

}  // namespace diopi::reference
