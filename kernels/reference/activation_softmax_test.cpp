#include <cmath>

#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("softmax of large numbers does not overflow, and NaN spreads", "[reference][softmax]") {
    const TensorPtr x = tensor({4, 2}, {1e4, 1e4, kNaN, 0, kInf, 0, -kInf, 0});
    const TensorPtr y = make({4, 2});
    REQUIRE(reference::diopiSoftmax(context(), y.get(), x.get(), 1) == diopiSuccess);
    check_close(y, {0.5, 0.5, kNaN, kNaN, kNaN, kNaN, 0, 1});
    REQUIRE(reference::diopiLogSoftmax(context(), y.get(), x.get(), 1) == diopiSuccess);
    check_close(y, {-std::log(2.0), -std::log(2.0), kNaN, kNaN, kNaN, kNaN, -kInf, 0});
}

TEST_CASE("softmax of 0-dim, empty and half tensors", "[reference][softmax]") {
    const TensorPtr scalar = tensor({}, {5});
    const TensorPtr y = make({});
    REQUIRE(reference::diopiSoftmax(context(), y.get(), scalar.get(), -1) == diopiSuccess);
    check_close(y, {1});
    REQUIRE(reference::diopiLogSoftmax(context(), y.get(), scalar.get(), 0) == diopiSuccess);
    check_close(y, {0});
    CHECK(reference::diopiSoftmax(context(), make({3, 0}).get(), make({3, 0}).get(), 1) == diopiSuccess);
    const TensorPtr half = tensor({2}, {0, 0}, Dtype::float16, {3});
    const TensorPtr wide = make({2}, Dtype::float32);
    REQUIRE(reference::diopiSoftmax(context(), wide.get(), half.get(), 0) == diopiSuccess);
    check_close(wide, {0.5, 0.5});
    CHECK(reference::diopiSoftmax(context(), wide.get(), half.get(), 1) == diopiErrorOccurred);
}

TEST_CASE("softmax backward is the derivative of softmax", "[reference][softmax][gradient]") {
    const Shape shape = {3, 4, 2};
    const Values weights = random_values(24, 7);
    const TensorPtr g = tensor(shape, weights);
    const TensorPtr x = random(shape, 8);
    const TensorPtr y = make(shape);
    const TensorPtr gx = make(shape);
    for (const int64_t dim : {0, 1, -1}) {
        const auto soft = [&] {
            REQUIRE(reference::diopiSoftmax(context(), y.get(), x.get(), dim) == diopiSuccess);
            return values_of(y);
        };
        soft();
        REQUIRE(reference::diopiSoftmaxBackward(context(), gx.get(), g.get(), y.get(), dim) == diopiSuccess);
        check_gradient(x, gx, weights, soft);
        const auto log_soft = [&] {
            REQUIRE(reference::diopiLogSoftmax(context(), y.get(), x.get(), dim) == diopiSuccess);
            return values_of(y);
        };
        log_soft();
        REQUIRE(reference::diopiLogSoftmaxBackward(context(), gx.get(), g.get(), y.get(), dim) == diopiSuccess);
        check_gradient(x, gx, weights, log_soft);
    }
}
