/// argmax: the index of the greatest element.
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/reduction_choice.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

diopiError_t argmax(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, const int64_t* dim, bool) {
    const View to = view(out), in = view(input);
    if (const diopiError_t error = check_argmax(op, to, in); error != diopiSuccess) return error;
    return choose<true>(ctx, op, nullptr, to, in, dim == nullptr ? ShapeView() : ShapeView(dim, 1));
}

}  // namespace

#include "kernels/entries/reduction_index.inc"

}  // namespace diopi::cpu
