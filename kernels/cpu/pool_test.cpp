#include <limits>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct PoolSetup {
    Shape input;
    IntList kernel, stride, padding, dilation;
    bool ceil_mode;
    int64_t out_height, out_width;

    int64_t at(const IntList& l, size_t d) const { return l[l.size() > 1 ? d : 0]; }
    int64_t step(size_t d) const { return stride.empty() ? at(kernel, d) : at(stride, d); }
    Shape out() const {
        Shape s = input;
        s[s.size() - 2] = out_height, s[s.size() - 1] = out_width;
        return s;
    }
};

/// The output sides are those that PyTorch gives.
const PoolSetup kPools[] = {{{3, 12, 20}, {6}, {}, {0}, {1}, false, 2, 3},
                            {{5, 4, 17, 22}, {6, 12}, {3, 100}, {2, 6}, {4, 3}, true, 1, 1},
                            {{6, 17, 23}, {6, 8}, {3, 2}, {2, 3}, {2, 3}, false, 4, 4},
                            {{1, 4, 17, 23}, {6, 8}, {3, 2}, {2, 3}, {2, 3}, true, 5, 5},
                            {{2, 9, 35, 18}, {3}, {2}, {1}, {1}, false, 18, 9},
                            {{2, 2, 12, 10}, {2, 1}, {2, 1}, {0}, {1}, true, 6, 10},
                            {{2, 5, 4, 26}, {2, 2}, {2, 1}, {0, 1}, {1}, false, 2, 27},
                            {{3, 4, 10}, {3}, {2}, {0}, {2}, true, 1, 4}};

struct Maxima {
    Values values, indices;
};

Maxima maxima(const PoolSetup& s, const Values& x) {
    const int64_t h = s.input[s.input.size() - 2], w = s.input.back();
    Maxima m;
    for (int64_t plane = 0; plane < static_cast<int64_t>(x.size()) / (h * w); ++plane)
        for (int64_t y = 0; y < s.out_height; ++y)
            for (int64_t z = 0; z < s.out_width; ++z) {
                double best = -kInf;
                int64_t place = -1;
                for (int64_t i = 0; i < s.at(s.kernel, 0); ++i)
                    for (int64_t j = 0; j < s.at(s.kernel, 1); ++j) {
                        const int64_t r = y * s.step(0) - s.at(s.padding, 0) + i * s.at(s.dilation, 0);
                        const int64_t c = z * s.step(1) - s.at(s.padding, 1) + j * s.at(s.dilation, 1);
                        if (r < 0 || c < 0 || r >= h || c >= w) continue;
                        const double value = x[static_cast<size_t>((plane * h + r) * w + c)];
                        if (place >= 0 && !(value > best) && !std::isnan(value)) continue;
                        best = value, place = r * w + c;
                    }
                m.values.push_back(best), m.indices.push_back(static_cast<double>(place));
            }
    return m;
}

Shape strides_of(const Shape& shape, int layout) {
    if (layout == 1 && shape.size() == 4) return channels_last(shape);
    return layout == 2 ? scattered(shape) : Shape{};
}

}  // namespace

TEST_CASE("max pooling finds the largest element of every window and its place") {
    const PoolSetup& s = kPools[GENERATE(range(size_t{0}, std::size(kPools)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int layout = GENERATE(0, 1, 2);
    const Dtype index = GENERATE(Dtype::int64, Dtype::int32);
    const auto x = random(s.input, dtype, 7, strides_of(s.input, layout));
    const Shape out = s.out(), out_strides = strides_of(out, layout);
    const auto y = unwritten(out, dtype, out_strides), y2 = unwritten(out, dtype);
    const auto places = unwritten(out, index, out_strides);
    const Maxima m = maxima(s, values(*x));
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMaxPool2d(&ctx, y2.get(), x.get(), list(s.kernel), list(s.stride), list(s.padding),
                                list(s.dilation), s.ceil_mode) == diopiSuccess);
    REQUIRE(cpu::diopiMaxPool2dWithIndices(&ctx, y.get(), places.get(), x.get(), list(s.kernel), list(s.stride),
                                           list(s.padding), list(s.dilation), s.ceil_mode) == diopiSuccess);
    CHECK(values(*y) == m.values);
    CHECK(values(*y2) == m.values);
    CHECK(values(*places) == m.indices);
    const auto g = random(out, dtype, 8, out_strides), gx = unwritten(s.input, dtype, strides_of(s.input, layout));
    REQUIRE(cpu::diopiMaxPool2dBackward(&ctx, gx.get(), g.get(), x.get(), list(s.kernel), list(s.stride),
                                        list(s.padding), list(s.dilation), s.ceil_mode, places.get()) == diopiSuccess);
    Values grad(static_cast<size_t>(numel(s.input)));
    const Values gs = values(*g);
    const auto area = static_cast<size_t>(s.input.back() * s.input[s.input.size() - 2]);
    const auto out_area = static_cast<size_t>(s.out_height * s.out_width);
    for (size_t i = 0; i < gs.size(); ++i) grad[i / out_area * area + static_cast<size_t>(m.indices[i])] += gs[i];
    check_close(*gx, grad);
}

TEST_CASE("a NaN is the largest element wherever it stands, and -inf has a place") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const PoolSetup s{{1, 1, 2, 8}, {2}, {2}, {0}, {1}, false, 1, 4};
    const auto x = tensor(s.input, dtype, {kNan, 1, 1, 2, 3, 4, -kInf, -kInf, 5, 6, kNan, 7, 8, kNan, -kInf, -kInf});
    const auto y = unwritten(s.out(), dtype), places = unwritten(s.out(), Dtype::int64);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMaxPool2dWithIndices(&ctx, y.get(), places.get(), x.get(), list(s.kernel), list(s.stride),
                                           list(s.padding), list(s.dilation), false) == diopiSuccess);
    const Values got = values(*y);
    CHECK((std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[2])));
    CHECK(got[3] == -kInf);
    CHECK(values(*places) == Values{0, 10, 13, 6});
}

