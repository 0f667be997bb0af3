#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct ConvSetup {
    Shape input, weight;
    IntList stride{1}, padding{0}, dilation{1};
    int64_t groups = 1;

    int64_t at(const IntList& list, size_t d) const { return list[list.size() > 1 ? d : 0]; }
    int64_t side(size_t d) const {
        const int64_t room = input[d + 2] + 2 * at(padding, d) - at(dilation, d) * (weight[d + 2] - 1) - 1;
        return room / at(stride, d) + 1;
    }
    Shape out() const { return {input[0], weight[0], side(0), side(1)}; }

    /// visit(output index, input index, weight index) for every product of the convolution.
    template <class Visit>
    void for_each_term(Visit&& visit) const {
        const Shape o = out();
        const int64_t in_group = weight[1], out_group = weight[0] / groups;
        for (int64_t n = 0; n < o[0]; ++n)
            for (int64_t co = 0; co < o[1]; ++co)
                for (int64_t y = 0; y < o[2]; ++y)
                    for (int64_t x = 0; x < o[3]; ++x)
                        for (int64_t ci = 0; ci < in_group; ++ci)
                            for (int64_t i = 0; i < weight[2]; ++i)
                                for (int64_t j = 0; j < weight[3]; ++j) {
                                    const int64_t r = y * at(stride, 0) - at(padding, 0) + i * at(dilation, 0);
                                    const int64_t c = x * at(stride, 1) - at(padding, 1) + j * at(dilation, 1);
                                    if (r < 0 || c < 0 || r >= input[2] || c >= input[3]) continue;
                                    const int64_t channel = co / out_group * in_group + ci;
                                    visit(static_cast<size_t>(((n * o[1] + co) * o[2] + y) * o[3] + x),
                                          static_cast<size_t>(((n * input[1] + channel) * input[2] + r) * input[3] + c),
                                          static_cast<size_t>(((co * in_group + ci) * weight[2] + i) * weight[3] + j));
                                }
    }
};

const ConvSetup kConvolutions[] = {
    {{2, 7, 12, 13}, {2, 7, 6, 5}},
    {{3, 16, 19, 8}, {18, 8, 6, 2}, {2}, {2, 1}, {2, 5}, 2},
    {{2, 27, 12, 8}, {6, 9, 3, 5}, {2, 3}, {2, 3}, {2, 1}, 3},
    {{2, 12, 9, 9}, {12, 1, 3, 3}, {1}, {4}, {4}, 12},
    {{2, 17, 6, 5}, {33, 17, 1, 1}},
    {{2, 17, 6, 5}, {9, 17, 1, 1}, {2}},
    {{2, 40, 1, 1}, {5, 40, 1, 1}},
    {{1, 3, 20, 18}, {16, 3, 7, 7}, {2}, {3}},
};

struct Convolved {
    Values out, grad_input, grad_weight, grad_bias;
};

Convolved expect(const ConvSetup& s, const Values& x, const Values& w, const Values& b, const Values& g) {
    const Shape o = s.out();
    const auto channel = [&](size_t i) { return i / static_cast<size_t>(o[2] * o[3]) % static_cast<size_t>(o[1]); };
    Convolved e{Values(g.size()), Values(x.size()), Values(w.size()), Values(b.size())};
    for (size_t i = 0; i < g.size(); ++i) {
        e.out[i] = b[channel(i)];
        e.grad_bias[channel(i)] += g[i];
    }
    s.for_each_term([&](size_t at_out, size_t at_in, size_t at_weight) {
        e.out[at_out] += x[at_in] * w[at_weight];
        e.grad_input[at_in] += g[at_out] * w[at_weight];
        e.grad_weight[at_weight] += g[at_out] * x[at_in];
    });
    return e;
}

}  // namespace

