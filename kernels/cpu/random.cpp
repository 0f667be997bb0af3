/// Random numbers: those of core/normal.hpp, element by element in row-major order.
#include <algorithm>
#include <cmath>

#include "core/normal.hpp"
#include "kernels/cpu/onednn_threads.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

namespace {

/// Element i of `to` (contiguous) = mean + std * n_i, computed in double, n_i made in Number's precision.
template <class Number>
void fill_normal(const View& to, double mean, double std, uint64_t seed, uint64_t offset) {
    const Convert convert = to.dtype == Dtype::float64 ? nullptr : converter(Dtype::float64, to.dtype);
    alignas(64) Number numbers[kTile];
    alignas(64) double values[kTile];
    for (int64_t first = 0; first < to.numel; first += kTile) {
        const int64_t n = std::min(kTile, to.numel - first);
        normal_block(seed, offset, first, std::span<Number>(numbers, static_cast<size_t>(n)));
        std::byte* target = to.data + first * to.item_size();
        double* scaled = convert == nullptr ? reinterpret_cast<double*>(target) : values;
        for (int64_t i = 0; i < n; ++i) scaled[i] = mean + std * static_cast<double>(numbers[i]);
        if (convert != nullptr) convert(values, target, n);
    }
}

/// `to` itself, or a dense tensor like it, whose numbers are copied to it in the end.
diopiError_t dense_like(diopiContextHandle_t ctx, const View& to, View& dense) {
    dense = to;
    return to.is_contiguous() ? diopiSuccess : require(ctx, to.shape, to.dtype, dense);
}

/// Calls body(first element, the numbers' words) for each tile of `count` elements, in threads.
template <class Body>
void for_each_word_tile(int64_t count, uint64_t seed, uint64_t offset, const Body& body) {
    parallel_for((count + kTile - 1) / kTile, 4 * kTile, [&](int64_t begin, int64_t end) {
        alignas(64) uint32_t words[kTile];
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t first = tile * kTile;
            const std::span<uint32_t> drawn(words, static_cast<size_t>(std::min(kTile, count - first)));
            word_block(seed, offset, first, drawn);
            body(first, drawn);
        }
    });
}

/// Stores a tile of zeros and ones in the dtype of `to`.
void store_flags(const View& to, int64_t first, std::span<float> flags) {
    std::byte* target = to.data + first * to.item_size();
    if (to.dtype == Dtype::float32) {
        std::ranges::copy(flags, reinterpret_cast<float*>(target));
    } else {
        converter(Dtype::float32, to.dtype)(flags.data(), target, static_cast<int64_t>(flags.size()));
    }
}

/// Element i = u_i < p, u_i = the upper 24 bits of a word / 2^24: whole numbers are compared.
void fill_bernoulli(const View& to, double p, uint64_t seed, uint64_t offset) {
    const auto below = static_cast<int32_t>(std::ceil(p * 0x1p24));
    for_each_word_tile(to.numel, seed, offset, [&](int64_t first, std::span<const uint32_t> words) {
        alignas(64) float flags[kTile];
        for (size_t i = 0; i < words.size(); ++i) flags[i] = static_cast<int32_t>(words[i] >> 8) < below ? 1.0F : 0.0F;
        store_flags(to, first, {flags, words.size()});
    });
}

/// The same with a probability for each element, dense and of type T.
template <class T>
void fill_bernoulli(const View& to, const T* p, uint64_t seed, uint64_t offset) {
    for_each_word_tile(to.numel, seed, offset, [&](int64_t first, std::span<const uint32_t> words) {
        alignas(64) float flags[kTile];
        const T* share = p + first;
        for (size_t i = 0; i < words.size(); ++i) {
            flags[i] = static_cast<T>(unit_interval(words[i])) < share[i] ? 1.0F : 0.0F;
        }
        store_flags(to, first, {flags, words.size()});
    });
}

/// Whether any is no probability.
template <class T>
bool has_wrong_share(const T* p, int64_t n) {
    bool wrong = false;
    for (int64_t i = 0; i < n; ++i) wrong |= !(p[i] >= 0 && p[i] <= 1);
    return wrong;
}

diopiError_t advance(diopiGeneratorHandle_t generator, uint64_t seed, uint64_t offset, int64_t numbers) {
    return diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(numbers) + 3) / 4 * 4);
}

