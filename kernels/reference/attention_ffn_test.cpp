#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("the gated feed-forward layer, by hand", "[reference][ffn]") {
    const TensorPtr x = tensor({1, 2}, {1, 2}), gate = tensor({2, 1}, {2, -1}), up = tensor({2, 1}, {3, 1});
    const TensorPtr down = tensor({1, 2}, {1, -2});
    int64_t bytes = -1;
    REQUIRE(reference::diopiFusedSiluFfnInp(context(), x.get(), gate.get(), down.get(), up.get(), nullptr, &bytes, 0) ==
            diopiSuccess);
    CHECK(bytes == 0);
    CHECK(values_of(x) == Values{1, 2});
    // silu(0) = 0: nothing passes.
    REQUIRE(reference::diopiFusedSiluFfnInp(context(), x.get(), gate.get(), down.get(), up.get(), nullptr, &bytes, 0) ==
            diopiSuccess);
    CHECK(values_of(x) == Values{0, 0});
    const TensorPtr other = tensor({1, 2}, {1, 1});
    REQUIRE(reference::diopiFusedSiluFfnInp(context(), other.get(), gate.get(), down.get(), up.get(), nullptr, &bytes,
                                            0) == diopiSuccess);
    const double silu = 1 / (1 + std::exp(-1.0));
    check_close(other, {4 * silu, -8 * silu}, 1e-15);
}

TEST_CASE("the product of the only rank is the sum of all, and there is no other reduction", "[reference][ffn]") {
    const TensorPtr x1 = tensor({1, 2}, {1, 2}), x2 = tensor({2, 2}, {1, 2, 3, 4}), bias = tensor({2}, {10, 20});
    const TensorPtr out = make({1, 2});
    REQUIRE(reference::diopiMatmulAllReduce(context(), out.get(), x1.get(), x2.get(), bias.get(), "any", "sum", 0, 1) ==
            diopiSuccess);
    CHECK(values_of(out) == Values{17, 30});
    REQUIRE(reference::diopiMatmulAllReduce(context(), out.get(), x1.get(), x2.get(), nullptr, "any", "sum", 4, 0) ==
            diopiSuccess);
    CHECK(values_of(out) == Values{7, 10});
    for (const char* reduction : {"max", "", static_cast<const char*>(nullptr)}) {
        CHECK(reference::diopiMatmulAllReduce(context(), out.get(), x1.get(), x2.get(), nullptr, "any", reduction, 0,
                                              1) == diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains("wanted 'sum'"));
    }
}
