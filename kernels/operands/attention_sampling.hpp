/// The arguments of sampling, checked. Shared by the backends cpu and cuda.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The most tokens among which top-k sampling draws.
inline constexpr int64_t kMostSampledTokens = 1024;

/// The arguments of diopiSetupTopkRuntimeArgsInp, with which those of diopiSetupToppRuntimeArgsInp begin.
struct SamplingArguments {
    diopiTensorHandle_t top_ks, top_ps, skip_decode;
    int64_t batch, top_k, top_ks_size;
    float top_p;
    int64_t top_ps_size;
};
/// Refuses tensors without an element for each sequence, of wrong dtypes, and lists of another size.
[[nodiscard]] diopiError_t check_arguments(std::string_view op, const SamplingArguments& a);
/// The same for what top-p sampling keeps of each sequence.
[[nodiscard]] diopiError_t check_buffers(std::string_view op, int64_t batch, diopiConstTensorHandle_t initial_top_p_buf,
                                         diopiConstTensorHandle_t top_p_decay_buf,
                                         diopiConstTensorHandle_t top_p_min_buf,
                                         diopiConstTensorHandle_t top_p_reset_ids_buf);

/// What both ways of sampling take; without k, all tokens are candidates.
struct Sampling {
    diopiTensorHandle_t output_ids;
    diopiConstTensorHandle_t logits, end_ids;
    diopiTensorHandle_t finished, sequence_lengths;
    int64_t step, batch, vocab;
    diopiConstTensorHandle_t top_k, top_p, skip_decode;
    diopiTensorHandle_t cum_log_probs, output_log_probs;
    diopiGeneratorHandle_t* generators;
};
/// Refuses tensors of wrong shapes or dtypes, and missing generators.
[[nodiscard]] diopiError_t check_sampling(std::string_view op, const Sampling& a);

}  // namespace diopi::operands
