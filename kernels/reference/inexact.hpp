/// Numbers that know how far rounding may have moved them: running error analysis. A formula written for any number
/// type gives its value with double, and with Inexact a bound of the error that a plain, careful computation of the
/// same formula in the working format makes, to the first order.
///
/// Each operation adds one rounding, u times its result, to the errors that its operands bring. Functions add the error
/// that the OpenCL C specification allows them in float32. A sum of n terms adds min(n - 1, 4 sqrt(n)) u S, where S is
/// the sum of the terms' magnitudes: rounding errors of a sum in any order are random, and blocks make them smaller.
/// A result that may exceed the format's largest number has an infinite error. Source: N. Higham, Accuracy and
/// Stability of Numerical Algorithms, 3.3.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/format.hpp"

namespace diopi::reference {

/// The rounding of the working format.
struct WorkingFormat {
    double roundoff = 0;  ///< u, half the distance from 1 to the next number
    double least = 0;     ///< the smallest normal number: smaller results may be flushed to 0
    double largest = 0;

    WorkingFormat() = default;
    explicit WorkingFormat(const Format& format)
        : roundoff(std::ldexp(1.0, -format.significand)),
          least(std::ldexp(1.0, format.min_exponent)),
          largest(format.largest) {}
};

// Every operation reads these: the usual model of position-independent code would call a function each time.
/// The working format of this thread's calculations with Inexact.
[[gnu::tls_model("initial-exec")]] inline thread_local WorkingFormat working_format;
/// That of the tensors of the call, in which numbers may be kept between two steps.
[[gnu::tls_model("initial-exec")]] inline thread_local WorkingFormat kept_format;

struct Inexact {
    double value = 0;
    double error = 0;  ///< never negative, never NaN

    Inexact() = default;
    /// An exact number.
    Inexact(double exact) : value(exact) {}
    Inexact(double result, double bound)
        : value(result),
          error(std::fabs(result) + bound <= working_format.largest ? bound : std::numeric_limits<double>::infinity()) {
    }

    /// A result that is rounded, by `roundings` u.
    [[nodiscard]] static Inexact rounded(double result, double error, double roundings = 1) {
        return {result, error + roundings * working_format.roundoff * std::fabs(result) + working_format.least};
    }
    [[nodiscard]] bool is_zero() const { return static_cast<int>(value == 0) & static_cast<int>(error == 0); }

    Inexact operator-() const { return {-value, error}; }
    friend Inexact operator+(const Inexact& a, const Inexact& b) {
        // Without branches, so that loops vectorise.
        const bool is_exact = static_cast<int>(a.is_zero()) | static_cast<int>(b.is_zero());
        const double sum = a.value + b.value, brought = a.error + b.error;
        Inexact result(sum, brought + working_format.roundoff * std::fabs(sum));
        result.error = is_exact ? brought : result.error;
        return result;
    }
    friend Inexact operator-(const Inexact& a, const Inexact& b) { return a + -b; }
    friend Inexact operator*(const Inexact& a, const Inexact& b) {
        const double error = std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
        return rounded(a.value * b.value, error);
    }
    friend Inexact operator/(const Inexact& a, const Inexact& b) {
        const double quotient = a.value / b.value;
        const double least_divisor = std::max(std::fabs(b.value) - b.error, 0.0);
        return rounded(quotient, (a.error + std::fabs(quotient) * b.error) / least_divisor);
    }
    Inexact& operator+=(const Inexact& b) { return *this = *this + b; }
    Inexact& operator-=(const Inexact& b) { return *this = *this - b; }
    Inexact& operator*=(const Inexact& b) { return *this = *this * b; }
    Inexact& operator/=(const Inexact& b) { return *this = *this / b; }

