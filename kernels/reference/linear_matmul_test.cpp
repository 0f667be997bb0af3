#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("factors that do not fit are refused", "[reference][matmul]") {
    CHECK(reference::diopiMm(context(), make({2, 2}).get(), make({2, 3}).get(), make({2, 2}).get()) ==
          diopiErrorOccurred);
    CHECK(last_error() == "other has shape (2, 2), which does not fit behind input of shape (2, 3)");
    CHECK(reference::diopiMm(context(), make({2}).get(), make({2, 2}).get(), make({2}).get()) == diopiErrorOccurred);
    CHECK(last_error() == "mat2 has shape (2,), wanted 2 dimensions");
    CHECK(reference::diopiBmm(context(), make({2, 1, 1}).get(), make({2, 1, 1}).get(), make({1, 1, 1}).get()) ==
          diopiErrorOccurred);
    CHECK(last_error() == "mat2 has a batch of 1, wanted 2");
}

TEST_CASE("matmul backward is the derivative of matmul", "[reference][matmul][gradient]") {
    const std::vector<std::array<Shape, 3>> rows = {{{{3, 4}, {4, 2}, {3, 2}}},
                                                    {{{4}, {4}, {}}},
                                                    {{{4}, {2, 4, 3}, {2, 3}}},
                                                    {{{2, 3, 4}, {4}, {2, 3}}},
                                                    {{{2, 1, 3, 4}, {3, 4, 2}, {2, 3, 3, 2}}},
                                                    {{{2, 3, 4}, {4, 2}, {2, 3, 2}}}};
    for (const auto& [left, right, result] : rows) {
        const TensorPtr x = random(left, 1);
        const TensorPtr w = random(right, 2);
        const Values weights = random_values(numel(result), 3);
        const TensorPtr g = tensor(result, weights);
        const TensorPtr gx = make(left);
        const TensorPtr gw = make(right);
        REQUIRE(reference::diopiMatmulBackward(context(), gx.get(), gw.get(), g.get(), x.get(), w.get()) ==
                diopiSuccess);
        const TensorPtr y = make(result);
        const auto run = [&] {
            REQUIRE(reference::diopiMatmul(context(), y.get(), x.get(), w.get()) == diopiSuccess);
            return values_of(y);
        };
        check_gradient(x, gx, weights, run);
        check_gradient(w, gw, weights, run);
    }
}

TEST_CASE("addmm and baddbmm of integers cut off their factors", "[reference][matmul]") {
    const TensorPtr x = tensor({1, 1, 1}, {3}, Dtype::int64), y = tensor({1, 1}, {3}, Dtype::int64);
    const TensorPtr out = make({1, 1}, Dtype::int64);
    const diopiScalar_t beta = number(1.5), alpha = number(-0.5);
    REQUIRE(reference::diopiAddmm(context(), out.get(), y.get(), y.get(), y.get(), &beta, &alpha) == diopiSuccess);
    check_close(out, {3});
    REQUIRE(reference::diopiBaddbmmInp(context(), x.get(), tensor({1, 1, 1}, {2}, Dtype::int64).get(),
                                       tensor({1, 1, 1}, {5}, Dtype::int64).get(), 0.5, 2.75) == diopiSuccess);
    check_close(x, {20});
}