TEST_CASE("convolution and its gradients are sums of products, for every dtype and layout") {
    const ConvSetup& s = kConvolutions[GENERATE(range(size_t{0}, std::size(kConvolutions)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int layout = GENERATE(0, 1, 2);
    const auto strides = [&](const Shape& shape) {
        return layout == 0 ? Shape{} : layout == 1 ? channels_last(shape) : scattered(shape);
    };
    const Shape out = s.out();
    const auto x = random(s.input, dtype, 1, strides(s.input)), w = random(s.weight, dtype, 2, strides(s.weight));
    const auto b = random({s.weight[0]}, dtype, 3), g = random(out, dtype, 4, strides(out));
    const auto y = unwritten(out, dtype, strides(out));
    const Convolved e = expect(s, values(*x), values(*w), values(*b), values(*g));
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), b.get(), list(s.stride), list(s.padding),
                                    list(s.dilation), s.groups) == diopiSuccess);
    check_close(*y, e.out, 64, 16);
    const auto gx = unwritten(s.input, dtype, strides(s.input)), gw = unwritten(s.weight, dtype, strides(s.weight));
    const auto gb = unwritten({s.weight[0]}, dtype);
    REQUIRE(cpu::diopiConvolution2dBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(), nullptr,
                                            list(s.stride), list(s.padding), list(s.dilation),
                                            s.groups) == diopiSuccess);
    check_close(*gx, e.grad_input, 64, 16);
    check_close(*gw, e.grad_weight, 64, 64);
    check_close(*gb, e.grad_bias, 64, 64);
}

TEST_CASE("a gradient that is null is not wanted") {
    const ConvSetup s{{2, 4, 5, 5}, {4, 4, 3, 3}};
    const auto x = random(s.input, Dtype::float32, 1), w = random(s.weight, Dtype::float32, 2);
    const auto g = random(s.out(), Dtype::float32, 3), gw = unwritten(s.weight, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiConvolution2dBackward(&ctx, nullptr, gw.get(), nullptr, g.get(), x.get(), w.get(), nullptr,
                                            list(s.stride), list(s.padding), list(s.dilation), 1) == diopiSuccess);
    check_close(*gw, expect(s, values(*x), values(*w), Values(4), values(*g)).grad_weight, 64, 16);
}

TEST_CASE("an image without the batch dimension is convolved") {
    const ConvSetup s{{1, 4, 5, 6}, {3, 4, 2, 2}};
    const auto x = random({4, 5, 6}, Dtype::float32, 1), w = random(s.weight, Dtype::float32, 2);
    const auto y = unwritten({3, 4, 5}, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), nullptr, list(s.stride), list(s.padding),
                                    list(s.dilation), 1) == diopiSuccess);
    check_close(*y, expect(s, values(*x), values(*w), Values(3), Values(60)).out, 64, 16);
}

TEST_CASE("an empty batch has an empty result and gradients of zeros") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const ConvSetup s{{0, 6, 5, 10}, {2, 6, 2, 3}};
    const auto x = random(s.input, dtype, 1), w = random(s.weight, dtype, 2), g = random(s.out(), dtype, 3);
    const auto y = unwritten(s.out(), dtype), gx = unwritten(s.input, dtype);
    const auto gw = unwritten(s.weight, dtype), gb = unwritten({2}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), nullptr, list(s.stride), list(s.padding),
                                    list(s.dilation), 1) == diopiSuccess);
    REQUIRE(cpu::diopiConvolution2dBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(), nullptr,
                                            list(s.stride), list(s.padding), list(s.dilation), 1) == diopiSuccess);
    CHECK(values(*gw) == Values(72, 0.0));
    CHECK(values(*gb) == Values(2, 0.0));
}

TEST_CASE("a convolution of other shapes or dtypes is refused with a message") {
    const auto x = random({1, 4, 5, 5}, Dtype::float32, 1), w = random({2, 3, 2, 2}, Dtype::float32, 2);
    const auto y = unwritten({1, 2, 4, 4}, Dtype::float32);
    const IntList one{1}, none{0};
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), nullptr, list(one), list(none), list(one), 1) ==
          diopiErrorOccurred);
    CHECK(last_error().find("weight has shape (2, 3, 2, 2)") != std::string::npos);
    const auto whole = unwritten({1, 4, 5, 5}, Dtype::int64);
    CHECK(cpu::diopiConvolution2d(&ctx, y.get(), whole.get(), w.get(), nullptr, list(one), list(none), list(one), 1) ==
          diopiDtypeNotSupported);
}
