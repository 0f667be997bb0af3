/// Random numbers: those of core/normal.hpp, element by element in row-major order.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/random.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

void fill_bernoulli(const View& to, double p, const Sequence& from) {
    const auto below = static_cast<int32_t>(std::ceil(p * 0x1p24));
    for_each_word_tile(to.numel, from, [&](int64_t first, std::span<const uint32_t> words) {
        alignas(64) float flags[kTile];
        for (size_t i = 0; i < words.size(); ++i) flags[i] = static_cast<int32_t>(words[i] >> 8) < below ? 1.0F : 0.0F;
        store_flags(to, first, {flags, words.size()});
    });
}

namespace {

/// Element i of `to` (contiguous) = mean + std * n_i, computed in double, n_i made in Number's precision.
template <class Number>
void fill_normal(const View& to, double mean, double std, const Sequence& from) {
    const Convert convert = to.dtype == Dtype::float64 ? nullptr : converter(Dtype::float64, to.dtype);
    alignas(64) Number numbers[kTile];
    alignas(64) double values[kTile];
    for (int64_t first = 0; first < to.numel; first += kTile) {
        const int64_t n = std::min(kTile, to.numel - first);
        normal_block(from.seed, from.offset, first, std::span<Number>(numbers, static_cast<size_t>(n)));
        std::byte* target = to.data + first * to.item_size();
        double* scaled = convert == nullptr ? reinterpret_cast<double*>(target) : values;
        for (int64_t i = 0; i < n; ++i) scaled[i] = mean + std * static_cast<double>(numbers[i]);
        if (convert != nullptr) convert(values, target, n);
    }
}

/// fill_bernoulli with a probability for each element, dense and of type T.
template <class T>
void fill_bernoulli_each(const View& to, const T* p, const Sequence& from) {
    for_each_word_tile(to.numel, from, [&](int64_t first, std::span<const uint32_t> words) {
        alignas(64) float flags[kTile];
        const T* share = p + first;
        for (size_t i = 0; i < words.size(); ++i) {
            flags[i] = static_cast<T>(unit_interval(words[i])) < share[i] ? 1.0F : 0.0F;
        }
        store_flags(to, first, {flags, words.size()});
    });
}

/// Whether any number is not a probability.
template <class T>
bool has_wrong_share(const T* p, int64_t n) {
    bool wrong = false;
    for (int64_t i = 0; i < n; ++i) wrong |= !(p[i] >= 0 && p[i] <= 1);
    return wrong;
}

template <class T>
diopiError_t bernoulli_of(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                          diopiGeneratorHandle_t generator) {
    View share;
    const Dtype compute = sizeof(T) == 8 ? Dtype::float64 : Dtype::float32;
    if (const diopiError_t error = contiguous_as(ctx, input, compute, share); error != diopiSuccess) return error;
    if (has_wrong_share(share.as<T>(), share.numel)) return refuse(op, "a probability is outside 0 to 1");
    return fill_random(ctx, out, generator, [&](const View& to, const Sequence& from) {
        fill_bernoulli_each(to, static_cast<const T*>(share.as<T>()), from);
    });
}

/// out may be input.
diopiError_t bernoulli(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiGeneratorHandle_t generator) {
    const View y = view(out), p = view(input);
    if (const diopiError_t error = check_bernoulli(op, y, p, generator); error != diopiSuccess) return error;
    return (p.dtype == Dtype::float64 ? bernoulli_of<double> : bernoulli_of<float>)(ctx, op, y, p, generator);
}

diopiError_t normal(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inout, double mean, double std,
                    diopiGeneratorHandle_t generator) {
    const View to = view(inout);
    if (const diopiError_t error = check_normal(op, to, std, generator); error != diopiSuccess) return error;
    return fill_random(ctx, to, generator, [&](const View& dense, const Sequence& from) {
        (dense.dtype == Dtype::float64 ? fill_normal<double> : fill_normal<float>)(dense, mean, std, from);
    });
}

diopiError_t bernoulli_of_number(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, double p,
                                 diopiGeneratorHandle_t generator) {
    const View y = view(out);
    if (const diopiError_t error = check_bernoulli(op, y, p, generator); error != diopiSuccess) return error;
    return fill_random(ctx, y, generator, [&](const View& to, const Sequence& from) { fill_bernoulli(to, p, from); });
}

}  // namespace

#include "kernels/entries/random.inc"

}  // namespace diopi::cpu
