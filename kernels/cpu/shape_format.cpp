/// The order of a tensor's dims in memory.
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

/// The numbers of this device's own layouts are those of diopiMemoryFormat_t.
diopiError_t cast_format(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                         diopiConstTensorHandle_t in, int64_t format) {
    const View x = view(in);
    Shape strides;
    diopiError_t error = check_rank(op, "input", x);
    if (error == diopiSuccess) error = read_format(op, x, format, strides);
    diopiTensorHandle_t made = nullptr;
    if (error == diopiSuccess) error = make_output(ctx, x.shape, x.dtype, strides, made);
    if (error != diopiSuccess) return error;
    copy(x, view(made));
    *out = made;
    return diopiSuccess;
}

diopiError_t contiguous(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                        diopiConstTensorHandle_t input, diopiMemoryFormat_t format) {
    return cast_format(ctx, op, out, input, format);
}

diopiError_t get_format(diopiContextHandle_t, std::string_view, diopiConstTensorHandle_t input, int64_t* format) {
    *format = format_of_memory(view(input));
    return diopiSuccess;
}

/// This backend keeps no records about memory.
diopiError_t forget_memory(diopiContextHandle_t, std::string_view, void*) { return diopiSuccess; }

}  // namespace

#include "kernels/entries/shape_format.inc"

}  // namespace diopi::cpu
