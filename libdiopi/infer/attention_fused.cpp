/// Shapes of whole attention layers, with their projections and caches.
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The sizes of a layer.
struct Layer {
    int64_t heads, key_heads, dim;

    explicit Layer(const Call& call)
        : heads(call.integer("local_head_num")),
          key_heads(call.integer("local_kv_head_num")),
          dim(call.integer("size_per_head")) {}
};

std::optional<std::string> wrong_layer(const Call& call, const Layer& layer) {
    constexpr int64_t kMost = 1 << 30;  // of which products do not overflow
    const auto& [heads, key_heads, dim] = layer;
    if (heads < 1 || key_heads < 1 || dim < 1 || heads > kMost || dim > kMost || heads % key_heads != 0) {
        return "local_head_num " + std::to_string(heads) + " must be a multiple of local_kv_head_num " +
               std::to_string(key_heads) + ", and size_per_head " + std::to_string(dim) + " positive";
    }
    const int64_t rotated = call.integer("rotary_embedding");
    if (rotated < 0 || rotated > dim || rotated % 2 != 0) {
        return "rotary_embedding " + std::to_string(rotated) + " must be even, 0 to size_per_head " +
               std::to_string(dim);
    }
    if (!(std::get<double>(call["rope_theta"]) > 0)) return "rope_theta must be over 0";
    return std::nullopt;
}

/// The message for caches that are not of the layer's heads.
std::optional<std::string> wrong_caches(const Call& call, const Layer& layer) {
    const Shape& keys = call.tensor("key_cache")->shape;
    const int64_t longest = call.integer("max_seq_len"), id = call.integer("layer_id");
    if (keys.size() != 5 || keys[2] != layer.key_heads || keys[3] != longest || keys[4] != layer.dim) {
        return "key_cache " + to_string(keys) + " must be (layers, batch, local_kv_head_num " +
               std::to_string(layer.key_heads) + ", max_seq_len " + std::to_string(longest) + ", size_per_head " +
               std::to_string(layer.dim) + ")";
    }
    if (id < 0 || id >= keys[0]) {
        return "layer_id " + std::to_string(id) + " must be one of the layers of key_cache " + to_string(keys);
    }
    return wrong_shape(call, {"value_cache"}, "the shape of key_cache", keys);
}

/// The new tokens of each sequence; nullopt for lengths that do not fit.
std::optional<int64_t> new_tokens(const Call& call) {
    if (!call.has("max_q_len")) return 1;
    const int64_t queries = call.integer("max_q_len"), keys = call.integer("max_kv_len");
    if (queries < 0 || queries > keys || keys > call.integer("max_seq_len")) return std::nullopt;
    return queries;
}

std::optional<std::string> wrong_projection(const Call& call, const Layer& layer, int64_t tokens) {
    const int64_t width = layer.heads * layer.dim, columns = width + 2 * layer.key_heads * layer.dim;
    auto wrong = wrong_shape(call, {"inoutput"}, "the new tokens and heads of q,", {tokens, width});
    if (!wrong) wrong = wrong_shape(call, {"qkv_weight"}, "the heads of q, and of q, k and v,", {width, columns});
    const Tensor* bias = call.tensor("qkv_bias");
    if (!wrong && bias != nullptr && bias->shape != Shape{1, columns}) {
        wrong = wrong_shape(call, {"qkv_bias"}, "the columns of qkv_weight,", {columns});
    }
    return wrong;
}

/// The message for what a generation knows of its sequences.
std::optional<std::string> wrong_sequences(const Call& call, int64_t batch) {
    if (!call.has("sequence_lengths")) return std::nullopt;
    for (const char* arg : {"sequence_lengths", "total_padding_tokens"}) {
        const Tensor* tensor = call.tensor(arg);
        if (tensor != nullptr && !is_index(tensor->dtype)) return std::string(arg) + " must be int32 or int64";
    }
    const Tensor* finished = call.tensor("finished");
    if (finished != nullptr && finished->dtype != Dtype::boolean) return "finished must be bool";
    return wrong_shape(call, {"sequence_lengths", "total_padding_tokens", "finished"}, "the batch of the caches,",
                       {batch});
}

}  // namespace

/// inoutput and the caches change in place. Source: attention layers of lmdeploy/turbomind.
Specs fused_attention(Call& call, const ResultHints&) {
    const Layer layer(call);
    auto wrong = wrong_layer(call, layer);
    if (!wrong) wrong = wrong_caches(call, layer);
    if (wrong) return contradiction(call, *wrong);
    const int64_t batch = call.tensor("key_cache")->shape[1];
    const auto tokens = new_tokens(call);
    if (!tokens) return contradiction(call, "max_q_len must be 0 to max_kv_len, and that at most max_seq_len");
    wrong = wrong_projection(call, layer, batch * *tokens);
    if (!wrong) wrong = wrong_sequences(call, batch);
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

}  // namespace diopi::infer_rules
