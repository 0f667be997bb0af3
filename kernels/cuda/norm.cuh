/// The reductions of normalisation kernels.
#pragma once

#include "kernels/cuda/reduce/moments.cuh"
#include "kernels/cuda/reduce/reduce.cuh"
#include "kernels/cuda/reduce/staging.hpp"

namespace diopi::cuda {

/// Mean and variance of each result of a plan, in one pass: results.write_batch(place, mean, squares) gets them,
/// squares is the sum of (x - mean)^2 over results.count elements.
template <class C, class Results>
struct Statistics : JoinMoments<C> {
    using Compute = C;
    using State = Moments<C>;
    static constexpr int kIns = 1;
    static constexpr bool kTakesMany = true, kOnlyColumns = false;

    Results results;

    __device__ const Statistics& at(int64_t) const { return *this; }
    __device__ State identity() const { return {0, 0, 0}; }
    template <int kCount, class Number>
    __device__ void take_many(State& state, const C (&x)[kCount][1], Number&&) const {
        C values[kCount];
        for (int i = 0; i < kCount; ++i) values[i] = x[i][0];
        take_moments(state, values);
    }
    __device__ void write(int64_t place, const State& state) const {
        results.write_batch(place, static_cast<double>(state.sum) / results.count, state.squares);
    }
};

/// The common part of the operators that sum up gradients. Their inputs are g and x; C is the compute type.
template <class C>
struct GradientReduction : JoinGradients<double> {
    using Compute = C;
    using State = GradientSum<double>;
    static constexpr int kIns = 2;
    static constexpr bool kTakesMany = true, kOnlyColumns = false;

    __device__ State identity() const { return {0, 0}; }
};

/// The elements of a tensor that may be null, one after another.
[[nodiscard]] inline Numbers output_numbers(Staging& staging, diopiTensorHandle_t tensor) {
    if (tensor == nullptr) return {};
    const View v = staging.out(tensor, view(tensor).dtype, Staging::Strides::contiguous);
    return {v.data, v.dtype, 1};
}
[[nodiscard]] inline Numbers input_numbers(Staging& staging, diopiConstTensorHandle_t tensor) {
    if (tensor == nullptr) return {};
    const View v = staging.in(tensor, view(tensor).dtype, Staging::Strides::contiguous);
    return {v.data, v.dtype, 1};
}

enum class Kept { rows, columns };

/// Reduces contiguous elements, seen as a matrix, to one result for each row or for each column.
template <class Op>
[[nodiscard]] diopiError_t reduce_matrix(diopiContextHandle_t ctx, std::string_view op, int64_t rows, int64_t columns,
                                         Kept kept, std::array<View, Op::kIns> ins, const Op& f) {
    const int64_t shape[] = {rows, columns}, strides[] = {columns, 1};
    const int64_t places[] = {kept == Kept::rows, kept == Kept::columns};
    for (View& v : ins) {
        v.shape = shape;
        v.strides = strides;
    }
    return run_reduction(ctx, op, make_reduction(ins, {kept == Kept::columns, kept == Kept::rows}, places), ins, f);
}

}  // namespace diopi::cuda
