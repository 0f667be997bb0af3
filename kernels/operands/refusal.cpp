#include "kernels/operands/refusal.hpp"

#include <algorithm>
#include <utility>

#include "runtime/context.hpp"

namespace diopi::operands {

diopiError_t fail(diopiError_t code, std::string message) {
    set_last_error(std::move(message));
    return code;
}

void forget_failure() { set_last_error({}); }

diopiError_t refuse(std::string_view op, std::string_view what) {
    return fail(diopiErrorOccurred, std::string(op).append(": ").append(what));
}

diopiError_t unsupported(std::string_view op, std::string_view argument, Dtype came, std::string_view wanted) {
    std::string message(op);
    message.append(": ").append(argument).append(" is ").append(name(came)).append(", wanted ").append(wanted);
    return fail(diopiDtypeNotSupported, std::move(message));
}

diopiError_t wrong_shape(std::string_view op, std::string_view argument, ShapeView came, std::string_view wanted) {
    std::string message(op);
    message.append(": ").append(argument).append(" has shape ").append(to_string(came));
    message.append(", wanted ").append(wanted);
    return fail(diopiErrorOccurred, std::move(message));
}

diopiError_t null_in_list(std::string_view op, std::string_view argument, int64_t position) {
    return refuse(op, std::string(argument) + " holds null at " + std::to_string(position));
}

diopiError_t check_shape(std::string_view op, std::string_view argument, const View& v, ShapeView wanted) {
    if (std::ranges::equal(v.shape, wanted)) return diopiSuccess;
    return wrong_shape(op, argument, v.shape, to_string(wanted));
}

diopiError_t check_shape_or_null(std::string_view op, std::string_view argument, diopiConstTensorHandle_t tensor,
                                 ShapeView wanted) {
    return tensor == nullptr ? diopiSuccess : check_shape(op, argument, view(tensor), wanted);
}

diopiError_t check_rank(std::string_view op, std::string_view argument, const View& v) {
    return v.rank() <= kMaxRank ? diopiSuccess : wrong_shape(op, argument, v.shape, "at most 16 dimensions");
}

diopiError_t check_computable(std::string_view op, std::string_view argument, const View& v) {
    return is_computable(v.dtype) ? diopiSuccess : unsupported(op, argument, v.dtype, "a floating dtype");
}

bool broadcasts_to(ShapeView shape, ShapeView target) {
    if (shape.size() > target.size()) return false;
    return std::equal(shape.rbegin(), shape.rend(), target.rbegin(),
                      [](int64_t from, int64_t to) { return from == 1 || from == to; });
}

bool repeats_elements(const View& v) {
    if (v.numel == 0) return false;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (v.strides[d] == 0 && v.shape[d] > 1) return true;
    }
    return false;
}

diopiError_t check_views(std::string_view op, std::span<const View> outs, std::span<const View> ins) {
    const ShapeView shape = outs[0].shape;
    if (const diopiError_t error = check_rank(op, "out", outs[0]); error != diopiSuccess) return error;
    for (const View& out : outs) {
        if (const diopiError_t error = check_shape(op, "an output", out, shape); error != diopiSuccess) return error;
        if (repeats_elements(out)) {
            return wrong_shape(op, "the output", out.shape, "one memory location for each element (no stride 0)");
        }
    }
    for (const View& in : ins) {
        if (!broadcasts_to(in.shape, shape)) {
            return wrong_shape(op, "an input", in.shape, "one that broadcasts to the output's " + to_string(shape));
        }
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
