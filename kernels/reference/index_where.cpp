/// One of two tensors by a condition.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/ternary.hpp"

namespace diopi::reference {

namespace {

/// out = condition ? input : other, all three broadcast. The condition is bool, or a number that is not 0.
diopiError_t where(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t condition,
                   diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return kernel([&] {
        const auto choose = [](int64_t is, auto a, auto b) { return is != 0 ? a : b; };
        const Dtype dtype = dtype_of_all({input, other});
        switch (kind_of_all({input, other})) {
            case Kind::kComplex:
                return combine<int64_t, Complex>(out, condition, input, other, dtype, choose);
            case Kind::kFloating:
                return combine<int64_t, double>(out, condition, input, other, dtype, choose);
            case Kind::kInteger:
            case Kind::kBool:
                return combine<int64_t, int64_t>(out, condition, input, other, dtype, choose);
        }
    });
}

}  // namespace

#include "kernels/entries/index_where.inc"

}  // namespace diopi::reference
