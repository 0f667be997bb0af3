/// Random numbers.
#include <algorithm>
#include <vector>

#include "core/normal.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Element i = mean + std * n_i with n_i the i-th standard normal number of (seed, offset), made in Number's precision.
template <class Number>
void fill_normal(Output<double>& y, double mean, double std, uint64_t seed, uint64_t offset) {
    constexpr int64_t kTile = 4096;
    std::vector<Number> numbers(kTile);
    for (int64_t first = 0; first < y.numel(); first += kTile) {
        const int64_t n = std::min(kTile, y.numel() - first);
        normal_block(seed, offset, first, std::span(numbers).first(static_cast<size_t>(n)));
        for (int64_t i = 0; i < n; ++i)
            y[first + i] = mean + std * static_cast<double>(numbers[static_cast<size_t>(i)]);
    }
}

/// out[i] = u_i < p(i), with u_i the i-th uniform float of the generator, which moves on by a number for each element.
template <class Probability>
void fill_bernoulli(Output<double>& y, diopiGeneratorHandle_t generator, const Probability& p) {
    if (generator == nullptr) refuse("generator is null, wanted one");
    uint64_t seed = 0;
    uint64_t offset = 0;
    diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    for (int64_t i = 0; i < y.numel(); ++i) {
        if (p(i) >= 0.0 && p(i) <= 1.0) continue;
        refuse("a probability is " + std::to_string(p(i)) + ", wanted 0 to 1");
    }
    std::vector<float> numbers(static_cast<size_t>(y.numel()));
    uniform_block(seed, offset, 0, std::span(numbers));
    for (int64_t i = 0; i < y.numel(); ++i) {
        y[i] = static_cast<double>(numbers[static_cast<size_t>(i)]) < p(i) ? 1.0 : 0.0;
    }
    diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(y.numel()) + 3) / 4 * 4);
}

/// out may be input.
diopiError_t bernoulli(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiGeneratorHandle_t generator) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        if (kind_of(dtype) != Kind::kFloating) refuse_dtype("input", dtype, "a floating dtype");
        const Operand<double> p(input, "input");
        Output<double> y(out, "out");
        require_shape("out", y.shape(), p.shape());
        fill_bernoulli(y, generator, [&](int64_t i) { return p[i]; });
        y.store();
    });
}

/// The offset advances by the number of elements rounded up to a multiple of 4, the words of a Philox block.
diopiError_t normal(diopiContextHandle_t, std::string_view, diopiTensorHandle_t inout, double mean, double std,
                    diopiGeneratorHandle_t generator) {
    return kernel([&] {
        const Dtype dtype = view_of(inout).dtype;
        if (kind_of(dtype) != Kind::kFloating) refuse_dtype("inout", dtype, "a floating dtype");
        if (!(std >= 0.0)) refuse("std is " + std::to_string(std) + ", wanted 0 or more");
        if (generator == nullptr) refuse("generator is null, wanted one");
        Output<double> y(inout, "inout");
        uint64_t seed = 0;
        uint64_t offset = 0;
        diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
        if (dtype == Dtype::float64) {
            fill_normal<double>(y, mean, std, seed, offset);
        } else {
            fill_normal<float>(y, mean, std, seed, offset);
        }
        y.store();
        diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(y.numel()) + 3) / 4 * 4);
    });
}

diopiError_t bernoulli_of_number(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, double p,
                                 diopiGeneratorHandle_t generator) {
    return kernel([&] {
        Output<double> y(out, "out");
        if (!(p >= 0.0 && p <= 1.0)) refuse("p is " + std::to_string(p) + ", wanted 0 to 1");
        fill_bernoulli(y, generator, [=](int64_t) { return p; });
        y.store();
    });
}

}  // namespace

#include "kernels/entries/random.inc"

}  // namespace diopi::reference
