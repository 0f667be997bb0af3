/// Functions of each tensor of a list, one tensor after the other. All tensors of a call are checked before the first
/// one changes.
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Calls one(out, input) for each pair; `has_shape_of_input` is false where an out has no dims.
template <class Inputs, class One>
diopiError_t for_each(diopiTensorHandle_t* outs, Inputs* inputs, int64_t count, bool has_shape_of_input,
                      const One& one) {
    const diopiError_t checked = kernel([&] {
        if (count < 0 || (count > 0 && inputs == nullptr)) {
            refuse("inputs is null or inputSize is " + std::to_string(count) + ", wanted a list");
        }
        for (int64_t k = 0; k < count; ++k) {
            const std::string place = "[" + std::to_string(k) + "]";
            if (outs[k] == nullptr || inputs[k] == nullptr) refuse("a tensor " + place + " is null");
            const ShapeView wanted = has_shape_of_input ? view_of(inputs[k]).shape : ShapeView();
            require_shape("outs" + place, view_of(outs[k]).shape, wanted);
        }
    });
    if (checked != diopiSuccess) return checked;
    for (int64_t k = 0; k < count; ++k) {
        if (const diopiError_t error = one(outs[k], inputs[k]); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

/// outs[k] = inputs[k] + other
template <class Inputs>
diopiError_t foreach_add(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, const diopiScalar_t* other) {
    const diopiScalar_t alpha{diopi_dtype_int64, {.ival = 1}};
    return for_each(outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiAddScalar(ctx, out, input, other, &alpha);
    });
}

/// outs[k] = inputs[k] * other
template <class Inputs>
diopiError_t foreach_mul(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, const diopiScalar_t* other) {
    return for_each(outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiMulScalar(ctx, out, input, other);
    });
}
template <class Inputs>
diopiError_t foreach_mul(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, diopiConstTensorHandle_t other) {
    const diopiError_t checked = kernel([&] { require_shape("other", view_of(other).shape, {}); });
    if (checked != diopiSuccess) return checked;
    return for_each(outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiMul(ctx, out, input, other);
    });
}

/// outs[k] = the norm of order ord of all elements of inputs[k]
diopiError_t foreach_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* outs,
                          diopiConstTensorHandle_t* inputs, int64_t count, const diopiScalar_t* ord) {
    return for_each(outs, inputs, count, false, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiNorm(ctx, out, input, ord, {});
    });
}

}  // namespace

#include "kernels/entries/optim_foreach.inc"

}  // namespace diopi::reference
