/// The steps of a generation beside attention and sampling: looking up, moving and counting tokens.
#include <algorithm>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_words.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

using Integers = Output<int64_t>;

/// A tensor of integers, or bool, that is changed in place.
Integers changed(diopiTensorHandle_t tensor, std::string_view argument, const Shape& shape) {
    const Dtype dtype = view_of(tensor).dtype;
    if (!is_integer(dtype) && dtype != Dtype::boolean) refuse_dtype(argument, dtype, "integers or bool");
    require_shape(argument, view_of(tensor).shape, shape);
    return {tensor, argument, Integers::Start::kOldValues};
}

Operand<int64_t> counts_of(diopiConstTensorHandle_t tensor, std::string_view argument, int64_t count) {
    Operand<int64_t> numbers = integers_of(tensor, argument);
    require_shape(argument, numbers.shape(), Shape{count});
    return numbers;
}

/// finished[b] = true where the tokens of sequence b up to row `step` end in a stop word.
diopiError_t stop_words_criterion(diopiContextHandle_t, std::string_view, diopiConstTensorHandle_t output_ids,
                                  diopiConstTensorHandle_t stop_words, diopiTensorHandle_t finished, int64_t first,
                                  int64_t length, int64_t batch, int64_t step) {
    return kernel([&] {
        if (first < 0 || step < 0) refuse("id_offset or step is negative, wanted 0 or more");
        const Operand<int64_t> ids = tokens_of(output_ids, "output_ids", step + 1, first + batch);
        const Operand<int64_t> lists = integers_of(stop_words, "stop_words");
        require_shape("stop_words", lists.shape(), Shape{batch, 2, length});
        Integers flags = changed(finished, "finished", {batch});
        for (int64_t b = 0; b < batch; ++b) {
            const std::vector<Word> words = words_of("stop_words", lists.data() + b * 2 * length, length);
            const auto is_last = [&](Word word) { return ends_in(ids, first + b, step + 1, word); };
            if (std::ranges::any_of(words, is_last)) flags[b] = 1;
        }
        flags.store();
    });
}

/// finished[b] = true where step >= limit; the number of those that are finished, and whether all are.
diopiError_t length_criterion(diopiContextHandle_t, std::string_view, diopiTensorHandle_t finished,
                              diopiTensorHandle_t should_stop, diopiTensorHandle_t finished_sum,
                              diopiConstTensorHandle_t sequence_limit_length, int64_t batch, int64_t step) {
    return kernel([&] {
        Integers flags = changed(finished, "finished", {batch});
        Integers stops(should_stop, "should_stop"), sum(finished_sum, "finished_sum");
        require_shape("should_stop", stops.shape(), Shape{1});
        require_shape("finished_sum", sum.shape(), Shape{1});
        const Operand<int64_t> limits = counts_of(sequence_limit_length, "sequence_limit_length", batch);
        sum[0] = 0;
        for (int64_t b = 0; b < batch; ++b) {
            if (step >= limits[b]) flags[b] = 1;
            sum[0] += flags[b] != 0 ? 1 : 0;
        }
        stops[0] = sum[0] == batch ? 1 : 0;
        flags.store();
        stops.store();
        sum.store();
    });
}

/// output_ids[b] = the tokens of column b of ids, without the rows from context_length[b] to max_context_len.
diopiError_t gather_output(diopiContextHandle_t, std::string_view, diopiTensorHandle_t output_ids,
                           diopiConstTensorHandle_t ids, diopiConstTensorHandle_t context_length, int64_t longest,
                           int64_t steps, int64_t most, int64_t batch) {
    return kernel([&] {
        Integers y = changed(output_ids, "output_ids", {batch, most});
        const Operand<int64_t> x = integers_of(ids, "ids");
        require_shape("ids", x.shape(), Shape{steps, batch});
        const Operand<int64_t> lengths = counts_of(context_length, "context_length", batch);
        for (int64_t b = 0; b < batch; ++b) {
            if (lengths[b] < 0 || lengths[b] > longest) {
                refuse("context_length holds " + std::to_string(lengths[b]) + ", wanted 0 to max_context_len " +
                       std::to_string(longest));
            }
        }
        for (int64_t b = 0; b < batch; ++b) {
            int64_t to = 0;
            for (int64_t row = 0; row < steps; ++row) {
                const bool is_padding = row >= lengths[b] && row < longest;
                if (is_padding || to == most) continue;
                y[b * most + to++] = x[row * batch + b];
            }
        }
        y.store();
    });
}

