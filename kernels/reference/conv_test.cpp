#include "kernels/reference/conv.hpp"

#include <omp.h>

#include "kernels/reference/conv_transpose.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

struct Setting {
    Shape input, weight, stride, padding, dilation;
    int64_t groups;

    [[nodiscard]] size_t sides() const { return weight.size() - 2; }
    [[nodiscard]] Shape out() const;
};

/// One of each path: matrix product, pointwise, grouped, few channels, and sides that differ; with three sides and with
/// one, too.
const Setting kSettings[] = {
    {{2, 3, 5, 6}, {4, 3, 3, 2}, {1}, {0}, {1}, 1},
    {{2, 3, 5, 6}, {4, 3, 3, 2}, {2, 3}, {2, 1}, {1, 2}, 1},
    {{2, 3, 4, 5}, {4, 3, 1, 1}, {1}, {0}, {3}, 1},
    {{2, 3, 4, 5}, {4, 3, 1, 1}, {2}, {1}, {1}, 1},
    {{1, 6, 5, 5}, {4, 3, 3, 3}, {1}, {1}, {1}, 2},
    {{2, 3, 6, 7}, {6, 1, 3, 3}, {1}, {2}, {2}, 3},
    {{2, 3, 6, 7}, {3, 1, 2, 3}, {2, 1}, {1, 0}, {1, 2}, 3},
    {{2, 3, 6, 7}, {3, 1, 3, 2}, {1, 2}, {1}, {1}, 3},
    {{3, 5, 6}, {2, 3, 3, 3}, {2}, {3}, {1}, 1},
    {{2, 3, 9}, {5, 3, 4}, {2}, {3}, {2}, 1},
    {{3, 7}, {4, 3, 1}, {1}, {0}, {1}, 1},
    {{2, 4, 8}, {4, 1, 3}, {3}, {1}, {1}, 4},
    {{2, 3, 4, 5, 6}, {4, 3, 2, 3, 2}, {2, 1, 3}, {1, 2, 0}, {1, 1, 2}, 1},
    {{3, 2, 3, 4}, {4, 3, 1, 1, 1}, {1}, {0}, {1}, 1},
    {{1, 4, 5, 3, 4}, {4, 2, 3, 2, 2}, {1}, {1}, {2, 1, 1}, 2},
    {{2, 2, 4, 5, 4}, {2, 1, 2, 3, 3}, {2, 1, 2}, {1, 0, 2}, {2, 1, 1}, 2},
};

int64_t of_side(const Shape& list, size_t side) { return list[list.size() == 1 ? 0 : side]; }

Shape Setting::out() const {
    Shape shape = input;
    const size_t first = input.size() - sides();
    shape[first - 1] = weight[0];
    for (size_t d = 0; d < sides(); ++d) {
        const int64_t reach = of_side(dilation, d) * (weight[d + 2] - 1) + 1;
        shape[first + d] = (input[first + d] + 2 * of_side(padding, d) - reach) / of_side(stride, d) + 1;
    }
    return shape;
}

TensorPtr convolve(const Setting& s, const TensorPtr& x, const TensorPtr& w, const TensorPtr& b) {
    const TensorPtr y = make(s.out());
    REQUIRE(reference::convolution(context(), "op", s.sides(), y.get(), x.get(), w.get(), b.get(), sizes(s.stride),
                                   sizes(s.padding), sizes(s.dilation), s.groups) == diopiSuccess);
    return y;
}

