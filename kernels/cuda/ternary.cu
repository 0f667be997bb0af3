/// where.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operands.hpp"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Choose {
    __device__ C operator()(C condition, C a, C b) const { return condition != C(0) ? a : b; }
};

}  // namespace

diopiError_t diopiWhere(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t condition,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    constexpr std::string_view kOp = "diopiWhere";
    const View y = view(out), a = view(input), b = view(other);
    const Dtype result = promote(a.dtype, b.dtype);
    for (const Dtype dtype : {result, y.dtype}) {
        if (is_complex(dtype)) return unsupported(kOp, "input", dtype, "a real dtype");
    }
    return with_compute_type(result, [&]<class C>() {
        return map<C, 3>(ctx, kOp, y, {view(condition), a, b}, Choose<C>{});
    });
}

}  // namespace diopi::cuda
