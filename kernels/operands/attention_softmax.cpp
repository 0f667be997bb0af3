#include "kernels/operands/attention_softmax.hpp"

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t read_masked_scores(std::string_view op, std::string_view argument, const View& scores, const View& mask,
                                bool behind, HiddenKeys& hidden) {
    if (const diopiError_t error = check_computable(op, argument, scores); error != diopiSuccess) return error;
    if (scores.rank() != 4) return wrong_shape(op, argument, scores.shape, "(batch, heads, seq_q, seq_k)");
    if (mask.dtype != Dtype::boolean) return unsupported(op, "mask", mask.dtype, "bool");
    if (!broadcasts_to(mask.shape, scores.shape)) {
        return wrong_shape(op, "mask", mask.shape, "one that broadcasts to " + to_string(scores.shape));
    }
    const auto strides = broadcast_strides(mask, scores.shape);
    hidden.mask = mask.as<uint8_t>();
    hidden.behind = behind;
    std::copy_n(scores.shape.begin(), 4, hidden.sizes.begin());
    std::copy_n(strides.begin(), 4, hidden.strides.begin());
    return diopiSuccess;
}

}  // namespace diopi::operands
