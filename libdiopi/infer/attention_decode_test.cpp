#include "infer/testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

Call banning(const Shape& ids, bool shared, int64_t step) {
    Call call(*find_row("diopiBanBadWordsInp"));
    call["logits"] = meta({2, 5});
    call["output_ids"] = meta(ids, Dtype::int32);
    call["bad_words"] = meta(shared ? Shape{2, 7} : Shape{2, 2, 7}, Dtype::int32);
    call["id_offset"] = int64_t{1};
    call["bad_words_len"] = int64_t{7};
    call["share_words"] = shared;
    call["batch_size"] = int64_t{2};
    call["vocab_size"] = int64_t{5};
    call["step"] = step;
    return call;
}

}  // namespace

TEST_CASE("words are compared with rows and columns of tokens that exist") {
    for (const bool shared : {false, true}) {
        Call call = banning({4, 3}, shared, 4);
        CHECK(infer(call, {}).ok());
    }
    CHECK_THAT(refusal(banning({4, 2}, true, 4)),
               Catch::Contains("must have at least 4 rows, and 2 columns from column 1"));
    CHECK_THAT(refusal(banning({4, 3}, true, 5)), Catch::Contains("output_ids (4, 3) must have at least 5 rows"));
    Call call = banning({4, 3}, true, 4);
    call["share_words"] = false;
    CHECK_THAT(refusal(call),
               Catch::Contains("bad_words (2, 7) must have tokens and ends of bad_words_len words, (2, 2, 7)"));
}

TEST_CASE("the counts of a generation have one element for each sequence, or one for all") {
    Call lengths(*find_row("diopiLengthCriterion"));
    lengths["finished"] = meta({3}, Dtype::boolean);
    lengths["sequence_limit_length"] = meta({3}, Dtype::int32);
    lengths["batch_size"] = int64_t{3};
    lengths["step"] = int64_t{0};
    const auto specs = infer(lengths, {});
    REQUIRE(specs.ok());
    CHECK(specs->at(0).spec.shape == Shape{1});
    CHECK(specs->at(1).spec.dtype == Dtype::int32);
    lengths["batch_size"] = int64_t{4};
    CHECK_THAT(refusal(lengths), Catch::Contains("finished (3,) must have batch_size, (4,)"));
}

TEST_CASE("lists of sampling's arguments have one for each sequence") {
    Call call(*find_row("diopiSetupToppRuntimeArgsInp"));
    call["top_ks"] = meta({3}, Dtype::int64);
    call["top_ps"] = meta({3});
    call["batch_size"] = int64_t{3};
    for (const char* number : {"top_k", "top_ks_size", "top_ps_size", "top_p_reset_ids"}) call[number] = int64_t{1};
    for (const char* number : {"top_p", "top_p_decay", "top_p_min"}) call[number] = 0.5;
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->back().spec.dtype == Dtype::int64);
    call["top_ks_size"] = int64_t{2};
    CHECK_THAT(refusal(call), Catch::Contains("top_ks_size 2 and top_ps_size 1 must be at most 1, or batch_size 3"));
}
