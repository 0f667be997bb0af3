/// The sign.
#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

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
    if (const diopiError_t error = check_negation(op, y, x); error != diopiSuccess) return error;
    return in_result_dtype(ctx, op, y, x.dtype, [&](const View& to) {
        const Dtype compute = is_complex(to.dtype) ? to.dtype : x.dtype;
        return with_any_compute_type(compute, [&]<class C>() { return map<C, 1>(ctx, op, to, {x}, Negate<C>{}); });
    });
}

}  // namespace

#include "kernels/entries/elementwise_sign.inc"

}  // namespace diopi::cuda
