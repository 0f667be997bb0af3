/// The sign.
#include <algorithm>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Negate {
    __device__ C operator()(C x) const {
        if constexpr (std::is_integral_v<C>)
            return static_cast<C>(0 - static_cast<uint64_t>(x));
        else if constexpr (kIsComplex<C>)
            return {-x.real, -x.imag};
        else
            return -x;
    }
};

diopiError_t negate(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (x.dtype == Dtype::boolean) return unsupported(op, "input", x.dtype, "numbers: use logical_not for bool");
    if (!std::ranges::equal(y.shape, x.shape)) return wrong_shape(op, "out", y.shape, to_string(x.shape));
    const Dtype compute = is_complex(y.dtype) ? y.dtype : x.dtype;
    return with_any_compute_type(compute, [&]<class C>() { return map<C, 1>(ctx, op, y, {x}, Negate<C>{}); });
}

}  // namespace

diopiError_t diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return negate(ctx, "diopiNeg", out, input);
}

diopiError_t diopiNegInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return negate(ctx, "diopiNegInp", input, input);
}

}  // namespace diopi::cuda
