#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("triu keeps elements on and above the diagonal, tril those on and below it", "[reference][triu]") {
    const TensorPtr x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, Dtype::int8, {1, 2}), y = make({2, 3}, Dtype::int8);
    const auto upper = [&](int64_t diagonal) {
        REQUIRE(reference::diopiTriu(context(), y.get(), x.get(), diagonal) == diopiSuccess);
        return values_of(y);
    };
    const auto lower = [&](int64_t diagonal) {
        REQUIRE(reference::diopiTril(context(), y.get(), x.get(), diagonal) == diopiSuccess);
        return values_of(y);
    };
    CHECK(upper(0) == Values{1, 2, 3, 0, 5, 6});
    CHECK(upper(1) == Values{0, 2, 3, 0, 0, 6});
    CHECK(upper(-1) == Values{1, 2, 3, 4, 5, 6});
    CHECK(upper(INT64_MAX) == Values(6, 0));
    CHECK(lower(0) == Values{1, 0, 0, 4, 5, 0});
    CHECK(lower(-1) == Values{0, 0, 0, 4, 0, 0});
    CHECK(lower(INT64_MIN) == Values(6, 0));
}

TEST_CASE("every matrix of a batch has its own triangle, in place too", "[reference][triu]") {
    const TensorPtr x = tensor({2, 2, 2}, {1, 2, 3, 4, kNaN, 6, kNaN, 8});
    REQUIRE(reference::diopiTriuInp(context(), x.get(), 0) == diopiSuccess);
    check_close(x, {1, 2, 0, 4, kNaN, 6, 0, 8});
    CHECK(reference::diopiTriuInp(context(), make({2, 0}).get(), 0) == diopiSuccess);
    CHECK(reference::diopiTriuInp(context(), make({2}).get(), 0) == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (2,), wanted 2 dimensions or more");
}