    friend bool operator==(const Inexact& a, const Inexact& b) { return a.value == b.value; }
    friend bool operator<=(const Inexact& a, const Inexact& b) { return a.value <= b.value; }
    friend bool operator>(const Inexact& a, const Inexact& b) { return a.value > b.value; }
};

/// A normalised value.
inline double normalised(double x, double mean, double scale, double shift) { return (x - mean) * scale + shift; }
/// A library may also compute x * scale + (shift - mean * scale), whose products are rounded.
inline Inexact normalised(const Inexact& x, const Inexact& mean, const Inexact& scale, const Inexact& shift) {
    const Inexact plain = (x - mean) * scale + shift;
    const double products = (std::fabs(x.value) + 2 * std::fabs(mean.value)) * std::fabs(scale.value);
    return {plain.value, plain.error + working_format.roundoff * (products + std::fabs(shift.value))};
}

/// Whether a number that is kept in the format of the tensors is rounded once more.
inline bool rounds_what_it_keeps() { return kept_format.roundoff > working_format.roundoff; }
/// A number that an implementation may round to the format of the tensors, because it keeps it in one.
inline double maybe_kept(double x) { return x; }
inline Inexact maybe_kept(const Inexact& x) {
    if (!rounds_what_it_keeps()) return x;
    const double size = std::fabs(x.value) + x.error;
    if (!(size <= kept_format.largest)) return {x.value, std::numeric_limits<double>::infinity()};
    return {x.value, x.error + kept_format.roundoff * std::max(size, kept_format.least)};
}

/// The value without its error. The largest of several exponents only keeps the powers small: its error cancels.
inline double exact(double x) { return x; }
inline double exact(const Inexact& x) { return x.value; }

inline bool isnan(const Inexact& x) { return std::isnan(x.value); }

// The functions: what the argument's error makes of the result, and the roundings of the function itself; one ulp is at
// most 2 u.
inline Inexact sqrt(const Inexact& x) {
    const double root = std::sqrt(x.value);
    const double lowest = std::sqrt(std::max(x.value - x.error, 0.0));
    return Inexact::rounded(root, x.error > 0 ? x.error / (root + lowest) : 0);
}
/// exp(x) from its value and from exp(e) - 1 of the argument's error e.
inline Inexact power_of(double power, double growth) { return Inexact::rounded(power, power * growth, 6); }
/// e + e^2 is above exp(e) - 1 for small e, and cheaper.
inline bool has_small_error(const Inexact& x) { return x.error < 0.01; }
inline double growth_of_small(const Inexact& x) { return x.error * (1 + x.error); }
inline Inexact exp(const Inexact& x) {
    return power_of(std::exp(x.value), has_small_error(x) ? growth_of_small(x) : std::expm1(x.error));
}
inline Inexact log(const Inexact& x) {
    const double error = x.error > 0 ? -std::log1p(-std::min(x.error / x.value, 1.0)) : 0;
    return Inexact::rounded(std::log(x.value), error, 6);
}
/// The logarithm of a sum of exp(x): errors of x make each power a multiple of what it should be, of at most the same
/// factor to either side, so that a sum whose error exceeds it has a logarithm all the same.
inline double log_of_powers(double sum) { return std::log(sum); }
inline Inexact log_of_powers(const Inexact& sum) {
    return Inexact::rounded(std::log(sum.value), std::log1p(sum.error / sum.value), 6);
}
/// A number that lies from 0 to 1, but for roundings, however large its error is; anything where it may overflow on the
/// way.
inline Inexact from_0_to_1(const Inexact& x, bool may_overflow) {
    if (may_overflow) return x;
    return {x.value, std::min(x.error, Inexact::rounded(1, std::max(x.value, 1 - x.value)).error)};
}
/// `power` is exp(x - m), m the largest of several x: each plain computation subtracts the largest of its own.
inline double capped_power(double power, double) { return power; }
inline Inexact capped_power(const Inexact& power, const Inexact& x) {
    return from_0_to_1(power, !std::isfinite(x.error));
}
template <class T>
T power_below(const T& x, double most) {
    using std::exp;
    return capped_power(exp(x - most), x);
}
/// One of these powers, divided by their sum.
inline double share_of_powers(double power, double sum) { return power / sum; }
inline Inexact share_of_powers(const Inexact& power, const Inexact& sum) {
    return from_0_to_1(power / sum, !std::isfinite(power.error) || !std::isfinite(sum.error));
}
inline Inexact tanh(const Inexact& x) {
    const double reach = std::max(std::fabs(x.value) - x.error, 0.0);
    const double slope = 1 - std::tanh(reach) * std::tanh(reach);
    return Inexact::rounded(std::tanh(x.value), slope * x.error, 10);
}
inline Inexact erfc(const Inexact& x) {
    const double reach = std::max(std::fabs(x.value) - x.error, 0.0);
    const double slope = 1.1283791670955126 * std::exp(-reach * reach);
    return Inexact::rounded(std::erfc(x.value), slope * x.error, 32);
}

/// A sum in the working format.
template <class T>
class Sum;

/// The rounding errors are summed apart and added last, so that many terms of one size do not pile theirs up. Source:
/// T. Ogita, S. Rump, S. Oishi, Accurate sum and dot product, algorithm 4.4.
template <>
class Sum<double> {
 public:
    using Parts = std::array<double, 2>;

