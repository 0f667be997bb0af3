/// relu.
#include "kernels/cuda/element/map.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// NaN and -0 stay.
template <class C>
struct Relu {
    __device__ C operator()(C x) const {
        if constexpr (std::is_unsigned_v<C>)
            return x;
        else
            return x < C(0) ? C(0) : x;
    }
};

diopiError_t relu(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_unary(op, y, x, true); error != diopiSuccess) return error;
    return with_compute_type(x.dtype, [&]<class C>() { return map<C, 1>(ctx, op, y, {x}, Relu<C>{}); });
}

}  // namespace

#include "kernels/entries/activation.inc"

}  // namespace diopi::cuda
