#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// Whether each of two sequences is finished by the stop word 1 2 at a step of 0 1 2 3 and 1 1 2 2.
Values finished_at(int64_t step) {
    const TensorPtr ids = tensor({4, 2}, {0, 1, 1, 1, 2, 2, 3, 2}, Dtype::int32),
                    flags = tensor({2}, {0, 0}, Dtype::boolean);
    const TensorPtr words = tensor({2, 2, 2}, {1, 2, 2, -1, 1, 2, 2, -1}, Dtype::int32);
    REQUIRE(reference::diopiStopWordsCriterion(context(), ids.get(), words.get(), flags.get(), 0, 2, 2, step) ==
            diopiSuccess);
    return values_of(flags);
}

}  // namespace

TEST_CASE("a stop word ends a sequence at the step of its last token", "[reference][decode]") {
    CHECK(finished_at(0) == Values{0, 0});
    CHECK(finished_at(1) == Values{0, 0});
    CHECK(finished_at(2) == Values{1, 1});
    CHECK(finished_at(3) == Values{0, 0});
}

TEST_CASE("a generation stops when all sequences are finished", "[reference][decode]") {
    const TensorPtr flags = tensor({3}, {1, 0, 0}, Dtype::boolean), stops = make({1}, Dtype::boolean),
                    sum = make({1}, Dtype::int32), limits = tensor({3}, {9, 4, 5}, Dtype::int32);
    const auto run = [&](int64_t step) {
        REQUIRE(reference::diopiLengthCriterion(context(), flags.get(), stops.get(), sum.get(), limits.get(), 3,
                                                step) == diopiSuccess);
        return Values{values_of(sum)[0], values_of(stops)[0]};
    };
    CHECK(run(3) == Values{1, 0});
    CHECK(run(4) == Values{2, 0});
    CHECK(run(5) == Values{3, 1});
    const TensorPtr none = make({0}, Dtype::boolean);
    REQUIRE(reference::diopiLengthCriterion(context(), none.get(), stops.get(), sum.get(),
                                            make({0}, Dtype::int32).get(), 0, 1) == diopiSuccess);
    CHECK(values_of(stops) == Values{1});
}

TEST_CASE("tokens are gathered without padding, as far as there is room", "[reference][decode]") {
    const TensorPtr ids = tensor({4, 2}, {0, 10, 1, 11, 2, 12, 3, 13}, Dtype::int64),
                    lengths = tensor({2}, {1, 3}, Dtype::int64);
    const auto gather = [&](int64_t room) {
        const TensorPtr y = make({2, room}, Dtype::int64);
        REQUIRE(reference::diopiGatherOutput(context(), y.get(), ids.get(), lengths.get(), 3, 4, room, 2) ==
                diopiSuccess);
        return values_of(y);
    };
    CHECK(gather(4) == Values{0, 3, -77, -77, 10, 11, 12, 13});
    CHECK(gather(2) == Values{0, 3, 10, 11});
    const TensorPtr y = make({2, 4}, Dtype::int64);
    CHECK(reference::diopiGatherOutput(context(), y.get(), ids.get(), lengths.get(), 2, 4, 4, 2) == diopiErrorOccurred);
    CHECK(last_error() == "context_length holds 3, wanted 0 to max_context_len 2");
}

TEST_CASE("sums of integers wrap around, and end at the size", "[reference][decode]") {
    const TensorPtr bytes = tensor({2, 2}, {127, 1, 2, 3}, Dtype::int8, {1, 2});
    REQUIRE(reference::diopiPlusScalarInp(context(), bytes.get(), 2, 3) == diopiSuccess);
    CHECK(values_of(bytes) == Values{-127, 3, 4, 3});
    CHECK(reference::diopiPlusScalarInp(context(), bytes.get(), 2, 5) == diopiErrorOccurred);
    CHECK(last_error() == "size is 5, wanted 0 to 4");
}

TEST_CASE("two exchanges of axes are none", "[reference][decode]") {
    const TensorPtr x = random({2, 3, 4}, 1), y = make({3, 2, 4}), z = make({2, 3, 4});
    REQUIRE(reference::diopiTransposeAxis01(context(), y.get(), x.get(), 2, 3, 4) == diopiSuccess);
    REQUIRE(reference::diopiTransposeAxis01(context(), z.get(), y.get(), 3, 2, 4) == diopiSuccess);
    CHECK(values_of(z) == values_of(x));
    CHECK(values_of(y)[4] == values_of(x)[12]);
}

TEST_CASE("a token outside of the vocabulary has no embedding", "[reference][decode]") {
    const TensorPtr table = random({3, 2}, 1), y = make({2, 2});
    for (const double token : {-1.0, 3.0}) {
        const TensorPtr ids = tensor({2}, {0, token}, Dtype::int32),
                        steps = tensor({2, 2}, {0, 0, 1, token}, Dtype::int32);
        CHECK(reference::diopiInputIdsEmbeddingLookupPosEncoding(context(), y.get(), ids.get(), table.get(), 2, 2) ==
              diopiErrorOccurred);
        CHECK(reference::diopiEmbeddingLookupPosEncoding(context(), y.get(), table.get(), steps.get(), 2, 2, 1) ==
              diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains("wanted 0 to 2"));
        CHECK(reference::diopiEmbeddingLookupPosEncoding(context(), y.get(), table.get(), steps.get(), 2, 2, 0) ==
              diopiSuccess);
    }
}
