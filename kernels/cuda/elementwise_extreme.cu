/// The larger and the smaller of two numbers.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// NaN where either is NaN.
template <class C, bool kLarger>
struct Extreme {
    __device__ C operator()(C a, C b) const {
        if constexpr (std::is_floating_point_v<C>) {
            if (a != a) return a;
            if (b != b) return b;
        }
        return (a > b) == kLarger ? a : b;
    }
};

template <bool kLarger>
diopiError_t extreme(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (const diopiError_t error = check_real_operands(op, x); error != diopiSuccess) return error;
    return with_compute_type(x.result, [&]<class C>() {
        return map<C, 2>(ctx, op, x.out, {x.input, x.other}, Extreme<C, kLarger>{});
    });
}

}  // namespace

diopiError_t diopiMaximum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme<true>(ctx, "diopiMaximum", with_tensor(out, input, other));
}

diopiError_t diopiMinimum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme<false>(ctx, "diopiMinimum", with_tensor(out, input, other));
}

}  // namespace diopi::cuda
