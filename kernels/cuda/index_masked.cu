/// One value where a mask is true: `where` with a number in the dtype of input.
#include "kernels/cuda/choose.hpp"
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/elementwise.hpp"
#include "kernels/operands/index.hpp"

namespace diopi::cuda {

namespace {

/// The value takes the place of input's elements, in the dtype of input.
diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, const Other& value) {
    const View x = view(input), is = view(mask);
    const bool is_number = value.number != nullptr;
    View one = is_number ? number_view(x.dtype) : view(value.tensor);
    diopiError_t error = check_masked(op, is, one);
    if (error == diopiSuccess && !is_number) error = contiguous_as(ctx, op, one, x.dtype, one);
    if (error != diopiSuccess) return error;
    const diopiScalar_t number = is_number ? as_element(*value.number, x.dtype) : diopiScalar_t{};
    return choose(ctx, op, view(out), is, one, x, x.dtype, number);
}

}  // namespace

#include "kernels/entries/index_masked.inc"

}  // namespace diopi::cuda
