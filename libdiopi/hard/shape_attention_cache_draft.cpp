/// The tensors and parameters of hard cases of keys and values in a cache, and of attention to them.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "hard/attention_sizes.hpp"
#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

constexpr std::array<int64_t, 4> kBlockSizes = {16, 1, 3, 64};

/// The choices of a case.
struct Cached {
    int64_t dim, heads, group, longest;
    std::vector<int64_t> lengths;

    explicit Cached(const Draft& draft) {
        const size_t p = draft.pattern(), form = draft.level(Factor::kForm), size = draft.level(Factor::kSize);
        dim = kHeadDims[form % kHeadDims.size()];
        heads = kKeyHeads[p % kKeyHeads.size()];
        group = kGroups[p % kGroups.size()];
        longest = kKeyCounts[size % kKeyCounts.size()];
        if (longest > 500 && dim > 64) longest = 129;
        lengths = {longest};
        if (p % 4 != 3) lengths.insert(lengths.end(), {(longest + 1) / 2, p % 4 == 2 ? 0 : 1});
    }
    [[nodiscard]] int64_t batch() const { return std::ssize(lengths); }
    [[nodiscard]] int64_t tokens() const { return std::reduce(lengths.begin(), lengths.end()); }
};

/// Adds a tensor of whole numbers.
void add_numbers(Draft& draft, std::string_view arg, Shape shape, const std::vector<int64_t>& numbers) {
    // Most libraries count in int32; the standard's cases do.
    draft.add(arg, std::move(shape), Dtype::int32, {Fill::kValue});
    draft.made().tensors.back().values.assign(numbers.begin(), numbers.end());
}

/// Distinct numbers below `count`, which is no multiple of 7 and larger than `n`: they jump back and forth.
std::vector<int64_t> jumping(int64_t n, int64_t count) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < n; ++i) numbers.push_back((i * 7 + 3) % count);
    return numbers;
}

int64_t no_multiple_of_7(int64_t n) { return n % 7 == 0 ? n + 1 : n; }

/// In some cases NaN in those slots of a cache that no sequence owns: they are not read.
void hide_with_nan(Draft& draft, std::string_view cache, const std::vector<bool>& is_owned) {
    const auto found = std::ranges::find(draft.made().tensors, cache, &CaseTensor::name);
    if (draft.level(Factor::kNumbers) % 3 != 2 || found == draft.made().tensors.end() || found->absent) return;
    const int64_t n = numel(found->specs.front().shape), slots = std::ssize(is_owned);
    if (n == 0 || n > kMostWritten) return;
    found->fill = {Fill::kValue};
    for (int64_t i = 0; i < n; ++i) {
        const bool is_read = is_owned[static_cast<size_t>(i / (n / slots))];
        const double value = static_cast<double>(mixed(i, 257) - 128) / 64;
        found->values.push_back(is_read ? value : std::numeric_limits<double>::quiet_NaN());
    }
}

/// A number for the columns of a table that are not read: of no slot or page, of the first one, or far away.
int64_t unread_column(const Draft& draft) {
    constexpr std::array<int64_t, 3> kColumns = {-1, 0, std::numeric_limits<int32_t>::max()};
    return kColumns[draft.level(Factor::kOther)];
}

bool store_rows(Draft& draft) {
    const Cached a(draft);
    const int64_t slots = no_multiple_of_7(a.longest + 5);
    draft.add("out", {slots, a.heads, a.dim});
    draft.add("k", {a.longest, a.heads, a.dim});
    add_numbers(draft, "dest_loc", {a.longest}, jumping(a.longest, slots));
    return true;
}

/// The tables of token attention. In some cases the sequences' columns of the scores are in another order than they.
void add_slots(Draft& draft, const Cached& a, int64_t slots) {
    const int64_t columns = a.longest + static_cast<int64_t>(draft.pattern() % 3);
    const std::vector<int64_t> used = jumping(a.tokens(), slots);
    std::vector<int64_t> table(static_cast<size_t>(a.batch() * columns), unread_column(draft)),
        starts(a.lengths.size());
    const bool is_reversed = draft.level(Factor::kNumbers) % 2 == 1;
    int64_t start = 0;
    for (int64_t k = 0; k < a.batch(); ++k) {
        const int64_t b = is_reversed ? a.batch() - 1 - k : k, length = a.lengths[static_cast<size_t>(b)];
        std::copy_n(used.begin() + start, length, table.begin() + b * columns + a.longest - length);
        starts[static_cast<size_t>(b)] = start;
        start += length;
    }
    const int64_t other = static_cast<int64_t>(draft.pattern()) % slots;
    std::vector<bool> is_owned(static_cast<size_t>(slots));
    is_owned[static_cast<size_t>(other)] = true;  // a kernel may read it, and multiply by 0
    for (const int64_t slot : used) is_owned[static_cast<size_t>(slot)] = true;
    for (const char* cache : {"k", "v"}) hide_with_nan(draft, cache, is_owned);
    add_numbers(draft, "b_loc", {a.batch(), columns}, table);
    add_numbers(draft, "b_start_loc", {a.batch()}, starts);
    add_numbers(draft, "b_seq_len", {a.batch()}, a.lengths);
    draft.set("max_input_len", a.longest);
    draft.set("other_kv_index", other);
}

