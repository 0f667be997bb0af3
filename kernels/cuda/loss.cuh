/// Parts of the kernels of losses: targets and weights, sums over the threads of a block.
#pragma once

#include "kernels/cuda/element/elements.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/loss_plan.hpp"

namespace diopi::cuda {

/// Blocks of these kernels have kThreads threads: whole warps, all of which take part in each exchange.
constexpr unsigned kAllLanes = ~0u;
constexpr int kWarp = 32;

/// Joins the values of the threads of an aligned group of 2^bits; each gets the result. join(a, b) == join(b, a).
/// exchange(value, mask): the value of the lane whose number differs in `mask`. `bits` is 0 to 5, or that of the block.
template <class V, class Join, class Exchange>
__device__ V join_slices(V value, int bits, Join join, Exchange exchange) {
    constexpr int kWarps = static_cast<int>(kThreads) / kWarp;
    __shared__ V of_warps[kWarps];
    const int count = 1 << bits;
    for (int mask = 1; mask < count && mask < kWarp; mask *= 2) value = join(value, exchange(value, mask));
    if (count <= kWarp) return value;
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = of_warps[0];
    for (int k = 1; k < kWarps; ++k) value = join(value, of_warps[k]);
    __syncthreads();
    return value;
}

__device__ inline double sum_slices(double value, int bits) {
    return join_slices(
        value, bits, [](double a, double b) { return a + b; },
        [](double v, int mask) { return __shfl_xor_sync(kAllLanes, v, mask); });
}

constexpr int kBlockBits = 8;
static_assert(1 << kBlockBits == kThreads);

/// Not inlined: many places may need it, and mostly none does.
__attribute__((noinline)) __device__ inline double load_number(const void* data, int64_t place, Dtype dtype) {
    return load<double>(data, place, dtype);
}

/// Class numbers, the weights of the classes, and the class that does not count.
struct Targets {
    const void* data;
    Dtype dtype;
    int64_t classes, ignore_index;
    const void* weights;  ///< null: all are 1
    Dtype weights_dtype;
    int64_t weights_stride;

    [[nodiscard]] static Targets of(const Loss& loss) {
        const View& w = loss.weights;
        return {loss.target.data,
                loss.target.dtype,
                loss.classes(),
                loss.ignore_index,
                w.data,
                w.dtype,
                w.shape.empty() ? 0 : w.strides[0]};
    }
    __device__ int64_t class_at(int64_t place) const { return load<int64_t>(data, place, dtype); }
    __device__ bool is_class(int64_t t) const { return t >= 0 && t < classes; }
    __device__ double weight_of(int64_t c) const {
        return weights == nullptr ? 1.0 : load_number(weights, c * weights_stride, weights_dtype);
    }
};

/// The loss of a class that does not exist: refusing it would need a synchronisation.
template <class C>
constexpr C kNoSuchClass = kNan<C>;

/// A sample's loss, and the weight that it has in the mean; or sums of them.
struct Sums {
    double loss, weight;
};

/// A number in memory that an earlier kernel may have written.
struct Number {
    void* data;
    Dtype dtype;

    [[nodiscard]] static Number of(const View& v) { return {v.data, v.dtype}; }
    __device__ double get() const { return load_number(data, 0, dtype); }
};

/// Stores a number, rounded to float32 first unless the dtype is float64, as the kernels of cpu do.
__device__ inline void put_rounded(void* data, int64_t place, Dtype dtype, double value) {
    if (dtype == Dtype::float64)
        store(data, place, dtype, value);
    else
        store(data, place, dtype, static_cast<float>(value));
}

/// The places of the results. Null data: that result is not wanted.
struct Results {
    Number loss, total;
    bool is_mean;
    double divisor;  ///< of the mean; below 0: the total weight

    __device__ void put(Sums all) const {
        // A mean over nothing is 0 * inf, which is NaN.
        const double scale = is_mean ? 1 / (divisor < 0 ? all.weight : divisor) : 1;
        if (loss.data != nullptr) put_rounded(loss.data, 0, loss.dtype, all.loss * scale);
        if (total.data != nullptr) store(total.data, 0, total.dtype, all.weight);
    }
};

/// Adds up the sums of the threads. The block writes the results if it is the only one, else partial sums.
__device__ inline void put_sums(Sums own, double* partials, const Results& results) {
    const Sums all{sum_slices(own.loss, kBlockBits), sum_slices(own.weight, kBlockBits)};
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) return results.put(all);
    partials[2 * blockIdx.x] = all.loss;
    partials[2 * blockIdx.x + 1] = all.weight;
}

}  // namespace diopi::cuda
