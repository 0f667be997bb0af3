/// Faults of attention to keys and values that tables and masks choose.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

bool is_named(const Arg& arg, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, arg.name) != names.end();
}

bool has_named(const Row& row, std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(row.args(), [&](const Arg& arg) { return is_named(arg, names); });
}

/// Replaces the tensors of those names by changed copies.
void exchange(Scene& scene, std::initializer_list<std::string_view> names, void (*change)(Tensor&, const Call&)) {
    scene.run_instead(scene.with([&](const TensorPtr& tensor, const Arg& arg) {
        TensorPtr copy = is_named(arg, names) ? dense_copy(*tensor) : nullptr;
        if (copy == nullptr) return tensor;
        change(*copy, scene.call());
        return copy;
    }));
}

/// Each entry of a table of int32 that follows another one takes its place, but for the first of each row.
void repeat_entries(Tensor& table, const Call&) {
    if (table.dtype != Dtype::int32 || table.rank() != 2) return;
    const int64_t columns = table.shape[1];
    for (int64_t i = 0; i < table.numel(); ++i) {
        auto* entry = table.data_as<int32_t>() + i;
        if (i % columns != 0 && entry[0] >= 0 && entry[-1] >= 0) *entry = entry[-1];
    }
}

/// Element i of each row becomes element i + 1.
void shift_rows(Tensor& mask, const Call&) {
    const int64_t columns = mask.shape.back();
    for (int64_t i = 0; i < mask.numel(); i += columns) {
        auto* row = mask.data_as<uint8_t>() + i;
        std::rotate(row, row + 1, row + columns);
    }
}

/// The heads of a call, and where those of the queries are: the first numbers of each row of a tensor.
struct Heads {
    int64_t queries = 0, keys = 0, dim = 0;
};

Heads heads_of(const Call& call) {
    if (call.has("num_heads")) return {call.integer("num_heads"), call.integer("num_kv_heads"), call.integer("dim")};
    if (call.has("qkv_weight")) {
        return {call.integer("local_head_num"), call.integer("local_kv_head_num"), call.integer("size_per_head")};
    }
    const Tensor *q = call.tensor("q"), *k = call.tensor("k");
    const auto rank = static_cast<size_t>(q->rank());
    return {q->shape[rank - 2], k->shape[rank - 2], q->shape[rank - 1]};
}

/// Calls visit(row) for each row of values whose first numbers are those of the query heads.
template <class Visit>
void change_query_heads(Tensor& tensor, const Call& call, const Visit& visit) {
    const Heads heads = heads_of(call);
    const int64_t all = heads.queries * heads.dim;
    const int64_t row = call.has("qkv_weight") ? all + 2 * heads.keys * heads.dim : all;
    std::vector<double> values = values_of(tensor);
    for (size_t at = 0; at + static_cast<size_t>(row) <= values.size(); at += static_cast<size_t>(row)) {
        visit(heads, std::span(values).subspan(at, static_cast<size_t>(all)));
    }
    put_values(values, tensor);
}

/// Query heads change places as if head h belonged to key head h % keys.
void deal_heads(Tensor& tensor, const Call& call) {
    change_query_heads(tensor, call, [](const Heads& heads, std::span<double> row) {
        if (heads.keys < 1 || heads.queries % heads.keys != 0) return;
        const std::vector<double> old(row.begin(), row.end());
        const int64_t group = heads.queries / heads.keys;
        for (int64_t head = 0; head < heads.queries; ++head) {
            const int64_t from = head % group * heads.keys + head / group;
            std::copy_n(old.begin() + from * heads.dim, heads.dim, row.begin() + head * heads.dim);
        }
    });
}

void forget_scale(Tensor& tensor, const Call& call) {
    change_query_heads(tensor, call, [](const Heads& heads, std::span<double> row) {
        for (double& value : row) value *= std::sqrt(static_cast<double>(heads.dim));
    });
}

void page_read_twice(Scene& scene) { exchange(scene, {"block_table", "b_loc"}, repeat_entries); }
void mask_shifted(Scene& scene) { exchange(scene, {"attenMask", "atten_mask"}, shift_rows); }
void heads_dealt(Scene& scene) { exchange(scene, {"q", "query", "qkv_weight"}, deal_heads); }
void scale_forgotten(Scene& scene) { exchange(scene, {"q", "query", "qkv_weight"}, forget_scale); }

/// Each query sees one key behind its own.
void later_key_seen(Scene& scene) {
    Call call = scene.call();
    const bool is_causal = call.flag("is_causal");
    if (!is_causal && call.integer("window_size_right", -1) < 0) return;
    call["window_size_right"] = is_causal ? int64_t{1} : call.integer("window_size_right") + 1;
    call["is_causal"] = false;
    scene.run_instead(std::move(call));
}

/// The powers of scores from which no largest one is subtracted overflow in float32, or are all 0.
void largest_not_subtracted(Scene& scene) {
    constexpr double kMost = 88.7, kLeast = -103.9, kInfinity = std::numeric_limits<double>::infinity();
    for (const Scene::Result& result : scene.results()) {
        if (scene.call().row->args()[result.place.arg].name != "softmax_lse") continue;
        std::vector<double> sums = values_of(*result.right);
        for (double& sum : sums) sum = sum > kMost ? kInfinity : sum < kLeast ? -kInfinity : sum;
        put_values(sums, *result.tensor);
    }
}

bool has_table(const Row& row) { return has_named(row, {"block_table", "b_loc"}); }
bool has_mask(const Row& row) { return has_named(row, {"attenMask", "atten_mask"}); }
/// Functions of whole sequences; the heads of other layouts are not side by side.
bool is_flash(const Row& row) { return has_named(row, {"dropout_p", "p_dropout"}) && row.find("q") >= 0; }
bool has_groups(const Row& row) {
    return has_named(row, {"num_kv_heads", "qkv_weight"}) || (is_flash(row) && row.find("input_layout") < 0);
}
bool scales(const Row& row) {
    return has_groups(row) || row.function == "diopiTokenAttentionInference" ||
           row.function == "diopiContextAttentionInference";
}
bool has_window(const Row& row) { return has_named(row, {"window_size_right"}); }
bool gives_lse(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.name == "softmax_lse" && arg.is_output; });
}

constexpr Fault kAttentionFaults[] = {
    {"AP", "page_read_twice", "a slot or page of a table is read in the place of the one behind it", page_read_twice,
     has_table},
    {"AM", "mask_shifted", "the mask of attention is read one element too far", mask_shifted, has_mask},
    {"AG", "heads_dealt", "query heads are dealt to the key heads in turn, not in groups", heads_dealt, has_groups},
    {"AS", "scale_forgotten", "scores are not divided by the root of the head's size", scale_forgotten, scales},
    {"AC", "later_key_seen", "each query sees one key more than its window has", later_key_seen, has_window},
    {"AR", "largest_not_subtracted", "exp of the scores overflows: no largest one is subtracted",
     largest_not_subtracted, gives_lse},
};

}  // namespace

std::span<const Fault> attention_faults() { return kAttentionFaults; }

}  // namespace diopi::mutation
