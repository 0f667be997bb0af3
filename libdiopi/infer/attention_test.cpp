/// Shapes of rotary embeddings, norms by the root mean square, softmax of scores and feed-forward layers.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "infer/infer.hpp"
#include "infer/work.hpp"

using namespace diopi;

namespace {

TensorPtr shaped(const Shape& shape, Dtype dtype = Dtype::float16) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = shape;
    tensor->strides = contiguous_strides(shape);
    tensor->dtype = dtype;
    return tensor;
}

Call with_tensors(const char* function, const std::vector<std::pair<const char*, TensorPtr>>& tensors) {
    Call call(*find_row(function));
    for (const auto& [arg, tensor] : tensors) call[arg] = tensor;
    return call;
}

std::vector<OutputSpec> outputs(Call call) {
    auto specs = infer(call, {});
    REQUIRE(specs.ok());
    return std::move(*specs);
}

void check_refusal(Call call, const std::string& message) {
    const auto specs = infer(call, {});
    REQUIRE_FALSE(specs.ok());
    CHECK(specs.error().code == Errc::kBadInput);
    CHECK_THAT(specs.error().message, Catch::Contains(message));
}

Call rotary(const Shape& x, const Shape& cos, const Shape& sin) {
    return with_tensors("diopiRotaryEmbedding", {{"x", shaped(x)}, {"cos", shaped(cos)}, {"sin", shaped(sin)}});
}

Call heads(const Shape& query, const Shape& key, const Shape& angles, int64_t dim) {
    Call call = with_tensors(
        "diopiRotaryEmbeddingV2",
        {{"query", shaped(query)}, {"key", shaped(key)}, {"cos", shaped(angles)}, {"sin", shaped(angles)}});
    call["dim"] = dim;
    return call;
}

Call scores(const Shape& input, const TensorPtr& mask) {
    return with_tensors("diopiScaledMaskedSoftmax", {{"input", shaped(input)}, {"mask", mask}});
}

Call layer(const Shape& x, const Shape& w1, const Shape& w2, const Shape& w3) {
    return with_tensors(
        "diopiFusedSiluFfnInp",
        {{"inoutput", shaped(x)}, {"weight1", shaped(w1)}, {"weight2", shaped(w2)}, {"weight3", shaped(w3)}});
}

/// An attention layer of 4 heads of q and 2 of k and v, of 6 numbers each, for a batch of 3.
Call step_layer(const Shape& keys = {2, 3, 2, 10, 6}) {
    Call call = with_tensors("diopiFusedDecoderAttentionInp", {{"inoutput", shaped({3, 24})},
                                                               {"qkv_weight", shaped({24, 48})},
                                                               {"qkv_bias", shaped({1, 48})},
                                                               {"key_cache", shaped(keys)},
                                                               {"value_cache", shaped(keys)},
                                                               {"sequence_lengths", shaped({3}, Dtype::int32)}});
    const std::pair<const char*, int64_t> numbers[] = {
        {"step", 5},          {"layer_id", 1},     {"local_head_num", 4},  {"local_kv_head_num", 2},
        {"size_per_head", 6}, {"max_seq_len", 10}, {"rotary_embedding", 4}};
    for (const auto& [arg, number] : numbers) call[arg] = number;
    call["rope_theta"] = 1e4;
    return call;
}

Call prompt_layer(int64_t queries, int64_t keys) {
    const Call step = step_layer();
    Call call(*find_row("diopiFusedContextAttentionInp"));
    for (const Arg& arg : call.row->args()) {
        if (step.has(arg.name)) call[arg.name] = step[arg.name];
    }
    call["inoutput"] = shaped({3 * queries, 24});
    call["max_q_len"] = queries;
    call["max_kv_len"] = keys;
    return call;
}

Call reduced(const Shape& x1, const Shape& x2, const TensorPtr& bias, const std::string& reduction) {
    Call call = with_tensors("diopiMatmulAllReduce", {{"x1", shaped(x1)}, {"x2", shaped(x2)}, {"bias", bias}});
    call["reduce_op"] = reduction;
    return call;
}

}  // namespace

TEST_CASE("a rotary embedding is like x, and its angles are one for each pair") {
    const auto specs = outputs(rotary({2, 5, 3, 8}, {5, 1, 4}, {5, 1, 4}));
    REQUIRE(specs.size() == 1);
    CHECK(specs[0].spec.shape == Shape{2, 5, 3, 8});
    CHECK(specs[0].spec.dtype == Dtype::float16);
    check_refusal(rotary({2, 7}, {7}, {7}), "x (2, 7) must end in an even size");
    check_refusal(rotary({2, 8}, {2, 1}, {2, 1}), "cos (2, 1) must end in 4");
    check_refusal(rotary({2, 8}, {3, 4}, {3, 4}), "broadcast to the pairs of x, (2, 4)");
    check_refusal(rotary({2, 8}, {2, 4}, {4}), "sin (4,) must have the shape of cos (2, 4)");
}

