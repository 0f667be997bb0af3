/// Places of elements along a dimension.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction_choice.hpp"

namespace diopi::reference {

namespace {

/// dim null: over all elements, counted in row-major order. A 0-dim input has one element.
diopiError_t argmax(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    const int64_t* dim, bool) {
    return kernel([&] { choose<true>(nullptr, out, input, dim == nullptr ? ShapeView() : ShapeView(dim, 1)); });
}

}  // namespace

#include "kernels/entries/reduction_index.inc"

}  // namespace diopi::reference