/// The formula of the header, term by term: for each output element all elements of the kernel, both counted row by
/// row and taken apart side by side.
Values convolve_by_formula(const Setting& s, const Values& x, const Values& w, const Values& b) {
    const Shape out = s.out();
    const size_t first = out.size() - s.sides();
    const int64_t taps = numel(ShapeView(s.weight).subspan(2)), places = numel(ShapeView(out).subspan(first));
    const int64_t cin = s.input[first - 1], cout = s.weight[0], group_in = s.weight[1], group_out = cout / s.groups;
    Values y;
    for (int64_t at = 0; at < numel(out); ++at) {
        const int64_t co = at / places % cout, n = at / places / cout;
        double sum = b[static_cast<size_t>(co)];
        for (int64_t term = 0; term < group_in * taps; ++term) {
            int64_t element = 0, step = 1, place = at % places, tap = term % taps;
            bool is_inside = true;
            for (size_t d = s.sides(); d-- > 0;) {
                const int64_t from = place % out[first + d] * of_side(s.stride, d) - of_side(s.padding, d) +
                                     tap % s.weight[d + 2] * of_side(s.dilation, d);
                is_inside = is_inside && from >= 0 && from < s.input[first + d];
                element += from * step;
                step *= s.input[first + d], place /= out[first + d], tap /= s.weight[d + 2];
            }
            const int64_t channel = n * cin + co / group_out * group_in + term / taps;
            if (!is_inside) continue;
            sum +=
                x[static_cast<size_t>(channel * step + element)] * w[static_cast<size_t>(co * group_in * taps + term)];
        }
        y.push_back(sum);
    }
    return y;
}

struct Spread {
    Shape input, weight, stride, padding, output_padding, dilation;
    int64_t groups;

    [[nodiscard]] size_t sides() const { return weight.size() - 2; }
    [[nodiscard]] int64_t channels() const { return weight[1] * groups; }
    [[nodiscard]] Shape out() const;
};

/// One of each path: matrix product, pointwise, grouped, few channels, single images, places that are left out.
const Spread kSpreads[] = {
    {{2, 3, 4, 5}, {3, 4, 3, 2}, {1}, {0}, {0}, {1}, 1},
    {{2, 3, 4, 5}, {3, 4, 3, 2}, {2, 3}, {1, 0}, {1, 2}, {1}, 1},
    {{2, 3, 4, 5}, {3, 4, 1, 1}, {1}, {0}, {0}, {2}, 1},
    {{2, 3, 4, 5}, {3, 4, 1, 1}, {1}, {0}, {2}, {3}, 1},
    {{1, 4, 4, 4}, {4, 3, 3, 3}, {2}, {1}, {1}, {2}, 2},
    {{2, 3, 4, 5}, {3, 1, 3, 2}, {2, 1}, {1, 0}, {0}, {1, 2}, 3},
    {{3, 4, 5}, {3, 2, 2, 3}, {1}, {1}, {1}, {2}, 1},
    {{2, 3, 3, 4, 2}, {3, 4, 2, 3, 2}, {2, 1, 3}, {1, 0, 1}, {1, 0, 2}, {1, 2, 1}, 1},
    {{2, 3, 4, 2}, {2, 1, 2, 1, 3}, {2}, {1, 0, 0}, {0}, {1}, 2},
};

Shape Spread::out() const {
    Shape shape = input;
    const size_t first = input.size() - sides();
    shape[first - 1] = channels();
    for (size_t d = 0; d < sides(); ++d) {
        shape[first + d] = (input[first + d] - 1) * of_side(stride, d) - 2 * of_side(padding, d) +
                           of_side(dilation, d) * (weight[d + 2] - 1) + of_side(output_padding, d) + 1;
    }
    return shape;
}

diopiError_t spread_into(const Spread& s, const TensorPtr& y, const TensorPtr& x, const TensorPtr& w,
                         const TensorPtr& b) {
    return reference::conv_transpose(context(), "op", s.sides(), y.get(), x.get(), w.get(), b.get(), sizes(s.stride),
                                     sizes(s.padding), sizes(s.output_padding), s.groups, sizes(s.dilation));
}

TensorPtr spread(const Spread& s, const TensorPtr& x, const TensorPtr& w, const TensorPtr& b) {
    const TensorPtr y = make(s.out());
    REQUIRE(spread_into(s, y, x, w, b) == diopiSuccess);
    return y;
}

