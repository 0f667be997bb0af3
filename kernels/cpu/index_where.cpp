/// One of two tensors by a condition.
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Choose {
    using Selects = void;
    T operator()(T condition, T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>)
            return condition == Bool::kTrue ? a : b;
        else
            return condition != T(0) ? a : b;
    }
};

}  // namespace

diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& condition,
                    const View& chosen, const View& other) {
    const std::array ins = {condition, chosen, other};
    const Dtype compute = compute_dtype(promote(chosen.dtype, other.dtype), {&out, 1}, ins);
    return with_wrapping_type(compute, [&]<class T>() {
        Choose<T> f;
        return for_each_tile(ctx, op, {&out, 1}, ins, ternary<T>(compute, f));
    });
}

namespace {

diopiError_t where(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t condition, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return choose(ctx, op, view(out), view(condition), view(input), view(other));
}

}  // namespace

#include "kernels/entries/index_where.inc"

}  // namespace diopi::cpu
