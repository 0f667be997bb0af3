#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

Values sum(const TensorPtr& x, const Shape& dims, const Shape& out, Dtype dtype = Dtype::float64) {
    const TensorPtr y = make(out, dtype);
    REQUIRE(reference::diopiSum(context(), y.get(), x.get(), sizes(dims)) == diopiSuccess);
    return values_of(y);
}

Values mean(const TensorPtr& x, const Shape& dims, const Shape& out) {
    const TensorPtr y = make(out);
    REQUIRE(reference::diopiMean(context(), y.get(), x.get(), sizes(dims)) == diopiSuccess);
    return values_of(y);
}

Values argmax(const TensorPtr& x, const int64_t* dim, const Shape& out, Dtype index = Dtype::int64) {
    const TensorPtr y = make(out, index);
    REQUIRE(reference::diopiArgmax(context(), y.get(), x.get(), dim, false) == diopiSuccess);
    return values_of(y);
}

}  // namespace

TEST_CASE("a product leaves the range of float64 only if the result does", "[reference][prod]") {
    const auto product = [](const Values& factors) {
        const TensorPtr y = make({});
        const TensorPtr x = tensor({static_cast<int64_t>(factors.size())}, factors);
        REQUIRE(reference::diopiProd(context(), y.get(), x.get(), nullptr) == diopiSuccess);
        return values_of(y)[0];
    };
    CHECK(product({0x1p600, 0x1p600, -0x1p-600, 0x1p-590}) == -0x1p10);
    CHECK(product({0x1p-600, 0x1p-600, 0x1p600, 3}) == 3 * 0x1p-600);
    CHECK(product({0x1p600, 0x1p600}) == kInf);
    CHECK(product({0x1p600, 0x1p600, 0}) == 0);
    CHECK(product({-2, kInf}) == -kInf);
}

TEST_CASE("sum and mean of 0-dim, empty, strided and NaN input", "[reference][sum]") {
    CHECK(sum(tensor({}, {3}), {-1}, {}) == Values{3});
    CHECK(sum(make({2, 0}), {1}, {2}) == Values{0, 0});
    CHECK(sum(make({2, 0}), {0}, {0}).empty());
    check_close(mean(make({2, 0}), {1}, {2}), {kNaN, kNaN});
    check_close(mean(make({0}), {}, {}), {kNaN});
    CHECK(sum(tensor({2, 2}, {1, 2, 3, 4}, Dtype::float16, {1, 2}), {0}, {2}) == Values{4, 6});
    check_close(sum(tensor({2, 2}, {1, kNaN, 3, 4}), {1}, {2}), {kNaN, 7});
}

TEST_CASE("integers and bool are summed as int64", "[reference][sum]") {
    CHECK(sum(tensor({3}, {100, 100, 100}, Dtype::int8), {}, {}, Dtype::int64) == Values{300});
    CHECK(sum(tensor({3}, {1, 0, 1}, Dtype::boolean), {}, {}, Dtype::int64) == Values{2});
    CHECK(sum(tensor({3}, {100, 100, 100}, Dtype::int8), {}, {}, Dtype::int8) == Values{44});
}

TEST_CASE("a long sum keeps its precision", "[reference][sum]") {
    const int64_t n = 1000003;
    CHECK(std::fabs(sum(tensor({n}, Values(n, 0.1)), {}, {})[0] - 100000.3) < 1e-9);
}

TEST_CASE("sum refuses dims and shapes that contradict", "[reference][sum]") {
    const TensorPtr x = make({2, 3});
    CHECK(reference::diopiSum(context(), make({3}).get(), x.get(), sizes({1})) == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (3,), wanted (2,) or (2, 1)");
    CHECK(reference::diopiSum(context(), make({2}).get(), x.get(), sizes({2})) == diopiErrorOccurred);
    CHECK(reference::diopiSum(context(), make({2}).get(), x.get(), sizes({1, -1})) == diopiErrorOccurred);
}

TEST_CASE("results without dimensions may go to a tensor of shape (1,)", "[reference][sum][argmax]") {
    const TensorPtr x = tensor({2, 2}, {1, 2, 4, 3}), y = make({1});
    REQUIRE(reference::diopiSum(context(), y.get(), x.get(), sizes({})) == diopiSuccess);
    check_close(y, {10});
    REQUIRE(reference::diopiMean(context(), y.get(), tensor({}, {5}).get(), sizes({-1})) == diopiSuccess);
    check_close(y, {5});
    CHECK(argmax(x, nullptr, {1}) == Values{2});
    CHECK(reference::diopiSum(context(), y.get(), x.get(), sizes({1})) == diopiErrorOccurred);
}

TEST_CASE("argmax takes the first maximum, and NaN before all", "[reference][argmax]") {
    const TensorPtr x = tensor({2, 3}, {1, 5, 5, 7, kNaN, kNaN});
    const int64_t rows = 0;
    const int64_t last = -1;
    CHECK(argmax(x, &last, {2}) == Values{1, 1});
    CHECK(argmax(x, &last, {2, 1}) == Values{1, 1});
    CHECK(argmax(x, &rows, {3}) == Values{1, 1, 1});
    CHECK(argmax(x, nullptr, {}) == Values{4});
    CHECK(argmax(x, &last, {2}, Dtype::int32) == Values{1, 1});
    CHECK(argmax(tensor({}, {3}), &rows, {}) == Values{0});
    CHECK(argmax(tensor({3}, {-3, -1, -2}, Dtype::int8), &rows, {}) == Values{1});
    CHECK(argmax(make({0, 2}), &last, {0}).empty());
    CHECK(reference::diopiArgmax(context(), make({2}, Dtype::int64).get(), make({0, 2}).get(), &rows, false) ==
          diopiErrorOccurred);
}
