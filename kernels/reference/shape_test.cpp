#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

diopiError_t cat(const TensorPtr& out, std::vector<TensorPtr> tensors, int64_t dim) {
    std::vector<diopiConstTensorHandle_t> handles;
    for (const TensorPtr& t : tensors) handles.push_back(t.get());
    return reference::diopiCat(context(), out.get(), handles.data(), static_cast<int64_t>(handles.size()), dim);
}

}  // namespace

TEST_CASE("cat skips empty 1-dim tensors and promotes dtypes", "[reference][cat]") {
    const TensorPtr a = tensor({1, 2}, {1, 2}, Dtype::int32);
    const TensorPtr b = tensor({1, 2}, {0.5, -1}, Dtype::float16);
    const TensorPtr out = make({2, 2}, Dtype::float16);
    REQUIRE(cat(out, {make({0}), a, b}, 0) == diopiSuccess);
    check_close(out, {1, 2, 0.5, -1});
    CHECK(cat(make({0, 6}), {make({0, 2}), make({0, 4})}, 1) == diopiSuccess);
    const TensorPtr flags = make({3}, Dtype::boolean);
    REQUIRE(cat(flags, {tensor({2}, {1, 0}, Dtype::boolean), tensor({1}, {1}, Dtype::boolean)}, 0) == diopiSuccess);
    CHECK(values_of(flags) == Values{1, 0, 1});
}

TEST_CASE("cat refuses sizes that contradict each other", "[reference][cat]") {
    CHECK(cat(make({4, 2}), {make({2, 2}), make({2, 3})}, 0) == diopiErrorOccurred);
    CHECK(last_error() == "tensors[1] has shape (2, 3), wanted (2, 2)");
    CHECK(cat(make({3, 2}), {make({2, 2}), make({2, 2})}, 0) == diopiErrorOccurred);
    CHECK(cat(make({5, 2}), {make({2, 2}), make({2, 2})}, 0) == diopiErrorOccurred);
    CHECK(cat(make({4, 2}), {make({2, 2}), make({2, 2})}, 2) == diopiErrorOccurred);
}

TEST_CASE("flip of 0-dim, empty, strided and bool tensors", "[reference][flip]") {
    const TensorPtr scalar = make({});
    REQUIRE(reference::diopiFlip(context(), scalar.get(), tensor({}, {3}).get(), sizes({-1})) == diopiSuccess);
    check_close(scalar, {3});
    CHECK(reference::diopiFlip(context(), make({2, 0}).get(), make({2, 0}).get(), sizes({0, 1})) == diopiSuccess);
    const TensorPtr x = tensor({2, 2}, {1, 0, 1, 1}, Dtype::boolean, {1, 2});
    const TensorPtr y = make({2, 2}, Dtype::boolean, {3, 1});
    REQUIRE(reference::diopiFlip(context(), y.get(), x.get(), sizes({1})) == diopiSuccess);
    CHECK(values_of(y) == Values{0, 1, 1, 1});
    CHECK(reference::diopiFlip(context(), y.get(), x.get(), sizes({1, -1})) == diopiErrorOccurred);
}

TEST_CASE("fill converts the value to the tensor's dtype", "[reference][fill]") {
    struct Row {
        Dtype dtype;
        diopiScalar_t value;
        double wanted;
    };
    for (const Row& row : {Row{Dtype::float64, number(2.1), 2.1}, Row{Dtype::float32, number(-kInf), -kInf},
                           Row{Dtype::float16, number(kNaN), kNaN}, Row{Dtype::int32, number(4.8), 4},
                           Row{Dtype::uint8, number(-10), 246}, Row{Dtype::boolean, number(0.23), 1},
                           Row{Dtype::boolean, number(0), 0}, Row{Dtype::float64, number(true), 1}}) {
        const TensorPtr x = make({2, 2}, row.dtype, {1, 3});
        REQUIRE(reference::diopiFill(context(), x.get(), &row.value) == diopiSuccess);
        check_close(x, Values(4, row.wanted));
    }
    const diopiScalar_t one = number(1);
    CHECK(reference::diopiFill(context(), make({0, 3}).get(), &one) == diopiSuccess);
}
