#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

const diopiScalar_t kOne = number(1);

}  // namespace

TEST_CASE("add accepts empty and 0-dim tensors, any strides and mixed dtypes", "[reference][add]") {
    const TensorPtr empty = make({0, 3});
    const TensorPtr row = tensor({3}, {1, 2, 3});
    const TensorPtr out = make({0, 3});
    CHECK(reference::diopiAdd(context(), out.get(), empty.get(), row.get(), &kOne) == diopiSuccess);

    const TensorPtr a = tensor({}, {2}, Dtype::int64);
    const TensorPtr b = tensor({2, 2}, {0.5, 1.5, kNaN, kInf}, Dtype::float32, {1, 2});
    const TensorPtr y = make({2, 2}, Dtype::float16, {1, 3});
    REQUIRE(reference::diopiAdd(context(), y.get(), a.get(), b.get(), &kOne) == diopiSuccess);
    check_close(y, {2.5, 3.5, kNaN, kInf});
}

TEST_CASE("integer addition wraps and bool addition is or", "[reference][add]") {
    const TensorPtr a = tensor({2}, {127, -128}, Dtype::int8);
    const TensorPtr b = tensor({2}, {1, -1}, Dtype::int8);
    REQUIRE(reference::diopiAddInp(context(), a.get(), b.get(), &kOne) == diopiSuccess);
    CHECK(values_of(a) == Values{-128, 127});

    const TensorPtr p = tensor({4}, {0, 0, 1, 1}, Dtype::boolean);
    const TensorPtr q = tensor({4}, {0, 1, 0, 1}, Dtype::boolean);
    const TensorPtr y = make({4}, Dtype::boolean);
    const diopiScalar_t no = number(false);
    REQUIRE(reference::diopiAdd(context(), y.get(), p.get(), q.get(), &kOne) == diopiSuccess);
    CHECK(values_of(y) == Values{0, 1, 1, 1});
    REQUIRE(reference::diopiAdd(context(), y.get(), p.get(), q.get(), &no) == diopiSuccess);
    CHECK(values_of(y) == Values{0, 0, 1, 1});
    REQUIRE(reference::diopiMul(context(), y.get(), p.get(), q.get()) == diopiSuccess);
    CHECK(values_of(y) == Values{0, 0, 0, 1});
    CHECK(reference::diopiSub(context(), y.get(), p.get(), q.get(), &kOne) == diopiDtypeNotSupported);
}

TEST_CASE("reference: integers wrap in the dtype of the operands, before they are converted to a wider out",
          "[reference][elementwise]") {
    const TensorPtr a = tensor({2}, {255, 1}, Dtype::uint8);
    const TensorPtr b = tensor({2}, {255, 2}, Dtype::uint8);
    const diopiScalar_t two = number(2);
    for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::float32, Dtype::float64}) {
        const TensorPtr y = make({2}, dtype);
        REQUIRE(reference::diopiMul(context(), y.get(), a.get(), b.get()) == diopiSuccess);
        CHECK(values_of(y) == Values{1, 2});
        REQUIRE(reference::diopiAdd(context(), y.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(values_of(y) == Values{253, 5});
        REQUIRE(reference::diopiSubScalar(context(), y.get(), a.get(), &two, nullptr) == diopiSuccess);
        CHECK(values_of(y) == Values{253, 255});
        REQUIRE(reference::diopiPow(context(), y.get(), a.get(), &two) == diopiSuccess);
        CHECK(values_of(y) == Values{1, 1});
        REQUIRE(reference::diopiNeg(context(), y.get(), b.get()) == diopiSuccess);
        CHECK(values_of(y) == Values{1, 254});
        REQUIRE(reference::diopiAddcmul(context(), y.get(), a.get(), b.get(), b.get(), &two) == diopiSuccess);
        CHECK(values_of(y) == Values{1, 9});
        // A 0-dim tensor does not promote within its category.
        REQUIRE(reference::diopiMul(context(), y.get(), a.get(), tensor({}, {3}, Dtype::int32).get()) == diopiSuccess);
        CHECK(values_of(y) == Values{253, 3});
    }
}

TEST_CASE("complex arithmetic", "[reference][elementwise]") {
    const auto make_complex = [](double re, double im) {
        auto t = make_tensor(cpu_device(), {{1}, Dtype::complex64, {}});
        t->get()->data_as<float>()[0] = static_cast<float>(re);
        t->get()->data_as<float>()[1] = static_cast<float>(im);
        return *t;
    };
    const TensorPtr tiny = make_complex(-0.7, 2);
    const diopiScalar_t other = number(0.7);
    REQUIRE(reference::diopiAddInpScalar(context(), tiny.get(), &other, &kOne) == diopiSuccess);
    CHECK(tiny->data_as<float>()[0] == 0.0F);  // the number is rounded to float32
    CHECK(tiny->data_as<float>()[1] == 2.0F);
    const TensorPtr a = make_complex(1, 2);
    const TensorPtr b = make_complex(3, -1);
    const TensorPtr y = make_complex(0, 0);
    REQUIRE(reference::diopiMul(context(), y.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(y->data_as<float>()[0] == 5.0f);
    CHECK(y->data_as<float>()[1] == 5.0f);
    REQUIRE(reference::diopiDiv(context(), a.get(), y.get(), b.get(), RoundModeNone) == diopiSuccess);
    CHECK(a->data_as<float>()[0] == Approx(1.0f));
    CHECK(a->data_as<float>()[1] == Approx(2.0f));
    CHECK(reference::diopiDiv(context(), a.get(), y.get(), b.get(), RoundModeFloor) == diopiDtypeNotSupported);
    const diopiScalar_t half = number(0.5);
    REQUIRE(reference::diopiSub(context(), y.get(), a.get(), b.get(), &half) == diopiSuccess);
    CHECK(y->data_as<float>()[0] == Approx(-0.5f));
    CHECK(y->data_as<float>()[1] == Approx(2.5f));
}

TEST_CASE("element-wise kernels refuse shapes that contradict each other", "[reference][elementwise]") {
    const TensorPtr a = make({2});
    const TensorPtr b = make({3});
    const TensorPtr y = make({3});
    CHECK(reference::diopiAdd(context(), y.get(), a.get(), b.get(), &kOne) == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (2,), which does not broadcast to (3,)");
    const TensorPtr wide = make({2, 3});
    CHECK(reference::diopiMul(context(), wide.get(), b.get(), b.get()) == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (2, 3), wanted (3,)");
    const TensorPtr whole = make({2}, Dtype::int32);
    const diopiScalar_t half = number(0.5);
    CHECK(reference::diopiAddInp(context(), whole.get(), whole.get(), &half) == diopiErrorOccurred);
}
