/// Copies into another layout, shape or dtype, and constants. zeros and ones write what they are given.
#include <algorithm>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

namespace {

/// to = from, which broadcasts; where both share memory, from a copy.
diopiError_t copy_into(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to) {
    if (const diopiError_t error = check_rank(op, "the output", to); error != diopiSuccess) return error;
    if (const diopiError_t error = check_source(op, from, to); error != diopiSuccess) return error;
    if (to.numel == 0) return diopiSuccess;
    if (from.data != to.data) {
        copy(from, to);
        return diopiSuccess;
    }
    View apart;
    if (const diopiError_t error = require(ctx, from.shape, from.dtype, apart); error != diopiSuccess) return error;
    copy(from, apart);
    copy(apart, to);
    return diopiSuccess;
}

diopiError_t constant(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiSize_t size,
                      double value) {
    const View to = view(out);
    const diopiError_t error = check_shape(op, "out", to, list_of(size));
    return error != diopiSuccess ? error : fill(ctx, to, value);
}

}  // namespace

diopiError_t diopiCopyInp(diopiContextHandle_t ctx, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    return copy_into(ctx, __func__, view(src), view(dest));
}

diopiError_t diopiCastDtype(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const View to = view(out), from = view(input);
    const diopiError_t error = check_shape(__func__, "out", to, from.shape);
    return error != diopiSuccess ? error : copy_into(ctx, __func__, from, to);
}

diopiError_t diopiExpand(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return copy_into(ctx, __func__, view(input), view(out));
}

diopiError_t diopiZeros(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(ctx, __func__, out, size, 0);
}

diopiError_t diopiOnes(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(ctx, __func__, out, size, 1);
}

diopiError_t diopiZeroInp(diopiContextHandle_t ctx, diopiTensorHandle_t self) { return fill(ctx, view(self), 0); }

}  // namespace diopi::cpu
