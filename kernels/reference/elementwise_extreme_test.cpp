#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("maximum and minimum are NaN where an operand is NaN", "[reference][maximum]") {
    const TensorPtr a = tensor({3}, {1, kNaN, 3});
    const TensorPtr b = tensor({3}, {2, 0, kNaN});
    const TensorPtr y = make({3});
    REQUIRE(reference::diopiMaximum(context(), y.get(), a.get(), b.get()) == diopiSuccess);
    check_close(y, {2, kNaN, kNaN});
    REQUIRE(reference::diopiMinimum(context(), y.get(), a.get(), b.get()) == diopiSuccess);
    check_close(y, {1, kNaN, kNaN});
}
