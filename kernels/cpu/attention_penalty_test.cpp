#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

#include <catch2/catch.hpp>

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("penalties refuse tensors that do not fit the logits, and change nothing then") {
    const TensorPtr logits = tensor(Dtype::float32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                    two = tensor(Dtype::float32, {2}, {1, 1});
    const TensorPtr ids = tensor(Dtype::int32, {3}, {0, 2, 3}), counts = tensor(Dtype::int32, {3}, {1, 1, 1});
    const auto penalise = [&](const Values& ends, int32_t most) {
        return cpu::diopiApplyPenalty(&context, logits.get(), two.get(), two.get(), ids.get(), counts.get(),
                                      tensor(Dtype::int32, {std::ssize(ends)}, ends).get(), most);
    };
    CHECK(penalise({0, 2, 3}, 2) == diopiErrorOccurred);
    CHECK(last_error() == "diopiApplyPenalty: p_token_ids holds 3, wanted 0 to 2");
    CHECK(penalise({0, 2, 2}, 1) == diopiErrorOccurred);
    CHECK(penalise({0, 2, 1}, 2) == diopiErrorOccurred);
    CHECK(penalise({0, 2, 4}, 2) == diopiErrorOccurred);
    CHECK(penalise({0, 2}, 2) == diopiErrorOccurred);
    CHECK(last_error() == "diopiApplyPenalty: p_cumsum_seq_len has shape (2,), wanted (3,)");
    CHECK(same(values(logits), {1, 2, 3, 4, 5, 6}));
    CHECK(penalise({0, 2, 2}, 2) == diopiSuccess);
    CHECK(same(values(logits), {-1, 2, 1, 4, 5, 6}));
    CHECK(cpu::diopiBatchApplyRepetitionPenaltyInp(&context, logits.get(), two.get(),
                                                   tensor(Dtype::int64, {1, 2}, {0, 1}).get(), 2, 3, nullptr, 1, 1,
                                                   3) == diopiErrorOccurred);
    CHECK(last_error() == "diopiBatchApplyRepetitionPenaltyInp: penalty_type is 3, wanted 0, 1 or 2");
}

TEST_CASE("words whose ends fall are refused before a logit changes") {
    const TensorPtr logits = tensor(Dtype::bfloat16, {2, 3}, {1, 2, 3, 4, 5, 6}), ids = blank(Dtype::int32, {0, 2});
    const TensorPtr words = tensor(Dtype::int32, {2, 2, 2}, {0, 1, 1, 2, 2, 2, 2, 1});
    const auto ban = [&] {
        return cpu::diopiBanBadWordsInp(&context, logits.get(), ids.get(), words.get(), 0, 2, false, 2, 3, 0);
    };
    CHECK(ban() == diopiErrorOccurred);
    CHECK(last_error() ==
          "diopiBanBadWordsInp: bad_words has a word that ends at 1, wanted ends that do not fall, up to 2");
    CHECK(same(values(logits), {1, 2, 3, 4, 5, 6}));
    write(Dtype::int32, words->data(), 7, -1);
    CHECK(ban() == diopiSuccess);
    CHECK(same(values(logits), {-kInf, -kInf, 3, 4, 5, 6}));
}
