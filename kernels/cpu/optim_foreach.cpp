/// Functions of each tensor of a list: that of one tensor, which has its own threads, for one after the other. All
/// tensors of a call are checked before the first one changes.
#include <algorithm>
#include <string>

#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::cpu {

using namespace diopi::operands;

namespace {

/// Calls one(out, input) for each pair. Where `keeps_shape` is false, an out has no dims.
template <class Inputs, class One>
diopiError_t for_each(std::string_view op, diopiTensorHandle_t* outs, Inputs* inputs, int64_t count, bool keeps_shape,
                      const One& one) {
    if (count < 0 || (count > 0 && inputs == nullptr)) {
        return refuse(op, "inputs is null or inputSize is " + std::to_string(count) + ", wanted a list");
    }
    for (int64_t k = 0; k < count; ++k) {
        if (outs[k] == nullptr) return null_in_list(op, "outs", k);
        if (inputs[k] == nullptr) return null_in_list(op, "inputs", k);
        const View x = view(inputs[k]), y = view(outs[k]);
        if (const diopiError_t error = check_shape(op, "outs", y, keeps_shape ? x.shape : ShapeView());
            error != diopiSuccess) {
            return error;
        }
    }
    for (int64_t k = 0; k < count; ++k) {
        if (const diopiError_t error = one(outs[k], inputs[k]); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

template <class Inputs>
diopiError_t foreach_add(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, const diopiScalar_t* other) {
    const diopiScalar_t alpha{diopi_dtype_int64, {.ival = 1}};
    return for_each(op, outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiAddScalar(ctx, out, input, other, &alpha);
    });
}

template <class Inputs>
diopiError_t foreach_mul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, const diopiScalar_t* other) {
    return for_each(op, outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiMulScalar(ctx, out, input, other);
    });
}
template <class Inputs>
diopiError_t foreach_mul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* outs, Inputs* inputs,
                         int64_t count, diopiConstTensorHandle_t other) {
    const diopiError_t error = check_shape(op, "other", view(other), {});
    if (error != diopiSuccess) return error;
    return for_each(op, outs, inputs, count, true, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiMul(ctx, out, input, other);
    });
}

diopiError_t foreach_norm(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* outs,
                          diopiConstTensorHandle_t* inputs, int64_t count, const diopiScalar_t* ord) {
    return for_each(op, outs, inputs, count, false, [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopiNorm(ctx, out, input, ord, {});
    });
}

}  // namespace

#include "kernels/entries/optim_foreach.inc"

}  // namespace diopi::cpu
