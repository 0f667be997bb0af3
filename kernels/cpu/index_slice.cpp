/// Positions along one dim, by numbers: copies of views.
#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index_places.hpp"

namespace diopi::cpu {

namespace {

/// out = that part of input.
diopiError_t take_part(std::string_view op, const View& y, const View& x, const Part& part) {
    OwnView own(x);
    const View from = part.of(own);
    const diopiError_t error = check_like(op, "out", y, from.shape, x.dtype);
    if (error == diopiSuccess) copy(from, y);
    return error;
}

/// y = src in that part.
diopiError_t put_part(std::string_view op, std::string_view argument, const View& y, const View& src,
                      const Part& part) {
    OwnView own(y);
    const View to = part.of(own);
    const diopiError_t error = check_like(op, argument, src, to.shape, y.dtype);
    if (error == diopiSuccess) copy(src, to);
    return error;
}

/// grad_input = grad_output in that part, and 0 elsewhere.
diopiError_t spread_part(std::string_view op, const View& y, const View& g, ShapeView sizes, const Part& part) {
    OwnView own(y);
    diopiError_t error = check_like(op, "grad_input", y, sizes, g.dtype);
    if (error == diopiSuccess) error = check_shape(op, "grad_output", g, part.of(own).shape);
    if (error != diopiSuccess) return error;
    fill(y, {diopi_dtype_float64, {.fval = 0}});
    return put_part(op, "grad_output", y, g, part);
}

/// out = input, with src in that part.
diopiError_t replace_part(std::string_view op, const View& y, const View& x, const View& src, const Part& part) {
    OwnView own(x);
    diopiError_t error = check_like(op, "out", y, x.shape, x.dtype);
    if (error == diopiSuccess) error = check_like(op, "src", src, part.of(own).shape, x.dtype);
    if (error != diopiSuccess) return error;
    copy(x, y);
    return put_part(op, "src", y, src, part);
}

diopiError_t take_position(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim, int64_t index) {
    const View x = view(input);
    Part part;
    const diopiError_t error = read_position(op, x.shape, dim, index, part);
    return error != diopiSuccess ? error : take_part(op, view(out), x, part);
}

diopiError_t spread_position(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, diopiSize_t sizes, int64_t dim, int64_t index) {
    Part part;
    const diopiError_t error = read_position(op, list_of(sizes), dim, index, part);
    return error != diopiSuccess ? error : spread_part(op, view(grad_input), view(grad_output), list_of(sizes), part);
}

diopiError_t replace_position(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim,
                              int64_t index) {
    const View x = view(input);
    Part part;
    const diopiError_t error = read_position(op, x.shape, dim, index, part);
    return error != diopiSuccess ? error : replace_part(op, view(out), x, view(src), part);
}

diopiError_t take_slice(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, int64_t dim, int64_t start, int64_t end, int64_t step) {
    const View x = view(input);
    Part part;
    const diopiError_t error = read_slice(op, x.shape, dim, {start, end, step}, part);
    return error != diopiSuccess ? error : take_part(op, view(out), x, part);
}

diopiError_t spread_slice(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiSize_t sizes, int64_t dim, int64_t start,
                          int64_t end, int64_t step) {
    Part part;
    const diopiError_t error = read_slice(op, list_of(sizes), dim, {start, end, step}, part);
    return error != diopiSuccess ? error : spread_part(op, view(grad_input), view(grad_output), list_of(sizes), part);
}

diopiError_t replace_slice(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim, int64_t start,
                           int64_t end, int64_t step) {
    const View x = view(input);
    Part part;
    const diopiError_t error = read_slice(op, x.shape, dim, {start, end, step}, part);
    return error != diopiSuccess ? error : replace_part(op, view(out), x, view(src), part);
}

}  // namespace

#include "kernels/entries/index_slice.inc"

}  // namespace diopi::cpu
