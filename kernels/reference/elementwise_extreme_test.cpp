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

TEST_CASE("an integer without dimensions wraps in the dtype of the other operand", "[reference][maximum]") {
    // torch.minimum, torch.div and torch.pow of PyTorch 1.13 give the same.
    const TensorPtr a = tensor({2}, {100, -100}, Dtype::int32);
    const TensorPtr wide = tensor({}, {0x1p40 + 24}, Dtype::int64);
    const TensorPtr y = make({2}, Dtype::int32);
    REQUIRE(reference::diopiMinimum(context(), y.get(), a.get(), wide.get()) == diopiSuccess);
    check_close(y, {24, -100});
    REQUIRE(reference::diopiMaximum(context(), y.get(), wide.get(), a.get()) == diopiSuccess);
    check_close(y, {100, 24});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), wide.get(), RoundModeFloor) == diopiSuccess);
    check_close(y, {4, -5});
    const TensorPtr exponent = tensor({}, {0x1p32 + 2}, Dtype::int64);
    REQUIRE(reference::diopiPowTensor(context(), y.get(), a.get(), exponent.get()) == diopiSuccess);
    check_close(y, {10000, 10000});
    const TensorPtr bytes = tensor({2}, {9, 255}, Dtype::uint8), parts = make({2}, Dtype::uint8);
    const diopiScalar_t minus{diopi_dtype_int64, {.ival = -1}};
    REQUIRE(reference::diopiDivScalar(context(), parts.get(), bytes.get(), &minus, RoundModeTrunc) == diopiSuccess);
    check_close(parts, {0, 1});
    const TensorPtr quotient = make({2});
    REQUIRE(reference::diopiDiv(context(), quotient.get(), a.get(), wide.get(), RoundModeNone) == diopiSuccess);
    check_close(quotient, {0x1p-40 * 100, 0x1p-40 * -100});
}
