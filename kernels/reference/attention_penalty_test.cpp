#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// Three sequences of tokens, one in each column.
const Values kTokens = {1, 3, 0,  //
                        2, 3, 0,  //
                        1, 0, 2};

/// The logits of three sequences after words are forbidden, of a vocabulary of 4 tokens; the words are those of all.
Values after_banning(const Values& words, const Values& ends, int64_t step) {
    Values lists = words;
    lists.insert(lists.end(), ends.begin(), ends.end());
    const auto length = std::ssize(words);
    const TensorPtr logits = tensor({3, 4}, Values(12, 1)), ids = tensor({3, 3}, kTokens, Dtype::int64);
    REQUIRE(reference::diopiBanBadWordsInp(context(), logits.get(), ids.get(),
                                           tensor({2, length}, lists, Dtype::int32).get(), 0, length, true, 3, 4,
                                           step) == diopiSuccess);
    return values_of(logits);
}

Values ones_but(std::initializer_list<size_t> banned) {
    Values all(12, 1);
    for (const size_t at : banned) all[at] = -kInf;
    return all;
}

Values after_repetition(double penalty, int64_t type, const Values& logits) {
    const TensorPtr y = tensor({3, 4}, logits), ids = tensor({3, 3}, kTokens, Dtype::int32);
    REQUIRE(reference::diopiBatchApplyRepetitionPenaltyInp(context(), y.get(), tensor({3}, Values(3, penalty)).get(),
                                                           ids.get(), 3, 4, nullptr, 3, 3, type) == diopiSuccess);
    return values_of(y);
}

}  // namespace

TEST_CASE("a word of one token is always forbidden", "[reference][penalty]") {
    CHECK(after_banning({2}, {1}, 0) == ones_but({2, 6, 10}));
    CHECK(after_banning({0}, {1}, 3) == ones_but({0, 4, 8}));
}

TEST_CASE("a longer word is forbidden where the newest tokens are its beginning", "[reference][penalty]") {
    CHECK(after_banning({1, 3}, {2, -1}, 1) == ones_but({3}));
    CHECK(after_banning({1, 3}, {2, -1}, 2) == ones_but({}));
    CHECK(after_banning({1, 3}, {2, -1}, 3) == ones_but({3}));
    CHECK(after_banning({3, 3, 1}, {3, -1, -1}, 2) == ones_but({5}));
    CHECK(after_banning({3, 3, 1}, {3, -1, -1}, 3) == ones_but({}));
}

TEST_CASE("a word that is longer than what was generated is not forbidden", "[reference][penalty]") {
    CHECK(after_banning({0, 0, 0, 2}, {4, -1, -1, -1}, 2) == ones_but({}));
    CHECK(after_banning({3, 3}, {2, -1}, 0) == ones_but({}));
}

TEST_CASE("words are ignored that end outside of the vocabulary, have no tokens, or stand behind the last one",
          "[reference][penalty]") {
    CHECK(after_banning({4, -1}, {1, 2}, 3) == ones_but({}));
    CHECK(after_banning({1, 2}, {0, 1}, 3) == ones_but({1, 5, 9}));
    CHECK(after_banning({1, 2}, {-1, 2}, 3) == ones_but({}));
}

TEST_CASE("the ends of words rise up to the length of the list", "[reference][penalty]") {
    const TensorPtr logits = make({1, 4}), ids = make({0, 1}, Dtype::int64);
    for (const Values& ends : {Values{2, 1}, Values{1, 3}}) {
        const TensorPtr words = tensor({2, 2}, {1, 1, ends[0], ends[1]}, Dtype::int64);
        CHECK(reference::diopiBanBadWordsInp(context(), logits.get(), ids.get(), words.get(), 0, 2, true, 1, 4, 0) ==
              diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains("wanted ends that do not fall, up to 2"));
    }
}

TEST_CASE("a penalty of 0 that is subtracted, and one of 1 that divides, change nothing", "[reference][penalty]") {
    const Values logits = random_values(12, 1);
    CHECK(after_repetition(0, 1, logits) == logits);
    CHECK(after_repetition(1, 2, logits) == logits);
    CHECK(after_repetition(7, 0, logits) == logits);
    const TensorPtr none = tensor({3}, {0, 0, 0}), one = tensor({3}, {1, 1, 1}), y = tensor({3, 4}, logits);
    const TensorPtr ids = tensor({3}, {0, 5, 11}, Dtype::int32), counts = tensor({3}, {1, 2, 300}, Dtype::int32);
    REQUIRE(reference::diopiApplyPenaltyV2(context(), y.get(), none.get(), none.get(), one.get(), ids.get(),
                                           counts.get()) == diopiSuccess);
    CHECK(values_of(y) == logits);
}

TEST_CASE("a token that a sequence contains several times is penalised once", "[reference][penalty]") {
    const Values y = after_repetition(2, 1, Values(12, 3));
    CHECK(y == Values{3, 1, 1, 3, 1, 3, 3, 1, 1, 3, 1, 3});
    CHECK(after_repetition(2, 2, {4, 4, -4, 4, 4, 4, 4, -4, 4, 4, 4, 4}) ==
          Values{4, 2, -8, 4, 2, 4, 4, -8, 2, 4, 2, 4});
}

TEST_CASE("the padding of prompts is not penalised", "[reference][penalty]") {
    const TensorPtr y = tensor({1, 4}, {5, 5, 5, 5}), ids = tensor({4, 1}, {0, 1, 2, 3}, Dtype::int64);
    REQUIRE(reference::diopiBatchApplyRepetitionPenaltyInp(context(), y.get(), tensor({1}, {1}).get(), ids.get(), 1, 4,
                                                           tensor({1}, {1}, Dtype::int32).get(), 3, 4,
                                                           1) == diopiSuccess);
    CHECK(values_of(y) == Values{4, 5, 5, 4});
}

TEST_CASE("a temperature scales the vocabulary, and the columns behind it are lowest", "[reference][penalty]") {
    const TensorPtr y = tensor({2, 3}, {1, 2, 9, 3, 4, 9}, Dtype::float16);
    REQUIRE(reference::diopiBatchApplyTemperaturePenaltyInp(context(), y.get(), tensor({2}, {1, -1}).get(),
                                                            tensor({2}, {1, 0.5}, Dtype::float32).get(), 2, 2,
                                                            3) == diopiSuccess);
    CHECK(values_of(y) == Values{2, 1, -65504, 8, 6, -65504});
}

TEST_CASE("a listed token outside of the vocabulary, and a row with too many entries, are refused",
          "[reference][penalty]") {
    const TensorPtr y = make({2, 3}), one = make({2}), ids = tensor({3}, {0, 2, 3}, Dtype::int32),
                    counts = make({3}, Dtype::int32), ends = tensor({3}, {0, 2, 3}, Dtype::int32);
    const auto penalise = [&](int32_t most) {
        return reference::diopiApplyPenalty(context(), y.get(), one.get(), one.get(), ids.get(), counts.get(),
                                            ends.get(), most);
    };
    CHECK(penalise(2) == diopiErrorOccurred);
    CHECK(last_error() == "p_token_ids holds 3, wanted 0 to 2");
    CHECK(penalise(1) == diopiErrorOccurred);
    CHECK(last_error() == "p_cumsum_seq_len gives row 0 the entries from 0 to 2, wanted at most 1 of the 3");
    CHECK(values_of(y) == Values(6, -77));
}
