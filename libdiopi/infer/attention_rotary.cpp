/// Shapes of rotary embeddings.
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// out is like x, whose last dim has pairs; cos and sin have one number for each pair. Source: RoFormer, Su et al.
/// 2021; rotary kernel of FlashAttention.
Specs rotary(Call& call, const ResultHints&) {
    const Tensor& x = *call.tensor("x");
    const Tensor& cos = *call.tensor("cos");
    if (x.rank() < 1 || x.shape.back() % 2 != 0) {
        return contradiction(call, "x " + to_string(x.shape) + " must end in an even size, which has pairs");
    }
    Shape pairs = x.shape;
    pairs.back() /= 2;
    const bool has_pairs = cos.rank() >= 1 && cos.shape.back() == pairs.back();
    if (!has_pairs || broadcast_shapes(pairs, cos.shape) != pairs) {
        return contradiction(call, "cos " + to_string(cos.shape) + " must end in " + std::to_string(pairs.back()) +
                                       " and broadcast to the pairs of x, " + to_string(pairs));
    }
    if (const auto wrong = wrong_shape(call, {"sin"}, "the shape of cos", cos.shape))
        return contradiction(call, *wrong);
    return one(call, "out", {x.shape, x.dtype, {}});
}

namespace {

/// Whether the shape is (tokens, heads * dim) or (tokens, heads, dim).
bool has_heads(const Shape& shape, int64_t tokens, int64_t dim) {
    if (shape.empty() || shape.front() != tokens) return false;
    return shape.size() == 2 ? shape[1] % dim == 0 : shape.size() == 3 && shape[2] == dim;
}

}  // namespace

/// query and key change in place; cos and sin have one number for each element of a head. Source: rotary_emb of
/// LightLLM.
Specs rotary_in_place(Call& call, const ResultHints&) {
    const int64_t dim = call.integer("dim");
    if (dim < 2 || dim % 2 != 0) {
        return contradiction(call, "dim " + std::to_string(dim) + " must be even and above 0: the size of a head");
    }
    const Shape& query = call.tensor("query")->shape;
    const int64_t tokens = query.empty() ? 0 : query.front();
    for (const char* arg : {"query", "key"}) {
        const Shape& shape = call.tensor(arg)->shape;
        if (has_heads(shape, tokens, dim)) continue;
        const std::string t = std::to_string(tokens), d = std::to_string(dim);
        return contradiction(call, std::string(arg) + " " + to_string(shape) + " must be (" + t + ", heads * " + d +
                                       ") or (" + t + ", heads, " + d + ")");
    }
    const auto wrong = wrong_shape(call, {"cos", "sin"}, "one angle for each element of a head,", {tokens, 1, dim});
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

}  // namespace diopi::infer_rules
