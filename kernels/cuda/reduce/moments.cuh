/// Mean and variance in one pass, and the tensors with a number for each channel or row.
#pragma once

#include <algorithm>

#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/index.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// The count and the sum of some numbers, and the sum of their squared distances from their mean.
template <class C>
struct Moments {
    C count, sum, squares;
};

/// Source: Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, (2.1).
template <class C>
struct JoinMoments {
    __device__ Moments<C> combine(const Moments<C>& a, const Moments<C>& b) const {
        if (a.count == C(0) || b.count == C(0)) return a.count == C(0) ? b : a;
        const C count = a.count + b.count, distance = a.sum / a.count - b.sum / b.count;
        return {count, a.sum + b.sum, a.squares + b.squares + distance * distance * (a.count * b.count / count)};
    }
};

/// Adds kCount numbers to a state.
template <class C, int kCount>
__device__ void take_moments(Moments<C>& state, const C (&x)[kCount]) {
    Moments<C> own{C(kCount), 0, 0};
    for (int i = 0; i < kCount; ++i) own.sum += x[i];
    const C mean = own.sum * C(1.0 / kCount);
    for (int i = 0; i < kCount; ++i) own.squares = fma(x[i] - mean, x[i] - mean, own.squares);
    state = JoinMoments<C>{}.combine(state, own);
}

/// The sums of a gradient g and of g times a factor, such as the normalised input of a norm.
template <class C>
struct GradientSum {
    C sum, product;
};

template <class C>
struct JoinGradients {
    __device__ GradientSum<C> combine(const GradientSum<C>& a, const GradientSum<C>& b) const {
        return {a.sum + b.sum, a.product + b.product};
    }
};

/// Adds kCount gradients and factors to a state in double, because sums of many terms of both signs are near zero.
template <class C, int kCount, class Factor>
__device__ void take_gradients(GradientSum<double>& state, const C (&gx)[kCount][2], Factor&& factor) {
    C sum = 0, product = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        sum += gx[i][0];
        product = fma(gx[i][0], factor(i), product);
    }
    state.sum += static_cast<double>(sum);
    state.product += static_cast<double>(product);
}

/// A tensor of one dimension and any floating dtype; it may be missing.
struct Numbers {
    void* data;
    Dtype dtype;
    int64_t stride;

    DIOPI_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
    __device__ double get(int64_t i) const { return load<double>(data, i * stride, dtype); }
    __device__ void set(int64_t i, double value) const { store(data, i * stride, dtype, value); }
};

/// `v` has at most one dimension whose size is not 1.
[[nodiscard]] inline Numbers numbers_of(const View& v) {
    int64_t stride = 0;
    for (size_t d = 0; d < v.shape.size(); ++d) stride = v.shape[d] > 1 ? v.strides[d] : stride;
    return {v.data, v.dtype, stride};
}

}  // namespace diopi::cuda