bool attend_tokens(Draft& draft) {
    const Cached a(draft);
    const int64_t slots = no_multiple_of_7(a.tokens() + 5);
    if (draft.row().rule == ShapeRule::token_scores) {
        draft.add("q", {a.batch(), a.heads, a.dim});
        draft.add("k", {slots, a.heads, a.dim});
        draft.add("token_attention_out", {a.heads, a.tokens()});
    } else {
        draft.add("logics", {a.heads, a.tokens()});
        draft.add("v", {slots, a.heads, a.dim});
        draft.add("out", {a.batch(), a.heads, a.dim});
    }
    add_slots(draft, a, slots);
    return true;
}

bool attend_pages(Draft& draft) {
    const Cached a(draft);
    const int64_t size = kBlockSizes[draft.pattern() % 4], needed = (a.longest + size - 1) / size;
    const int64_t columns = needed + static_cast<int64_t>(draft.pattern() % 2);
    const int64_t pages = no_multiple_of_7(a.batch() * needed + 2);
    const std::vector<int64_t> used = jumping(a.batch() * needed, pages);
    std::vector<int64_t> table(static_cast<size_t>(a.batch() * columns), unread_column(draft));
    std::vector<bool> is_owned(static_cast<size_t>(pages * size));
    for (int64_t b = 0; b < a.batch(); ++b) {
        const int64_t length = a.lengths[static_cast<size_t>(b)], own = (length + size - 1) / size;
        std::copy_n(used.begin() + b * needed, own, table.begin() + b * columns);
        for (int64_t t = 0; t < length; ++t) {
            is_owned[static_cast<size_t>(used[static_cast<size_t>(b * needed + t / size)] * size + t % size)] = true;
        }
    }
    const Shape cache = {pages * size, a.heads * a.dim};
    draft.add("q", {a.batch(), a.heads * a.group * a.dim});
    draft.add("k", cache);
    draft.add("v", cache);
    for (const char* arg : {"k", "v"}) hide_with_nan(draft, arg, is_owned);
    draft.add("attenMask", {a.batch(), a.longest + static_cast<int64_t>(draft.pattern() % 2)}, Dtype::boolean,
              {draft.pattern() == 4 ? Fill::kOnes : Fill::kMask});
    draft.set("actual_seq_lengths", Shape(a.lengths.begin(), a.lengths.end()));
    draft.set("num_heads", a.heads * a.group);
    draft.set("num_kv_heads", a.heads);
    draft.set("dim", a.dim);
    add_numbers(draft, "block_table", {a.batch(), columns}, table);
    draft.set("block_size", size);
    return true;
}

/// Lengths whose squares are few enough.
std::vector<int64_t> prompt_lengths(const Draft& draft, const Cached& a) {
    constexpr int64_t kMostProducts = 500'000;
    int64_t longest = std::min<int64_t>(a.longest, 150);
    if (longest * longest * a.dim * a.heads * a.group > kMostProducts) longest = std::min<int64_t>(longest, 65);
    if (a.batch() == 1) return {longest};
    return {(longest + 1) / 2, draft.pattern() % 4 == 2 ? 0 : 1, longest};
}

bool attend_prompts(Draft& draft) {
    const Cached a(draft);
    const std::vector<int64_t> lengths = prompt_lengths(draft, a);
    const int64_t total = std::reduce(lengths.begin(), lengths.end()), longest = lengths.back();
    if (draft.row().rule == ShapeRule::context_attention) {
        const Shape shape = {total, a.heads, a.dim};
        for (const char* arg : {"q", "k", "v", "context_attention_out"}) draft.add(arg, shape);
        std::vector<int64_t> starts(lengths.size());
        // In some cases the last sequence has the first rows.
        if (draft.level(Factor::kNumbers) % 2 == 1)
            std::exclusive_scan(lengths.rbegin(), lengths.rend(), starts.rbegin(), int64_t{0});
        else
            std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), int64_t{0});
        add_numbers(draft, "b_start_loc", {std::ssize(lengths)}, starts);
        add_numbers(draft, "b_seq_len", {std::ssize(lengths)}, lengths);
        draft.set("max_input_len", longest + static_cast<int64_t>(draft.pattern() % 2));
        return true;
    }
    draft.add("query", {total, a.heads * a.group * a.dim});
    draft.add("key", {total, a.heads * a.dim});
    draft.add("value", {total, a.heads * a.dim});
    draft.add("atten_mask", {std::ssize(lengths), longest, longest}, Dtype::boolean,
              {draft.pattern() == 4 ? Fill::kOnes : Fill::kMask});
    draft.set("actual_seq_lengths", Shape(lengths.begin(), lengths.end()));
    draft.set("max_input_len", longest);
    draft.set("num_heads", a.heads * a.group);
    draft.set("num_kv_heads", a.heads);
    draft.set("dim", a.dim);
    return true;
}

}  // namespace

bool shape_attention_cache_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::cache_rows:
            return store_rows(draft);
        case ShapeRule::token_scores:
        case ShapeRule::token_values:
            return attend_tokens(draft);
        case ShapeRule::paged_attention:
            return attend_pages(draft);
        case ShapeRule::context_attention:
        case ShapeRule::prompt_attention:
            return attend_prompts(draft);
        default:
            return false;
    }
}

}  // namespace diopi
