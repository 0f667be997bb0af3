#include "kernels/reference/blas.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("multiply agrees with three loops, transposed or not, accumulating or not", "[reference][blas]") {
    const int64_t m = 5;
    const int64_t n = 7;
    const int64_t k = 300;
    const Values a = random_values(m * k, 1);
    const Values b = random_values(k * n, 2);
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            for (const bool accumulate : {false, true}) {
                Values c(static_cast<size_t>(m * n), 3.0);
                reference::multiply(m, n, k, {a.data(), ta ? m : k, ta}, {b.data(), tb ? k : n, tb}, c.data(), n,
                                    accumulate);
                Values wanted;
                for (int64_t i = 0; i < m; ++i) {
                    for (int64_t j = 0; j < n; ++j) {
                        double sum = accumulate ? 3.0 : 0.0;
                        for (int64_t p = 0; p < k; ++p) {
                            sum += a[static_cast<size_t>(ta ? p * m + i : i * k + p)] *
                                   b[static_cast<size_t>(tb ? j * k + p : p * n + j)];
                        }
                        wanted.push_back(sum);
                    }
                }
                check_close(c, wanted, 1e-11);
                Values plain(static_cast<size_t>(m * n), accumulate ? 3.0 : 0.0);
                reference::multiply_plain(m, n, k, {a.data(), ta ? m : k, ta}, {b.data(), tb ? k : n, tb}, plain.data(),
                                          n);
                check_close(plain, wanted, 1e-11);
            }
        }
    }
    Values c(4, 3.0);
    reference::multiply(2, 2, 0, {a.data(), 1}, {b.data(), 2}, c.data(), 2, false);
    CHECK(c == Values(4, 0.0));
    CHECK(reference::blas_description().find("float64 matrix products") != std::string::npos);
}

TEST_CASE("linear with no outputs, no inputs, no rows, and half tensors", "[reference][linear]") {
    CHECK(reference::diopiLinear(context(), make({16, 0}).get(), make({16, 8}).get(), make({0, 8}).get(),
                                 make({16, 0}).get()) == diopiSuccess);
    const TensorPtr y = make({2, 3});
    REQUIRE(reference::diopiLinear(context(), y.get(), make({2, 0}).get(), make({3, 0}).get(),
                                   tensor({1}, {4}).get()) == diopiSuccess);
    check_close(y, Values(6, 4));
    CHECK(reference::diopiLinear(context(), make({0, 3}).get(), make({0, 2}).get(), make({3, 2}).get(), nullptr) ==
          diopiSuccess);
    const TensorPtr half = make({1}, Dtype::float16);
    REQUIRE(reference::diopiLinear(context(), half.get(), tensor({2}, {1, 2}, Dtype::float16).get(),
                                   tensor({1, 2}, {3, 4}, Dtype::float32).get(), nullptr) == diopiSuccess);
    check_close(half, {11});
    CHECK(reference::diopiLinear(context(), y.get(), make({2, 4}).get(), make({3, 5}).get(), nullptr) ==
          diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (3, 5), wanted (out, 4)");
}

TEST_CASE("linear backward is the derivative of linear", "[reference][linear][gradient]") {
    const TensorPtr x = random({2, 3, 4}, 1);
    const TensorPtr w = random({5, 4}, 2);
    const Values weights = random_values(30, 4);
    const TensorPtr g = tensor({2, 3, 5}, weights);
    for (const Shape& bias_shape : {Shape{5}, Shape{1}, Shape{3, 1}}) {
        const TensorPtr b = random(bias_shape, 3);
        const TensorPtr gx = make({2, 3, 4});
        const TensorPtr gw = make({5, 4});
        const TensorPtr gb = make(bias_shape);
        REQUIRE(reference::diopiLinearBackward(context(), gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get()) ==
                diopiSuccess);
        const TensorPtr y = make({2, 3, 5});
        const auto run = [&] {
            REQUIRE(reference::diopiLinear(context(), y.get(), x.get(), w.get(), b.get()) == diopiSuccess);
            return values_of(y);
        };
        check_gradient(x, gx, weights, run);
        check_gradient(w, gw, weights, run);
        check_gradient(b, gb, weights, run);
    }
    CHECK(reference::diopiLinearBackward(context(), nullptr, nullptr, nullptr, g.get(), x.get(), w.get()) ==
          diopiSuccess);
}
