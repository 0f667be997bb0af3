#include "intercept/factors_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "core/format.hpp"

namespace diopi {

namespace {

using Vector = std::vector<double>;

constexpr int kVectors = 8;

/// A batch of matrices in float64.
class Matrices {
 public:
    explicit Matrices(const Tensor& tensor)
        : wide_(to_oracle(gathered(tensor), Dtype::float64)),
          elements_(wide_.data_as<double>()),
          rows_(tensor.shape[tensor.shape.size() - 2]),
          columns_(tensor.shape.back()) {}

    [[nodiscard]] int64_t rows() const { return rows_; }
    [[nodiscard]] int64_t columns() const { return columns_; }
    [[nodiscard]] int64_t count() const { return wide_.numel() / std::max<int64_t>(rows_ * columns_, 1); }
    [[nodiscard]] double at(int64_t number, int64_t i, int64_t j) const { return row(number, i)[j]; }
    [[nodiscard]] bool is_finite() const {
        return std::all_of(elements_, elements_ + wide_.numel(), [](double each) { return std::isfinite(each); });
    }
    /// The matrix times x.
    [[nodiscard]] Vector times(int64_t number, const Vector& x) const {
        Vector y(static_cast<size_t>(rows_), 0.0);
        for (int64_t i = 0; i < rows_; ++i) {
            const double *a = row(number, i), *b = x.data();
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < columns_; ++j) sum += a[j] * b[j];
            y[static_cast<size_t>(i)] = sum;
        }
        return y;
    }
    /// The transpose times x.
    [[nodiscard]] Vector transpose_times(int64_t number, const Vector& x) const {
        Vector y(static_cast<size_t>(columns_), 0.0);
        double* __restrict to = y.data();
        for (int64_t i = 0; i < rows_; ++i) {
            const double* a = row(number, i);
            const double factor = x[static_cast<size_t>(i)];
            for (int64_t j = 0; j < columns_; ++j) to[j] += a[j] * factor;
        }
        return y;
    }
    [[nodiscard]] Vector column_norms(int64_t number) const {
        Vector norms(static_cast<size_t>(columns_), 0.0);
        for (int64_t i = 0; i < rows_; ++i) {
            for (int64_t j = 0; j < columns_; ++j) {
                norms[static_cast<size_t>(j)] = std::hypot(norms[static_cast<size_t>(j)], at(number, i, j));
            }
        }
        return norms;
    }

 private:
    [[nodiscard]] const double* row(int64_t number, int64_t i) const {
        return elements_ + (number * rows_ + i) * columns_;
    }

    Tensor wide_;
    const double* elements_;
    int64_t rows_, columns_;
};

/// The error that each component may have: relative to its scale, and beside that.
struct Tolerances {
    double relative, absolute;
};

/// Random signs; a dense vector finds every wrong element, whatever the others are.
Vector signs(int64_t n, uint64_t number) {
    Vector x(static_cast<size_t>(n));
    uint64_t state = 0x9e3779b97f4a7c15u * (number + 1);
    for (double& each : x) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        each = state >> 63 != 0 ? 1 : -1;
    }
    return x;
}

double norm(const Vector& x) {
    double sum = 0;
    for (const double each : x) sum = std::hypot(sum, each);
    return sum;
}

/// The first component that is further from the wanted one than the scale of its row allows; -1 if there is none.
template <class Scale>
int64_t first_wrong(const Vector& came, const Vector& wanted, const Tolerances& allowed, const Scale& scale) {
    for (size_t i = 0; i < came.size(); ++i) {
        const double most = allowed.relative * scale(i) + allowed.absolute;
        if (!(std::fabs(came[i] - wanted[i]) <= most)) return static_cast<int64_t>(i);
    }
    return -1;
}

/// Numbers below the smallest normal one may be flushed to 0.
Tolerances tolerances_of(const Matrices& a, Dtype dtype) {
    const Format& format = format_of(dtype);
    const double n = static_cast<double>(a.rows() + a.columns());
    return {16 * std::sqrt(n) * std::ldexp(1.0, -format.significand), n * std::ldexp(1.0, format.min_exponent)};
}

/// The first matrix whose columns are not orthonormal.
std::string wrong_columns(const Matrices& q, const Tolerances& allowed) {
    const double root = std::sqrt(static_cast<double>(q.columns()));
    for (int64_t b = 0; b < q.count(); ++b) {
        for (uint64_t v = 0; v < kVectors; ++v) {
            const Vector x = signs(q.columns(), v);
            const int64_t i =
                first_wrong(q.transpose_times(b, q.times(b, x)), x, allowed, [&](size_t) { return root; });
            if (i >= 0) return fmt::format("column {} of matrix {} is not orthonormal to the others", i, b);
        }
    }
    return {};
}

/// The first matrix that is not upper triangular, or has not R^T R = A^T A.
std::string wrong_triangle(const Matrices& r, const Matrices& a, const Tolerances& allowed) {
    for (int64_t b = 0; b < r.count(); ++b) {
        for (int64_t i = 0; i < r.rows(); ++i) {
            for (int64_t j = 0; j < std::min(i, r.columns()); ++j) {
                if (r.at(b, i, j) != 0) return fmt::format("element ({}, {}) of matrix {} is not 0", i, j, b);
            }
        }
        const Vector norms = a.column_norms(b);
        const double all = norm(norms);
        for (uint64_t v = 0; v < kVectors; ++v) {
            const Vector x = signs(r.columns(), v);
            const Vector wanted = a.transpose_times(b, a.times(b, x)), came = r.transpose_times(b, r.times(b, x));
            const int64_t i = first_wrong(came, wanted, allowed, [&](size_t k) { return norms[k] * all; });
            if (i >= 0) return fmt::format("column {} of matrix {} does not fit A: R^T R is not A^T A", i, b);
        }
    }
    return {};
}

}  // namespace

Status settle_factor(const Call& call, size_t arg, const Tensor& actual, TensorPtr& expected) {
    if (actual.numel() == 0 || actual.rank() < 2) return {};
    const Matrices a(*call.tensor("A")), factor(actual);
    if (!a.is_finite() || !factor.is_finite()) return {};
    const Tolerances allowed = tolerances_of(a, actual.dtype);
    const bool is_q = call.row->args()[arg].name == "Q";
    std::string wrong = is_q ? wrong_columns(factor, allowed) : wrong_triangle(factor, a, allowed);
    if (!wrong.empty()) return failed(std::move(wrong));
    auto made = make_tensor(cpu_device(), {actual.shape, expected->dtype, {}});
    if (made.ok()) widen(actual, **made);
    if (!made.ok()) return made.status();
    expected = *made;
    return {};
}

std::string wrong_factors(const Call& call, const Tensor& q, const Tensor& r) {
    if (q.rank() < 2 || q.numel() == 0 || r.numel() == 0) return {};
    const Matrices a(*call.tensor("A")), left(q), right(r);
    if (!a.is_finite() || !left.is_finite() || !right.is_finite()) return {};
    const Tolerances allowed = tolerances_of(a, q.dtype);
    for (int64_t b = 0; b < a.count(); ++b) {
        const double all = norm(a.column_norms(b));
        for (uint64_t v = 0; v < kVectors; ++v) {
            const Vector x = signs(a.columns(), v);
            const Vector came = left.times(b, right.times(b, x));
            const int64_t i = first_wrong(came, a.times(b, x), allowed, [&](size_t) { return all; });
            if (i >= 0) return fmt::format("row {} of matrix {}: Q R is not A", i, b);
        }
    }
    return {};
}

}  // namespace diopi
