/// argmax: the index of the greatest element. Among equal ones it is the first; NaN is greater than all.
#include "kernels/cuda/element/map.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/reduce.cuh"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Place {
    using Index = std::conditional_t<std::is_same_v<C, float>, int32_t, int64_t>;  // short ones are faster
    C value;
    Index index;  ///< -1: no element yet
};

template <class C>
struct ArgMax {
    using State = Place<C>;

    __device__ static bool is_nan(C x) { return x != x; }
    __device__ static bool is_better(C x, C best) { return x > best || (is_nan(x) && !is_nan(best)); }

    __device__ State identity() const {
        State state{};
        state.index = -1;
        return state;
    }
    /// Elements come in rising order of their indices.
    __device__ void take(State& state, C x, int64_t index) const {
        if (state.index >= 0 && !is_better(x, state.value)) return;
        state.value = x;
        state.index = static_cast<typename State::Index>(index);
    }
    __device__ State combine(const State& a, const State& b) const {
        if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
        if (is_better(a.value, b.value)) return a;
        if (is_better(b.value, a.value)) return b;
        return a.index < b.index ? a : b;
    }
    __device__ int64_t finish(const State& state) const { return state.index; }
};

diopiError_t argmax(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, const int64_t* dim, bool) {
    const View to = view(out);
    View in = view(input);
    if (const diopiError_t error = check_argmax(op, to, in); error != diopiSuccess) return error;
    if (dim == nullptr && !in.is_contiguous()) {  // the index counts in row-major order
        if (const diopiError_t error = copy_of(ctx, op, in, in); error != diopiSuccess) return error;
    }
    Reduction plan;
    const diopiError_t error = plan_argmax(op, to, in, dim, plan);
    if (error != diopiSuccess || to.numel == 0) return error;
    return with_compute_type(in.dtype, [&]<class C>() {
        if constexpr (std::is_same_v<C, uint64_t>) {
            return diopiErrorOccurred;  // refused above
        } else {
            if (std::is_same_v<C, float> && plan.count > std::numeric_limits<int32_t>::max()) {
                return reduce<double>(ctx, op, plan, to, in, ArgMax<double>{});
            }
            return reduce<C>(ctx, op, plan, to, in, ArgMax<C>{});
        }
    });
}

}  // namespace

#include "kernels/entries/reduction_index.inc"

}  // namespace diopi::cuda
