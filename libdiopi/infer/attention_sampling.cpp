/// The shapes of sampling: the arguments of each sequence, and the tokens that are drawn.
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// A list of arguments has one for each sequence, or counts for nothing.
bool is_size(int64_t size, int64_t batch) { return size <= 1 || size == batch; }

Specs sampling_arguments(Call& call, std::initializer_list<const char*> buffers) {
    const int64_t batch = call.integer("batch_size");
    const int64_t sizes[] = {call.integer("top_ks_size"), call.integer("top_ps_size")};
    if (!is_size(sizes[0], batch) || !is_size(sizes[1], batch)) {
        return contradiction(call, "top_ks_size " + std::to_string(sizes[0]) + " and top_ps_size " +
                                       std::to_string(sizes[1]) + " must be at most 1, or batch_size " +
                                       std::to_string(batch));
    }
    const auto wrong = wrong_shape(call, {"top_ks", "top_ps"}, "batch_size,", {batch});
    if (wrong) return contradiction(call, *wrong);
    std::vector<OutputSpec> specs = one(call, "skip_decode", {{batch}, Dtype::boolean, {}});
    for (const char* buffer : buffers) specs.push_back(one(call, buffer, {{batch}, Dtype::float32, {}}).front());
    return specs;
}

}  // namespace

/// Source: lmdeploy/turbomind.
Specs topk_arguments(Call& call, const ResultHints&) { return sampling_arguments(call, {}); }

/// The ids have the dtype of the counts. Source: lmdeploy/turbomind.
Specs topp_arguments(Call& call, const ResultHints&) {
    Specs specs = sampling_arguments(call, {"initial_top_p_buf", "top_p_decay_buf", "top_p_min_buf"});
    if (!specs.ok()) return specs;
    const Tensor& counts = *call.tensor("top_ks");
    specs->push_back(one(call, "top_p_reset_ids_buf", {counts.shape, counts.dtype, {}}).front());
    return specs;
}

/// Source: lmdeploy/turbomind.
Specs token_sampling(Call& call, const ResultHints&) {
    const Tensor& ids = *call.tensor("output_ids");
    const int64_t batch = call.integer("batch_size"), step = call.integer("step");
    if (ids.rank() != 2 || step < 0 || step >= ids.shape[0] || ids.shape[1] != batch) {
        return contradiction(call, "output_ids " + to_string(ids.shape) + " must have a row " + std::to_string(step) +
                                       " of batch_size " + std::to_string(batch));
    }
    const int64_t vocab = call.integer("vocab_size_padded");
    if (vocab < 1) return contradiction(call, "vocab_size_padded is " + std::to_string(vocab) + ", wanted 1 or more");
    auto wrong = wrong_shape(call, {"logits"}, "batch_size and vocab_size_padded,", {batch, vocab});
    if (!wrong && call.has("runtime_top_k")) wrong = wrong_shape(call, {"runtime_top_k"}, "batch_size,", {batch});
    if (!wrong) {
        wrong = wrong_shape(call,
                            {"end_ids", "finished", "sequence_lengths", "runtime_top_p", "skip_decode", "cum_log_probs",
                             "output_log_probs"},
                            "batch_size,", {batch});
    }
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

}  // namespace diopi::infer_rules
