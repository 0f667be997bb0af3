/// One value where a mask is true: `where` with a number in the dtype of input.
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/elementwise.hpp"
#include "kernels/operands/index.hpp"

namespace diopi::cpu {

namespace {

diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, const Other& value) {
    diopiScalar_t number = value.number != nullptr ? *value.number : diopiScalar_t{};
    const View x = view(input), is = view(mask), one = value.number != nullptr ? element(number) : view(value.tensor);
    if (const diopiError_t error = check_masked(op, is, one); error != diopiSuccess) return error;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, x.dtype);
    copy(one, converted);
    return choose(ctx, op, view(out), is, converted, x);
}

}  // namespace

#include "kernels/entries/index_masked.inc"

}  // namespace diopi::cpu
