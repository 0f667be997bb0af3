#include "kernels/cpu/few_rows.hpp"

#include <algorithm>

#include "kernels/cpu/onednn_testing.hpp"
#include "kernels/cpu/product.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct Sizes {
    int64_t k, n;
};

/// Numbers of E, and the same as float64.
template <class E>
struct Numbers {
    TensorPtr tensor;
    Values values;

    Numbers(const Shape& shape, uint32_t seed)
        : tensor(random(shape, std::is_same_v<E, float> ? Dtype::float32 : Dtype::bfloat16, seed)),
          values(testing::values(*tensor)) {}
    [[nodiscard]] const E* data() const { return tensor->data_as<E>(); }
};

/// Checks the sums of rows * b, computed at once and in three parts, which must have the same bits.
template <class E>
void check_few_rows(int64_t rows, const Sizes& s, bool transposed) {
    INFO(rows << " rows, k = " << s.k << ", n = " << s.n << (transposed ? ", transposed" : ""));
    const Numbers<float> a({cpu::kFewRows, s.k}, 1);
    const Numbers<E> b(transposed ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
    const auto multiply = std::get<cpu::FewRowsKernel<E>>(cpu::few_rows_table());
    const cpu::FewRowsOperand<E> matrix{b.data(), transposed, s.k, s.n};
    std::vector<float> c(static_cast<size_t>(rows * s.n), -77), parts = c;
    const cpu::FewRows few{a.data(), s.k, rows};
    multiply(few, matrix, 0, s.n, c.data());
    const int64_t third = s.n / 3;
    multiply(few, matrix, 0, third, parts.data());
    multiply(few, matrix, third, 1, parts.data());
    multiply(few, matrix, third + 1, s.n - third - 1, parts.data());
    CHECK(parts == c);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
            double sum = 0, sizes = 0;
            for (int64_t l = 0; l < s.k; ++l) {
                const double term =
                    a.values[size_t(i * s.k + l)] * b.values[size_t(transposed ? j * s.k + l : l * s.n + j)];
                sum += term, sizes += std::abs(term);
            }
            const double error = std::abs(static_cast<double>(c[size_t(i * s.n + j)]) - sum);
            const double allowed = 0x1p-24 * sizes * (1 + std::sqrt(static_cast<double>(s.k)));
            if (!(error <= allowed)) REQUIRE(error <= allowed);
        }
    }
}

}  // namespace

TEST_CASE("a few rows times a matrix, of any size and in any parts", "[vectors]") {
    for (const Sizes& s : {Sizes{1, 1}, {7, 5}, {16, 64}, {300, 71}, {515, 1100}}) {
        for (int64_t rows = 1; rows <= cpu::kFewRows; ++rows) {
            for (const bool transposed : {false, true}) {
                check_few_rows<float>(rows, s, transposed);
                check_few_rows<Bfloat16>(rows, s, transposed);
            }
        }
    }
}

TEST_CASE("products of a few rows of bfloat16 keep denormals, which its units do not", "[vectors]") {
    diopiContext ctx(cpu_device());
    const Bfloat16 small{1}, two = to_bfloat16(2.0F), none{0};  // 2^-133
    const Bfloat16 a[] = {two, none}, b[] = {small, small, small, small};
    Bfloat16 c[] = {two, two};
    const Bfloat16* no_bias = nullptr;
    for (const bool transposed : {false, true}) {
        REQUIRE(cpu::product(&ctx, {1, 2, 2}, cpu::Matrices<Bfloat16>{a}, cpu::Matrices<Bfloat16>{b, transposed},
                             no_bias, c) == diopiSuccess);
        CHECK(c[0].bits == 2);
        CHECK(c[1].bits == 2);
    }
    CHECK(cpu::takes_bfloat16(cpu::kFewRows, operands::view(random({2, 2}, Dtype::bfloat16, 1).get()),
                              operands::view(random({2, 2}, Dtype::bfloat16, 2).get())));
    CHECK_FALSE(cpu::takes_bfloat16(1, operands::view(random({2, 2}, Dtype::bfloat16, 1).get()),
                                    operands::view(random({2, 2}, Dtype::float32, 2).get())));
}

TEST_CASE("products of a few rows of a batch have their bias, or are added", "[vectors]") {
    diopiContext ctx(cpu_device());
    const int64_t batch = 2, m = 3, n = 5, k = 7;
    const Numbers<Bfloat16> a({batch, k, m}, 3), b({k, n}, 4), bias({n}, 5);
    const Numbers<Bfloat16> start({batch, m, n}, 6);
    const auto sum = [&](int64_t i, int64_t row, int64_t column) {
        double terms = 0;
        for (int64_t l = 0; l < k; ++l)
            terms += a.values[size_t((i * k + l) * m + row)] * b.values[size_t(l * n + column)];
        return terms;
    };
    for (const bool adds : {false, true}) {
        const TensorPtr c = tensor({batch, m, n}, Dtype::bfloat16, start.values);
        Values wanted;
        for (int64_t i = 0; i < batch * m * n; ++i) {
            const double old = adds ? start.values[size_t(i)] : bias.values[size_t(i % n)];
            wanted.push_back(sum(i / (m * n), i / n % m, i % n) + old);
        }
        REQUIRE(cpu::product(&ctx, {m, n, k, batch}, cpu::Matrices<Bfloat16>{a.data(), true},
                             cpu::Matrices<Bfloat16>{b.data(), false, true}, adds ? nullptr : bias.data(),
                             c->data_as<Bfloat16>(), adds ? cpu::Into::kAdd : cpu::Into::kOverwrite) == diopiSuccess);
        check_close(*c, wanted);
    }
}
