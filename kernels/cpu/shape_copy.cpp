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
    const diopiError_t error = check_rank(op, "input", to);
    if (error == diopiSuccess) fill(to, *value);
    return error;
}

template <int kValue>
diopiError_t constant(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiSize_t size) {
    const diopiError_t error = check_shape(op, "out", view(out), list_of(size));
    if (error == diopiSuccess) fill({out}, kValue);
    return error;
}

diopiError_t set_zero(diopiContextHandle_t, std::string_view, diopiTensorHandle_t self) {
    fill({self}, 0);
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/shape_copy.inc"

}  // namespace diopi::cpu
