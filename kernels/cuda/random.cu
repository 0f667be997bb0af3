/// Random numbers: those of core/normal.hpp, element by element in row-major order, as every backend draws them.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/philox.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/random.hpp"

namespace diopi::cuda {

namespace {

/// A dense output; `packs`: aligned to a block's elements.
struct NormalTarget {
    void* data;
    Dtype dtype;
    int64_t numel;
    bool packs;
};

NormalTarget target_in(const View& dense, int64_t of_block) {
    return {dense.data, dense.dtype, dense.numel,
            is_aligned(dense.data, static_cast<size_t>(of_block * dense.item_size()))};
}

/// Stores elements [at, at + kCount), as far as they exist.
template <class C, int kCount>
__device__ void store_block(const NormalTarget& to, int64_t at, const C (&values)[kCount]) {
    with_type(to.dtype, [&](auto typed) {
        using T = decltype(typed);
        T* out = static_cast<T*>(to.data) + at;
        Pack<T, kCount> pack;
        for (int i = 0; i < kCount; ++i) pack.at[i] = convert<T>(values[i]);
        if (to.packs && at + kCount <= to.numel) {
            *reinterpret_cast<Pack<T, kCount>*>(out) = pack;
        } else {
            for (int i = 0; i < kCount && at + i < to.numel; ++i) out[i] = pack.at[i];
        }
    });
}

/// Element i = mean + std * n_i, computed in double, n_i made in Number's precision.
template <class Number>
__global__ void normal_kernel(NormalTarget to, double mean, double std, Sequence from) {
    constexpr int kOfBlock = kNormalsOfBlock<Number>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t block = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; block * kOfBlock < to.numel; block += step) {
        Number numbers[kOfBlock];
        normals_of(philox_words(from.seed, static_cast<uint64_t>(block), from.offset), numbers);
        double values[kOfBlock];
        for (int i = 0; i < kOfBlock; ++i) values[i] = mean + std * static_cast<double>(numbers[i]);
        store_block(to, block * kOfBlock, values);
    }
}

/// A probability for each element, or the same one for all.
struct Shares {
    const void* data;
    Dtype dtype;
    double share;
};

/// Element i = u_i < p_i, compared in C; u_i = the upper 24 bits of a word / 2^24.
template <class C>
__global__ void bernoulli_kernel(NormalTarget to, Shares p, Sequence from) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t block = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; block * 4 < to.numel; block += step) {
        const Words words = philox_words(from.seed, static_cast<uint64_t>(block), from.offset);
        float flags[4];
        for (int i = 0; i < 4; ++i) {
            C share = static_cast<C>(p.share);
            const int64_t at = block * 4 + i;
            if (p.data != nullptr && at < to.numel) share = load<C>(p.data, at, p.dtype);
            flags[i] = static_cast<C>(unit_interval(words.at[i])) < share ? 1.0F : 0.0F;
        }
        store_block(to, block * 4, flags);
    }
}

/// Calls draw(dense output, sequence), then advances the generator.
template <class Draw>
diopiError_t fill_random(diopiContextHandle_t ctx, std::string_view op, const View& out,
                         diopiGeneratorHandle_t generator, Draw&& draw) {
    if (const diopiError_t error = check_views(op, out, {}); error != diopiSuccess) return error;
    const Sequence from = Sequence::of(generator);
    if (out.numel > 0) {
        DenseOut dense;
        diopiError_t error = dense.begin(ctx, out);
        if (error == diopiSuccess) error = draw(dense.view(), from);
        if (error == diopiSuccess) error = dense.finish(ctx, op);
        if (error != diopiSuccess) return error;
    }
    return from.advance(generator, out.numel);
}

/// out may be input. A number that is not a probability is not refused, which would need a synchronisation: one below 0
/// and NaN give 0, one above 1 gives 1.
diopiError_t bernoulli(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiGeneratorHandle_t generator) {
    const View y = view(out), p = view(input);
    if (const diopiError_t error = check_bernoulli(op, y, p, generator); error != diopiSuccess) return error;
    return fill_random(ctx, op, y, generator, [&](const View& to, const Sequence& from) {
        View shares;
        const diopiError_t error =
            aliases_differently(to, p) ? copy_of(ctx, op, p, shares) : contiguous_as(ctx, op, p, p.dtype, shares);
        if (error != diopiSuccess) return error;
        const auto kernel = p.dtype == Dtype::float64 ? bernoulli_kernel<double> : bernoulli_kernel<float>;
        return launch(ctx, op, launch_for(to.numel, 4), kernel, target_in(to, 4), Shares{shares.data, shares.dtype, 0},
                      from);
    });
}

diopiError_t normal(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inout, double mean, double std,
                    diopiGeneratorHandle_t generator) {
    const View y = view(inout);
    if (const diopiError_t error = check_normal(op, y, std, generator); error != diopiSuccess) return error;
    return fill_random(ctx, op, y, generator, [&](const View& to, const Sequence& from) {
        const bool is_wide = to.dtype == Dtype::float64;
        const int of_block = is_wide ? kNormalsOfBlock<double> : kNormalsOfBlock<float>;
        return launch(ctx, op, launch_for(to.numel, of_block), is_wide ? normal_kernel<double> : normal_kernel<float>,
                      target_in(to, of_block), mean, std, from);
    });
}

diopiError_t bernoulli_of_number(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, double p,
                                 diopiGeneratorHandle_t generator) {
    const View y = view(out);
    if (const diopiError_t error = check_bernoulli(op, y, p, generator); error != diopiSuccess) return error;
    return fill_random(ctx, op, y, generator, [&](const View& to, const Sequence& from) {
        return launch(ctx, op, launch_for(to.numel, 4), bernoulli_kernel<double>, target_in(to, 4),
                      Shares{nullptr, Dtype::float64, p}, from);
    });
}

}  // namespace

#include "kernels/entries/random.inc"

}  // namespace diopi::cuda
