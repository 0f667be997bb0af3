/// Uniform and whole numbers, categories, permutations, and normal numbers of their own means.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/format.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/random.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"

namespace diopi::cpu {

namespace {

/// Calls make(first element, n, numbers of type X) for each tile of a dense tensor, in threads, and stores the numbers.
template <class X, class Make>
void fill_tiles(const View& to, Dtype dtype, const Make& make) {
    const Convert convert = to.dtype == dtype ? nullptr : converter(dtype, to.dtype);
    parallel_for((to.numel + kTile - 1) / kTile, 4 * kTile, [&](int64_t begin, int64_t end) {
        alignas(64) X numbers[kTile];
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t first = tile * kTile, n = std::min(kTile, to.numel - first);
            make(first, n, numbers);
            std::byte* target = to.data + first * to.item_size();
            if (convert != nullptr)
                convert(numbers, target, n);
            else
                std::copy_n(numbers, n, reinterpret_cast<X*>(target));
        }
    });
}

/// Element i = from + u_i (to - from), u_i made in Number's precision, and below `to` after it is rounded, too.
template <class Number>
void fill_uniform(const View& y, double from, double to, const Sequence& sequence) {
    const double largest = std::max(from, largest_below(to, format_of(y.dtype)));
    fill_tiles<double>(y, Dtype::float64, [&](int64_t first, int64_t n, double* numbers) {
        alignas(64) Number drawn[kTile];
        uniform_block(sequence.seed, sequence.offset, first, std::span<Number>(drawn, static_cast<size_t>(n)));
        for (int64_t i = 0; i < n; ++i) {
            numbers[i] = std::min(from + static_cast<double>(drawn[i]) * (to - from), largest);
        }
    });
}

diopiError_t uniform(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inout, double from, double to,
                     diopiGeneratorHandle_t generator) {
    const View y = view(inout);
    if (const diopiError_t error = check_computable(op, "inout", y); error != diopiSuccess) return error;
    if (!(from <= to)) return refuse(op, "from is above to");
    if (const diopiError_t error = check_target(op, "inout", y, generator); error != diopiSuccess) return error;
    const bool is_wide = y.dtype == Dtype::float64;
    return fill_random(
        ctx, y, generator,
        [&](const View& dense, const Sequence& sequence) {
            (is_wide ? fill_uniform<double> : fill_uniform<float>)(dense, from, to, sequence);
        },
        is_wide ? 2 : 1);
}

/// A whole number below `range` from words 2 i and 2 i + 1; a range of 0 means 2^64.
uint64_t number_below(uint64_t range, const uint32_t* words) {
    const uint64_t random = uint64_t{words[0]} << 32 | words[1];
    return range == 0 ? random : static_cast<uint64_t>((static_cast<unsigned __int128>(random) * range) >> 64);
}

/// The largest integer up to which the dtype holds all.
int64_t largest_integer(Dtype dtype) {
    if (dtype == Dtype::boolean) return 1;
    if (is_floating(dtype)) return int64_t{1} << format_of(dtype).significand;
    const int bits = 8 * static_cast<int>(size_of(dtype)) - (is_unsigned(dtype) ? 0 : 1);
    return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

diopiError_t whole_numbers(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inout, int64_t from,
                           const int64_t* to, diopiGeneratorHandle_t generator) {
    const View y = view(inout);
    if (is_complex(y.dtype)) return unsupported(op, "inout", y.dtype, "a real dtype");
    if (to != nullptr && from >= *to) return refuse(op, "from is not below to");
    const int64_t last = to != nullptr ? *to - 1 : largest_integer(y.dtype);
    if (from > last) return refuse(op, "from is above the largest integer of " + std::string(name(y.dtype)));
    if (const diopiError_t error = check_target(op, "inout", y, generator); error != diopiSuccess) return error;
    const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
    return fill_random(
        ctx, y, generator,
        [&](const View& dense, const Sequence& sequence) {
            const auto draw = [&](int64_t first, int64_t n, auto* numbers) {
                uint32_t words[2 * kTile];
                word_block(sequence.seed, sequence.offset, 2 * first, {words, static_cast<size_t>(2 * n)});
                for (int64_t i = 0; i < n; ++i) {
                    const uint64_t number = static_cast<uint64_t>(from) + number_below(range, words + 2 * i);
                    numbers[i] = static_cast<std::remove_pointer_t<decltype(numbers)>>(static_cast<int64_t>(number));
                }
            };
            is_floating(dense.dtype) ? fill_tiles<double>(dense, Dtype::float64, draw)
                                     : fill_tiles<int64_t>(dense, Dtype::int64, draw);
        },
        2);
}

// ---- categories ----

/// A row of weights; `sums` are those of the weights up to each.
struct Categories {
    const double* weights;
    int64_t n;
    std::vector<double> sums;
    bool is_right = true;

    Categories(const double* row, int64_t count, int64_t wanted) : weights(row), n(count) {
        double sum = 0;
        int64_t positive = 0;
        for (int64_t c = 0; c < n; ++c) {
            is_right = is_right && weights[c] >= 0 && std::isfinite(weights[c]);
            positive += weights[c] > 0 ? 1 : 0;
            sums.push_back(sum += weights[c]);
        }
        is_right = is_right && positive >= wanted;
    }

    [[nodiscard]] int64_t at(double u) const {
        return std::min<int64_t>(std::ranges::upper_bound(sums, u * sums.back()) - sums.begin(), n - 1);
    }
    /// The categories in the order of -ln(1 - u_c) / weight_c.
    [[nodiscard]] std::vector<std::pair<double, int64_t>> race(const double* u, int64_t samples) const {
        std::vector<std::pair<double, int64_t>> times;
        for (int64_t c = 0; c < n; ++c) {
            times.emplace_back(weights[c] > 0 ? -std::log(1 - u[c]) / weights[c] : HUGE_VAL, c);
        }
        std::partial_sort(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(samples), times.end());
        return times;
    }
};

diopiError_t multinomial(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t samples, bool replacement,
                         diopiGeneratorHandle_t generator) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    if (!is_index(y.dtype)) return unsupported(op, "out", y.dtype, "int64 or int32");
    if (x.rank() != 1 && x.rank() != 2) return wrong_shape(op, "input", x.shape, "(n) or (m, n)");
    const int64_t n = x.shape.back(), rows = x.rank() == 2 ? x.shape[0] : 1;
    if (samples < 1 || (!replacement && samples > n)) {
        return refuse(op, "num_samples is " + std::to_string(samples) + ", of " + std::to_string(n) + " categories");
    }
    Shape wanted(x.shape.begin(), x.shape.end());
    wanted.back() = samples;
    diopiError_t error = check_shape(op, "out", y, wanted);
    if (error == diopiSuccess) error = check_target(op, "out", y, generator);
    View weights, numbers;
    if (error == diopiSuccess) error = contiguous_as(ctx, x, Dtype::float64, weights);
    if (error == diopiSuccess) error = require(ctx, wanted, Dtype::int64, numbers);
    if (error != diopiSuccess) return error;
    const Sequence sequence = Sequence::of(generator);
    const int64_t each = replacement ? samples : n;
    std::atomic<bool> is_right = true;
    parallel_for(rows, 16 * each, Loop::transcendental, [&](int64_t begin, int64_t end) {
        std::vector<double> u(static_cast<size_t>(each));
        for (int64_t r = begin; r < end; ++r) {
            const Categories row(weights.as<double>() + r * n, n, replacement ? 1 : samples);
            if (!row.is_right) {
                is_right = false;
                continue;
            }
            uniform_block(sequence.seed, sequence.offset, r * each, std::span(u));
            int64_t* to = numbers.as<int64_t>() + r * samples;
            if (replacement) {
                for (int64_t i = 0; i < samples; ++i) to[i] = row.at(u[static_cast<size_t>(i)]);
            } else {
                const auto order = row.race(u.data(), samples);
                for (int64_t i = 0; i < samples; ++i) to[i] = order[static_cast<size_t>(i)].second;
            }
        }
    });
    if (!is_right) return refuse(op, "a weight is below 0 or not finite, or a row has too few weights above 0");
    if (y.numel > 0) copy(numbers, y);
    return sequence.advance(generator, 2 * rows * each);
}

/// Fisher and Yates: from the last element on, each changes places with one that is not behind it. The places of a
/// block are known before its first exchange, so that the elements there are read ahead.
void shuffle(int64_t* at, int64_t n, const Sequence& sequence) {
    constexpr int64_t kBlock = 512;
    uint32_t words[2 * kBlock];
    int64_t places[kBlock];
    for (int64_t begin = (n - 1) / kBlock * kBlock; begin >= 0; begin -= kBlock) {
        const int64_t count = std::min(kBlock, n - begin);
        word_block(sequence.seed, sequence.offset, 2 * begin, {words, static_cast<size_t>(2 * count)});
        for (int64_t i = 0; i < count; ++i) {
            places[i] = static_cast<int64_t>(number_below(static_cast<uint64_t>(begin + i) + 1, words + 2 * i));
            __builtin_prefetch(at + places[i], 1);
        }
        for (int64_t i = count; i-- > 0;) std::swap(at[begin + i], at[places[i]]);
    }
}

diopiError_t randperm(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, int64_t n,
                      diopiGeneratorHandle_t generator) {
    const View y = view(out);
    if (n < 0) return refuse(op, "n is " + std::to_string(n) + ", wanted 0 or more");
    if (is_complex(y.dtype)) return unsupported(op, "out", y.dtype, "a real dtype");
    diopiError_t error = check_shape(op, "out", y, Shape{n});
    if (error == diopiSuccess) error = check_target(op, "out", y, generator);
    if (error != diopiSuccess || n == 0) return error;
    View order = y;
    const bool is_own = y.dtype == Dtype::int64 && y.is_contiguous();
    if (!is_own) error = require(ctx, y.shape, Dtype::int64, order);
    if (error != diopiSuccess) return error;
    const Sequence sequence = Sequence::of(generator);
    auto* at = order.as<int64_t>();
    std::iota(at, at + n, int64_t{0});
    shuffle(at, n, sequence);
    if (!is_own) copy(order, y);
    return sequence.advance(generator, 2 * n);
}

// ---- normal numbers ----

/// A parameter in float64: one number, or one for each element of out.
struct Parameter {
    View numbers;
    [[nodiscard]] std::span<const double> all() const {
        return {numbers.as<const double>(), static_cast<size_t>(numbers.numel)};
    }
    /// The number of element i is data()[i * step()].
    [[nodiscard]] const double* data() const { return numbers.as<const double>(); }
    [[nodiscard]] int64_t step() const { return numbers.numel == 1 ? 0 : 1; }
};

diopiError_t read_parameter(diopiContextHandle_t ctx, std::string_view op, std::string_view argument, const View& out,
                            const View& given, Parameter& made) {
    if (const diopiError_t error = check_computable(op, argument, given); error != diopiSuccess) return error;
    if (!broadcasts_to(given.shape, out.shape)) {
        return wrong_shape(op, argument, given.shape, "one that broadcasts to out's " + to_string(out.shape));
    }
    const ShapeView shape = given.numel == 1 ? given.shape : out.shape;
    if (const diopiError_t error = require(ctx, shape, Dtype::float64, made.numbers); error != diopiSuccess) {
        return error;
    }
    if (out.numel > 0) copy(given, made.numbers);
    return diopiSuccess;
}
View parameter_view(diopiConstTensorHandle_t tensor) { return view(tensor); }
View parameter_view(double& number) { return element(&number, Dtype::float64); }

/// Element i = mean_i + std_i n_i, n_i made in Number's precision.
template <class Number>
void fill_normals(const View& to, const Parameter& mean, const Parameter& std, const Sequence& sequence) {
    fill_tiles<double>(to, Dtype::float64, [&](int64_t first, int64_t n, double* numbers) {
        alignas(64) Number drawn[kTile];
        normal_block(sequence.seed, sequence.offset, first, std::span<Number>(drawn, static_cast<size_t>(n)));
        const double *means = mean.data() + first * mean.step(), *deviations = std.data() + first * std.step();
        const int64_t mean_step = mean.step(), step = std.step();
        for (int64_t i = 0; i < n; ++i) {
            numbers[i] = means[i * mean_step] + deviations[i * step] * static_cast<double>(drawn[i]);
        }
    });
}

template <class Mean, class Std>
diopiError_t normal_of(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, Mean mean, Std std,
                       diopiGeneratorHandle_t generator) {
    const View y = view(out);
    diopiError_t error = check_computable(op, "out", y);
    if (error == diopiSuccess) error = check_target(op, "out", y, generator);
    Parameter means, deviations;
    if (error == diopiSuccess) error = read_parameter(ctx, op, "mean", y, parameter_view(mean), means);
    if (error == diopiSuccess) error = read_parameter(ctx, op, "std", y, parameter_view(std), deviations);
    if (error != diopiSuccess || y.numel == 0) return error;
    const bool is_right = std::ranges::all_of(deviations.all(), [](double x) { return x >= 0; });
    if (!is_right) return refuse(op, "std has a number below 0, or NaN");
    const bool is_wide = y.dtype == Dtype::float64;
    return fill_random(
        ctx, y, generator,
        [&](const View& to, const Sequence& sequence) {
            (is_wide ? fill_normals<double> : fill_normals<float>)(to, means, deviations, sequence);
        },
        is_wide ? 2 : 1);
}

}  // namespace

#include "kernels/entries/random_draw.inc"

}  // namespace diopi::cpu
