/// The steps of a generation beside attention and sampling: looking up, moving and counting tokens.
#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/cpu/attention_words.hpp"
#include "kernels/cpu/index_embedding.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_decode.hpp"
#include "kernels/operands/own_view.hpp"

namespace diopi::cpu {

namespace {

diopiError_t stop_words_criterion(diopiContextHandle_t ctx, std::string_view op, diopiConstTensorHandle_t output_ids,
                                  diopiConstTensorHandle_t stop_words, diopiTensorHandle_t finished, int64_t first,
                                  int64_t length, int64_t batch, int64_t step) {
    const View ids = view(output_ids), lists = view(stop_words), flags = view(finished);
    if (step < 0) return refuse(op, "step is " + std::to_string(step) + ", wanted 0 or more");
    diopiError_t error = check_tokens(op, "output_ids", ids, step + 1, first, batch);
    if (error == diopiSuccess) error = check_words(op, "stop_words", lists, false, batch, length);
    if (error == diopiSuccess) error = check_flags(op, "finished", flags, batch);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const Columns tokens{staging.in<int64_t>(ids), ids.shape[1], first};
    const auto* before = staging.in<int64_t>(flags);
    auto* after = staging.out<int64_t>(flags);
    WordLists words;
    error = read_words(staging, op, "stop_words", lists, false, length, words);
    if (error != diopiSuccess) return error;
    parallel_for(batch, 4 * length, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            bool stops = before[b] != 0;
            words.for_each(b, [&](const int64_t* word, int64_t count) {
                stops = stops || tokens.end_in(b, step + 1, word, count);
            });
            after[b] = stops ? 1 : 0;
        }
    });
    return staging.finish();
}

diopiError_t length_criterion(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t finished,
                              diopiTensorHandle_t should_stop, diopiTensorHandle_t finished_sum,
                              diopiConstTensorHandle_t sequence_limit_length, int64_t batch, int64_t step) {
    const View flags = view(finished), limits = view(sequence_limit_length);
    diopiError_t error = check_flags(op, "finished", flags, batch);
    if (error == diopiSuccess) error = check_flags(op, "should_stop", view(should_stop), 1);
    if (error == diopiSuccess) error = check_integers(op, "finished_sum", view(finished_sum), 1);
    if (error == diopiSuccess) error = check_integers(op, "sequence_limit_length", limits, batch);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto *limit = staging.in<int64_t>(limits), *before = staging.in<int64_t>(flags);
    auto *after = staging.out<int64_t>(flags), *stops = staging.out<int64_t>(should_stop);
    auto* sum = staging.out<int64_t>(finished_sum);
    if (staging.error() != diopiSuccess) return staging.error();
    int64_t ended = 0;
    for (int64_t b = 0; b < batch; ++b) {
        after[b] = before[b] != 0 || step >= limit[b] ? 1 : 0;
        ended += after[b];
    }
    *sum = ended;
    *stops = ended == batch ? 1 : 0;
    return staging.finish();
}

/// The prompt of a sequence, then its tokens behind the padding, as far as there is room.
diopiError_t gather_output(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t output_ids,
                           diopiConstTensorHandle_t ids, diopiConstTensorHandle_t context_length, int64_t longest,
                           int64_t steps, int64_t room, int64_t batch) {
    const View y = view(output_ids), x = view(ids), prompts = view(context_length);
    diopiError_t error = check_gathered(op, y, x, prompts, batch, steps, room);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto* lengths = staging.in<int64_t>(prompts);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto* bad = std::find_if(lengths, lengths + batch, [=](int64_t n) { return n < 0 || n > longest; });
    if (bad != lengths + batch) {
        return refuse(op, "context_length holds " + std::to_string(*bad) + ", wanted 0 to max_context_len " +
                              std::to_string(longest));
    }
    const auto move = [&](int64_t b, int64_t row, int64_t to, int64_t count) {
        if (count <= 0) return;
        OwnView from(x), into(y);
        copy(from.take(1, b, 1).remove(1).take(0, row, count).view(),
             into.take(0, b, 1).remove(0).take(0, to, count).view());
    };
    parallel_for(batch, steps, Loop::copy, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            const int64_t prompt = std::min({lengths[b], steps, room});
            move(b, 0, 0, prompt);
            move(b, longest, prompt, std::min(steps - longest, room - prompt));
        }
    });
    return diopiSuccess;
}

template <class T>
struct Plus {
    T number;
    T operator()(T x) const { return static_cast<T>(x + number); }
};

