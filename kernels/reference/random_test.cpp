#include "core/normal.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("normal_ scales the numbers of seed and offset and advances the offset", "[reference][normal_]") {
    Generator generator{42, 8};
    const TensorPtr x = make({3, 1667}, Dtype::float32, {1, 3});
    REQUIRE(reference::diopiNormalInp(context(), x.get(), 2.0, 0.5, &generator) == diopiSuccess);
    CHECK(generator.seed == 42);
    CHECK(generator.offset == 8 + 5004);

    std::vector<float> numbers(5001);
    normal_block(42, 8, 0, std::span(numbers));
    Values wanted;
    for (const float n : numbers) wanted.push_back(static_cast<float>(2.0 + 0.5 * static_cast<double>(n)));
    CHECK(values_of(x) == wanted);

    const Values first = values_of(x);
    REQUIRE(reference::diopiNormalInp(context(), x.get(), 2.0, 0.5, &generator) == diopiSuccess);
    CHECK(values_of(x) != first);
}

TEST_CASE("normal_ of float64, of std 0 and of no elements", "[reference][normal_]") {
    Generator generator{7, 0};
    const TensorPtr x = make({5});
    REQUIRE(reference::diopiNormalInp(context(), x.get(), 0.0, 1.0, &generator) == diopiSuccess);
    Values wanted(5);
    normal_block(7, 0, 0, std::span(wanted));
    CHECK(values_of(x) == wanted);
    REQUIRE(reference::diopiNormalInp(context(), x.get(), -3.0, 0.0, &generator) == diopiSuccess);
    CHECK(values_of(x) == Values(5, -3.0));
    const uint64_t offset = generator.offset;
    REQUIRE(reference::diopiNormalInp(context(), make({0, 3}).get(), 0.0, 1.0, &generator) == diopiSuccess);
    CHECK(generator.offset == offset);
}

TEST_CASE("normal_ refuses a negative std and integers", "[reference][normal_]") {
    Generator generator;
    CHECK(reference::diopiNormalInp(context(), make({2}).get(), 0.0, -1.0, &generator) == diopiErrorOccurred);
    CHECK(reference::diopiNormalInp(context(), make({2}, Dtype::int32).get(), 0.0, 1.0, &generator) ==
          diopiDtypeNotSupported);
    CHECK(reference::diopiNormalInp(context(), make({2}).get(), 0.0, 1.0, nullptr) == diopiErrorOccurred);
}

TEST_CASE("bernoulli gives 1 where the generator's uniform number is below the probability", "[reference][bernoulli]") {
    Generator generator{42, 8};
    std::vector<float> numbers(1001);
    uniform_block(42, 8, 0, std::span(numbers));
    Values wanted;
    for (const float u : numbers) wanted.push_back(static_cast<double>(u) < 0.3 ? 1 : 0);
    const TensorPtr x = make({1001}, Dtype::int8, {2});
    REQUIRE(reference::diopiBernoulliScalar(context(), x.get(), 0.3, &generator) == diopiSuccess);
    CHECK(values_of(x) == wanted);
    CHECK(generator.seed == 42);
    CHECK(generator.offset == 8 + 1004);

    Generator same{42, 8};
    const TensorPtr p = tensor({1001}, Values(1001, 0.3)), y = make({1001}, Dtype::boolean);
    REQUIRE(reference::diopiBernoulli(context(), y.get(), p.get(), &same) == diopiSuccess);
    CHECK(values_of(y) == wanted);
    same = {42, 8};
    REQUIRE(reference::diopiBernoulliInp(context(), p.get(), &same) == diopiSuccess);
    CHECK(values_of(p) == wanted);
}

TEST_CASE("bernoulli of 0 and 1 is certain, and other numbers are refused", "[reference][bernoulli]") {
    Generator generator{1, 0};
    const TensorPtr p = tensor({4}, {0, 1, 0, 1});
    REQUIRE(reference::diopiBernoulliInp(context(), p.get(), &generator) == diopiSuccess);
    CHECK(values_of(p) == Values{0, 1, 0, 1});
    const uint64_t offset = generator.offset;
    CHECK(reference::diopiBernoulliInp(context(), tensor({2}, {0, 1.5}).get(), &generator) == diopiErrorOccurred);
    CHECK(reference::diopiBernoulliInp(context(), tensor({1}, {kNaN}).get(), &generator) == diopiErrorOccurred);
    CHECK(reference::diopiBernoulliScalar(context(), p.get(), -0.1, &generator) == diopiErrorOccurred);
    CHECK(reference::diopiBernoulliScalar(context(), p.get(), 0.5, nullptr) == diopiErrorOccurred);
    CHECK(reference::diopiBernoulliInp(context(), make({1}, Dtype::int32).get(), &generator) == diopiDtypeNotSupported);
    CHECK(generator.offset == offset);
}

TEST_CASE("randperm refuses an n that out has no place for, before it takes memory for it", "[reference][randperm]") {
    Generator generator;
    const auto permute = [&](int64_t n) {
        return reference::diopiRandperm(context(), make({4}, Dtype::int64).get(), n, &generator);
    };
    CHECK(permute(int64_t{1} << 40) == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (4,), wanted (1099511627776,)");
    CHECK(permute(4) == diopiSuccess);
}
