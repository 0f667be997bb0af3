/// Compares a backend's convolutions and pools with the reference: one, two and three sides, every dtype and layout.
#pragma once

#include "kernels/cpu/image_kernels_testing.hpp"
#include "kernels/cpu/onednn_testing.hpp"

namespace diopi::testing {

inline constexpr ImageKernels kReferenceKernels = IMAGE_KERNELS_OF(reference);

struct ConvCase {
    Shape input, weight;
    IntList stride{1}, padding{0}, dilation{1};
    int64_t groups = 1;

    [[nodiscard]] size_t sides() const { return weight.size() - 2; }
    [[nodiscard]] Shape out() const {
        const auto number = [](const IntList& list, size_t side) { return list[list.size() == 1 ? 0 : side]; };
        Shape shape = input;
        const size_t first = input.size() - sides();
        shape[first - 1] = weight[0];
        for (size_t d = 0; d < sides(); ++d) {
            const int64_t reach = number(dilation, d) * (weight[2 + d] - 1) + 1;
            shape[first + d] = (input[first + d] + 2 * number(padding, d) - reach) / number(stride, d) + 1;
        }
        return shape;
    }
};

inline const ConvCase kConvCases[] = {
    {{2, 7, 12, 13}, {2, 7, 6, 5}},
    {{3, 16, 19, 8}, {18, 8, 6, 2}, {2}, {2, 1}, {2, 5}, 2},
    {{2, 27, 12, 8}, {6, 9, 3, 5}, {2, 3}, {2, 3}, {2, 1}, 3},
    {{2, 12, 9, 9}, {12, 1, 3, 3}, {1}, {4}, {4}, 12},
    {{2, 17, 6, 5}, {33, 17, 1, 1}},
    {{2, 17, 6, 5}, {9, 17, 1, 1}, {2}},
    {{2, 40, 1, 1}, {5, 40, 1, 1}},
    {{1, 3, 20, 18}, {16, 3, 7, 7}, {2}, {3}},
    {{4, 5, 6}, {3, 4, 2, 2}},
    {{2, 5, 23}, {6, 5, 4}, {3}, {2}, {2}},
    {{3, 6, 17}, {4, 3, 3}, {1}, {1}, {1}, 2},
    {{2, 9, 16}, {5, 9, 1}},
    {{2, 8, 9}, {8, 1, 3}, {2}, {1}, {1}, 8},
    {{5, 11}, {4, 5, 3}, {1}, {1}},
    {{2, 4, 5, 6, 7}, {6, 4, 2, 3, 3}, {1, 2, 1}, {1, 0, 2}, {1, 1, 2}},
    {{1, 6, 6, 5, 4}, {4, 3, 3, 3, 2}, {2}, {1}, {1}, 2},
    {{2, 5, 3, 3, 4}, {7, 5, 1, 1, 1}},
    {{2, 3, 4, 6, 5}, {3, 1, 3, 2, 3}, {1, 2, 2}, {2, 1, 1}, {2, 1, 1}, 3},
    {{3, 4, 4, 5}, {2, 3, 2, 2, 2}},
    {{2, 16, 4, 5, 18}, {32, 16, 3, 3, 3}, {1}, {1}},
    // Kernels for bfloat16 were wrong for these: padding of volumes and channels on AMX, a long step, and without AMX a
    // window of volumes that is longer than a side, or has steps of several elements. The last one also in float32 on
    // SVE.
    {{1, 48, 2, 4, 38}, {48, 48, 2, 1, 4}, {1}, {1, 0, 2}, {1, 1, 2}},
    {{1, 34, 16, 34}, {16, 34, 6, 4}, {1}, {5, 0}, {2, 1}},
    {{2, 64, 32, 2}, {48, 64, 4, 2}, {1, 3}, {2, 1}},
    {{2, 32, 8, 1, 4}, {17, 32, 4, 5, 2}, {1}, {1, 2, 0}},
    {{2, 48, 4, 6, 8}, {16, 48, 4, 4, 2}, {3, 1, 1}, {2, 0, 1}, {1, 1, 2}},
};

/// 0: row-major, 1: channels last (row-major if unbatched), 2: transposed, with gaps.
inline Shape strides_of(const Shape& shape, size_t sides, int layout) {
    if (layout == 0) return {};
    if (layout == 2) return scattered(shape);
    return shape.size() == sides + 2 ? channels_last(shape) : Shape{};
}

inline void check_convolution(const ImageKernels& kernels, const ConvCase& s, Dtype dtype, int layout) {
    INFO(to_string(s.input) << " by " << to_string(s.weight) << " " << name(dtype) << ", layout " << layout);
    const auto strides = [&](const Shape& shape) { return strides_of(shape, s.sides(), layout); };
    const auto x = random(s.input, dtype, 1, strides(s.input)), w = random(s.weight, dtype, 2, strides(s.weight));
    const auto b = random({s.weight[0]}, dtype, 3), g = random(s.out(), dtype, 4, strides(s.out()));
    diopiContext ctx(cpu_device());
    struct Results {
        TensorPtr y, gx, gw, gb;
    };
    const auto run = [&](const ImageKernels& k, const Results& to) {
        REQUIRE(k.convolution(&ctx, "op", s.sides(), to.y.get(), x.get(), w.get(), b.get(), list(s.stride),
                              list(s.padding), list(s.dilation), s.groups) == diopiSuccess);
        REQUIRE(k.convolution_backward(&ctx, "op", s.sides(), to.gx.get(), to.gw.get(), to.gb.get(), g.get(), x.get(),
                                       w.get(), nullptr, list(s.stride), list(s.padding), list(s.dilation),
                                       s.groups) == diopiSuccess);
    };
    const auto f64 = Dtype::float64;
    const Results wanted{unwritten(s.out(), f64), unwritten(s.input, f64), unwritten(s.weight, f64),
                         unwritten({s.weight[0]}, f64)};
    const Results found{unwritten(s.out(), dtype, strides(s.out())), unwritten(s.input, dtype, strides(s.input)),
                        unwritten(s.weight, dtype, strides(s.weight)), unwritten({s.weight[0]}, dtype)};
    run(kReferenceKernels, wanted);
    run(kernels, found);
    check_close(*found.y, values(*wanted.y), 64, 16);
    check_close(*found.gx, values(*wanted.gx), 64, 16);
    check_close(*found.gw, values(*wanted.gw), 64, 64);
    check_close(*found.gb, values(*wanted.gb), 64, 64);
}

struct PoolCase {
    Shape input, out;
    IntList kernel, stride, padding, dilation;  ///< the kernel has a size for each side
    bool ceil_mode;