diopiError_t plus_scalar(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput, int64_t val,
                         int64_t size) {
    const View y = view(inoutput);
    diopiError_t error = check_integers(op, "inoutput", y);
    if (error == diopiSuccess && (size < 0 || size > y.numel)) {
        error = refuse(op, "size is " + std::to_string(size) + ", wanted 0 to " + std::to_string(y.numel));
    }
    View dense;
    if (error == diopiSuccess) error = contiguous(ctx, y, dense);
    if (error != diopiSuccess) return error;
    const int64_t step = 1;
    View head = dense;
    head.shape = {&size, 1};
    head.strides = {&step, 1};
    head.numel = size;
    error = with_wrapping_type(y.dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T>) {
            const Plus<T> plus{static_cast<T>(val)};
            return for_each_tile(ctx, op, {&head, 1}, {&head, 1}, unary<T>(y.dtype, plus));
        } else {
            return unsupported(op, "inoutput", y.dtype, "an integer dtype");
        }
    });
    if (error == diopiSuccess && dense.data != y.data) copy(dense, y);
    return error;
}

diopiError_t update_padding_count(diopiContextHandle_t ctx, std::string_view op,
                                  diopiTensorHandle_t total_padding_count, diopiConstTensorHandle_t input_lengths,
                                  int64_t longest, int64_t batch) {
    const View counts = view(total_padding_count), lengths = view(input_lengths);
    diopiError_t error = check_integers(op, "total_padding_count", counts, batch);
    if (error == diopiSuccess) error = check_integers(op, "input_lengths", lengths, batch);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto *length = staging.in<int64_t>(lengths), *before = staging.in<int64_t>(counts);
    auto* after = staging.out<int64_t>(counts);
    if (staging.error() != diopiSuccess) return staging.error();
    // Unsigned numbers wrap around.
    const auto bits = [](int64_t x) { return static_cast<uint64_t>(x); };
    for (int64_t i = 0; i < batch; ++i) {
        after[i] = static_cast<int64_t>(bits(before[i]) + bits(longest) - bits(length[i]));
    }
    return staging.finish();
}

diopiError_t transpose_axis01(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t output,
                              diopiConstTensorHandle_t input, int64_t dim0, int64_t dim1, int64_t dim2) {
    const View y = view(output), x = view(input);
    diopiError_t error = check_shape(op, "input", x, Shape{dim0, dim1, dim2});
    if (error == diopiSuccess) error = check_shape(op, "output", y, Shape{dim1, dim0, dim2});
    if (error == diopiSuccess && y.dtype != x.dtype) error = unsupported(op, "output", y.dtype, name(x.dtype));
    if (error != diopiSuccess) return error;
    copy(OwnView(x).swap(0, 1).view(), y);
    return diopiSuccess;
}

diopiError_t look_up_step(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t from_tensor,
                          diopiConstTensorHandle_t embedding_table, diopiConstTensorHandle_t all_ids, int64_t batch,
                          int64_t hidden_units, int64_t step) {
    const View y = view(from_tensor), table = view(embedding_table), ids = view(all_ids);
    diopiError_t error = check_looked_up(op, y, table, batch, hidden_units);
    if (error == diopiSuccess && step < 0) error = refuse(op, "step is " + std::to_string(step) + ", wanted 0 or more");
    if (error == diopiSuccess) error = check_tokens(op, "all_ids", ids, step + 1, 0, batch);
    if (error == diopiSuccess) error = check_shape(op, "all_ids", ids, Shape{ids.shape[0], batch});
    if (error != diopiSuccess) return error;
    OwnView row(ids);
    return look_up_rows(ctx, op, y, table, "all_ids", row.take(0, step, 1).remove(0).view());
}

diopiError_t look_up_prompt(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t from_tensor,
                            diopiConstTensorHandle_t input_ids, diopiConstTensorHandle_t embedding_table,
                            int64_t input_lengths, int64_t hidden_units) {
    const View y = view(from_tensor), table = view(embedding_table), ids = view(input_ids);
    diopiError_t error = check_looked_up(op, y, table, input_lengths, hidden_units);
    if (error == diopiSuccess) error = check_integers(op, "input_ids", ids, input_lengths);
    return error != diopiSuccess ? error : look_up_rows(ctx, op, y, table, "input_ids", ids);
}

}  // namespace

#include "kernels/entries/attention_decode.inc"

}  // namespace diopi::cpu
