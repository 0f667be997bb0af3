/// Copies between layouts and dtypes, and fill_.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Same {
    __device__ C operator()(C x) const { return x; }
};

}  // namespace

diopiError_t copy_of(diopiContextHandle_t ctx, std::string_view op, const View& view, View& made) {
    View copy;  // `made` may be `view`
    if (const diopiError_t error = require(ctx, view.shape, view.dtype, copy); error != diopiSuccess) return error;
    const diopiError_t error =
        with_compute_type(view.dtype, [&]<class C>() { return map<C, 1>(ctx, op, copy, {view}, Same<C>{}); });
    made = copy;
    return error;
}

diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* value) {
    const View to = view(input);
    if (is_complex(to.dtype)) return unsupported("diopiFill", "input", to.dtype, "a real dtype");
    return with_compute_type(to.dtype, [&]<class C>() {
        const C x = to.dtype == Dtype::boolean ? C(number<double>(*value) != 0) : number<C>(*value);
        return map<C, 1>(ctx, "diopiFill", to, {number_view(to.dtype)}, Same<C>{}, {x});
    });
}

}  // namespace diopi::cuda
