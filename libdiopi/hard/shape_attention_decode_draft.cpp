/// The tensors and parameters of hard cases of the steps of a generation beside attention and sampling.
#include <algorithm>

#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

FillSpec below(int64_t limit) { return {Fill::kRandint, 0, static_cast<double>(std::max<int64_t>(limit, 1))}; }

bool stop_at_words(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t batch = draft.size(300), step = generated_steps(draft), length = words_length(draft), first = p % 3;
    const Words words(batch, length, p, -7);
    add_numbers(draft, "output_ids", {step + 1 + p % 2, batch + first + p % 2}, draft.dtype(),
                [](int64_t i) { return mixed(i, kTokens); });
    add_numbers(draft, "stop_words", {batch, 2, length}, token_dtype(draft), [&](int64_t i) { return words.at(i); });
    draft.add("finished", {batch}, Dtype::boolean, {Fill::kMask});
    draft.set("id_offset", first);
    draft.set("stop_words_len", length);
    draft.set("batch_size", batch);
    draft.set("step", step);
    return true;
}

/// Limits around the step; of some cases all are reached, or none.
bool stop_at_length(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t batch = draft.size(1'025), step = generated_steps(draft);
    draft.add("finished", {batch}, Dtype::boolean, {p == 2 ? Fill::kZeros : Fill::kMask});
    const auto least = static_cast<double>(p == 1 ? 0 : p == 2 ? step + 1 : step - 2);
    draft.add("sequence_limit_length", {batch}, token_dtype(draft),
              {Fill::kRandint, least, static_cast<double>(p == 1 ? step + 1 : step + 3)});
    draft.set("batch_size", batch);
    draft.set("step", step);
    return true;
}

/// Rooms that are too small, too large, or exactly large enough.
bool gather_tokens(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const bool is_long = draft.level(Factor::kForm) % 2 == 0;
    const int64_t batch = is_long ? 5 : draft.size(129), steps = is_long ? draft.size(1'025) : 33;
    constexpr int64_t kLongest[] = {1, 0, 1, 2, 4, 3, 1, 5};
    // In quarters of the steps; the prompts of one pattern are longer than what was generated.
    const int64_t longest = p == 0 ? std::min<int64_t>(steps, 3) : steps * kLongest[p] / 4;
    constexpr int64_t kRoom[] = {0, 0, -1, 1, 0, -7, 5, 0};
    const int64_t room = std::max<int64_t>(steps + kRoom[p], 0);
    draft.add("output_ids", {batch, room});
    draft.add("ids", {steps, batch});
    draft.add("context_length", {batch}, token_dtype(draft), below(longest + 1));
    draft.set("max_context_len", longest);
    draft.set("max_gen_step", steps);
    draft.set("max_output_len", room);
    draft.set("batch_size", batch);
    return true;
}

bool add_number(Draft& draft) {
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t count = numel(shape);
    constexpr int64_t kAddends[] = {3, 0, 1, -1, -2, 1'000, 2, 100, 17, -100};
    draft.add("inoutput", shape);
    draft.set("val", kAddends[draft.level(Factor::kNumbers)]);
    draft.set("size", p < 4 ? count : p == 4 ? 0 : std::max<int64_t>(count - p + 4, 0));
    return true;
}

bool count_padding(Draft& draft) {
    const int64_t batch = draft.size(1'025);
    draft.add("total_padding_count", {batch});
    draft.add("input_lengths", {batch}, token_dtype(draft), below(300));
    draft.set("max_input_length", int64_t{300});
    draft.set("batch_size", batch);
    return true;
}

bool exchange_axes(Draft& draft) {
    const int64_t n = draft.size(1'025);
    constexpr int64_t kPlaces = 3;
    Shape shape = {5, 6, 7};
    shape[draft.level(Factor::kForm) % kPlaces] = n;
    if (draft.pattern() % 2 == 1) shape[(draft.level(Factor::kForm) + 1) % kPlaces] = 1;
    draft.add("input", shape);
    draft.set("dim0", shape[0]);
    draft.set("dim1", shape[1]);
    draft.set("dim2", shape[2]);
    return true;
}

/// Embeddings whose width, number or table has the boundary's size.
struct Embeddings {
    int64_t vocab = 33, width = 64, count = 7;

    explicit Embeddings(const Draft& draft) {
        const size_t form = draft.level(Factor::kForm);
        if (form == 0 || form == 4) width = draft.size(1'025);
        if (form == 1 || form == 5) count = draft.size(1'025);
        if (form == 2 || form == 6) vocab = std::max<int64_t>(draft.size(1'025), 1);
    }
};

bool look_up_step(Draft& draft) {
    const Embeddings sizes(draft);
    const int64_t step = generated_steps(draft);
    draft.add("embedding_table", {sizes.vocab, sizes.width});
    draft.add("all_ids", {step + 1 + static_cast<int64_t>(draft.pattern() % 3), sizes.count}, token_dtype(draft),
              below(sizes.vocab));
    draft.set("batch_size", sizes.count);
    draft.set("hidden_units", sizes.width);
    draft.set("step", step);
    return true;
}

/// The table stands first: the dtype of the case is its dtype.
bool look_up_prompt(Draft& draft) {
    const Embeddings sizes(draft);
    draft.add("embedding_table", {sizes.vocab, sizes.width});
    draft.add("input_ids", {sizes.count}, token_dtype(draft), below(sizes.vocab));
    draft.set("input_lengths", sizes.count);
    draft.set("hidden_units", sizes.width);
    return true;
}

}  // namespace

bool shape_attention_decode_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::stop_words_criterion:
            return stop_at_words(draft);
        case ShapeRule::length_criterion:
            return stop_at_length(draft);
        case ShapeRule::gather_output:
            return gather_tokens(draft);
        case ShapeRule::plus_scalar:
            return add_number(draft);
        case ShapeRule::update_padding_count:
            return count_padding(draft);
        case ShapeRule::transpose_axis01:
            return exchange_axes(draft);
        case ShapeRule::look_up_step:
            return look_up_step(draft);
        case ShapeRule::look_up_prompt:
            return look_up_prompt(draft);
        default:
            return false;
    }
}

}  // namespace diopi
