/// Fills of whole tensors: sym_mat, log_softmax.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "cases/fills.hpp"
#include "core/normal.hpp"

namespace diopi {

namespace {

/// Integer tensors get the nearest integer, unsigned ones its magnitude.
void fill_nearest(const FillTarget& target, std::vector<double>& values) {
    if (!is_floating(target.component)) {
        for (double& x : values) x = std::nearbyint(is_unsigned(target.component) ? std::fabs(x) : x);
    }
    fill_doubles(target, values);
}

std::vector<double> normals(const FillTarget& target, uint64_t key) {
    std::vector<double> values(static_cast<size_t>(target.count));
    normal_block(key, kValueStream, 0, std::span<double>(values));
    return values;
}

/// out = a a^T / n + I. Each element sums over k in order, so that the result is exactly symmetric.
void symmetric_product(const double* a, double* out, size_t n) {
    std::vector<double> transposed(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < n; ++k) transposed[k * n + i] = a[i * n + k];
    }
    for (size_t i = 0; i < n; ++i) {
        double* row = out + i * n;
        std::fill_n(row, n, 0.0);
        for (size_t k = 0; k < n; ++k) {
            const double factor = a[i * n + k];
            const double* other = transposed.data() + k * n;
            for (size_t j = 0; j < n; ++j) row[j] += factor * other[j];
        }
        for (size_t j = 0; j < n; ++j) row[j] /= static_cast<double>(n);
        row[i] += 1.0;
    }
}

/// 1 / i! for i = 0 .. 13.
constexpr std::array kInverseFactorials = [] {
    std::array<double, 14> table{1.0};
    double factorial = 1.0;
    for (size_t i = 1; i < table.size(); ++i) table[i] = 1.0 / (factorial *= static_cast<double>(i));
    return table;
}();

/// e^x for x in [-700, 0], within 2 ulp: x = k ln 2 + r, Taylor series in r. libm's bits vary, so it is not used.
double exp_negative(double x) {
    constexpr double kShift = 0x1.8p52;
    const double k = (x * std::numbers::log2e + kShift) - kShift;
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double sum = 0.0;
    for (size_t i = kInverseFactorials.size(); i-- > 0;) sum = sum * r + kInverseFactorials[i];
    return sum * std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(k) + 1023) << 52);
}

}  // namespace

void fill_symmetric(const FillTarget& target, uint64_t key) {
    const auto n = static_cast<size_t>(target.spec.shape.back());
    const std::vector<double> a = normals(target, key);
    std::vector<double> values(a.size());
    for (size_t start = 0; start < a.size(); start += n * n) symmetric_product(&a[start], &values[start], n);
    fill_nearest(target, values);
}

void fill_log_softmax(const FillTarget& target, uint64_t key) {
    const Shape& shape = target.spec.shape;
    const size_t dim = shape.size() > 1 ? 1 : 0;
    const int64_t length = shape.empty() ? 1 : shape[dim];
    const int64_t inner = shape.size() > dim ? numel(ShapeView(shape).subspan(dim + 1)) : 1;
    std::vector<double> values = normals(target, key);
    for (int64_t line = 0; line < target.count / length; ++line) {
        double* x = values.data() + line / inner * length * inner + line % inner;
        double top = x[0];
        for (int64_t i = 1; i < length; ++i) top = std::max(top, x[i * inner]);
        double sum = 0;
        for (int64_t i = 0; i < length; ++i) sum += exp_negative(x[i * inner] - top);
        const double log_sum = log_positive(sum);
        for (int64_t i = 0; i < length; ++i) x[i * inner] = (x[i * inner] - top) - log_sum;
    }
    fill_nearest(target, values);
}

}  // namespace diopi
