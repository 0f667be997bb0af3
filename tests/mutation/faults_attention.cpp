/// Faults of attention to keys and values that tables and masks choose.
#include <algorithm>
#include <cmath>

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

/// Query heads change places as if head h belonged to key head h % num_kv_heads.
void deal_heads(Tensor& query, const Call& call) {
    const int64_t heads = call.integer("num_heads"), keys = call.integer("num_kv_heads"), dim = call.integer("dim");
    const std::vector<double> old = values_of(query);
    std::vector<double> dealt = old;
    for (size_t i = 0; i < old.size(); ++i) {
        const auto at = static_cast<int64_t>(i), head = at / dim % heads;
        const int64_t from = head % (heads / keys) * keys + head / (heads / keys);
        dealt[i] = old[static_cast<size_t>(at + (from - head) * dim)];
    }
    put_values(dealt, query);
}

void forget_scale(Tensor& query, const Call& call) {
    const int64_t dim = call.has("dim") ? call.integer("dim") : query.shape.back();
    std::vector<double> values = values_of(query);
    for (double& value : values) value *= std::sqrt(static_cast<double>(dim));
    put_values(values, query);
}

void page_read_twice(Scene& scene) { exchange(scene, {"block_table", "b_loc"}, repeat_entries); }
void mask_shifted(Scene& scene) { exchange(scene, {"attenMask", "atten_mask"}, shift_rows); }
void heads_dealt(Scene& scene) { exchange(scene, {"q", "query"}, deal_heads); }
void scale_forgotten(Scene& scene) { exchange(scene, {"q", "query"}, forget_scale); }

bool has_table(const Row& row) { return has_named(row, {"block_table", "b_loc"}); }
bool has_mask(const Row& row) { return has_named(row, {"attenMask", "atten_mask"}); }
bool has_groups(const Row& row) { return has_named(row, {"num_kv_heads"}); }
bool scales(const Row& row) {
    return has_groups(row) || row.function == "diopiTokenAttentionInference" ||
           row.function == "diopiContextAttentionInference";
}

constexpr Fault kAttentionFaults[] = {
    {"AP", "page_read_twice", "a slot or page of a table is read in the place of the one behind it", page_read_twice,
     has_table},
    {"AM", "mask_shifted", "the mask of attention is read one element too far", mask_shifted, has_mask},
    {"AG", "heads_dealt", "query heads are dealt to the key heads in turn, not in groups", heads_dealt, has_groups},
    {"AS", "scale_forgotten", "scores are not divided by the root of the head's size", scale_forgotten, scales},
};

}  // namespace

std::span<const Fault> attention_faults() { return kAttentionFaults; }

}  // namespace diopi::mutation
