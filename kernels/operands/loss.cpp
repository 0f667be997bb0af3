#include "kernels/operands/loss.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

diopiError_t read_weights(Loss& loss) {
    if (loss.weight == nullptr) return diopiSuccess;
    loss.weights = view(loss.weight);
    const diopiError_t error =
        check_shape(loss.op, "weight", loss.weights, loss.input.shape.subspan(loss.class_dim(), 1));
    if (error != diopiSuccess || !is_complex(loss.weights.dtype)) return error;
    return unsupported(loss.op, "weight", loss.weights.dtype, "a real dtype");
}

}  // namespace

bool Loss::has_probabilities() const {
    return is_floating(target.dtype) && std::ranges::equal(target.shape, input.shape);
}

diopiError_t read_loss(Loss& loss) {
    const View& x = loss.input;
    loss.smoothing = std::max(loss.smoothing, 0.0);
    if (const diopiError_t error = check_computable(loss.op, "input", x); error != diopiSuccess) return error;
    if (x.shape.empty()) return wrong_shape(loss.op, "input", x.shape, "(C) or (N, C, ...)");
    if (const diopiError_t error = check_rank(loss.op, "input", x); error != diopiSuccess) return error;
    if (loss.reduction < ReductionNone || loss.reduction > ReductionSum) {
        return refuse(loss.op, "reduction is " + std::to_string(loss.reduction) + ", wanted none, mean or sum");
    }
    loss.sample_shape.assign(x.shape.begin(), x.shape.end());
    loss.sample_shape.erase(loss.sample_shape.begin() + static_cast<std::ptrdiff_t>(loss.class_dim()));
    if (const diopiError_t error = read_weights(loss); error != diopiSuccess) return error;
    if (loss.has_probabilities()) {
        return loss.takes_probabilities ? diopiSuccess : unsupported(loss.op, "target", loss.target.dtype, "int64");
    }
    if (!is_integer(loss.target.dtype)) {
        return unsupported(loss.op, "target", loss.target.dtype, "int64, or probabilities in the shape of input");
    }
    return check_shape(loss.op, "target", loss.target, loss.sample_shape);
}

diopiError_t check_reduced(const Loss& loss, std::string_view argument, const View& v) {
    if (is_complex(v.dtype)) return unsupported(loss.op, argument, v.dtype, "a real dtype");
    const int64_t wanted = loss.reduction == ReductionNone ? loss.samples() : 1;
    if (v.numel == wanted) return diopiSuccess;
    return wrong_shape(loss.op, argument, v.shape, std::to_string(wanted) + " elements");
}

diopiError_t read_gradient(Loss& loss, const View& grad_input, const View& grad_output) {
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_reduced(loss, "grad_output", grad_output); error != diopiSuccess) {
        return error;
    }
    const diopiError_t error = check_shape(loss.op, "grad_input", grad_input, loss.input.shape);
    if (error != diopiSuccess || !is_complex(grad_input.dtype)) return error;
    return unsupported(loss.op, "grad_input", grad_input.dtype, "a real dtype");
}

namespace {

/// One weight for all elements, where none is given.
View no_weight() {
    static const float one = 1;
    return element(const_cast<float*>(&one), Dtype::float32);
}

/// Refuses a loss, or its gradient, that is not floating, or has another shape than the reduction gives it.
diopiError_t check_reduced(const ElementLoss& loss, std::string_view argument, const View& v) {
    if (!is_floating(v.dtype)) return unsupported(loss.op, argument, v.dtype, "a floating dtype");
    const bool none = loss.reduction == ReductionNone;
    return check_shape(loss.op, argument, v, none ? loss.input.shape : ShapeView());
}

diopiError_t read_elements(ElementLoss& loss) {
    if (const diopiError_t error = check_computable(loss.op, "input", loss.input); error != diopiSuccess) return error;
    if (loss.reduction < ReductionNone || loss.reduction > ReductionSum) {
        return refuse(loss.op, "reduction is " + std::to_string(loss.reduction) + ", wanted none, mean or sum");
    }
    if (const diopiError_t error = check_shape(loss.op, "target", loss.target, loss.input.shape);
        error != diopiSuccess) {
        return error;
    }
    loss.ins.push_back(loss.input);
    loss.ins.push_back(loss.target);
    for (const LossWeight& weight : loss.weights) {
        loss.ins.push_back(weight.tensor == nullptr ? no_weight() : view(weight.tensor));
        if (!broadcasts_to(loss.ins.back().shape, loss.input.shape)) {
            return wrong_shape(loss.op, weight.name, loss.ins.back().shape, "one that broadcasts to input's");
        }
    }
    for (const View& in : loss.ins) {
        if (is_complex(in.dtype)) return unsupported(loss.op, "an operand", in.dtype, "a real dtype");
    }
    return check_rank(loss.op, "input", loss.input);
}

}  // namespace

bool ElementLoss::computes_in_float64() const {
    return std::ranges::any_of(ins, [](const View& in) { return !is_half(in.dtype) && in.dtype != Dtype::float32; });
}

diopiError_t read_element_loss(ElementLoss& loss, const View& out) {
    const diopiError_t error = read_elements(loss);
    return error != diopiSuccess ? error : check_reduced(loss, "out", out);
}

diopiError_t read_element_gradient(ElementLoss& loss, const View& grad_input, const View& grad_output) {
    loss.ins.push_back(grad_output);
    diopiError_t error = read_elements(loss);
    if (error == diopiSuccess) error = check_reduced(loss, "grad_output", grad_output);
    if (error == diopiSuccess) error = check_shape(loss.op, "grad_input", grad_input, loss.input.shape);
    if (error != diopiSuccess || is_floating(grad_input.dtype)) return error;
    return unsupported(loss.op, "grad_input", grad_input.dtype, "a floating dtype");
}

}  // namespace diopi::operands
