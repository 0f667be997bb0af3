#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("sgd without momentum leaves buf alone", "[reference][sgd]") {
    const TensorPtr param = tensor({2}, {1, -2});
    const TensorPtr grad = tensor({2}, {0.5, 1});
    const TensorPtr buf = tensor({2}, {9, 9});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), buf.get(), 0.1, 0, 0.5, 2, false) == diopiSuccess);
    // d = grad + 2 * param = {2.5, -3}
    check_close(param, {0.75, -1.7});
    check_close(buf, {9, 9});
    check_close(grad, {0.5, 1});
}

TEST_CASE("sgd with momentum, dampening and nesterov", "[reference][sgd]") {
    const TensorPtr param = tensor({}, {1});
    const TensorPtr grad = tensor({}, {2});
    const TensorPtr buf = tensor({}, {4});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), buf.get(), 0.1, 0.5, 0.25, 0, false) ==
            diopiSuccess);
    check_close(buf, {3.5});  // 0.5 * 4 + 0.75 * 2
    check_close(param, {0.65});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), buf.get(), 0.1, 0.5, 0, 0, true) == diopiSuccess);
    check_close(buf, {3.75});  // 0.5 * 3.5 + 2
    check_close(param, {0.65 - 0.1 * (2 + 0.5 * 3.75)});
}

TEST_CASE("sgd's first step has no buf", "[reference][sgd]") {
    const TensorPtr param = tensor({1}, {1});
    const TensorPtr grad = tensor({1}, {2});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), nullptr, 0.1, 0.5, 0.25, 0, false) == diopiSuccess);
    check_close(param, {0.8});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), nullptr, 0.1, 0.5, 0, 0, true) == diopiSuccess);
    check_close(param, {0.5});
}

TEST_CASE("sgd of empty, half and unequal tensors", "[reference][sgd]") {
    const TensorPtr empty = make({3, 0});
    CHECK(reference::diopiSgd(context(), empty.get(), empty.get(), nullptr, 1, 0, 0, 0, false) == diopiSuccess);
    const TensorPtr param = tensor({2, 2}, {1, 2, 3, 4}, Dtype::float16, {1, 2});
    const TensorPtr grad = tensor({2, 2}, {1, 1, 1, kNaN});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), nullptr, 0.5, 0, 0, 0, false) == diopiSuccess);
    check_close(param, {0.5, 1.5, 2.5, kNaN});
    CHECK(reference::diopiSgd(context(), param.get(), empty.get(), nullptr, 1, 0, 0, 0, false) == diopiErrorOccurred);
}
