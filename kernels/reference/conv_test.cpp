#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

struct Setting {
    Shape input, weight, stride, padding, dilation;
    int64_t groups;
};

/// One of each path: matrix product, pointwise, grouped, few channels, and sides that differ.
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
};

int64_t side(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

Shape output_shape(const Setting& s) {
    Shape out = s.input;
    const size_t r = out.size();
    out[r - 3] = s.weight[0];
    out[r - 2] = side(s.input[r - 2], s.weight[2], s.stride.front(), s.padding.front(), s.dilation.front());
    out[r - 1] = side(s.input[r - 1], s.weight[3], s.stride.back(), s.padding.back(), s.dilation.back());
    return out;
}

TensorPtr convolve(const Setting& s, const TensorPtr& x, const TensorPtr& w, const TensorPtr& b) {
    const TensorPtr y = make(output_shape(s));
    REQUIRE(reference::diopiConvolution2d(context(), y.get(), x.get(), w.get(), b.get(), sizes(s.stride),
                                          sizes(s.padding), sizes(s.dilation), s.groups) == diopiSuccess);
    return y;
}

/// The formula of the header, term by term.
Values convolve_by_formula(const Setting& s, const Values& x, const Values& w, const Values& b) {
    const Shape out = output_shape(s);
    const size_t r = out.size();
    const int64_t images = r == 4 ? out[0] : 1;
    const int64_t cin = s.input[r - 3];
    const int64_t group_in = s.weight[1];
    const int64_t group_out = s.weight[0] / s.groups;
    Values y;
    for (int64_t n = 0; n < images; ++n) {
        for (int64_t co = 0; co < s.weight[0]; ++co) {
            for (int64_t oy = 0; oy < out[r - 2]; ++oy) {
                for (int64_t ox = 0; ox < out[r - 1]; ++ox) {
                    double sum = b[static_cast<size_t>(co)];
                    for (int64_t ci = 0; ci < group_in; ++ci) {
                        for (int64_t i = 0; i < s.weight[2]; ++i) {
                            for (int64_t j = 0; j < s.weight[3]; ++j) {
                                const int64_t iy = oy * s.stride.front() - s.padding.front() + i * s.dilation.front();
                                const int64_t ix = ox * s.stride.back() - s.padding.back() + j * s.dilation.back();
                                if (iy < 0 || iy >= s.input[r - 2] || ix < 0 || ix >= s.input[r - 1]) continue;
                                const int64_t c = n * cin + co / group_out * group_in + ci;
                                sum +=
                                    x[static_cast<size_t>((c * s.input[r - 2] + iy) * s.input[r - 1] + ix)] *
                                    w[static_cast<size_t>(((co * group_in + ci) * s.weight[2] + i) * s.weight[3] + j)];
                            }
                        }
                    }
                    y.push_back(sum);
                }
            }
        }
    }
    return y;
}

}  // namespace

TEST_CASE("conv2d of a 3 by 3 image by hand", "[reference][conv2d]") {
    const TensorPtr x = tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const TensorPtr w = tensor({1, 1, 2, 2}, {1, 0, 0, -1});
    const TensorPtr b = tensor({1}, {10});
    check_close(convolve({{1, 1, 3, 3}, {1, 1, 2, 2}, {1}, {0}, {1}, 1}, x, w, b), {6, 6, 6, 6});
    check_close(convolve({{1, 1, 3, 3}, {1, 1, 2, 2}, {2}, {1}, {1}, 1}, x, w, b), {9, 7, 3, 6});
}

TEST_CASE("conv2d agrees with its formula on every path", "[reference][conv2d]") {
    for (const Setting& s : kSettings) {
        const TensorPtr x = random(s.input, 1);
        const TensorPtr w = random(s.weight, 2);
        const TensorPtr b = random({s.weight[0]}, 3);
        check_close(convolve(s, x, w, b), convolve_by_formula(s, values_of(x), values_of(w), values_of(b)));
    }
}

