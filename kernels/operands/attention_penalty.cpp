#include "kernels/operands/attention_penalty.hpp"

#include "kernels/operands/attention_words.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_logits(std::string_view op, const View& logits) {
    if (logits.rank() != 2) return wrong_shape(op, "logits", logits.shape, "(batch, vocab)");
    return check_computable(op, "logits", logits);
}

diopiError_t check_logits(std::string_view op, const View& logits, int64_t rows, int64_t columns) {
    const diopiError_t error = check_shape(op, "logits", logits, Shape{rows, columns});
    return error != diopiSuccess ? error : check_computable(op, "logits", logits);
}

diopiError_t check_floats(std::string_view op, std::initializer_list<NamedArgument> arguments, int64_t count) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr) continue;
        diopiError_t error = check_shape(op, argument, view(tensor), Shape{count});
        if (error == diopiSuccess) error = check_computable(op, argument, view(tensor));
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t check_counts(std::string_view op, std::initializer_list<NamedArgument> arguments, int64_t count) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr) continue;
        diopiError_t error = check_shape(op, argument, view(tensor), Shape{count});
        if (error == diopiSuccess) error = check_integers(op, argument, view(tensor));
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
