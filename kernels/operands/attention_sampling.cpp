#include "kernels/operands/attention_sampling.hpp"

#include <string>

#include "kernels/operands/attention_decode.hpp"
#include "kernels/operands/attention_penalty.hpp"
#include "kernels/operands/attention_words.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_arguments(std::string_view op, const SamplingArguments& a) {
    diopiError_t error = check_integers(op, "top_ks", view(a.top_ks), a.batch);
    if (error == diopiSuccess) error = check_floats(op, {{a.top_ps, "top_ps"}}, a.batch);
    if (error == diopiSuccess) error = check_flags(op, "skip_decode", view(a.skip_decode), a.batch);
    if (error != diopiSuccess) return error;
    const auto fits = [&](int64_t size) { return size <= 1 || size == a.batch; };
    if (fits(a.top_ks_size) && fits(a.top_ps_size)) return diopiSuccess;
    return refuse(op, "top_ks_size is " + std::to_string(a.top_ks_size) + " and top_ps_size " +
                          std::to_string(a.top_ps_size) + ", wanted at most 1, or batch_size " +
                          std::to_string(a.batch));
}

diopiError_t check_buffers(std::string_view op, int64_t batch, diopiConstTensorHandle_t initial_top_p_buf,
                           diopiConstTensorHandle_t top_p_decay_buf, diopiConstTensorHandle_t top_p_min_buf,
                           diopiConstTensorHandle_t top_p_reset_ids_buf) {
    const diopiError_t error = check_floats(op,
                                            {{initial_top_p_buf, "initial_top_p_buf"},
                                             {top_p_decay_buf, "top_p_decay_buf"},
                                             {top_p_min_buf, "top_p_min_buf"}},
                                            batch);
    if (error != diopiSuccess) return error;
    return check_integers(op, "top_p_reset_ids_buf", view(top_p_reset_ids_buf), batch);
}

namespace {

/// Refuses tensors that are not bool with an element for each sequence; null is allowed.
diopiError_t check_flags_or_null(std::string_view op, std::initializer_list<NamedArgument> arguments, int64_t batch) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr) continue;
        if (const diopiError_t error = check_flags(op, argument, view(tensor), batch); error != diopiSuccess) {
            return error;
        }
    }
    return diopiSuccess;
}

}  // namespace

diopiError_t check_sampling(std::string_view op, const Sampling& a) {
    const View ids = view(a.output_ids);
    if (a.vocab < 1) return refuse(op, "vocab_size_padded is " + std::to_string(a.vocab) + ", wanted 1 or more");
    if (a.step < 0) return refuse(op, "step is " + std::to_string(a.step) + ", wanted 0 or more");
    diopiError_t error = check_tokens(op, "output_ids", ids, a.step + 1, 0, a.batch);
    if (error == diopiSuccess) error = check_shape(op, "output_ids", ids, Shape{ids.shape[0], a.batch});
    if (error == diopiSuccess) error = check_logits(op, view(a.logits), a.batch, a.vocab);
    if (error == diopiSuccess) {
        error = check_counts(
            op, {{a.end_ids, "end_ids"}, {a.sequence_lengths, "sequence_lengths"}, {a.top_k, "runtime_top_k"}},
            a.batch);
    }
    if (error == diopiSuccess) {
        error = check_flags_or_null(op, {{a.finished, "finished"}, {a.skip_decode, "skip_decode"}}, a.batch);
    }
    if (error == diopiSuccess) {
        error = check_floats(
            op,
            {{a.top_p, "runtime_top_p"}, {a.cum_log_probs, "cum_log_probs"}, {a.output_log_probs, "output_log_probs"}},
            a.batch);
    }
    if (error != diopiSuccess) return error;
    for (int64_t i = 0; i < a.batch; ++i) {
        if (a.generators == nullptr || a.generators[i] == nullptr) {
            return refuse(op, "generators lacks one for sequence " + std::to_string(i));
        }
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