    [[nodiscard]] size_t sides() const { return kernel.size(); }
};

/// The output sides are PyTorch's.
inline const PoolCase kPoolCases[] = {
    {{3, 12, 20}, {3, 2, 3}, {6, 6}, {}, {0}, {1}, false},
    {{5, 4, 17, 22}, {5, 4, 1, 1}, {6, 12}, {3, 100}, {2, 6}, {4, 3}, true},
    {{6, 17, 23}, {6, 4, 4}, {6, 8}, {3, 2}, {2, 3}, {2, 3}, false},
    {{1, 4, 17, 23}, {1, 4, 5, 5}, {6, 8}, {3, 2}, {2, 3}, {2, 3}, true},
    {{2, 9, 35, 18}, {2, 9, 18, 9}, {3, 3}, {2}, {1}, {1}, false},
    {{2, 2, 12, 10}, {2, 2, 6, 10}, {2, 1}, {2, 1}, {0}, {1}, true},
    {{2, 5, 4, 26}, {2, 5, 2, 27}, {2, 2}, {2, 1}, {0, 1}, {1}, false},
    {{3, 4, 10}, {3, 1, 4}, {3, 3}, {2}, {0}, {2}, true},
    {{2, 8, 20}, {2, 8, 10}, {3}, {2}, {1}, {1}, false},
    {{3, 17}, {3, 4}, {4}, {3}, {1}, {3}, true},
    {{2, 3, 11}, {2, 3, 11}, {3}, {1}, {1}, {1}, false},
    {{2, 8, 6, 7, 9}, {2, 8, 3, 7, 4}, {2, 3, 3}, {2, 1, 2}, {0, 1, 0}, {1}, false},
    {{2, 4, 5, 8}, {2, 3, 2, 3}, {2, 2, 3}, {2, 3, 3}, {1, 0, 1}, {1, 2, 1}, true},
    {{1, 2, 4, 3, 5}, {1, 2, 2, 2, 5}, {3, 2, 1}, {1, 1, 1}, {1, 0, 0}, {2, 1, 1}, true},
};

inline void check_max_pool(const ImageKernels& kernels, const PoolCase& s, Dtype dtype, Dtype index, int layout) {
    INFO(to_string(s.input) << " " << name(dtype) << ", layout " << layout);
    const auto strides = [&](const Shape& shape) { return strides_of(shape, s.sides(), layout); };
    const auto x = random(s.input, dtype, 7, strides(s.input)), g = random(s.out, dtype, 8, strides(s.out));
    diopiContext ctx(cpu_device());
    struct Results {
        TensorPtr alone, y, places, gx;
    };
    const auto run = [&](const ImageKernels& k, const Results& to) {
        REQUIRE(k.max_pool(&ctx, "op", s.sides(), to.alone.get(), x.get(), list(s.kernel), list(s.stride),
                           list(s.padding), list(s.dilation), s.ceil_mode) == diopiSuccess);
        REQUIRE(k.max_pool_with_indices(&ctx, "op", s.sides(), to.y.get(), to.places.get(), x.get(), list(s.kernel),
                                        list(s.stride), list(s.padding), list(s.dilation),
                                        s.ceil_mode) == diopiSuccess);
        REQUIRE(k.max_pool_backward(&ctx, "op", s.sides(), to.gx.get(), g.get(), x.get(), list(s.kernel),
                                    list(s.stride), list(s.padding), list(s.dilation), s.ceil_mode,
                                    to.places.get()) == diopiSuccess);
    };
    const auto f64 = Dtype::float64;
    const Results wanted{unwritten(s.out, f64), unwritten(s.out, f64), unwritten(s.out, Dtype::int64),
                         unwritten(s.input, f64)};
    const Results found{unwritten(s.out, dtype), unwritten(s.out, dtype, strides(s.out)),
                        unwritten(s.out, index, strides(s.out)), unwritten(s.input, dtype, strides(s.input))};
    run(kReferenceKernels, wanted);
    run(kernels, found);
    CHECK(values(*found.alone) == values(*wanted.alone));
    CHECK(values(*found.y) == values(*wanted.y));
    CHECK(values(*found.places) == values(*wanted.places));
    check_close(*found.gx, values(*wanted.gx));
}

struct MeanCase {
    size_t sides;
    Shape input, out;
};

inline const MeanCase kMeanCases[] = {
    {2, {3, 16, 8}, {3, 5, 5}},
    {2, {4, 7, 27, 39}, {4, 7, 26, 40}},
    {2, {2, 20, 8, 6}, {2, 20, 1, 1}},
    {2, {2, 5, 7, 7}, {2, 5, 10, 10}},
    {2, {2, 5, 7, 7}, {2, 5, 3, 7}},
    {1, {2, 8, 29}, {2, 8, 6}},
    {1, {3, 5, 200}, {3, 5, 3}},
    {1, {3, 5}, {3, 9}},
    {3, {2, 8, 5, 6, 7}, {2, 8, 2, 3, 4}},
    {3, {2, 9, 8, 10}, {2, 1, 1, 1}},
    {3, {2, 3, 2, 3, 4}, {2, 3, 5, 2, 6}},
};

inline void check_adaptive_means(const ImageKernels& kernels, const MeanCase& s, Dtype dtype, int layout) {
    INFO(to_string(s.input) << " to " << to_string(s.out) << " " << name(dtype) << ", layout " << layout);
    const auto strides = [&](const Shape& shape) { return strides_of(shape, s.sides, layout); };
    const auto x = random(s.input, dtype, 1, strides(s.input)), g = random(s.out, dtype, 2, strides(s.out));
    const IntList size(s.out.end() - static_cast<std::ptrdiff_t>(s.sides), s.out.end());
    diopiContext ctx(cpu_device());
    const auto run = [&](const ImageKernels& k, const TensorPtr& y, const TensorPtr& gx) {
        REQUIRE(k.adaptive_avg_pool(&ctx, "op", s.sides, y.get(), x.get(), list(size)) == diopiSuccess);
        REQUIRE(k.adaptive_avg_pool_backward(&ctx, "op", s.sides, gx.get(), g.get(), x.get()) == diopiSuccess);
    };
    const auto wanted_y = unwritten(s.out, Dtype::float64), wanted_gx = unwritten(s.input, Dtype::float64);
    const auto y = unwritten(s.out, dtype, strides(s.out)), gx = unwritten(s.input, dtype, strides(s.input));
    run(kReferenceKernels, wanted_y, wanted_gx);
    run(kernels, y, gx);
    check_close(*y, values(*wanted_y));
    check_close(*gx, values(*wanted_gx));
}

/// Compares every case, dtype and layout of the three operators.
inline void check_convolutions(const ImageKernels& kernels) {
    for (const ConvCase& s : kConvCases) {
        for (const Dtype dtype : kFloats) {
            for (const int layout : {0, 1, 2}) check_convolution(kernels, s, dtype, layout);
        }
    }
}
inline void check_max_pools(const ImageKernels& kernels) {
    for (const PoolCase& s : kPoolCases) {
        for (const Dtype dtype : kFloats) {
            const Dtype index = dtype == Dtype::float32 ? Dtype::int32 : Dtype::int64;
            for (const int layout : {0, 1, 2}) check_max_pool(kernels, s, dtype, index, layout);
        }
    }
}
inline void check_all_adaptive_means(const ImageKernels& kernels) {
    for (const MeanCase& s : kMeanCases) {
        for (const Dtype dtype : kFloats) {
            for (const int layout : {0, 1, 2}) check_adaptive_means(kernels, s, dtype, layout);
        }
    }
}

}  // namespace diopi::testing
