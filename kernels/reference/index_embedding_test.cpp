#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

diopiError_t look_up(const TensorPtr& out, const TensorPtr& weight, const TensorPtr& indices) {
    return reference::diopiEmbedding(context(), out.get(), weight.get(), indices.get(), 0, true, true);
}

}  // namespace

TEST_CASE("embedding refuses an index beyond the table, and indices of another dtype", "[reference][embedding]") {
    const TensorPtr table = make({3, 2}), y = make({1, 2});
    for (const double index : {-1.0, 3.0}) {
        CHECK(look_up(y, table, tensor({1}, {index}, Dtype::int64)) == diopiErrorOccurred);
        CHECK(last_error() == "indices holds " + std::to_string(int(index)) + ", wanted 0 to 2: there are 3 rows");
    }
    CHECK(look_up(y, table, make({1}, Dtype::int8)) == diopiDtypeNotSupported);
    CHECK(look_up(make({2, 2}), table, tensor({1}, {0}, Dtype::int64)) == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (2, 2), wanted (1, 2)");
    CHECK(look_up(y, make({3}), tensor({1}, {0}, Dtype::int64)) == diopiErrorOccurred);
    CHECK(look_up(make({0, 2}), table, make({0}, Dtype::int64)) == diopiSuccess);
}

TEST_CASE("the gradient of an embedding is its derivative", "[reference][embedding][gradient]") {
    const TensorPtr table = random({5, 3}, 1), at = tensor({2, 3}, {4, 0, 4, 2, 4, 0}, Dtype::int64);
    const Values weights = random_values(18, 2);
    const TensorPtr g = tensor({2, 3, 3}, weights), gw = make({5, 3});
    REQUIRE(reference::diopiEmbeddingBackward(context(), gw.get(), g.get(), at.get(), 5, -1, false, false) ==
            diopiSuccess);
    check_gradient(table, gw, weights, [&] {
        const TensorPtr y = make({2, 3, 3});
        REQUIRE(look_up(y, table, at) == diopiSuccess);
        return values_of(y);
    });
}

TEST_CASE("the gradient of an embedding is dense, with a row for each of the weights", "[reference][embedding]") {
    const TensorPtr g = make({4, 1}), at = tensor({4}, {1, 2, 1, 0}, Dtype::int32), gw = make({4, 1});
    CHECK(reference::diopiEmbeddingBackward(context(), gw.get(), g.get(), at.get(), 4, -1, false, true) ==
          diopiErrorOccurred);
    CHECK(reference::diopiEmbeddingBackward(context(), gw.get(), g.get(), at.get(), 5, -1, false, false) ==
          diopiErrorOccurred);
    CHECK(last_error() == "out has shape (4, 1), wanted (5, 1)");
}
