#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

template <class Start, class End, class Step>
diopiError_t arange(const TensorPtr& out, Start start, End end, Step step) {
    const diopiScalar_t from = number(start), to = number(end), by = number(step);
    return reference::diopiArange(context(), out.get(), &from, &to, &by);
}

}  // namespace

TEST_CASE("arange counts from start towards end, which is excluded", "[reference][arange]") {
    const TensorPtr whole = make({3}, Dtype::int64);
    REQUIRE(arange(whole, 2, 8, 2) == diopiSuccess);
    CHECK(values_of(whole) == Values{2, 4, 6});
    const TensorPtr back = make({4}, Dtype::float32, {2});
    REQUIRE(arange(back, 1, -0.5, -0.375) == diopiSuccess);
    CHECK(values_of(back) == Values{1, 0.625, 0.25, -0.125});
    CHECK(arange(make({0}), 3, 3, 1) == diopiSuccess);
    const TensorPtr cut = make({3}, Dtype::int32);
    REQUIRE(arange(cut, true, 7.9, 2.5) == diopiSuccess);
    CHECK(values_of(cut) == Values{1, 3, 5});
}

TEST_CASE("arange refuses a step that does not lead to end, and an out of another length", "[reference][arange]") {
    CHECK(arange(make({3}), 0, 3, 0) == diopiErrorOccurred);
    CHECK(last_error() == "step is 0, wanted a number that leads from start to end");
    CHECK(arange(make({3}), 0, 3, -1) == diopiErrorOccurred);
    CHECK(last_error() == "step leads from start away from end");
    CHECK(arange(make({4}), 0, 3, 1) == diopiErrorOccurred);
    CHECK(arange(make({3, 1}), 0, 3, 1) == diopiErrorOccurred);
    CHECK(arange(make({3}), 0.0, kNaN, 1) == diopiErrorOccurred);
}