TEST_CASE("max pooling with an index outside of the plane or an output of another size is refused") {
    const auto x = random({1, 4, 4}, Dtype::float32, 1), g = random({1, 2, 2}, Dtype::float32, 2);
    const auto wild = tensor({1, 2, 2}, Dtype::int64, {0, 3, 16, 9});
    const IntList two{2}, none{}, zero{0}, one{1};
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiMaxPool2dBackward(&ctx, unwritten({1, 4, 4}, Dtype::float32).get(), g.get(), x.get(), list(two),
                                      list(none), list(zero), list(one), false, wild.get()) == diopiErrorOccurred);
    CHECK(cpu::diopiMaxPool2d(&ctx, unwritten({1, 3, 2}, Dtype::float32).get(), x.get(), list(two), list(none),
                              list(zero), list(one), false) == diopiErrorOccurred);
    CHECK(last_error().find("wanted (1, 2, 2)") != std::string::npos);
    const IntList much{2};
    CHECK(cpu::diopiMaxPool2d(&ctx, unwritten({1, 4, 4}, Dtype::float32).get(), x.get(), list(two), list(none),
                              list(much), list(one), false) == diopiErrorOccurred);
    CHECK(cpu::diopiMaxPool2dWithIndices(&ctx, unwritten({1, 2, 2}, Dtype::float32).get(),
                                         unwritten({1, 2, 2}, Dtype::int16).get(), x.get(), list(two), list(none),
                                         list(zero), list(one), false) == diopiDtypeNotSupported);
    CHECK(last_error().find("indices is int16, wanted int64 or int32") != std::string::npos);
}

TEST_CASE("adaptive means and their gradients") {
    const auto [shape, height, width] = GENERATE(table<Shape, int64_t, int64_t>({{{3, 16, 8}, 5, 5},
                                                                                 {{4, 7, 27, 39}, 26, 40},
                                                                                 {{2, 20, 8, 6}, 1, 1},
                                                                                 {{2, 5, 7, 7}, 10, 10},
                                                                                 {{2, 5, 7, 7}, 3, 7}}));
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int layout = GENERATE(0, 1, 2);
    Shape out = shape;
    out[out.size() - 2] = height, out[out.size() - 1] = width;
    const auto x = random(shape, dtype, 1, strides_of(shape, layout)),
               g = random(out, dtype, 2, strides_of(out, layout));
    const Values xs = values(*x), gs = values(*g);
    const int64_t h = shape[shape.size() - 2], w = shape.back();
    Values means(gs.size()), grad(xs.size());
    for (size_t at = 0; at < gs.size(); ++at) {
        const auto i = static_cast<int64_t>(at);
        const int64_t plane = i / (height * width), y = i / width % height, z = i % width;
        const int64_t r0 = y * h / height, c0 = z * w / width;
        const int64_t r1 = ((y + 1) * h + height - 1) / height, c1 = ((z + 1) * w + width - 1) / width;
        const auto size = static_cast<double>((r1 - r0) * (c1 - c0));
        for (int64_t r = r0; r < r1; ++r)
            for (int64_t c = c0; c < c1; ++c) {
                means[at] += xs[static_cast<size_t>((plane * h + r) * w + c)] / size;
                grad[static_cast<size_t>((plane * h + r) * w + c)] += gs[at] / size;
            }
    }
    const auto y = unwritten(out, dtype, strides_of(out, layout)),
               gx = unwritten(shape, dtype, strides_of(shape, layout));
    const IntList sides{height, width};
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiAdaptiveAvgPool2d(&ctx, y.get(), x.get(), list(sides)) == diopiSuccess);
    REQUIRE(cpu::diopiAdaptiveAvgPool2dBackward(&ctx, gx.get(), g.get(), x.get()) == diopiSuccess);
    check_close(*y, means);
    check_close(*gx, grad);
}

TEST_CASE("adaptive means into no window at all") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = random({2, 3, 4, 5}, dtype, 1), y = unwritten({2, 3, 0, 0}, dtype),
               gx = unwritten({2, 3, 4, 5}, dtype);
    const IntList zero{0};
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiAdaptiveAvgPool2d(&ctx, y.get(), x.get(), list(zero)) == diopiSuccess);
    REQUIRE(cpu::diopiAdaptiveAvgPool2dBackward(&ctx, gx.get(), y.get(), x.get()) == diopiSuccess);
    CHECK(values(*gx) == Values(120, 0.0));
}
