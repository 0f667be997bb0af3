/// The larger and the smaller of two numbers.
#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

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

template <class C>
using Larger = Extreme<C, true>;
template <class C>
using Smaller = Extreme<C, false>;

template <template <class> class F>
diopiError_t extreme(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const Other& other) {
    Operands x = operands_of(out, input, other);
    if (const diopiError_t error = read_ordered(op, x); error != diopiSuccess) return error;
    return with_compute_type(x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, F<C>{}); });
}

}  // namespace

#include "kernels/entries/elementwise_extreme.inc"

}  // namespace diopi::cuda
