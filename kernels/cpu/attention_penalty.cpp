/// Logits that are changed before a token is drawn. Penalties of listed tokens change these elements only, where they
/// lie; a temperature changes all, tile by tile.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/format.hpp"
#include "kernels/cpu/attention_words.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_penalty.hpp"
#include "kernels/operands/own_view.hpp"

namespace diopi::cpu {

namespace {

/// Single logits of any strides, in float64.
template <class E>
class Logits {
 public:
    explicit Logits(const View& v) : data_(v.as<E>()), row_(v.strides[0]), column_(v.strides[1]) {}

    template <class Change>
    void change(int64_t row, int64_t column, Change&& change) const {
        E& x = data_[row * row_ + column * column_];
        x = rounded<E>(change(to_double(x)));
    }

 private:
    E* data_;
    int64_t row_, column_;
};

diopiError_t check_listed(std::string_view op, std::span<const int64_t> ids, int64_t count) {
    const auto bad = std::ranges::find_if(ids, [=](int64_t id) { return id < 0 || id >= count; });
    if (bad == ids.end()) return diopiSuccess;
    return refuse(op, "p_token_ids holds " + std::to_string(*bad) + ", wanted 0 to " + std::to_string(count - 1));
}

/// The entries of each row follow those of the row before.
diopiError_t check_ends(std::string_view op, const int64_t* ends, int64_t batch, int64_t entries, int64_t most) {
    for (int64_t b = 0; b < batch; ++b) {
        const int64_t begin = ends[b], end = ends[b + 1];
        if (begin >= 0 && begin <= end && end <= entries && end - begin <= most) continue;
        return refuse(op, "p_cumsum_seq_len gives row " + std::to_string(b) + " the entries from " +
                              std::to_string(begin) + " to " + std::to_string(end) + ", wanted at most " +
                              std::to_string(most) + " of the " + std::to_string(entries));
    }
    return diopiSuccess;
}

diopiError_t apply_penalty(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t logits,
                           diopiConstTensorHandle_t presence_penalty, diopiConstTensorHandle_t frequency_penalty,
                           diopiConstTensorHandle_t p_token_ids, diopiConstTensorHandle_t p_token_counts,
                           diopiConstTensorHandle_t p_cumsum_seq_len, int32_t most) {
    const View y = view(logits);
    if (const diopiError_t error = check_logits(op, y); error != diopiSuccess) return error;
    const int64_t batch = y.shape[0], entries = view(p_token_ids).numel;
    diopiError_t error =
        check_floats(op, {{presence_penalty, "presence_penalty"}, {frequency_penalty, "frequency_penalty"}}, batch);
    if (error == diopiSuccess) {
        error = check_counts(op, {{p_token_ids, "p_token_ids"}, {p_token_counts, "p_token_counts"}}, entries);
    }
    if (error == diopiSuccess) error = check_counts(op, {{p_cumsum_seq_len, "p_cumsum_seq_len"}}, batch + 1);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto *presence = staging.in<double>(presence_penalty), *frequency = staging.in<double>(frequency_penalty);
    const auto *ids = staging.in<int64_t>(p_token_ids), *counts = staging.in<int64_t>(p_token_counts);
    const auto* ends = staging.in<int64_t>(p_cumsum_seq_len);
    error = staging.error();
    if (error == diopiSuccess) error = check_ends(op, ends, batch, entries, most);
    if (error == diopiSuccess && batch > 0) {
        error = check_listed(op, {ids + ends[0], static_cast<size_t>(ends[batch] - ends[0])}, y.shape[1]);
    }
    if (error != diopiSuccess) return error;
    return with_elements({y.dtype}, [&]<class E, class>() {
        const Logits<E> to(y);
        parallel_for(batch, entries / std::max<int64_t>(batch, 1), [&](int64_t first, int64_t last) {
            for (int64_t b = first; b < last; ++b) {
                for (int64_t i = ends[b]; i < ends[b + 1]; ++i) {
                    const double penalty = static_cast<double>(counts[i]) * frequency[b] + presence[b];
                    to.change(b, ids[i], [=](double x) { return x - penalty; });
                }
            }
        });
        return diopiSuccess;
    });
}

diopiError_t apply_penalty_v2(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t logits,
                              diopiConstTensorHandle_t presence_penalty, diopiConstTensorHandle_t frequency_penalty,
                              diopiConstTensorHandle_t repetition_penalty, diopiConstTensorHandle_t p_token_ids,
                              diopiConstTensorHandle_t p_token_counts) {
    const View y = view(logits);
    if (const diopiError_t error = check_logits(op, y); error != diopiSuccess) return error;
    const int64_t entries = view(p_token_ids).numel, vocab = y.shape[1];
    diopiError_t error = check_floats(op,
                                      {{presence_penalty, "presence_penalty"},
                                       {frequency_penalty, "frequency_penalty"},
                                       {repetition_penalty, "repetition_penalty"}},
                                      entries);
    if (error == diopiSuccess) {
        error = check_counts(op, {{p_token_ids, "p_token_ids"}, {p_token_counts, "p_token_counts"}}, entries);
    }
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto *presence = staging.in<double>(presence_penalty), *frequency = staging.in<double>(frequency_penalty);
    const auto* repetition = staging.in<double>(repetition_penalty);
    const auto *ids = staging.in<int64_t>(p_token_ids), *counts = staging.in<int64_t>(p_token_counts);
    error = staging.error();
    if (error == diopiSuccess) error = check_listed(op, {ids, static_cast<size_t>(entries)}, y.numel);
    if (error != diopiSuccess) return error;
    return with_elements({y.dtype}, [&]<class E, class>() {
        const Logits<E> to(y);
        parallel_for(entries, 1, [&](int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i) {
                const double penalty = static_cast<double>(counts[i]) * frequency[i] + presence[i];
                to.change(ids[i] / vocab, ids[i] % vocab,
                          [=](double x) { return (x > 0 ? x / repetition[i] : x * repetition[i]) - penalty; });
            }
        });
        return diopiSuccess;
    });
}

/// The values of penalty_type.
constexpr int64_t kNoPenalty = 0, kAdditive = 1, kMultiplicative = 2;

diopiError_t repetition_penalty(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t logits,
                                diopiConstTensorHandle_t penalties, diopiConstTensorHandle_t output_ids, int64_t batch,
                                int64_t vocab, diopiConstTensorHandle_t input_lengths, int64_t longest, int64_t step,
                                int64_t type) {
    const View y = view(logits), ids = view(output_ids);
    diopiError_t error = check_logits(op, y, batch, vocab);
    if (error == diopiSuccess) error = check_floats(op, {{penalties, "penalties"}}, batch);
    if (error == diopiSuccess) error = check_tokens(op, "output_ids", ids, step, 0, batch);
    if (error == diopiSuccess) error = check_shape(op, "output_ids", ids, Shape{ids.shape[0], batch});
    if (error == diopiSuccess) error = check_counts(op, {{input_lengths, "input_lengths"}}, batch);
    if (error == diopiSuccess && (type < kNoPenalty || type > kMultiplicative)) {
        error = refuse(op, "penalty_type is " + std::to_string(type) + ", wanted 0, 1 or 2");
    }
    if (error != diopiSuccess || type == kNoPenalty) return error;
    Staging staging(ctx);
    const auto* penalty = staging.in<double>(penalties);
    const auto* lengths = staging.in<int64_t>(input_lengths);
    const Columns tokens{staging.in<int64_t>(ids), ids.shape[1], 0};
    if (staging.error() != diopiSuccess) return staging.error();
    return with_elements({y.dtype}, [&]<class E, class>() {
        const Logits<E> to(y);
        parallel_for(batch, 8 * step, [&](int64_t first, int64_t last) {
            std::vector<int64_t> known;
            for (int64_t b = first; b < last; ++b) {
                known.clear();
                for (int64_t row = 0; row < step; ++row) {
                    const bool is_padding = lengths != nullptr && row >= lengths[b] && row < longest;
                    const int64_t token = tokens.at(row, b);
                    if (!is_padding && token >= 0 && token < vocab) known.push_back(token);
                }
                std::ranges::sort(known);
                known.erase(std::ranges::unique(known).begin(), known.end());
                for (const int64_t token : known) {
                    to.change(b, token, [p = penalty[b], type](double x) {
                        if (type == kAdditive) return x - p;
                        return x < 0 ? x * p : x / p;
                    });
                }
            }
        });
        return diopiSuccess;
    });
}

constexpr double kLeastTemperature = 1e-6;

template <class T>
struct Scaled {
    T operator()(T x, T temperature) const { return x / (temperature + T(kLeastTemperature)); }
};
template <class T>
struct ShiftedAndScaled {
    T operator()(T x, T temperature, T bias) const { return (x + bias) / (temperature + T(kLeastTemperature)); }
};

template <class T>
diopiError_t scale(diopiContextHandle_t ctx, std::string_view op, const View& y, std::span<const View> ins,
                   Dtype compute) {
    const Scaled<T> plain;
    const ShiftedAndScaled<T> shifted;
    return for_each_tile(ctx, op, {&y, 1}, ins,
                         ins.size() == 2 ? binary<T>(compute, plain) : ternary<T>(compute, shifted));
}

diopiError_t temperature_penalty(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t logits,
                                 diopiConstTensorHandle_t bias, diopiConstTensorHandle_t temperatures, int64_t batch,
                                 int64_t vocab, int64_t padded) {
    const View y = view(logits);
    diopiError_t error = check_logits(op, y, batch, padded);
    if (error == diopiSuccess) error = check_floats(op, {{temperatures, "temperatures"}}, batch);
    if (error == diopiSuccess) error = check_floats(op, {{bias, "bias"}}, vocab);
    if (error == diopiSuccess && (vocab < 0 || vocab > padded)) {
        error = refuse(
            op, "vocab_size is " + std::to_string(vocab) + ", wanted 0 to vocab_size_padd " + std::to_string(padded));
    }
    if (error != diopiSuccess) return error;
    OwnView words(y), rest(y), divisors(view(temperatures));
    const View x = words.take(1, 0, vocab).view();
    std::vector<View> ins = {x, divisors.insert(1, 1, 0).view()};
    if (bias != nullptr) ins.push_back(view(bias));
    const bool is_wide = std::ranges::any_of(ins, [](const View& in) { return in.dtype == Dtype::float64; });
    error = is_wide ? scale<double>(ctx, op, x, ins, Dtype::float64) : scale<float>(ctx, op, x, ins, Dtype::float32);
    if (error != diopiSuccess) return error;
    fill(rest.take(1, vocab, padded - vocab).view(), {diopi_dtype_float64, {-format_of(y.dtype).largest}});
    return diopiSuccess;
}

diopiError_t ban_bad_words(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t logits,
                           diopiConstTensorHandle_t output_ids, diopiConstTensorHandle_t bad_words, int64_t first,
                           int64_t length, bool share_words, int64_t batch, int64_t vocab, int64_t step) {
    const View y = view(logits), ids = view(output_ids), lists = view(bad_words);
    diopiError_t error = check_logits(op, y, batch, vocab);
    if (error == diopiSuccess) error = check_tokens(op, "output_ids", ids, step, first, batch);
    if (error == diopiSuccess) error = check_words(op, "bad_words", lists, share_words, batch, length);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const Columns tokens{staging.in<int64_t>(ids), ids.shape[1], first};
    WordLists words;
    error = read_words(staging, op, "bad_words", lists, share_words, length, words);
    if (error != diopiSuccess) return error;
    return with_elements({y.dtype}, [&]<class E, class>() {
        const Logits<E> to(y);
        parallel_for(batch, 4 * length, [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) {
                words.for_each(b, [&](const int64_t* word, int64_t count) {
                    const int64_t banned = word[count - 1];
                    if (banned < 0 || banned >= vocab || !tokens.end_in(b, step, word, count - 1)) return;
                    to.change(b, banned, [](double) { return -std::numeric_limits<double>::infinity(); });
                });
            }
        });
        return diopiSuccess;
    });
}

}  // namespace

#include "kernels/entries/attention_penalty.inc"

}  // namespace diopi::cpu
