#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("division rounds as asked", "[reference][div]") {
    const TensorPtr a = tensor({6}, {7, -7, 7, -7, 1, 0});
    const TensorPtr b = tensor({6}, {2, 2, -2, -2, 0, 0});
    const TensorPtr y = make({6});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), b.get(), RoundModeNone) == diopiSuccess);
    check_close(y, {3.5, -3.5, -3.5, 3.5, kInf, kNaN});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), b.get(), RoundModeTrunc) == diopiSuccess);
    check_close(y, {3, -3, -3, 3, kInf, kNaN});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), b.get(), RoundModeFloor) == diopiSuccess);
    check_close(y, {3, -4, -4, 3, kInf, kNaN});

    // 1 / 0.1 rounds up to 10, but ten times the double 0.1 is more than 1.
    const diopiScalar_t tenth = number(0.1);
    const TensorPtr one = tensor({}, {1});
    REQUIRE(reference::diopiDivInpScalar(context(), one.get(), &tenth, RoundModeFloor) == diopiSuccess);
    check_close(one, {9});
    // The remainder rounds so that the quotient comes out as 2.9999999999999996.
    const TensorPtr near = tensor({}, {2.9335721156231767});
    const diopiScalar_t divisor = number(0.90839953863140255);
    REQUIRE(reference::diopiDivInpScalar(context(), near.get(), &divisor, RoundModeFloor) == diopiSuccess);
    check_close(near, {3});
}

TEST_CASE("integer division: true, truncated, floored, and refused by zero", "[reference][div]") {
    const TensorPtr a = tensor({4}, {7, -7, 7, -7}, Dtype::int32);
    const TensorPtr b = tensor({4}, {2, 2, -2, -2}, Dtype::int32);
    const TensorPtr real = make({4}, Dtype::float32);
    const TensorPtr y = make({4}, Dtype::int32);
    REQUIRE(reference::diopiDiv(context(), real.get(), a.get(), b.get(), RoundModeNone) == diopiSuccess);
    check_close(real, {3.5, -3.5, -3.5, 3.5});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), b.get(), RoundModeTrunc) == diopiSuccess);
    CHECK(values_of(y) == Values{3, -3, -3, 3});
    const diopiScalar_t seven = number(-7);
    const TensorPtr exact = make({4}, Dtype::int32);
    REQUIRE(reference::diopiDivScalar(context(), exact.get(), a.get(), &seven, RoundModeFloor) == diopiSuccess);
    CHECK(values_of(exact) == Values{-1, 1, -1, 1});
    REQUIRE(reference::diopiDiv(context(), y.get(), a.get(), b.get(), RoundModeFloor) == diopiSuccess);
    CHECK(values_of(y) == Values{3, -4, -4, 3});
    const diopiScalar_t zero = number(0);
    CHECK(reference::diopiDivScalar(context(), y.get(), a.get(), &zero, RoundModeFloor) == diopiErrorOccurred);
}

TEST_CASE("a complex quotient is finite where products on the way overflow", "[reference][div]") {
    const auto complex = [](double re, double im) {
        const TensorPtr made = *make_tensor(cpu_device(), {{1}, Dtype::complex128, {}});
        made->data_as<double>()[0] = re, made->data_as<double>()[1] = im;
        return made;
    };
    const TensorPtr y = complex(0, 0);
    REQUIRE(reference::diopiDiv(context(), y.get(), complex(1.5, 1e308).get(), complex(0.75, 5e-324).get(),
                                RoundModeNone) == diopiSuccess);
    CHECK(y->data_as<double>()[0] == Approx(2));
    CHECK(y->data_as<double>()[1] == Approx(1e308 / 0.75));
}

TEST_CASE("a whole quotient has errors where its rounding, or that of large integers, may show", "[reference][div]") {
    const TensorPtr a = tensor({4}, {8388607, 7, (1 << 24) + 1, 1 << 22});
    const TensorPtr b = tensor({4}, {1.0000001192092896, 2, 3, 3}), y = make({4});
    diopiContext own(cpu_device());
    own.errors_in = format_of(Dtype::float32);
    REQUIRE(reference::diopiDiv(&own, y.get(), a.get(), b.get(), RoundModeTrunc) == diopiSuccess);
    CHECK(values_of(y) == Values{1, 0, 1, 0});
    REQUIRE(reference::diopiDiv(&own, y.get(), a.get(), b.get(), RoundModeFloor) == diopiSuccess);
    CHECK(values_of(y) == Values{1, 0, 2, 0});
}
