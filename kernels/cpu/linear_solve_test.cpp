#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// A matrix, row-major.
struct Elements {
    int64_t columns;
    Values numbers;

    explicit Elements(const Tensor& t) : columns(t.shape[1]), numbers(values(t)) {}
    [[nodiscard]] double at(int64_t i, int64_t j) const { return numbers[static_cast<size_t>(i * columns + j)]; }
};

/// A symmetric matrix whose diagonal outweighs all else, and whose element `negative` of it is below 0.
TensorPtr symmetric(int64_t n, Dtype dtype, int64_t negative = -1) {
    Values numbers(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            const auto part = static_cast<double>((i * j + i + j) % 17 - 8) / 16;
            const double own = i == negative ? -1.0 : static_cast<double>(n);
            numbers[static_cast<size_t>(i * n + j)] = i == j ? own : part;
        }
    }
    return tensor({n, n}, dtype, numbers);
}

/// The first columns of the lower factor, or rows of the upper one, have mat as their product, and zeros beside them.
void check_factor(const Tensor& result, const Tensor& mat, bool upper, int64_t columns) {
    const Elements factor(result), whole(mat);
    const int64_t n = whole.columns;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= std::min(i, columns - 1); ++j) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k <= j; ++k) {
                const double term = upper ? factor.at(k, i) * factor.at(k, j) : factor.at(i, k) * factor.at(j, k);
                sum += term;
                size += std::fabs(term);
            }
            // The bound of N. Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3.
            const bool is_close =
                std::fabs(sum - whole.at(i, j)) <= roundoff(mat.dtype) * static_cast<double>(n + 1) * size;
            if (!is_close) REQUIRE(sum == whole.at(i, j));
            if (i != j) REQUIRE((upper ? factor.at(i, j) : factor.at(j, i)) == 0);
        }
    }
}

}  // namespace

TEST_CASE("the product of a Cholesky factor and its transpose is the matrix, for all sizes of blocks") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const int64_t n = GENERATE(1, 2, 63, 64, 65, 128, 200);
    const bool upper = GENERATE(false, true);
    INFO(n << (upper ? ", upper" : ", lower"));
    const auto mat = symmetric(n, dtype), out = unwritten({n, n}, dtype), info = unwritten({}, Dtype::int32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiCholesky(&ctx, out.get(), info.get(), mat.get(), upper, true) == diopiSuccess);
    CHECK(values(*info)[0] == 0);
    check_factor(*out, *mat, upper, n);
}

TEST_CASE("the first minor that is not positive is found in each block, and the columns before it are right") {
    const int64_t n = 150, place = GENERATE(0, 5, 63, 64, 90, 129, 149);
    const bool upper = GENERATE(false, true);
    const auto mat = symmetric(n, Dtype::float32, place), out = unwritten({n, n}, Dtype::float32);
    const auto info = unwritten({}, Dtype::int32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiCholesky(&ctx, out.get(), info.get(), mat.get(), upper, false) == diopiSuccess);
    CHECK(values(*info)[0] == static_cast<double>(place + 1));
    check_factor(*out, *mat, upper, place);
    CHECK(cpu::diopiCholesky(&ctx, out.get(), info.get(), mat.get(), upper, true) == diopiErrorOccurred);
    CHECK(last_error() == "diopiCholesky: mat: the leading minor of order " + std::to_string(place + 1) +
                              " of matrix 0 is not positive");
}

TEST_CASE("solutions of triangular systems solve them, whatever the triangle, the transposition and the sizes") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const int64_t n = GENERATE(1, 5, 48, 49, 130), columns = GENERATE(1, 64, 65, 200);
    const bool upper = GENERATE(false, true), transpose = GENERATE(false, true), unit = GENERATE(false, true);
    INFO(n << " x " << columns << (upper ? ", upper" : "") << (transpose ? ", transposed" : "")
           << (unit ? ", diagonal of ones" : ""));
    // With a diagonal of ones the rest must be small, or the solutions grow from row to row.
    Values numbers = values(*symmetric(n, dtype));
    for (double& x : numbers) x = unit ? x / 64 : x;
    const auto mat = tensor({n, n}, dtype, numbers), b = random({n, columns}, dtype, 3);
    const auto x = unwritten({n, columns}, dtype), copy = unwritten({n, n}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiTriangularSolve(&ctx, x.get(), copy.get(), b.get(), mat.get(), upper, transpose, unit) ==
            diopiSuccess);
    CHECK(values(*copy) == numbers);
    const Elements whole(*mat);
    const Values solved = values(*x), wanted = values(*b);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t c = 0; c < columns; ++c) {
            double sum = 0, size = 0;
            for (int64_t j = 0; j < n; ++j) {
                const int64_t row = transpose ? j : i, column = transpose ? i : j;
                if (upper ? column < row : column > row) continue;
                const double term =
                    (unit && i == j ? 1.0 : whole.at(row, column)) * solved[static_cast<size_t>(j * columns + c)];
                sum += term;
                size += std::fabs(term);
            }
            const double expected = wanted[static_cast<size_t>(i * columns + c)];
            if (!(std::fabs(sum - expected) <= roundoff(dtype) * static_cast<double>(n + 2) * size)) {
                REQUIRE(sum == expected);
            }
        }
    }
}

TEST_CASE("orthogonal factors of any size of blocks have the matrix as their product, however large its numbers") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const auto [m, n] = GENERATE(table<int64_t, int64_t>({{1, 1}, {31, 5}, {33, 32}, {70, 66}, {40, 90}}));
    const int exponent = GENERATE(-1000, -100, 0, 100, 1000);
    if (dtype == Dtype::float32 && std::abs(exponent) > 100) return;
    INFO(m << " x " << n << " " << name(dtype) << ", numbers about 2^" << exponent);
    Values numbers = values(*random({m, n}, dtype, 1));
    for (double& x : numbers) x = std::ldexp(x, exponent);
    const int64_t width = std::min(m, n);
    const auto a = tensor({m, n}, dtype, numbers), q = unwritten({m, width}, dtype), r = unwritten({width, n}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLinalgQR(&ctx, a.get(), "reduced", q.get(), r.get()) == diopiSuccess);
    const Elements left(*q), right(*r), whole(*a);
    const double most = 64 * roundoff(dtype);
    for (int64_t i = 0; i < width; ++i) {
        for (int64_t j = 0; j < std::max(n, width); ++j) {
            double product = 0;
            for (int64_t k = 0; k < m && j < width; ++k) product += left.at(k, i) * left.at(k, j);
            if (j < width && !(std::fabs(product - (i == j ? 1 : 0)) <= most)) REQUIRE(product == (i == j ? 1 : 0));
            if (j < i) REQUIRE(right.at(i, j) == 0);
        }
    }
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < width; ++k) sum += left.at(i, k) * std::ldexp(right.at(k, j), -exponent);
            const double wanted = std::ldexp(whole.at(i, j), -exponent);
            if (!(std::fabs(sum - wanted) <= most * static_cast<double>(m))) REQUIRE(sum == wanted);
        }
    }
}
