/// The arguments of all functions of attention under common names. Each C function only says which of its arguments is
/// which; what it does not have stays as it is here.
#pragma once

#include <diopi/diopirt.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace diopi {

/// The tensors that a forward function makes for its own backward function; null where there are none.
template <class Handle>
struct KeptForBackward {
    Handle dropout_mask = nullptr, softmax_max = nullptr, softmax_sum = nullptr, softmax_out = nullptr;
};

struct AttentionArguments {
    std::string_view op;
    diopiConstTensorHandle_t q = nullptr, k = nullptr, v = nullptr;
    /// Concatenated sequences: their running ends as tensors with a leading 0, or as lists without it.
    diopiConstTensorHandle_t cum_seq_q = nullptr, cum_seq_k = nullptr;
    diopiSize_t ends_q{nullptr, 0}, ends_k{nullptr, 0};
    int64_t max_q = 0, max_k = 0;
    /// "TND" for concatenated sequences; H = N * D, and head_num is the N of q.
    const char* layout = "BSND";
    std::optional<int64_t> head_num = std::nullopt;
    diopiConstTensorHandle_t alibi_slopes = nullptr, attention_mask = nullptr;
    double p_dropout = 0, scale = 0;
    bool is_causal = false;
    int64_t window_left = -1, window_right = -1;
    diopiGeneratorHandle_t gen = nullptr;
    bool wants_debug_mask = false;
};

struct AttentionForward {
    AttentionArguments of;
    diopiTensorHandle_t out = nullptr, softmax_lse = nullptr;
    KeptForBackward<diopiTensorHandle_t*> kept{};
};

struct AttentionBackward {
    AttentionArguments of;
    diopiTensorHandle_t grad_q = nullptr, grad_k = nullptr, grad_v = nullptr;
    diopiConstTensorHandle_t grad_out = nullptr, out = nullptr, softmax_lse = nullptr;
    KeptForBackward<diopiConstTensorHandle_t> kept{};
};

}  // namespace diopi