template <class T>
diopiError_t bernoulli(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                       diopiGeneratorHandle_t generator) {
    View share, to;
    const Dtype compute = sizeof(T) == 8 ? Dtype::float64 : Dtype::float32;
    diopiError_t error = contiguous_as(ctx, input, compute, share);
    if (error == diopiSuccess) error = dense_like(ctx, out, to);
    if (error != diopiSuccess) return error;
    if (has_wrong_share(share.as<T>(), share.numel)) {
        return fail(diopiErrorOccurred, std::string(op) + ": a probability is outside 0 to 1");
    }
    uint64_t seed = 0;
    uint64_t offset = 0;
    diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    fill_bernoulli(to, share.as<T>(), seed, offset);
    if (!out.is_contiguous()) copy(to, out);
    return advance(generator, seed, offset, out.numel);
}

/// out may be input.
diopiError_t bernoulli(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiGeneratorHandle_t generator) {
    const View y = view(out), p = view(input);
    if (!is_floating(p.dtype)) return unsupported(op, "input", p.dtype, "a floating dtype");
    if (!std::ranges::equal(y.shape, p.shape)) return wrong_shape(op, "out", y.shape, to_string(p.shape));
    if (y.rank() > kMaxRank) return wrong_shape(op, "out", y.shape, "at most 16 dimensions");
    if (generator == nullptr) return fail(diopiErrorOccurred, std::string(op) + ": generator is null, wanted one");
    return (p.dtype == Dtype::float64 ? bernoulli<double> : bernoulli<float>)(ctx, op, y, p, generator);
}

}  // namespace

diopiError_t diopiNormalInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double mean, double std,
                            diopiGeneratorHandle_t generator) {
    const View to = view(inout);
    if (!is_floating(to.dtype)) return unsupported("diopiNormalInp", "inout", to.dtype, "a floating dtype");
    if (!(std >= 0.0)) {
        return fail(diopiErrorOccurred, "diopiNormalInp: std is " + std::to_string(std) + ", wanted 0 or more");
    }
    if (generator == nullptr) return fail(diopiErrorOccurred, "diopiNormalInp: generator is null, wanted one");
    if (to.rank() > kMaxRank) return wrong_shape("diopiNormalInp", "inout", to.shape, "at most 16 dimensions");
    View dense;
    if (const diopiError_t error = dense_like(ctx, to, dense); error != diopiSuccess) return error;
    uint64_t seed = 0;
    uint64_t offset = 0;
    diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    if (to.dtype == Dtype::float64) {
        fill_normal<double>(dense, mean, std, seed, offset);
    } else {
        fill_normal<float>(dense, mean, std, seed, offset);
    }
    if (!to.is_contiguous()) copy(dense, to);
    return advance(generator, seed, offset, to.numel);
}

diopiError_t diopiBernoulli(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiGeneratorHandle_t generator) {
    return bernoulli(ctx, "diopiBernoulli", out, input, generator);
}

diopiError_t diopiBernoulliInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, diopiGeneratorHandle_t generator) {
    return bernoulli(ctx, "diopiBernoulliInp", inout, inout, generator);
}

diopiError_t diopiBernoulliScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, double p,
                                  diopiGeneratorHandle_t generator) {
    constexpr std::string_view kOp = "diopiBernoulliScalar";
    const View y = view(out);
    if (is_complex(y.dtype)) return unsupported(kOp, "out", y.dtype, "a real dtype");
    if (y.rank() > kMaxRank) return wrong_shape(kOp, "out", y.shape, "at most 16 dimensions");
    if (!(p >= 0 && p <= 1)) {
        return fail(diopiErrorOccurred, std::string(kOp) + ": p is " + std::to_string(p) + ", wanted 0 to 1");
    }
    if (generator == nullptr) return fail(diopiErrorOccurred, std::string(kOp) + ": generator is null, wanted one");
    View to;
    if (const diopiError_t error = dense_like(ctx, y, to); error != diopiSuccess) return error;
    uint64_t seed = 0;
    uint64_t offset = 0;
    diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    fill_bernoulli(to, p, seed, offset);
    if (!y.is_contiguous()) copy(to, y);
    return advance(generator, seed, offset, y.numel);
}

}  // namespace diopi::cpu
