#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("relu is 0 below zero and keeps NaN", "[reference][relu]") {
    const TensorPtr x = tensor({5}, {-1, 0, 2, kNaN, -kInf});
    const TensorPtr y = make({5});
    REQUIRE(reference::diopiRelu(context(), y.get(), x.get()) == diopiSuccess);
    check_close(y, {0, 0, 2, kNaN, 0});
    REQUIRE(reference::diopiReluInp(context(), x.get()) == diopiSuccess);
    check_close(x, {0, 0, 2, kNaN, 0});
}

TEST_CASE("relu accepts integers, strides, 0-dim and empty tensors, but not bool", "[reference][relu]") {
    const TensorPtr x = tensor({2, 2}, {-1, 2, 3, -4}, Dtype::int8, {1, 2});
    REQUIRE(reference::diopiReluInp(context(), x.get()) == diopiSuccess);
    CHECK(values_of(x) == Values{0, 2, 3, 0});
    const TensorPtr scalar = tensor({}, {-3}, Dtype::float16);
    REQUIRE(reference::diopiReluInp(context(), scalar.get()) == diopiSuccess);
    CHECK(values_of(scalar) == Values{0});
    CHECK(reference::diopiReluInp(context(), make({4, 0}).get()) == diopiSuccess);
    CHECK(reference::diopiReluInp(context(), make({1}, Dtype::boolean).get()) == diopiDtypeNotSupported);
    CHECK(reference::diopiRelu(context(), make({2}).get(), make({3}).get()) == diopiErrorOccurred);
}