/// The formula of the header, term by term: each element of input and of the kernel names one place of out, or none.
Values spread_by_formula(const Spread& s, const Values& x, const Values& w, const Values& b) {
    const Shape out = s.out();
    const size_t first = out.size() - s.sides();
    const int64_t taps = numel(ShapeView(s.weight).subspan(2)), area = numel(ShapeView(out).subspan(first));
    const int64_t places = numel(ShapeView(s.input).subspan(first));
    const int64_t cin = s.weight[0], group_out = s.weight[1], cout = s.channels();
    Values y;
    for (int64_t i = 0; i < numel(out); ++i) y.push_back(b[static_cast<size_t>(i / area % cout)]);
    for (int64_t at = 0; at < numel(s.input); ++at) {
        const int64_t ci = at / places % cin, n = at / places / cin;
        for (int64_t term = 0; term < group_out * taps; ++term) {
            int64_t element = 0, step = 1, place = at % places, tap = term % taps;
            bool is_inside = true;
            for (size_t d = s.sides(); d-- > 0;) {
                const int64_t to = place % s.input[first + d] * of_side(s.stride, d) - of_side(s.padding, d) +
                                   tap % s.weight[d + 2] * of_side(s.dilation, d);
                is_inside = is_inside && to >= 0 && to < out[first + d];
                element += to * step;
                step *= out[first + d], place /= s.input[first + d], tap /= s.weight[d + 2];
            }
            const int64_t co = ci / (cin / s.groups) * group_out + term / taps;
            if (!is_inside) continue;
            y[static_cast<size_t>((n * cout + co) * area + element)] +=
                x[static_cast<size_t>(at)] * w[static_cast<size_t>(ci * group_out * taps + term)];
        }
    }
    return y;
}

}  // namespace

TEST_CASE("convolution of one, two and three sides agrees with its formula on every path", "[reference][conv2d]") {
    for (const Setting& s : kSettings) {
        INFO(to_string(s.input) << " by " << to_string(s.weight));
        const TensorPtr x = random(s.input, 1);
        const TensorPtr w = random(s.weight, 2);
        const TensorPtr b = random({s.weight[0]}, 3);
        check_close(convolve(s, x, w, b), convolve_by_formula(s, values_of(x), values_of(w), values_of(b)));
    }
}

TEST_CASE("convolution splits an image whose columns are large", "[reference][conv2d]") {
    // 5 * 49 rows of columns times 160 * 120 outputs are 38 MB.
    const Setting s{{1, 5, 160, 120}, {1, 5, 7, 7}, {1}, {3}, {1}, 1};
    const TensorPtr x = random(s.input, 1);
    const TensorPtr w = random(s.weight, 2);
    const TensorPtr y = convolve(s, x, w, tensor({1}, {0}));
    const Values wanted = convolve_by_formula(s, values_of(x), values_of(w), {0});
    const Values came = values_of(y);
    double worst = 0.0;
    for (size_t i = 0; i < came.size(); ++i) worst = std::max(worst, std::fabs(came[i] - wanted[i]));
    CHECK(worst < 1e-12);
}

TEST_CASE("convolution of no images, of NaN, of strided half tensors", "[reference][conv2d]") {
    CHECK(convolve({{0, 6, 5, 10}, {2, 6, 2, 3}, {1}, {0}, {1}, 1}, make({0, 6, 5, 10}), make({2, 6, 2, 3}), make({2}))
              ->numel() == 0);
    const TensorPtr x = tensor({1, 1, 1, 3}, {1, kNaN, 3}, Dtype::float16, {1, 1, 1, 2});
    const TensorPtr w = tensor({1, 1, 1, 1}, {2}, Dtype::bfloat16);
    const TensorPtr y = make({1, 1, 1, 3}, Dtype::float32, {1, 1, 1, 2});
    REQUIRE(reference::convolution(context(), "op", 2, y.get(), x.get(), w.get(), nullptr, sizes({1}), sizes({0}),
                                   sizes({1}), 1) == diopiSuccess);
    check_close(y, {2, kNaN, 6});
}

