#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("mm and bmm multiply matrices, whatever their strides", "[reference][matmul]") {
    const TensorPtr a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, Dtype::float64, {1, 2});
    const TensorPtr b = tensor({3, 2}, {1, 0, 0, 1, 1, 1});
    const TensorPtr y = make({2, 2});
    REQUIRE(reference::diopiMm(context(), y.get(), a.get(), b.get()) == diopiSuccess);
    check_close(y, {4, 5, 10, 11});
    const TensorPtr batch = make({2, 1, 1});
    REQUIRE(reference::diopiBmm(context(), batch.get(), tensor({2, 1, 2}, {1, 2, 3, 4}).get(),
                                tensor({2, 2, 1}, {1, 10, 100, 1000}).get()) == diopiSuccess);
    check_close(batch, {21, 4300});
    const TensorPtr zeros = make({2, 2});
    REQUIRE(reference::diopiMm(context(), zeros.get(), make({2, 0}).get(), make({0, 2}).get()) == diopiSuccess);
    check_close(zeros, Values(4, 0));
}

TEST_CASE("matmul takes vectors and broadcasts the leading dims", "[reference][matmul]") {
    const TensorPtr v = tensor({2}, {3, 5});
    const TensorPtr dot = make({});
    REQUIRE(reference::diopiMatmul(context(), dot.get(), v.get(), v.get()) == diopiSuccess);
    check_close(dot, {34});
    const TensorPtr pair = tensor({2, 1, 2}, {1, 0, 0, 1});
    const TensorPtr out = make({2, 2, 1});
    REQUIRE(reference::diopiMatmul(context(), make({2, 1}).get(), pair.get(), v.get()) == diopiSuccess);
    const TensorPtr lists = tensor({1, 2, 2}, {3, 4, 5, 6});
    const TensorPtr wide = make({2, 1, 2});
    REQUIRE(reference::diopiMatmul(context(), wide.get(), pair.get(), lists.get()) == diopiSuccess);
    check_close(wide, {3, 4, 5, 6});
}

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

TEST_CASE("addmm weighs both terms, and forgets input when beta is 0", "[reference][matmul]") {
    const TensorPtr a = tensor({2, 1}, {1, 2});
    const TensorPtr b = tensor({1, 2}, {3, 4});
    const TensorPtr y = make({2, 2});
    const auto run = [&](const TensorPtr& input, const diopiScalar_t& beta, const diopiScalar_t& alpha) {
        REQUIRE(reference::diopiAddmm(context(), y.get(), input.get(), a.get(), b.get(), &beta, &alpha) ==
                diopiSuccess);
    };
    run(tensor({2}, {10, 20}), number(0.5), number(2));
    check_close(y, {11, 18, 17, 26});
    run(tensor({1, 1}, {kNaN}), number(false), number(true));
    check_close(y, {3, 4, 6, 8});
    const TensorPtr in_place = tensor({1, 1, 2}, {1, 1});
    REQUIRE(reference::diopiBaddbmmInp(context(), in_place.get(), tensor({1, 1, 1}, {2}).get(),
                                       tensor({1, 1, 2}, {3, 4}).get(), -1, 0.5) == diopiSuccess);
    check_close(in_place, {2, 3});
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
