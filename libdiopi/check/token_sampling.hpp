/// Class F: tokens that a generation draws by logits, and what follows from each.
#pragma once

#include "check/distribution.hpp"

namespace diopi {

/// The tensors of a call of diopiTopKSampling or diopiTopPSampling, in host memory.
struct SampledTokens {
    /// A tensor before and after the call; null where it is absent.
    struct Change {
        const Tensor* before;
        const Tensor* after;
    };
    const Tensor& logits;
    const Tensor* top_k;  ///< null: all tokens
    const Tensor* skip;
    const Tensor* end_ids;
    int64_t step;
    Change ids, finished, lengths, top_p, cum_log_probs, log_probs;
};

/// Each drawn token is one of the top k that lie below the cut at p, and over all sequences the tokens follow their
/// probabilities. Nothing changes beside the tokens, and what follows from them is right: a finished sequence, its
/// length and log-probabilities.
[[nodiscard]] DistributionCheck check_sampled_tokens(const SampledTokens& tokens);

}  // namespace diopi
