#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

constexpr double kRmsEps = 0.01;

Values rms_normalised(const TensorPtr& x, const TensorPtr& weight, const TensorPtr& bias, const Shape& last,
                      const TensorPtr& inv_rms, double eps = kRmsEps) {
    const TensorPtr out = make(x->shape);
    REQUIRE(reference::diopiRMSNorm(context(), out.get(), inv_rms.get(), x.get(), sizes(last), weight.get(), bias.get(),
                                    eps) == diopiSuccess);
    return values_of(out);
}

}  // namespace

TEST_CASE("a row of rms_norm has the root mean square 1, and inv_rms is what it was divided by",
          "[reference][rms_norm]") {
    const TensorPtr x = random({3, 40}, 1), inv_rms = make({3});
    const Values y = rms_normalised(x, nullptr, nullptr, {40}, inv_rms, 0), from = values_of(x), r = values_of(inv_rms);
    for (size_t row = 0; row < 3; ++row) {
        double squares = 0;
        for (size_t i = 40 * row; i < 40 * (row + 1); ++i) {
            squares += y[i] * y[i];
            CHECK(y[i] == Approx(from[i] * r[row]).epsilon(1e-14));
        }
        CHECK(squares / 40 == Approx(1).epsilon(1e-13));
    }
}

TEST_CASE("eps of rms_norm is inside the root", "[reference][rms_norm]") {
    const TensorPtr x = tensor({1, 2}, {3, -3}), inv_rms = make({1});
    check_close(rms_normalised(x, nullptr, nullptr, {2}, inv_rms, 16), {0.6, -0.6}, 1e-15);
    check_close(inv_rms, {0.2}, 1e-15);
    const TensorPtr scale = tensor({2}, {1, 10});
    REQUIRE(reference::diopiRootMeanSquareNormInp(context(), x.get(), scale.get(), 16) == diopiSuccess);
    check_close(x, {0.6, -6}, 1e-15);
}

TEST_CASE("zeros without eps, and rows without elements, have no root mean square", "[reference][rms_norm]") {
    const TensorPtr zeros = tensor({1, 2}, {0, 0}), none = make({2, 0}), inv_rms = make({1}), two = make({2});
    CHECK(std::isnan(rms_normalised(zeros, nullptr, nullptr, {2}, inv_rms, 0)[0]));
    CHECK(rms_normalised(none, nullptr, nullptr, {0}, two).empty());
    CHECK(std::isnan(values_of(two)[1]));
}

TEST_CASE("rms_norm backward is the derivative of rms_norm", "[reference][rms_norm][gradient]") {
    for (const bool affine : {true, false}) {
        for (const Shape& last : {Shape{4}, Shape{3, 4}}) {
            const TensorPtr x = random({2, 3, 4}, 1), g = random({2, 3, 4}, 4), gx = make(x->shape);
            const TensorPtr w = affine ? random(last, 2) : nullptr, b = affine ? random(last, 3) : nullptr;
            const TensorPtr gw = affine ? make(last) : nullptr, gb = affine ? make(last) : nullptr;
            const TensorPtr inv_rms = make(last.size() == 1 ? Shape{2, 3} : Shape{2});
            const auto again = [&] { return rms_normalised(x, w, b, last, inv_rms); };
            again();
            REQUIRE(reference::diopiRMSNormBackward(context(), gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(),
                                                    b.get(), inv_rms.get(), sizes(last), kRmsEps) == diopiSuccess);
            const Values weights = values_of(g);
            const TensorPtr grads[] = {gx, gw, gb}, of[] = {x, w, b};
            for (size_t i = 0; i < (affine ? 3 : 1); ++i) check_gradient(of[i], grads[i], weights, again);
        }
    }
}

TEST_CASE("a residual is added, kept and normalised", "[reference][rms_norm]") {
    const TensorPtr x = random({3, 5}, 1), residual = random({3, 5}, 2), bias = random({5}, 3), scale = random({5}, 4);
    Values sum = values_of(x);
    const Values before = values_of(residual), added = values_of(bias);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = before[i] + sum[i] + added[i % 5];
    const TensorPtr total = tensor({3, 5}, sum), inv_rms = make({3});
    const Values wanted = rms_normalised(total, scale, nullptr, {5}, inv_rms, 0.25);
    REQUIRE(reference::diopiFusedAddRootMeanSquareNormInp(context(), x.get(), residual.get(), bias.get(), scale.get(),
                                                          0.25F) == diopiSuccess);
    check_close(residual, sum, 1e-15);
    check_close(x, wanted, 1e-15);
}

TEST_CASE("normalisation by the root mean square refuses what does not fit", "[reference][rms_norm]") {
    const TensorPtr x = make({2, 4}), three = make({3}), cube = make({1, 2, 4}), four = make({4}), inv_rms = make({2});
    CHECK(reference::diopiRMSNorm(context(), x.get(), inv_rms.get(), x.get(), sizes({3}), nullptr, nullptr, 0) ==
          diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("ends in normalized_shape (3,)"));
    CHECK(reference::diopiRMSNorm(context(), x.get(), three.get(), x.get(), sizes({4}), nullptr, nullptr, 0) ==
          diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("inv_rms"));
    CHECK(reference::diopiRootMeanSquareNormInp(context(), cube.get(), four.get(), 0) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("wanted (tokens, hidden)"));
    CHECK(reference::diopiFusedAddRootMeanSquareNormInp(context(), x.get(), cube.get(), nullptr, four.get(), 0) ==
          diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("residual"));
}
