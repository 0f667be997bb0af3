/// Element-wise kernels with numbers of each channel, for tensors (N, C, ...). An operator over the compute type C is
///
///     struct Scale {
///         struct Channel { float factor; };
///         const float* factors;
///         __device__ Channel channel(int64_t c) const { return {factors[c]}; }
///         __device__ float operator()(const Channel& c, const float (&x)[1]) const { return x[0] * c.factor; }
///     };
#pragma once

#include "kernels/cuda/reduce/reduce.cuh"

namespace diopi::cuda {

/// The channels of operands in one order of memory without gaps: element n belongs to channel n / inner % channels.
struct ChannelsOf {
    FastSize inner, channels;
    bool same_each_step;  ///< a thread has the same channels in each step
};

template <class T, class C, int kIns, class F>
__global__ void __launch_bounds__(kThreads)
    dense_channels_kernel(F f, T* out, Sources<kIns> in, ChannelsOf s, int64_t n) {
    constexpr int kPack = kPackOf<T>;
    typename F::Channel of[kPack];
    const auto find_channels = [&](int64_t at) {
        const int32_t row = s.inner.quotient(static_cast<int32_t>(at));
        int32_t left = s.inner.value() - (static_cast<int32_t>(at) - row * s.inner.value());
        int32_t channel = row - s.channels.quotient(row) * s.channels.value();
        of[0] = f.channel(channel);
#pragma unroll
        for (int i = 1; i < kPack; ++i) {
            of[i] = of[i - 1];
            if (--left > 0) continue;
            left = s.inner.value();
            channel = channel + 1 == s.channels.value() ? 0 : channel + 1;
            of[i] = f.channel(channel);
        }
    };
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kPack;
    int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack;
    if (at < n) find_channels(at);
    for (bool is_first = true; at < n; at += step, is_first = false) {
        if (!is_first && !s.same_each_step) find_channels(at);
        C values[kPack][kIns] = {};
        for (int k = 0; k < kIns; ++k) {
            const auto pack = load_pack(static_cast<const T*>(in.data[k]) + at, n - at);
            for (int i = 0; i < kPack; ++i) values[i][k] = convert<C>(pack.at[i]);
        }
        Pack<T, kPack> result;
        for (int i = 0; i < kPack; ++i) result.at[i] = convert<T>(f(of[i], values[i]));
        store_pack(out + at, n - at, result);
    }
}

/// Any strides; the last operand of the walk counts channels.
template <class T, class C, int kIns, class Index, class F>
__global__ void __launch_bounds__(kThreads)
    strided_channels_kernel(F f, T* out, Sources<kIns> in, Walk<Index, kIns + 2> walk, int64_t n) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
        Index places[kIns + 2];
        walk.find(static_cast<Index>(at), places);
        C values[kIns];
        for (int k = 0; k < kIns; ++k) values[k] = convert<C>(static_cast<const T*>(in.data[k])[places[k + 1]]);
        out[places[0]] = convert<T>(f(f.channel(places[kIns + 1]), values));
    }
}

/// out = f(channel, ins) element by element; all operands are of T and of one shape (N, C, ...), not empty.
template <class T, class C, size_t kIns, class F>
diopiError_t map_channels(diopiContextHandle_t ctx, std::string_view op, const View& out,
                          const std::array<View, kIns>& ins, F f) {
    constexpr int kInputs = static_cast<int>(kIns);
    std::array<View, kIns + 2> operands;
    operands[0] = out;
    Sources<kInputs> in{};
    for (size_t k = 0; k < kIns; ++k) {
        operands[k + 1] = ins[k];
        in.data[k] = ins[k].data;
        in.dtypes[k] = ins[k].dtype;
    }
    T* to = reinterpret_cast<T*>(out.data);
    if (const auto dense = dense_channels({operands.data(), kIns + 1})) {
        const Launch grid = launch_for_channels(*dense, kPackOf<T>);
        const bool same = dense->inner == 1 && int64_t{grid.blocks} * grid.threads * kPackOf<T> % dense->channels == 0;
        const ChannelsOf s{FastSize::of(dense->inner), FastSize::of(dense->channels), same};
        return launch(ctx, op, grid, dense_channels_kernel<T, C, kInputs, F>, f, to, in, s, dense->numel);
    }
    const auto strides = channel_strides();
    operands[kIns + 1] = out;
    operands[kIns + 1].strides = ShapeView(strides.data(), out.shape.size());
    const Nest nest = make_nest(operands);
    const auto run = [&]<class Index>() {
        return launch(ctx, op, launch_for(nest.numel, 1), strided_channels_kernel<T, C, kInputs, Index, F>, f, to, in,
                      walk_of<Index, kInputs + 2>(nest), nest.numel);
    };
    return nest.fits_32_bits() ? run.template operator()<int32_t>() : run.template operator()<int64_t>();
}

}  // namespace diopi::cuda
