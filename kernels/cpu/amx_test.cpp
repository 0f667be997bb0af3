#include "kernels/cpu/amx.hpp"

#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace diopi;

namespace {

/// Multiples of 1/8 below 4: sums of fewer than 2^16 products are exact in float32.
double number(int64_t i) { return static_cast<double>(i * 7919 % 64 - 32) / 8; }

/// A matrix (rows, columns) in memory, and the same in float64.
struct Matrix {
    int64_t rows, columns, from;
    std::vector<double> wide{};
    std::vector<Bfloat16> data{}, transposed{};

    Matrix(int64_t rows, int64_t columns, int64_t from) : rows(rows), columns(columns), from(from) {
        for (int64_t i = 0; i < rows * columns; ++i) wide.push_back(number(i + from));
        for (const double x : wide) data.push_back(to_bfloat16(x));
        for (int64_t j = 0; j < columns; ++j) {
            for (int64_t i = 0; i < rows; ++i) transposed.push_back(data[static_cast<size_t>(i * columns + j)]);
        }
    }
    [[nodiscard]] cpu::MatrixView<Bfloat16> view(bool is_transposed) const {
        if (is_transposed) return {transposed.data(), 1, rows};
        return {data.data(), columns, 1};
    }
};

float as_float(float x) { return x; }
float as_float(Bfloat16 x) { return to_float(x); }
void assign(float& to, double x) { to = static_cast<float>(x); }
void assign(Bfloat16& to, double x) { to = to_bfloat16(x); }

/// Compares all ways to form c, whose elements are T, with the sums of the products.
template <class T>
void check_product(const Matrix& a, const Matrix& b, const std::vector<double>& sums, bool a_transposed,
                   bool b_transposed) {
    const int64_t m = a.rows, n = b.columns;
    std::vector<T> bias(static_cast<size_t>(n)), before(sums.size());
    for (size_t j = 0; j < bias.size(); ++j) assign(bias[j], number(static_cast<int64_t>(j) + 3));
    for (size_t i = 0; i < before.size(); ++i) assign(before[i], number(static_cast<int64_t>(i) + 9));
    struct Factors {
        bool adds;
        float alpha, beta;
    };
    for (const bool has_bias : {false, true}) {
        for (const auto [adds, alpha, beta] : {Factors{false, 1, 1}, {true, 1, 1}, {true, -0.5, 2}, {false, 4, 1}}) {
            std::vector<T> c = before;
            cpu::amx_product(m, n, a.columns, a.view(a_transposed), b.view(b_transposed),
                             has_bias ? bias.data() : nullptr, c.data(),
                             cpu::ScaledSum<T>{adds ? c.data() : nullptr, alpha, beta});
            size_t wrong = 0;
            for (size_t i = 0; i < c.size(); ++i) {
                T expected;
                const double product = sums[i] + (has_bias ? as_float(bias[i % bias.size()]) : 0);
                assign(expected, alpha * product + (adds ? beta * as_float(before[i]) : 0));
                wrong += as_float(c[i]) == as_float(expected) ? 0 : 1;
            }
            INFO("bias " << has_bias << ", added " << adds << ", factors " << alpha << ", " << beta);
            CHECK(wrong == 0);
        }
    }
}

}  // namespace

TEST_CASE("products on AMX are those in float64, rounded once") {
    if (!cpu::has_amx_products()) return;
    // Whole tiles and tails of each side; more columns and terms than are packed at one time, and more rows.
    struct Size {
        int64_t m, n, k;
    };
    const auto s = GENERATE(Size{64, 32, 64}, Size{1, 1, 1}, Size{17, 45, 63}, Size{33, 16, 33}, Size{5, 97, 31},
                            Size{70, 530, 40}, Size{300, 550, 1100}, Size{9, 600, 2049}, Size{260, 3, 1025});
    const Matrix a(s.m, s.k, 0), b(s.k, s.n, 5);
    std::vector<double> sums(static_cast<size_t>(s.m * s.n));
    cpu::gemm<double>(s.m, s.n, s.k, {a.wide.data(), s.k, 1}, {b.wide.data(), s.n, 1}, sums.data(), s.n, false);
    const int before = omp_get_max_threads();
    for (const int form : {0, 1, 2, 3}) {
        for (const int threads : {1, 3}) {
            INFO(s.m << " x " << s.n << " x " << s.k << ", form " << form << ", " << threads << " threads");
            omp_set_num_threads(threads);
            check_product<float>(a, b, sums, form & 1, form & 2);
            check_product<Bfloat16>(a, b, sums, form & 1, form & 2);
            omp_set_num_threads(before);
        }
    }
}

TEST_CASE("products on AMX keep infinite and undefined numbers where they belong") {
    if (!cpu::has_amx_products()) return;
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const auto number = [](float x) { return to_bfloat16(x); };
    const Bfloat16 a[] = {number(1), number(2), number(kInf), number(1), number(0), number(3)};  // (3, 2)
    const Bfloat16 b[] = {number(1), number(kInf), number(-1), number(0)};                       // (2, 2)
    Bfloat16 c[6];
    cpu::amx_product<Bfloat16>(3, 2, 2, {a, 2, 1}, {b, 2, 1}, nullptr, c);
    CHECK(to_float(c[0]) == -1);
    CHECK(to_float(c[1]) == kInf);
    CHECK(to_float(c[2]) == kInf);
    CHECK(to_float(c[3]) == kInf);
    CHECK(to_float(c[4]) == -3);
    CHECK(std::isnan(to_float(c[5])));
}

TEST_CASE("scaled products on AMX keep denormals, infinities and NaN") {
    if (!cpu::has_amx_products()) return;
    // Each product has one term. The largest number of bfloat16's denormals, one that is rounded to it, a tie, and
    // such.
    const double small = std::ldexp(1.0, -133), terms[] = {127, 126.75, 2.5, 3.5, 0.5, 0, INFINITY, NAN};
    std::vector<Bfloat16> a;
    for (const double term : terms) a.push_back(to_bfloat16(term));
    const Bfloat16 b[] = {to_bfloat16(1.0), to_bfloat16(-1.0)};
    std::vector<Bfloat16> c(16), addend(16, to_bfloat16(std::ldexp(1.0, -133)));
    for (const bool adds : {false, true}) {
        cpu::amx_product<Bfloat16>(8, 2, 1, {a.data(), 1, 1}, {b, 2, 1}, nullptr, c.data(),
                                   {adds ? addend.data() : nullptr, static_cast<float>(small), 2});
        for (size_t i = 0; i < c.size(); ++i) {
            const double exact = small * terms[i / 2] * (i % 2 == 0 ? 1 : -1) + (adds ? 2 * small : 0);
            INFO("element " << i << ", added " << adds << ": " << to_float(c[i]) << ", wanted " << exact);
            CHECK((std::isnan(exact) ? std::isnan(to_float(c[i])) : to_float(c[i]) == to_float(to_bfloat16(exact))));
        }
    }
}
