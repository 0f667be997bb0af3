/// Uniform and whole numbers, categories, permutations, and normal numbers of their own means.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/random_sequence.hpp"

namespace diopi::reference {

namespace {

void require_floating_target(std::string_view argument, diopiConstTensorHandle_t tensor) {
    const Dtype dtype = view_of(tensor).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype(argument, dtype, "a floating dtype");
}

/// Element i = from + u_i (to - from), with doubles for float64 and floats for the other dtypes; the largest number
/// below `to` where that would be rounded to it.
diopiError_t uniform(diopiContextHandle_t, std::string_view, diopiTensorHandle_t inout, double from, double to,
                     diopiGeneratorHandle_t generator) {
    return kernel([&] {
        require_floating_target("inout", inout);
        if (!(from <= to)) refuse("from is " + std::to_string(from) + ", wanted at most to, " + std::to_string(to));
        Output<double> y(inout, "inout");
        const Sequence sequence(generator);
        const bool is_wide = view_of(inout).dtype == Dtype::float64;
        const auto drawn = is_wide ? sequence.uniform<double>(y.numel()) : sequence.uniform<float>(y.numel());
        const double largest = std::max(from, largest_below(to, format_of(view_of(inout).dtype)));
        for (int64_t i = 0; i < y.numel(); ++i) {
            y[i] = std::min(from + drawn[static_cast<size_t>(i)] * (to - from), largest);
        }
        y.store();
        sequence.advance((is_wide ? 2 : 1) * y.numel());
    });
}

/// The upper half of the product of 64 bits each: a whole number below `range` from a random one; 0 means 2^64.
uint64_t below(uint64_t random, uint64_t range) {
    return range == 0 ? random : static_cast<uint64_t>((static_cast<unsigned __int128>(random) * range) >> 64);
}
uint64_t joined(const std::vector<uint32_t>& words, int64_t i) {
    const auto at = static_cast<size_t>(2 * i);
    return uint64_t{words[at]} << 32 | words[at + 1];
}

/// The largest integer up to which the dtype holds all.
int64_t last_integer(Dtype dtype) {
    if (dtype == Dtype::boolean) return 1;
    if (is_floating(dtype)) return int64_t{1} << format_of(dtype).significand;
    const int bits = 8 * static_cast<int>(size_of(dtype)) - (is_unsigned(dtype) ? 0 : 1);
    return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

/// Element i = from + a whole number below to - from, made of words 2 i and 2 i + 1.
diopiError_t whole_numbers(diopiContextHandle_t, std::string_view, diopiTensorHandle_t inout, int64_t from,
                           const int64_t* to, diopiGeneratorHandle_t generator) {
    return kernel([&] {
        const Dtype dtype = view_of(inout).dtype;
        if (is_complex(dtype)) refuse_dtype("inout", dtype, "a real dtype");
        const int64_t last = to != nullptr ? *to - 1 : last_integer(dtype);
        if (from > last || (to != nullptr && from >= *to)) refuse("from is not below to: there are no such numbers");
        const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
        const Sequence sequence(generator);
        const auto fill = [&]<class T>(T) {
            Output<T> y(inout, "inout");
            const std::vector<uint32_t> words = sequence.words(2 * y.numel());
            for (int64_t i = 0; i < y.numel(); ++i) {
                y[i] =
                    static_cast<T>(static_cast<int64_t>(static_cast<uint64_t>(from) + below(joined(words, i), range)));
            }
            y.store();
            sequence.advance(2 * y.numel());
        };
        is_floating(dtype) ? fill(double()) : fill(int64_t());
    });
}

/// Checks a row of weights and gives their sum.
double require_weights(const double* weight, int64_t n, int64_t samples, bool replacement) {
    double sum = 0;
    int64_t positive = 0;
    for (int64_t c = 0; c < n; ++c) {
        if (!(weight[c] >= 0 && std::isfinite(weight[c]))) refuse("a weight is " + std::to_string(weight[c]));
        sum += weight[c];
        positive += weight[c] > 0 ? 1 : 0;
    }
    if (positive < (replacement ? 1 : samples)) refuse("a row of input has too few weights above 0");
    return sum;
}

/// With replacement, number i of a row is the first category whose weight, added to those before it, exceeds u_i times
/// the sum. Without, categories are in the order of -ln(1 - u_c) / weight_c. Source: P. Efraimidis, P. Spirakis, 2006.
diopiError_t multinomial(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t num_samples, bool replacement,
                         diopiGeneratorHandle_t generator) {
    return kernel([&] {
        require_floating_target("input", input);
        const Operand<double> weights(input, "input");
        if (weights.rank() != 1 && weights.rank() != 2) refuse("input has shape " + to_string(weights.shape()));
        const int64_t n = weights.shape().back(), rows = weights.rank() == 2 ? weights.size(0) : 1;
        if (num_samples < 1 || (!replacement && num_samples > n)) {
            refuse("num_samples is " + std::to_string(num_samples) + ", and there are " + std::to_string(n) +
                   " categories");
        }
        Output<int64_t> y(out, "out");
        Shape wanted(weights.shape().begin(), weights.shape().end());
        wanted.back() = num_samples;
        require_shape("out", y.shape(), wanted);
        const Sequence sequence(generator);
        const int64_t each = replacement ? num_samples : n;
        const std::vector<double> drawn = sequence.uniform<double>(rows * each);
        for (int64_t r = 0; r < rows; ++r) {
            const double* weight = weights.data() + r * n;
            const double* u = drawn.data() + r * each;
            const double sum = require_weights(weight, n, num_samples, replacement);
            std::vector<double> key(static_cast<size_t>(n));
            std::vector<int64_t> order(static_cast<size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            for (size_t c = 0; c < key.size(); ++c) {
                key[c] = replacement ? weight[c] + (c > 0 ? key[c - 1] : 0) : -std::log(1 - u[c]) / weight[c];
            }
            if (!replacement) {
                std::ranges::stable_sort(
                    order, {}, [&](int64_t c) { return weight[c] > 0 ? key[static_cast<size_t>(c)] : HUGE_VAL; });
            }
            for (int64_t i = 0; i < num_samples; ++i) {
                const auto found = std::ranges::upper_bound(key, u[i] * sum);
                y[r * num_samples + i] =
                    replacement ? std::min<int64_t>(found - key.begin(), n - 1) : order[static_cast<size_t>(i)];
            }
        }
        y.store();
        sequence.advance(2 * rows * each);
    });
}

/// Fisher and Yates: from the last element on, each changes places with one that is not behind it.
diopiError_t randperm(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, int64_t n,
                      diopiGeneratorHandle_t generator) {
    return kernel([&] {
        if (n < 0) refuse("n is " + std::to_string(n) + ", wanted 0 or more");
        require_shape("out", view_of(out).shape, Shape{n});
        const Sequence sequence(generator);
        const std::vector<uint32_t> words = sequence.words(2 * n);
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        for (int64_t i = n; i-- > 1;) {
            std::swap(order[static_cast<size_t>(i)], order[below(joined(words, i), static_cast<uint64_t>(i) + 1)]);
        }
        in_kind(view_of(out).dtype, [&](auto zero) {
            Output<decltype(zero)> y(out, "out");
            for (int64_t i = 0; i < n; ++i) y[i] = static_cast<double>(order[static_cast<size_t>(i)]);
            y.store();
        });
        sequence.advance(2 * n);
    });
}

/// A parameter of each element: a number, or a tensor that broadcasts to the shape.
std::vector<double> parameter(double number, std::string_view, ShapeView shape) {
    return std::vector<double>(static_cast<size_t>(numel(shape)), number);
}
std::vector<double> parameter(diopiConstTensorHandle_t tensor, std::string_view argument, ShapeView shape) {
    require_floating_target(argument, tensor);
    const Operand<double> x(tensor, argument);
    const Shape steps = broadcast_strides(argument, x.shape(), shape);
    std::vector<double> values;
    const Rows<1> rows(shape, {ShapeView(steps)});
    rows.for_each([&](const Rows<1>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) values.push_back(x[at[0] + i * rows.step()[0]]);
    });
    return values;
}

/// Element i = mean_i + std_i n_i, with doubles for float64 and floats for the other dtypes.
template <class Mean, class Std>
diopiError_t normal_of(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, Mean mean, Std std,
                       diopiGeneratorHandle_t generator) {
    return kernel([&] {
        require_floating_target("out", out);
        Output<double> y(out, "out");
        const std::vector<double> means = parameter(mean, "mean", y.shape()),
                                  deviations = parameter(std, "std", y.shape());
        for (const double deviation : deviations) {
            if (!(deviation >= 0)) refuse("std is " + std::to_string(deviation) + ", wanted 0 or more");
        }
        const Sequence sequence(generator);
        const bool is_wide = view_of(out).dtype == Dtype::float64;
        const auto drawn = is_wide ? sequence.normal<double>(y.numel()) : sequence.normal<float>(y.numel());
        for (size_t i = 0; i < drawn.size(); ++i) y[static_cast<int64_t>(i)] = means[i] + deviations[i] * drawn[i];
        y.store();
        sequence.advance((is_wide ? 2 : 1) * y.numel());
    });
}

}  // namespace

#include "kernels/entries/random_draw.inc"

}  // namespace diopi::reference
