#include "infer/attention_flash.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

#include "core/strided.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace {

using infer_rules::contradiction;

/// A tensor of queries, keys or values.
struct Sides {
    int64_t batch = 0, length = 0, heads = 0, dim = 0;
};

/// The sides in the order that the layout names; H is all heads together, whose number the call states. The head sizes
/// of keys are those of the queries: `dim`, 0 where it is not known yet.
std::optional<Sides> sides_of(const Shape& shape, std::string_view layout, int64_t heads, int64_t dim) {
    if (shape.size() != layout.size()) return std::nullopt;
    Sides sides{1, 0, 0, dim};
    for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t size = shape[i];
        if (layout[i] == 'B') sides.batch = size;
        if (layout[i] == 'S' || layout[i] == 'T') sides.length = size;
        if (layout[i] == 'N') sides.heads = size;
        if (layout[i] == 'D') sides.dim = size;
        if (layout[i] != 'H') continue;
        if (dim == 0 && (heads < 1 || size % heads != 0)) return std::nullopt;
        if (dim == 0) sides.dim = size / heads;
        if (sides.dim == 0 || size % sides.dim != 0) return std::nullopt;
        sides.heads = size / sides.dim;
    }
    return sides;
}

/// The argument of one of these names that the row has.
const Value& argument(const Call& call, std::initializer_list<std::string_view> names) {
    static const Value kNone;
    for (const std::string_view name : names) {
        if (call.has(name)) return call[name];
    }
    return kNone;
}

/// The running ends of concatenated sequences, without a leading 0; none where the values are not at hand.
std::optional<std::vector<int64_t>> ends_of(const Value& value) {
    if (const auto* list = std::get_if<IntList>(&value)) return *list;
    const auto* tensor = std::get_if<TensorPtr>(&value);
    if (tensor == nullptr || *tensor == nullptr || (*tensor)->data() == nullptr || (*tensor)->numel() == 0) return {};
    if ((*tensor)->dtype != Dtype::int32 || (*tensor)->storage.device != diopi_host) return {};
    std::vector<int64_t> ends;
    for_each_offset((*tensor)->shape, (*tensor)->strides,
                    [&](int64_t offset) { ends.push_back((*tensor)->data_as<int32_t>()[offset]); });
    if (ends.front() == 0) ends.erase(ends.begin());
    return ends;
}

/// How far from its own position the keys may lie that a query meets; a negative number is no bound. The last query and
/// the last key of a sequence have the same position.
struct Window {
    int64_t left = -1, right = -1;

    static Window of(const Call& call) {
        Window window;
        if (call.has("window_size_left")) {
            window = {call.integer("window_size_left"), call.integer("window_size_right")};
        }
        if (call.flag("is_causal")) window.right = 0;
        return window;
    }

    [[nodiscard]] double pairs(int64_t queries, int64_t keys) const {
        if (left < 0 && right < 0) return static_cast<double>(queries) * static_cast<double>(keys);
        double pairs = 0;
        for (int64_t position = keys - queries; position < keys; ++position) {
            const int64_t first = left < 0 ? 0 : std::clamp<int64_t>(position - left, 0, keys);
            const int64_t last = right < 0 ? keys : std::clamp<int64_t>(position + right + 1, 0, keys);
            pairs += static_cast<double>(std::max<int64_t>(last - first, 0));
        }
        return pairs;
    }
};

int64_t count_of(const Value& value) {
    if (const auto* list = std::get_if<IntList>(&value)) return std::ssize(*list);
    const auto* tensor = std::get_if<TensorPtr>(&value);
    return tensor == nullptr || *tensor == nullptr ? 0 : (*tensor)->numel() - 1;
}

/// Why these are no running ends of sequences of at most `most` rows that end with `total`; empty if they are.
std::string wrong_ends(std::span<const int64_t> ends, const char* name, int64_t most, int64_t total) {
    int64_t begin = 0;
    for (const int64_t end : ends) {
        if (end < begin || end - begin > most) {
            return std::string("a sequence of ") + name + " goes from " + std::to_string(begin) + " to " +
                   std::to_string(end) + ", and the longest has " + std::to_string(most) + " rows";
        }
        begin = end;
    }
    if (begin == total) return "";
    return std::string("the sequences of ") + name + " end with " + std::to_string(begin) + ", and it has " +
           std::to_string(total) + " rows";
}

Result<AttentionSizes> packed_sizes(const Call& call, const Sides& q, const Sides& k, AttentionSizes sizes) {
    const Value& ends_q = argument(call, {"cum_seq_q"});
    const Value& ends_k = argument(call, {"cum_seq_k", "cum_seq_kv"});
    sizes.batch = count_of(ends_q);
    sizes.queries = call.integer(call.has("max_q") ? "max_q" : "max_seqlen_q");
    const int64_t keys = call.integer(call.has("max_k") ? "max_k" : "max_seqlen_kv");
    if (sizes.batch < 1 || sizes.batch != count_of(ends_k)) {
        return contradiction(call, "the running ends of q and k belong to " + std::to_string(sizes.batch) + " and " +
                                       std::to_string(count_of(ends_k)) + " sequences, wanted the same number");
    }
    if (sizes.queries < 0 || keys < 0) return contradiction(call, "the greatest lengths must not be negative");
    const Window window = Window::of(call);
    sizes.pairs = static_cast<double>(sizes.batch) * window.pairs(q.length / sizes.batch, k.length / sizes.batch);
    const auto of_q = ends_of(ends_q), of_k = ends_of(ends_k);
    if (!of_q || !of_k) return sizes;
    if (std::ssize(*of_q) != sizes.batch || std::ssize(*of_k) != sizes.batch) {
        return contradiction(call, "the running ends of q and k must begin with 0");
    }
    std::string wrong = wrong_ends(*of_q, "q", sizes.queries, q.length);
    if (wrong.empty()) wrong = wrong_ends(*of_k, "k", keys, k.length);
    if (!wrong.empty()) return contradiction(call, wrong);
    sizes.pairs = 0;
    for (size_t b = 0; b < of_q->size(); ++b) {
        const auto length = [b](const auto& ends) { return ends[b] - (b == 0 ? 0 : ends[b - 1]); };
        sizes.pairs += window.pairs(length(*of_q), length(*of_k));
    }
    return sizes;
}