TEST_CASE("query and key have heads of dim elements for each token") {
    CHECK(outputs(heads({5, 24}, {5, 1, 8}, {5, 1, 8}, 8)).empty());
    check_refusal(heads({5, 24}, {5, 8}, {5, 1, 8}, 7), "dim 7 must be even and above 0");
    check_refusal(heads({5, 24}, {5, 12}, {5, 1, 8}, 8), "key (5, 12) must be (5, heads * 8) or (5, heads, 8)");
    check_refusal(heads({5, 24}, {4, 8}, {5, 1, 8}, 8), "key (4, 8) must be (5, heads * 8)");
    check_refusal(heads({5, 24}, {5, 8}, {5, 8}, 8), "cos (5, 8) must have one angle for each element of a head");
}

TEST_CASE("rms norm keeps one number per row, in float32 for half types") {
    Call call = with_tensors("diopiRMSNorm", {{"input", shaped({2, 3, 4})}, {"weight", shaped({3, 4})}});
    call["normalized_shape"] = IntList{3, 4};
    const auto specs = outputs(call);
    REQUIRE(specs.size() == 2);
    CHECK(specs[0].spec.shape == Shape{2, 3, 4});
    CHECK(specs[1].spec.shape == Shape{2});
    CHECK(specs[1].spec.dtype == Dtype::float32);
    CHECK(specs[1].has_meaning);
    call["normalized_shape"] = IntList{4};
    check_refusal(call, "weight (3, 4) must have normalized_shape (4,)");
    call["normalized_shape"] = IntList{5};
    check_refusal(call, "input (2, 3, 4) does not end in normalized_shape (5,)");
}

TEST_CASE("rows that are normalised in place are (tokens, hidden)") {
    const auto added = [](const Shape& x, const Shape& residual, const Shape& scale) {
        return with_tensors("diopiFusedAddRootMeanSquareNormInp",
                            {{"inoutput", shaped(x)}, {"residual", shaped(residual)}, {"scale", shaped(scale)}});
    };
    CHECK(outputs(added({3, 4}, {3, 4}, {4})).empty());
    check_refusal(added({3, 4, 1}, {3, 4, 1}, {1}), "inoutput (3, 4, 1) must be (tokens, hidden)");
    check_refusal(added({3, 4}, {3, 5}, {4}), "residual (3, 5) must have the shape of inoutput (3, 4)");
    check_refusal(added({3, 4}, {3, 4}, {3}), "scale (3,) must have the hidden size of inoutput, (4,)");
}

TEST_CASE("a mask of scores is bool and broadcasts to them") {
    CHECK(outputs(scores({1, 2, 3, 4}, shaped({3, 4}, Dtype::boolean)))[0].spec.shape == Shape{1, 2, 3, 4});
    check_refusal(scores({2, 3, 4}, shaped({4}, Dtype::boolean)),
                  "input (2, 3, 4) must be (batch, heads, seq_q, seq_k)");
    check_refusal(scores({1, 2, 3, 4}, shaped({3}, Dtype::boolean)), "mask (3,) does not broadcast to input");
    check_refusal(scores({1, 2, 3, 4}, shaped({4}, Dtype::uint8)), "mask is uint8, wanted bool");
}

TEST_CASE("the weights of a gated feed-forward layer fit each other, and their products are its work") {
    const Call call = layer({5, 8}, {8, 3}, {3, 8}, {8, 3});
    CHECK(outputs(call).empty());
    CHECK(work_of(call).flops == 5.0 * (3 * 2 * 8 * 3 + 5 * 3));
    check_refusal(layer({5}, {8, 3}, {3, 8}, {8, 3}), "inoutput (5,) must be (tokens, hidden)");
    check_refusal(layer({5, 7}, {8, 3}, {3, 8}, {8, 3}), "weight1 (8, 3) must be (hidden, inter)");
    check_refusal(layer({5, 8}, {8, 3}, {8, 3}, {8, 3}), "weight2 (8, 3) must have the shape (inter, hidden), (3, 8)");
    check_refusal(layer({5, 8}, {8, 3}, {3, 8}, {8, 4}), "weight3 (8, 4) must have the shape of weight1 (8, 3)");
}

TEST_CASE("a product that is reduced over the ranks is a sum") {
    Call call = reduced({2, 3}, {3, 4}, shaped({4}), "sum");
    const auto specs = outputs(call);
    CHECK(specs[0].spec.shape == Shape{2, 4});
    CHECK(accumulation_length(call, specs[0]) == 4);
    CHECK(is_product(call, specs[0]));
    call["out"] = shaped({2, 4});
    CHECK(work_of(call).flops == 2.0 * 2 * 4 * 3 + 8);
    check_refusal(reduced({2, 3}, {4, 4}, nullptr, "sum"), "the factors (2, 3) and (4, 4) do not fit");
    check_refusal(reduced({2, 3}, {3, 4}, shaped({3}), "sum"), "bias (3,) must have the columns of x2, (4,)");
    check_refusal(reduced({2, 3}, {3, 4}, nullptr, "max"), "reduce_op is 'max', wanted 'sum'");
}

