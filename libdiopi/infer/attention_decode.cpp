/// The shapes of the steps of a generation beside attention and sampling: looking up, moving and counting tokens.
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

std::vector<OutputSpec> none() { return {}; }

/// The rows of a table of embeddings, one for each of `count` tokens.
Specs embeddings(Call& call, int64_t count) {
    const Tensor& table = *call.tensor("embedding_table");
    const int64_t width = call.integer("hidden_units");
    if (table.rank() != 2 || table.shape[1] != width) {
        return contradiction(call, "embedding_table " + to_string(table.shape) + " must be (vocab, hidden_units " +
                                       std::to_string(width) + ")");
    }
    return one(call, "from_tensor", {{count, width}, table.dtype, {}});
}

}  // namespace

/// Source: lmdeploy/turbomind.
Specs stop_words_criterion(Call& call, const ResultHints&) {
    const Tensor& ids = *call.tensor("output_ids");
    const int64_t batch = call.integer("batch_size"), step = call.integer("step"), first = call.integer("id_offset");
    if (ids.rank() != 2 || step < 0 || step >= ids.shape[0] || first < 0 || batch > ids.shape[1] - first) {
        return contradiction(call, "output_ids " + to_string(ids.shape) + " must have a row " + std::to_string(step) +
                                       ", and " + std::to_string(batch) + " columns from column " +
                                       std::to_string(first) + " on");
    }
    auto wrong = wrong_shape(call, {"stop_words"}, "tokens and ends of stop_words_len words,",
                             {batch, 2, call.integer("stop_words_len")});
    if (!wrong) wrong = wrong_shape(call, {"finished"}, "batch_size,", {batch});
    if (wrong) return contradiction(call, *wrong);
    return none();
}

/// Source: lmdeploy/turbomind.
Specs length_criterion(Call& call, const ResultHints&) {
    const auto wrong =
        wrong_shape(call, {"finished", "sequence_limit_length"}, "batch_size,", {call.integer("batch_size")});
    if (wrong) return contradiction(call, *wrong);
    std::vector<OutputSpec> specs = one(call, "should_stop", {{1}, Dtype::boolean, {}});
    specs.push_back(one(call, "finished_sum", {{1}, Dtype::int32, {}}).front());
    return specs;
}

/// Source: lmdeploy/turbomind.
Specs gather_output(Call& call, const ResultHints&) {
    const int64_t batch = call.integer("batch_size");
    auto wrong = wrong_shape(call, {"ids"}, "max_gen_step and batch_size,", {call.integer("max_gen_step"), batch});
    if (!wrong) wrong = wrong_shape(call, {"context_length"}, "batch_size,", {batch});
    if (!wrong) {
        wrong = wrong_shape(call, {"output_ids"}, "batch_size and max_output_len,",
                            {batch, call.integer("max_output_len")});
    }
    if (wrong) return contradiction(call, *wrong);
    return none();
}

/// Source: lmdeploy/turbomind.
Specs plus_scalar(Call& call, const ResultHints&) {
    const int64_t numel = call.tensor("inoutput")->numel(), size = call.integer("size");
    if (size >= 0 && size <= numel) return none();
    return contradiction(call, "size is " + std::to_string(size) + ", wanted 0 to " + std::to_string(numel) +
                                   ", the number of elements of inoutput");
}

/// Source: lmdeploy/turbomind.
Specs update_padding_count(Call& call, const ResultHints&) {
    const auto wrong =
        wrong_shape(call, {"total_padding_count", "input_lengths"}, "batch_size,", {call.integer("batch_size")});
    if (wrong) return contradiction(call, *wrong);
    return none();
}

/// Source: lmdeploy/turbomind.
Specs transpose_axis01(Call& call, const ResultHints&) {
    const int64_t first = call.integer("dim0"), second = call.integer("dim1"), last = call.integer("dim2");
    const auto wrong = wrong_shape(call, {"input"}, "dim0, dim1 and dim2,", {first, second, last});
    if (wrong) return contradiction(call, *wrong);
    return one(call, "output", {{second, first, last}, call.tensor("input")->dtype, {}});
}

/// Source: lmdeploy/turbomind.
Specs look_up_step(Call& call, const ResultHints&) {
    const Tensor& ids = *call.tensor("all_ids");
    const int64_t batch = call.integer("batch_size"), step = call.integer("step");
    if (ids.rank() != 2 || step < 0 || step >= ids.shape[0] || ids.shape[1] != batch) {
        return contradiction(call, "all_ids " + to_string(ids.shape) + " must have a row " + std::to_string(step) +
                                       " of batch_size " + std::to_string(batch));
    }
    return embeddings(call, batch);
}

/// Source: lmdeploy/turbomind.
Specs look_up_prompt(Call& call, const ResultHints&) {
    const int64_t count = call.integer("input_lengths");
    const auto wrong = wrong_shape(call, {"input_ids"}, "input_lengths,", {count});
    if (wrong) return contradiction(call, *wrong);
    return embeddings(call, count);
}

}  // namespace diopi::infer_rules