std::string_view layout_of(const Call& call) {
    if (call.has("cum_seq_q")) return "TND";
    const auto* text = call.has("input_layout") ? std::get_if<std::string>(&call["input_layout"]) : nullptr;
    return text == nullptr ? std::string_view("BSND") : *text;
}

/// Whether the mask, the slopes and the rest fit the sizes; empty if they do.
std::string wrong_extras(const Call& call, const AttentionSizes& sizes, int64_t keys) {
    const Tensor* slopes = call.has("alibi_slopes") ? call.tensor("alibi_slopes") : nullptr;
    const Shape each = {sizes.heads}, all = {sizes.batch, sizes.heads};
    if (slopes != nullptr && slopes->shape != each && slopes->shape != all) {
        return "alibi_slopes " + to_string(slopes->shape) + " must be " + to_string(each) + " or " + to_string(all);
    }
    const Tensor* mask = call.has("attention_mask") ? call.tensor("attention_mask") : nullptr;
    const Shape pairs = {sizes.queries, keys};
    if (mask != nullptr && mask->shape != pairs) {
        return "attention_mask " + to_string(mask->shape) + " must be " + to_string(pairs);
    }
    const double p = std::get<double>(argument(call, {"p_dropout", "dropout_p"}));
    if (!(p >= 0 && p < 1)) return "the probability of a dropout is " + std::to_string(p) + ", wanted 0 to below 1";
    if (call.has("return_debug_mask") && call.flag("return_debug_mask")) {
        return "return_debug_mask is true: the contents of debug_attn_mask are not described";
    }
    return "";
}

}  // namespace

Result<AttentionSizes> AttentionSizes::of(const Call& call) {
    const std::string_view layout = layout_of(call);
    if (layout != "TND" && layout != "BSND" && layout != "BNSD" && layout != "BSH" && layout != "SBH") {
        return contradiction(call, "input_layout is " + std::string(layout) + ", wanted BSND, BNSD, BSH or SBH");
    }
    const Tensor &query = *call.tensor("q"), &key = *call.tensor("k"), &value = *call.tensor("v");
    const bool is_stated = call.has("head_num");
    const int64_t stated = is_stated ? call.integer("head_num") : 0;
    const auto q = sides_of(query.shape, layout, stated, 0);
    const auto k = sides_of(key.shape, layout, 0, q ? q->dim : 0);
    const std::string shapes = "q " + to_string(query.shape) + " and k " + to_string(key.shape);
    if (!q || !k) return contradiction(call, shapes + " are not in the layout " + std::string(layout));
    if (is_stated && q->heads != stated) {
        return contradiction(call, "head_num is " + std::to_string(stated) + ", and q has " + std::to_string(q->heads));
    }
    if (value.shape != key.shape) {
        return contradiction(call, "v " + to_string(value.shape) + " must be like k " + to_string(key.shape));
    }
    if (q->batch != k->batch || q->dim != k->dim || q->dim < 1) {
        return contradiction(call, shapes + " must have the same batch and the same head size, at least 1");
    }
    if (q->heads < 1 || k->heads < 1 || q->heads % k->heads != 0) {
        return contradiction(call, "the " + std::to_string(q->heads) + " heads of q are no multiple of the " +
                                       std::to_string(k->heads) + " heads of k");
    }
    AttentionSizes sizes{q->batch, q->heads, k->heads, q->dim, q->length, 0};
    sizes.pairs = static_cast<double>(q->batch) * Window::of(call).pairs(q->length, k->length);
    int64_t keys = k->length;
    if (layout == "TND") {
        auto packed = packed_sizes(call, *q, *k, sizes);
        if (!packed.ok()) return packed;
        sizes = *packed;
        keys = call.integer(call.has("max_k") ? "max_k" : "max_seqlen_kv");
    }
    const std::string wrong = wrong_extras(call, sizes, keys);
    if (!wrong.empty()) return contradiction(call, wrong);
    return sizes;
}

namespace infer_rules {

/// out is like q; softmax_lse has one number for each head and row, in the dtype of sums. The opaque tensors have no
/// described shape. A scale that the call leaves
/// out is 1 / sqrt(head size). Source: FlashAttention-2.
Specs attention(Call& call, const ResultHints&) {
    const auto sizes = AttentionSizes::of(call);
    if (!sizes.ok()) return sizes.error();
    Value& scale = call[call.has("scale") ? "scale" : "softmax_scale"];
    if (std::holds_alternative<std::monostate>(scale)) scale = 1 / std::sqrt(static_cast<double>(sizes->dim));
    const Tensor& q = *call.tensor("q");
    std::vector<OutputSpec> specs = one(call, call.has("out") ? "out" : "attention_out", {q.shape, q.dtype, {}});
    if (call.has("softmax_lse")) {
        const Dtype dtype = is_half(q.dtype) ? Dtype::float32 : q.dtype;
        specs.push_back(one(call, "softmax_lse", {{sizes->batch, sizes->heads, sizes->queries}, dtype, {}})[0]);
    }
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (arg.is_opaque) specs.push_back({i, {}, false});
    }
    return specs;
}

}  // namespace infer_rules

}  // namespace diopi