TEST_CASE("an attention layer changes in place, and its heads, caches and sequences fit one another") {
    CHECK(outputs(step_layer()).empty());
    CHECK(outputs(prompt_layer(4, 10)).empty());
    CHECK(outputs(prompt_layer(0, 0)).empty());
    const auto check_number = [](const char* arg, int64_t number, const std::string& message) {
        Call call = step_layer();
        call[arg] = number;
        check_refusal(call, message);
    };
    check_number("local_kv_head_num", 3, "local_head_num 4 must be a multiple of local_kv_head_num 3");
    check_number("rotary_embedding", 3, "rotary_embedding 3 must be even, 0 to size_per_head 6");
    check_number("rotary_embedding", 8, "rotary_embedding 8 must be even");
    check_number("layer_id", 2, "layer_id 2 must be one of the layers of key_cache (2, 3, 2, 10, 6)");
    check_number("max_seq_len", 9, "must be (layers, batch, local_kv_head_num 2, max_seq_len 9, size_per_head 6)");
    Call call = step_layer();
    call["rope_theta"] = 0.0;
    check_refusal(call, "rope_theta must be over 0");
    call = step_layer();
    call["qkv_bias"] = shaped({2, 24});
    check_refusal(call, "qkv_bias (2, 24) must have the columns of qkv_weight, (48,)");
    call = step_layer();
    call["sequence_lengths"] = shaped({3});
    check_refusal(call, "sequence_lengths must be int32 or int64");
    call = step_layer();
    call["finished"] = shaped({2}, Dtype::boolean);
    check_refusal(call, "finished (2,) must have the batch of the caches, (3,)");
    check_refusal(step_layer({2, 4, 2, 10, 6}), "inoutput (3, 24) must have the new tokens and heads of q, (4, 24)");
    check_refusal(prompt_layer(4, 3), "max_q_len must be 0 to max_kv_len, and that at most max_seq_len");
    check_refusal(prompt_layer(4, 11), "max_q_len must be 0 to max_kv_len");
}

TEST_CASE("the operations of an attention layer are those of its projection and of its pairs") {
    CHECK(find_row("diopiFusedDecoderAttentionInp")->work.formula == WorkFormula::fused_attention);
    CHECK(work_of(step_layer()).flops == 2.0 * 3 * 24 * 48 + 4.0 * 3 * 24 * 5);
    CHECK(work_of(prompt_layer(4, 10)).flops == 2.0 * 12 * 24 * 48 + 4.0 * 12 * 24 * 10);
}

TEST_CASE("the operations of attention are those of the pairs that its window leaves") {
    Call call = with_tensors("diopiFlashAttention", {{"q", shaped({2, 4, 2, 8})},
                                                     {"k", shaped({2, 6, 1, 8})},
                                                     {"v", shaped({2, 6, 1, 8})},
                                                     {"attention_out", shaped({2, 4, 2, 8})}});
    call["p_dropout"] = call["softmax_scale"] = 0.0;
    const auto pairs = [&](bool is_causal, int64_t left, int64_t right) {
        call["is_causal"] = is_causal;
        call["window_size_left"] = left;
        call["window_size_right"] = right;
        return work_of(call).flops / (4 * 2 * 2 * 8);
    };
    CHECK(pairs(false, -1, -1) == 24);
    CHECK(pairs(true, -1, -1) == 3 + 4 + 5 + 6);
    CHECK(pairs(true, 1, -1) == 4 * 2);
    CHECK(pairs(false, 1, 2) == 4 + 4 + 3 + 2);
    CHECK(pairs(false, -1, 2) == 5 + 6 + 6 + 6);
}

TEST_CASE("what attention makes for its gradients is no described result") {
    Call call = with_tensors("diopiCustomizedFlashAttention",
                             {{"q", shaped({1, 3, 2, 4})}, {"k", shaped({1, 3, 2, 4})}, {"v", shaped({1, 3, 2, 4})}});
    call["p_dropout"] = 0.0;
    call["is_causal"] = false;
    call["window_size_left"] = call["window_size_right"] = int64_t{-1};
    call["head_num"] = int64_t{2};
    call["input_layout"] = std::string("BSND");
    const auto specs = outputs(call);
    REQUIRE(specs.size() == 5);
    CHECK(specs[0].has_meaning);
    for (size_t i = 1; i < specs.size(); ++i) {
        const Arg& arg = call.row->args()[specs[i].arg];
        CHECK(arg.is_made);
        CHECK(arg.is_opaque);
        CHECK_FALSE(specs[i].has_meaning);
    }
}
