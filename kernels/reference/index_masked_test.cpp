#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("masked_fill puts the value where the mask is true, both broadcast", "[reference][masked_fill]") {
    const TensorPtr x = tensor({2, 1}, {1, 2}), mask = tensor({3}, {1, 0, 1}, Dtype::boolean), y = make({2, 3});
    const diopiScalar_t minus = number(-kInf);
    REQUIRE(reference::diopiMaskedFillScalar(context(), y.get(), x.get(), mask.get(), &minus) == diopiSuccess);
    CHECK(values_of(y) == Values{-kInf, 1, -kInf, -kInf, 2, -kInf});
    const TensorPtr five = tensor({}, {5.75}), z = tensor({3}, {1, 2, 3}, Dtype::int32, {2});
    REQUIRE(reference::diopiMaskedFillInp(context(), z.get(), mask.get(), five.get()) == diopiSuccess);
    CHECK(values_of(z) == Values{5, 2, 5});
    REQUIRE(reference::diopiMaskedFill(context(), y.get(), x.get(), mask.get(), five.get()) == diopiSuccess);
    CHECK(values_of(y) == Values{5.75, 1, 5.75, 5.75, 2, 5.75});
}

TEST_CASE("masked_fill makes any number but 0 true in a bool tensor", "[reference][masked_fill]") {
    const TensorPtr mask = tensor({2}, {1, 0}, Dtype::boolean), x = tensor({2}, {0, 0}, Dtype::boolean);
    const diopiScalar_t quarter = number(0.25);
    REQUIRE(reference::diopiMaskedFillInpScalar(context(), x.get(), mask.get(), &quarter) == diopiSuccess);
    CHECK(values_of(x) == Values{1, 0});
}

TEST_CASE("masked_fill refuses a mask of numbers and a value of several", "[reference][masked_fill]") {
    const TensorPtr x = make({2}), mask = tensor({2}, {1, 0}, Dtype::boolean);
    const diopiScalar_t one = number(1);
    CHECK(reference::diopiMaskedFillInpScalar(context(), x.get(), make({2}, Dtype::uint8).get(), &one) ==
          diopiDtypeNotSupported);
    CHECK(reference::diopiMaskedFillInp(context(), x.get(), mask.get(), make({2}).get()) == diopiErrorOccurred);
    CHECK(last_error() == "value has shape (2,), wanted a 0-dim tensor");
    CHECK(reference::diopiMaskedFillInpScalar(context(), x.get(), tensor({3}, {1, 0, 1}, Dtype::boolean).get(), &one) ==
          diopiErrorOccurred);
}
