#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("sgd of empty, half and unequal tensors", "[reference][sgd]") {
    const TensorPtr empty = make({3, 0});
    CHECK(reference::diopiSgd(context(), empty.get(), empty.get(), nullptr, 1, 0, 0, 0, false) == diopiSuccess);
    const TensorPtr param = tensor({2, 2}, {1, 2, 3, 4}, Dtype::float16, {1, 2});
    const TensorPtr grad = tensor({2, 2}, {1, 1, 1, kNaN});
    REQUIRE(reference::diopiSgd(context(), param.get(), grad.get(), nullptr, 0.5, 0, 0, 0, false) == diopiSuccess);
    check_close(param, {0.5, 1.5, 2.5, kNaN});
    CHECK(reference::diopiSgd(context(), param.get(), empty.get(), nullptr, 1, 0, 0, 0, false) == diopiErrorOccurred);
}
