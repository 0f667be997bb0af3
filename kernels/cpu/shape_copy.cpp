/// Copies into another layout, shape or dtype, and constants.
#include <algorithm>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

namespace {

/// to = from, which broadcasts; through a copy where both share memory.
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

constexpr auto copy_from = copy_from_by<copy_into>;
constexpr auto cast = cast_by<copy_into>;
constexpr auto expand = expand_by<copy_into>;

diopiError_t fill_with(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t input,
                       const diopiScalar_t* value) {
    const View to = view(input);
    if (const diopiError_t error = check_rank(op, "input", to); error != diopiSuccess) return error;
    diopiScalar_t number = *value;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, to.dtype);
    copy(element(number), converted);
    copy(converted, to);
    return diopiSuccess;
}

template <int kValue>
diopiError_t constant(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiSize_t size) {
    const View to = view(out);
    const diopiError_t error = check_shape(op, "out", to, list_of(size));
    return error != diopiSuccess ? error : fill(ctx, to, kValue);
}

diopiError_t set_zero(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t self) {
    return fill(ctx, view(self), 0);
}

}  // namespace

#include "kernels/entries/shape_copy.inc"

}  // namespace diopi::cpu