/// The sum of integers, which wraps around.
int64_t wrapped_sum(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// inoutput[i] += val for i < size, in row-major order.
diopiError_t plus_scalar(diopiContextHandle_t, std::string_view, diopiTensorHandle_t inoutput, int64_t val,
                         int64_t size) {
    return kernel([&] {
        const View v = view_of(inoutput);
        if (!is_integer(v.dtype)) refuse_dtype("inoutput", v.dtype, "an integer dtype");
        if (size < 0 || size > v.numel) {
            refuse("size is " + std::to_string(size) + ", wanted 0 to " + std::to_string(v.numel));
        }
        Integers y(inoutput, "inoutput", Integers::Start::kOldValues);
        for (int64_t i = 0; i < size; ++i) y[i] = wrapped_sum(y[i], val);
        y.store();
    });
}

/// total_padding_count[i] += max_input_length - input_lengths[i].
diopiError_t update_padding_count(diopiContextHandle_t, std::string_view, diopiTensorHandle_t total_padding_count,
                                  diopiConstTensorHandle_t input_lengths, int64_t longest, int64_t batch) {
    return kernel([&] {
        if (!is_integer(view_of(total_padding_count).dtype)) {
            refuse_dtype("total_padding_count", view_of(total_padding_count).dtype, "an integer dtype");
        }
        Integers counts = changed(total_padding_count, "total_padding_count", {batch});
        const Operand<int64_t> lengths = counts_of(input_lengths, "input_lengths", batch);
        for (int64_t i = 0; i < batch; ++i) {
            counts[i] = wrapped_sum(counts[i], wrapped_sum(longest, wrapped_sum(~lengths[i], 1)));
        }
        counts.store();
    });
}

/// output[j, i, k] = input[i, j, k].
diopiError_t transpose_axis01(diopiContextHandle_t, std::string_view, diopiTensorHandle_t output,
                              diopiConstTensorHandle_t input, int64_t dim0, int64_t dim1, int64_t dim2) {
    return kernel([&] {
        if (view_of(output).dtype != view_of(input).dtype) {
            refuse_dtype("output", view_of(output).dtype, name(view_of(input).dtype));
        }
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> x(input, "input");
            Output<T> y(output, "output");
            require_shape("input", x.shape(), Shape{dim0, dim1, dim2});
            require_shape("output", y.shape(), Shape{dim1, dim0, dim2});
            for (int64_t i = 0; i < dim0; ++i) {
                for (int64_t j = 0; j < dim1; ++j) {
                    std::copy_n(x.data() + (i * dim1 + j) * dim2, dim2, y.data() + (j * dim0 + i) * dim2);
                }
            }
            y.store();
        });
    });
}

/// from_tensor[i] = embedding_table[ids[i]].
void look_up(diopiTensorHandle_t from_tensor, diopiConstTensorHandle_t embedding_table, Word ids, int64_t width) {
    const View v = view_of(embedding_table);
    if (kind_of(v.dtype) != Kind::kFloating) refuse_dtype("embedding_table", v.dtype, "a floating dtype");
    if (view_of(from_tensor).dtype != v.dtype) refuse_dtype("from_tensor", view_of(from_tensor).dtype, name(v.dtype));
    const Operand<double> table(embedding_table, "embedding_table");
    if (table.rank() != 2 || table.size(1) != width) {
        refuse("embedding_table has shape " + to_string(table.shape()) + ", wanted (vocab, " + std::to_string(width) +
               ")");
    }
    Output<double> y(from_tensor, "from_tensor");
    require_shape("from_tensor", y.shape(), Shape{std::ssize(ids), width});
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= table.size(0)) {
            refuse("a token is " + std::to_string(ids[i]) + ", wanted 0 to " + std::to_string(table.size(0) - 1));
        }
        std::copy_n(table.data() + ids[i] * width, width, y.data() + static_cast<int64_t>(i) * width);
    }
    y.store();
}

/// The tokens of row `step`.
diopiError_t look_up_step(diopiContextHandle_t, std::string_view, diopiTensorHandle_t from_tensor,
                          diopiConstTensorHandle_t embedding_table, diopiConstTensorHandle_t all_ids, int64_t batch,
                          int64_t hidden_units, int64_t step) {
    return kernel([&] {
        const Operand<int64_t> ids = integers_of(all_ids, "all_ids");
        if (ids.rank() != 2 || ids.size(1) != batch || step < 0 || step >= ids.size(0)) {
            refuse("all_ids has shape " + to_string(ids.shape()) + ", wanted a row " + std::to_string(step) + " of " +
                   std::to_string(batch));
        }
        look_up(from_tensor, embedding_table, {ids.data() + step * batch, static_cast<size_t>(batch)}, hidden_units);
    });
}

/// The tokens of a prompt.
diopiError_t look_up_prompt(diopiContextHandle_t, std::string_view, diopiTensorHandle_t from_tensor,
                            diopiConstTensorHandle_t input_ids, diopiConstTensorHandle_t embedding_table,
                            int64_t input_lengths, int64_t hidden_units) {
    return kernel([&] {
        const Operand<int64_t> ids = counts_of(input_ids, "input_ids", input_lengths);
        look_up(from_tensor, embedding_table, {ids.data(), static_cast<size_t>(input_lengths)}, hidden_units);
    });
}

}  // namespace

#include "kernels/entries/attention_decode.inc"

}  // namespace diopi::reference