TEST_CASE("conv2d splits an image whose columns are large", "[reference][conv2d]") {
    // 5 * 49 rows of columns times 300 * 200 outputs are 118 MB.
    const Setting s{{1, 5, 300, 200}, {1, 5, 7, 7}, {1}, {3}, {1}, 1};
    const TensorPtr x = random(s.input, 1);
    const TensorPtr w = random(s.weight, 2);
    const TensorPtr y = convolve(s, x, w, tensor({1}, {0}));
    const Values wanted = convolve_by_formula(s, values_of(x), values_of(w), {0});
    const Values came = values_of(y);
    double worst = 0.0;
    for (size_t i = 0; i < came.size(); ++i) worst = std::max(worst, std::fabs(came[i] - wanted[i]));
    CHECK(worst < 1e-12);
}

TEST_CASE("conv2d of no images, of NaN, of strided half tensors", "[reference][conv2d]") {
    CHECK(convolve({{0, 6, 5, 10}, {2, 6, 2, 3}, {1}, {0}, {1}, 1}, make({0, 6, 5, 10}), make({2, 6, 2, 3}), make({2}))
              ->numel() == 0);
    const TensorPtr x = tensor({1, 1, 1, 3}, {1, kNaN, 3}, Dtype::float16, {1, 1, 1, 2});
    const TensorPtr w = tensor({1, 1, 1, 1}, {2}, Dtype::bfloat16);
    const TensorPtr y = make({1, 1, 1, 3}, Dtype::float32, {1, 1, 1, 2});
    REQUIRE(reference::diopiConvolution2d(context(), y.get(), x.get(), w.get(), nullptr, sizes({1}), sizes({0}),
                                          sizes({1}), 1) == diopiSuccess);
    check_close(y, {2, kNaN, 6});
}

TEST_CASE("conv2d refuses what contradicts", "[reference][conv2d]") {
    const auto call = [](const Shape& out, const Shape& x, const Shape& w, const Shape& stride, int64_t groups) {
        return reference::diopiConvolution2d(context(), make(out).get(), make(x).get(), make(w).get(), nullptr,
                                             sizes(stride), sizes({0}), sizes({1}), groups);
    };
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 1) == diopiSuccess);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 2, 2, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (2, 2, 2, 2), wanted (Cout, 3, kH, kW) with Cout a multiple of 1");
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 2) == diopiErrorOccurred);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {0}, 1) == diopiErrorOccurred);
    CHECK(call({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 4, 2}, {1}, 1) == diopiErrorOccurred);
    CHECK(call({1, 2, 3, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, {1}, 1) == diopiErrorOccurred);
}

TEST_CASE("conv2d backward is the derivative of conv2d on every path", "[reference][conv2d][gradient]") {
    for (const Setting& s : kSettings) {
        const TensorPtr x = random(s.input, 1);
        const TensorPtr w = random(s.weight, 2);
        const TensorPtr b = random({s.weight[0]}, 3);
        const Shape out = output_shape(s);
        const Values weights = random_values(numel(out), 4);
        const TensorPtr g = tensor(out, weights);
        const TensorPtr gx = make(s.input);
        const TensorPtr gw = make(s.weight);
        const TensorPtr gb = make({s.weight[0]});
        const auto backward = [&](diopiTensorHandle_t a, diopiTensorHandle_t c, diopiTensorHandle_t d) {
            return reference::diopiConvolution2dBackward(context(), a, c, d, g.get(), x.get(), w.get(), nullptr,
                                                         sizes(s.stride), sizes(s.padding), sizes(s.dilation),
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
    REQUIRE(reference::diopiConvolution2dBackward(context(), nullptr, gw.get(), nullptr, make({0, 2, 4, 8}).get(),
                                                  make({0, 6, 5, 10}).get(), make({2, 6, 2, 3}).get(), nullptr,
                                                  sizes({1}), sizes({0}), sizes({1}), 1) == diopiSuccess);
    check_close(gw, Values(72, 0.0));
}
