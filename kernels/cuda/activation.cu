/// relu.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
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

diopiError_t relu(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in) {
    if (const diopiError_t error = check_unary(op, out, in, true); error != diopiSuccess) return error;
    return with_compute_type(in.dtype, [&]<class C>() { return map<C, 1>(ctx, op, out, {in}, Relu<C>{}); });
}

}  // namespace

diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return relu(ctx, "diopiRelu", view(out), view(input));
}

diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return relu(ctx, "diopiReluInp", view(input), view(input));
}

}  // namespace diopi::cuda
