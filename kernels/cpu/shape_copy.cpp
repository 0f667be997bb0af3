/// Copies into another layout, shape or dtype, and constants. zeros and ones write what they are given.
#include <algorithm>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// to = from, which broadcasts; where both share memory, from a copy.
diopiError_t copy_into(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to) {
    if (to.rank() > kMaxRank) return wrong_shape(op, "the output", to.shape, "at most 16 dimensions");
    const auto shape = broadcast_shapes(from.shape, to.shape);
    if (!shape || !std::ranges::equal(*shape, to.shape)) {
        return wrong_shape(op, "the source", from.shape, "one that broadcasts to " + to_string(to.shape));
    }
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
    const ShapeView wanted(size.data, static_cast<size_t>(size.len));
    if (!std::ranges::equal(to.shape, wanted)) return wrong_shape(op, "out", to.shape, to_string(wanted));
    return fill(ctx, to, value);
}

}  // namespace

diopiError_t diopiCopyInp(diopiContextHandle_t ctx, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    return copy_into(ctx, "diopiCopyInp", view(src), view(dest));
}

diopiError_t diopiCastDtype(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const View to = view(out), from = view(input);
    if (!std::ranges::equal(to.shape, from.shape)) {
        return wrong_shape("diopiCastDtype", "out", to.shape, to_string(from.shape));
    }
    return copy_into(ctx, "diopiCastDtype", from, to);
}

diopiError_t diopiExpand(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return copy_into(ctx, "diopiExpand", view(input), view(out));
}

diopiError_t diopiZeros(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(ctx, "diopiZeros", out, size, 0);
}

diopiError_t diopiOnes(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(ctx, "diopiOnes", out, size, 1);
}

diopiError_t diopiZeroInp(diopiContextHandle_t ctx, diopiTensorHandle_t self) { return fill(ctx, view(self), 0); }

}  // namespace diopi::cpu