TEST_CASE("convolution refuses contradictions, with messages for its number of sides", "[reference][conv2d]") {
    const auto call = [](const Shape& out, const Shape& x, const Shape& w, const Shape& stride, int64_t groups) {
        return reference::convolution(context(), "op", w.size() - 2, make(out).get(), make(x).get(), make(w).get(),
                                      nullptr, sizes(stride), sizes({0}), sizes({1}), groups);
    };
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 1) == diopiSuccess);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 2, 2, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (2, 2, 2, 2), wanted (Cout, 3, kH, kW) with Cout a multiple of 1");
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 2) == diopiErrorOccurred);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {0}, 1) == diopiErrorOccurred);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 4, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "weight has kH 4, wanted 1 or more and, with dilation 1, at most the padded input of 3");
    CHECK(call({1, 2, 3, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(call({1, 2, 2, 2}, {3, 3}, {2, 3, 2, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (3, 3), wanted (N, Cin, H, W) or (Cin, H, W)");
    CHECK(call({1, 2, 2}, {1, 3, 3}, {2, 2, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (2, 2, 2), wanted (Cout, 3, kL) with Cout a multiple of 1");
    CHECK(call({1, 2, 1, 1, 1}, {1, 3, 1, 1, 1}, {2, 3, 1, 1, 1}, {1, 2}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "stride is (1, 2), wanted one number or three");
}

TEST_CASE("convolution backward is the derivative of convolution on every path", "[reference][conv2d][gradient]") {
    for (const Setting& s : kSettings) {
        INFO(to_string(s.input) << " by " << to_string(s.weight));
        const TensorPtr x = random(s.input, 1);
        const TensorPtr w = random(s.weight, 2);
        const TensorPtr b = random({s.weight[0]}, 3);
        const Shape out = s.out();
        const Values weights = random_values(numel(out), 4);
        const TensorPtr g = tensor(out, weights);
        const TensorPtr gx = make(s.input);
        const TensorPtr gw = make(s.weight);
        const TensorPtr gb = make({s.weight[0]});
        const auto backward = [&](diopiTensorHandle_t a, diopiTensorHandle_t c, diopiTensorHandle_t d) {
            return reference::convolution_backward(context(), "op", s.sides(), a, c, d, g.get(), x.get(), w.get(),
                                                   nullptr, sizes(s.stride), sizes(s.padding), sizes(s.dilation),
                                                   s.groups);
        };
        REQUIRE(backward(gx.get(), gw.get(), gb.get()) == diopiSuccess);
        const auto run = [&] { return values_of(convolve(s, x, w, b)); };
        check_gradient(x, gx, weights, run);
        check_gradient(w, gw, weights, run);
        check_gradient(b, gb, weights, run);
        CHECK(backward(nullptr, nullptr, nullptr) == diopiSuccess);
    }
    const TensorPtr gw = make({2, 6, 2, 3});
    REQUIRE(reference::convolution_backward(context(), "op", 2, nullptr, gw.get(), nullptr, make({0, 2, 4, 8}).get(),
                                            make({0, 6, 5, 10}).get(), make({2, 6, 2, 3}).get(), nullptr, sizes({1}),
                                            sizes({0}), sizes({1}), 1) == diopiSuccess);
    check_close(gw, Values(72, 0.0));
}

TEST_CASE("a convolution and its gradients have the same bits for any number of the reference's threads",
          "[reference][conv2d]") {
    // So many terms that threads share them: tiles of rows and of channels, groups, and a pointwise one.
    const Setting settings[] = {{{2, 32, 64, 64}, {32, 32, 3, 3}, {1}, {1}, {1}, 1},
                                {{1, 16, 260, 260}, {16, 8, 3, 3}, {1}, {1}, {1}, 2},
                                {{1, 64, 180, 180}, {64, 64, 1, 1}, {1}, {0}, {1}, 1}};
    for (const Setting& s : settings) {
        INFO(to_string(s.input) << " by " << to_string(s.weight));
        const TensorPtr x = random(s.input, 1), w = random(s.weight, 2), g = random(s.out(), 3);
        const auto results = [&](int threads) {
            const int before = omp_get_max_threads();
            omp_set_num_threads(threads);
            const TensorPtr y = convolve(s, x, w, nullptr), gx = make(s.input), gw = make(s.weight);
            const bool is_ok =
                reference::convolution_backward(context(), "op", s.sides(), gx.get(), gw.get(), nullptr, g.get(),
                                                x.get(), w.get(), nullptr, sizes(s.stride), sizes(s.padding),
                                                sizes(s.dilation), s.groups) == diopiSuccess;
            omp_set_num_threads(before);
            REQUIRE(is_ok);
            return std::vector<Values>{values_of(y), values_of(gx), values_of(gw)};
        };
        CHECK((results(1) == results(3)));
    }
}

TEST_CASE("transposed convolution of two and three sides agrees with its formula on every path",
          "[reference][conv_transpose]") {
    for (const Spread& s : kSpreads) {
        INFO(to_string(s.input) << " by " << to_string(s.weight));
        const TensorPtr x = random(s.input, 1), w = random(s.weight, 2), b = random({s.channels()}, 3);
        check_close(spread(s, x, w, b), spread_by_formula(s, values_of(x), values_of(w), values_of(b)));
    }
}

TEST_CASE("transposed convolution backward is the derivative of it on every path",
          "[reference][conv_transpose][gradient]") {
    for (const Spread& s : kSpreads) {
        INFO(to_string(s.input) << " by " << to_string(s.weight));
        const TensorPtr x = random(s.input, 1), w = random(s.weight, 2), b = random({s.channels()}, 3);
        const Values weights = random_values(numel(s.out()), 4);
        const TensorPtr g = tensor(s.out(), weights);
        const TensorPtr gx = make(s.input), gw = make(s.weight), gb = make({s.channels()});
        const auto backward = [&](diopiTensorHandle_t a, diopiTensorHandle_t c, diopiTensorHandle_t d) {
            return reference::conv_transpose_backward(context(), "op", s.sides(), a, c, d, g.get(), x.get(), w.get(),
                                                      nullptr, sizes(s.stride), sizes(s.padding), sizes(s.dilation),
                                                      sizes(s.output_padding), s.groups);
        };
        REQUIRE(backward(gx.get(), gw.get(), gb.get()) == diopiSuccess);
        const auto run = [&] { return values_of(spread(s, x, w, b)); };
        check_gradient(x, gx, weights, run);
        check_gradient(w, gw, weights, run);
        check_gradient(b, gb, weights, run);
        CHECK(backward(nullptr, nullptr, nullptr) == diopiSuccess);
    }
}

TEST_CASE("transposed convolution refuses contradictions", "[reference][conv_transpose]") {
    const auto run = [](Spread s, const Shape& out) {
        return spread_into(s, make(out), make(s.input), make(s.weight), nullptr);
    };
    const Spread sound{{1, 3, 2, 2}, {3, 2, 2, 2}, {2}, {0}, {1}, {1}, 1};
    CHECK(run(sound, sound.out()) == diopiSuccess);
    CHECK(run(sound, {1, 2, 4, 5}) == diopiErrorOccurred);
    Spread wide = sound;
    wide.output_padding = {2};
    CHECK(run(wide, wide.out()) == diopiErrorOccurred);
    CHECK(last_error() ==
          "with kH 2 and output_padding 2 an input side of 2 gives 6 elements, wanted 1 or more, and an "
          "output_padding below stride or dilation");
    Spread padded = sound;
    padded.padding = {3};
    CHECK(run(padded, {1, 2, 1, 1}) == diopiErrorOccurred);
    Spread other = sound;
    other.weight = {2, 3, 2, 2};
    CHECK(run(other, other.out()) == diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (2, 3, 2, 2), wanted (3, Cout / groups, kH, kW)");
    other = sound;
    other.groups = 2;
    CHECK(run(other, other.out()) == diopiErrorOccurred);
    CHECK(last_error() == "groups is 2, wanted a divisor of the 3 input channels");
}
