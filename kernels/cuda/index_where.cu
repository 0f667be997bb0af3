/// One of two tensors by a condition.
#include "kernels/cuda/choose.hpp"
#include "kernels/cuda/element/map.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Choose {
    using Chooses = void;
    __device__ C operator()(C condition, C a, C b) const { return convert<bool>(condition) ? a : b; }
};

}  // namespace

diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& condition,
                    const View& chosen, const View& other, Dtype dtype, const diopiScalar_t& number) {
    const bool is_widened = is_complex(out.dtype) && !is_complex(dtype);
    View y = out;
    if (is_widened) {
        if (const diopiError_t error = require(ctx, out.shape, dtype, y); error != diopiSuccess) return error;
    }
    View is = condition;
    if (category(is.dtype) > 1) {  // 0.5 is true, but 0 as an integer
        const diopiError_t error = contiguous_as(ctx, op, condition, Dtype::boolean, is);
        if (error != diopiSuccess) return error;
    }
    const diopiError_t error = with_any_compute_type(dtype, [&]<class C>() {
        return map<C, 3>(ctx, op, y, {is, chosen, other}, Choose<C>{}, {C{}, compute_number<C>(number)});
    });
    return is_widened && error == diopiSuccess ? copy_into(ctx, op, y, out) : error;
}

namespace {

diopiError_t where(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t condition, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const View a = view(input), b = view(other);
    return choose(ctx, op, view(out), view(condition), a, b, promote(a.dtype, b.dtype), {});
}

}  // namespace

#include "kernels/entries/index_where.inc"

}  // namespace diopi::cuda