    Sum() = default;
    explicit Sum(const Parts& parts) : total_(parts[0]), rounded_off_(parts[1]) {}
    [[nodiscard]] Parts parts() const { return {total_, rounded_off_}; }

    Sum& operator+=(double term) {
        const double total = total_ + term, added = total - total_;
        rounded_off_ += (total_ - (total - added)) + (term - added);
        total_ = total;
        return *this;
    }
    [[nodiscard]] double value() const { return std::isfinite(rounded_off_) ? total_ + rounded_off_ : total_; }

 private:
    double total_ = 0, rounded_off_ = 0;
};

template <>
class Sum<Inexact> {
 public:
    using Parts = std::array<double, 4>;

    Sum() = default;
    explicit Sum(const Parts& parts) : total_(parts[0]), errors_(parts[1]), magnitudes_(parts[2]), terms_(parts[3]) {}
    [[nodiscard]] Parts parts() const { return {total_, errors_, magnitudes_, terms_}; }

    Sum& operator+=(const Inexact& term) {
        total_ += term.value;
        errors_ += term.error;
        magnitudes_ += std::fabs(term.value);
        terms_ += term.is_zero() ? 0.0 : 1.0;
        return *this;
    }
    [[nodiscard]] Inexact value() const {
        const double roundings = terms_ <= 1 ? 0 : std::min(terms_ - 1, 4 * std::sqrt(terms_));
        return {total_, errors_ + roundings * working_format.roundoff * magnitudes_};
    }

 private:
    double total_ = 0, errors_ = 0, magnitudes_ = 0, terms_ = 0;
};

/// Sums side by side, to which rows of terms are added in loops that vectorise.
template <class T>
class Sums {
 public:
    explicit Sums(size_t n) {
        for (auto& part : parts_) part.resize(n);
    }
    void clear() {
        for (auto& part : parts_) std::ranges::fill(part, 0.0);
    }
    /// Adds term(k) to the sum number first + k, for k from 0 to n - 1.
    template <class Term>
    void add(int64_t first, int64_t n, const Term& term) {
        std::array<double*, kParts> at;
        for (size_t p = 0; p < kParts; ++p) at[p] = parts_[p].data() + first;
#pragma GCC ivdep
        for (int64_t k = 0; k < n; ++k) {
            typename Sum<T>::Parts parts;
            for (size_t p = 0; p < kParts; ++p) parts[p] = at[p][k];
            Sum<T> sum(parts);
            sum += term(k);
            parts = sum.parts();
            for (size_t p = 0; p < kParts; ++p) at[p][k] = parts[p];
        }
    }
    /// Adds term(k, i) to the sum number i, for k from 0 to rows - 1 and i from 0 to n - 1.
    template <class Term>
    void add_rows(int64_t rows, int64_t n, const Term& term) {
        if (n != 1) {
            for (int64_t k = 0; k < rows; ++k) add(0, n, [&](int64_t i) { return term(k, i); });
            return;
        }
        Sum<T> sum(parts_of(0));
        for (int64_t k = 0; k < rows; ++k) sum += term(k, 0);
        const typename Sum<T>::Parts parts = sum.parts();
        for (size_t p = 0; p < kParts; ++p) parts_[p][0] = parts[p];
    }
    [[nodiscard]] T value(int64_t number) const { return Sum<T>(parts_of(static_cast<size_t>(number))).value(); }

 private:
    static constexpr size_t kParts = std::tuple_size_v<typename Sum<T>::Parts>;

    [[nodiscard]] typename Sum<T>::Parts parts_of(size_t number) const {
        typename Sum<T>::Parts parts;
        for (size_t p = 0; p < kParts; ++p) parts[p] = parts_[p][number];
        return parts;
    }

    std::array<std::vector<double>, kParts> parts_;
};

}  // namespace diopi::reference
