/// Optimiser steps: one pass over a parameter, its gradient and its state. A step is a functor over its compute type,
///
///     template <class C>
///     struct Step {
///         static constexpr int kTensors = 3;
///         __device__ void operator()(C (&values)[kTensors]) const;
///     };
///
/// which gets one element of each tensor, the parameter's first and the gradient's second, and replaces them by what is
/// to be written. The gradient is only read.
#pragma once

#include "kernels/cuda/element/elements.cuh"
#include "kernels/cuda/element/map.cuh"

namespace diopi::cuda {

constexpr int kGradient = 1;

template <class T, int kTensors>
struct Tensors {
    Elements<T> data[kTensors];
};

/// All tensors are runs of T, aligned to packs.
template <class T, class Step>
__global__ void run_step_kernel(Step step, Tensors<T, Step::kTensors> tensors, int64_t n) {
    using C = ComputeOf<T>;
    constexpr int kPack = kPackOf<T>, kTensors = Step::kTensors;
    const int64_t stride = int64_t{gridDim.x} * blockDim.x * kPack;
    for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack; at < n; at += stride) {
        C values[kPack][kTensors];
        const bool is_whole = at + kPack <= n;
        for (int t = 0; t < kTensors; ++t) {
            C pack[kPack] = {};
            if (is_whole) {
                tensors.data[t].get(at, pack);
            } else {
                for (int i = 0; i < kPack && at + i < n; ++i) pack[i] = tensors.data[t].get(at + i);
            }
            for (int i = 0; i < kPack; ++i) values[i][t] = pack[i];
        }
        for (int i = 0; i < kPack; ++i) step(values[i]);
        for (int t = 0; t < kTensors; ++t) {
            if (t == kGradient) continue;
            C pack[kPack];
            for (int i = 0; i < kPack; ++i) pack[i] = values[i][t];
            if (is_whole) {
                tensors.data[t].put(at, pack);
            } else {
                for (int i = 0; i < kPack && at + i < n; ++i) tensors.data[t].put(at + i, pack[i]);
            }
        }
    }
}

/// Any dtypes, any strides, any size.
template <class C, class Step>
__global__ void mixed_step_kernel(Step step, Tensors<Any, Step::kTensors> tensors, Walk<int64_t, Step::kTensors> walk,
                                  int64_t n) {
    constexpr int kTensors = Step::kTensors;
    const int64_t stride = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += stride) {
        int64_t places[kTensors];
        walk.find(at, places);
        C values[kTensors];
        for (int t = 0; t < kTensors; ++t) {
            values[t] = load<C>(tensors.data[t].data, places[t], tensors.data[t].dtype);
        }
        step(values);
        for (int t = 0; t < kTensors; ++t) {
            if (t != kGradient) store(tensors.data[t].data, places[t], tensors.data[t].dtype, values[t]);
        }
    }
}

namespace step_detail {

template <class T, class Step>
diopiError_t launch_run(diopiContextHandle_t ctx, std::string_view op, const Step& step,
                        const std::array<View, Step::kTensors>& views) {
    Tensors<T, Step::kTensors> tensors{};
    for (int t = 0; t < Step::kTensors; ++t) tensors.data[t] = Elements<T>::of(views[static_cast<size_t>(t)]);
    const int64_t n = views[0].numel;
    return launch(ctx, op, launch_for(n, kPackOf<T>), run_step_kernel<T, Step>, step, tensors, n);
}

}  // namespace step_detail

/// Takes one step with tensors of one shape. The gradient is copied where the step would change it meanwhile. `step`
/// computes in C.
template <class C, class Step>
diopiError_t take_step(diopiContextHandle_t ctx, std::string_view op, const Step& step,
                       std::array<View, Step::kTensors> views) {
    constexpr int kTensors = Step::kTensors;
    if (views[0].numel == 0) return diopiSuccess;
    View& grad = views[kGradient];
    for (size_t t = 0; t < views.size(); ++t) {
        if (t == kGradient) continue;
        if (const diopiError_t error = check_views(op, views[t], {}); error != diopiSuccess) return error;
        if (!aliases_differently(views[t], grad)) continue;
        if (const diopiError_t error = copy_of(ctx, op, grad, grad); error != diopiSuccess) return error;
    }
    const Nest nest = make_nest(views);
    bool are_runs = nest.is_run();
    Dtype dtype = views[0].dtype;
    for (size_t t = 0; t < views.size(); ++t) {
        are_runs = are_runs && (nest.numel == 1 || nest.strides[t][0] == 1) && is_aligned(views[t].data, 16);
        if (views[t].dtype != dtype) dtype = Dtype::unsupported;
    }
    using step_detail::launch_run;
    if constexpr (std::is_same_v<C, double>) {
        if (are_runs && dtype == Dtype::float64) return launch_run<double>(ctx, op, step, views);
    } else {
        if (are_runs && dtype == Dtype::float32) return launch_run<float>(ctx, op, step, views);
        if (are_runs && dtype == Dtype::float16) return launch_run<__half>(ctx, op, step, views);
        if (are_runs && dtype == Dtype::bfloat16) return launch_run<__nv_bfloat16>(ctx, op, step, views);
    }
    Tensors<Any, kTensors> tensors{};
    for (int t = 0; t < kTensors; ++t) tensors.data[t] = Elements<Any>::of(views[static_cast<size_t>(t)]);
    return launch(ctx, op, launch_for(nest.numel, 1), mixed_step_kernel<C, Step>, step, tensors,
                  walk_of<int64_t, kTensors>(nest), nest.numel);
}

}  // namespace diopi::cuda
