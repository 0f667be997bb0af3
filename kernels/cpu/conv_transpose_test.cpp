#include "kernels/cpu/conv_transpose.hpp"

#include "kernels/cpu/images_testing.hpp"

namespace diopi::reference {
#include "kernels/entries/sides/conv_transpose.inc"
}  // namespace diopi::reference

using namespace diopi;
using namespace diopi::testing;

namespace {

struct SpreadCase {
    Shape input, weight, out;
    IntList stride{1}, padding{0}, output_padding{0}, dilation{1};
    int64_t groups = 1;

    [[nodiscard]] size_t sides() const { return weight.size() - 2; }
};

/// PyTorch gives these output sides. AMX kernels left the last plane of the first output unwritten. The three images of
/// the seventh case are two groups of products. The fourth and third case from the end have an output_padding of the
/// stride or more.
const SpreadCase kSpreadCases[] = {
    {{2, 6, 5, 9, 11}, {6, 5, 2, 2, 2}, {2, 5, 11, 18, 22}, {2}, {0}, {1, 0, 0}},
    {{2, 32, 9, 7}, {32, 20, 2, 2}, {2, 20, 18, 14}, {2}},
    {{2, 24, 3, 4, 5}, {24, 18, 2, 3, 4}, {2, 18, 6, 12, 20}, {2, 3, 4}},
    {{2, 5, 40}, {5, 3, 3}, {2, 3, 120}, {3}},
    {{1, 3, 1, 2100}, {3, 11, 3, 2}, {1, 11, 3, 4200}, {3, 2}},
    {{1, 3, 30, 90}, {3, 9, 2, 2}, {1, 9, 60, 180}, {2}},
    {{3, 3, 30, 40}, {3, 20, 2, 2}, {3, 20, 60, 80}, {2}},
    {{2, 32, 4, 5}, {32, 18, 3, 3}, {2, 18, 12, 15}, {3}, {1}, {2}},
    {{2, 7, 6, 5}, {7, 4, 3, 2}, {2, 4, 8, 6}},
    {{2, 16, 5, 6}, {16, 9, 4, 2}, {2, 18, 11, 18}, {2, 3}, {1, 0}, {1}, {1}, 2},
    {{3, 17, 6, 5}, {17, 33, 1, 1}, {3, 33, 6, 5}},
    {{2, 12, 9, 7}, {12, 1, 3, 3}, {2, 12, 9, 7}, {1}, {1}, {0}, {1}, 12},
    {{4, 5, 6}, {4, 3, 2, 3}, {3, 6, 8}},
    {{2, 5, 3, 4, 5}, {5, 6, 2, 3, 2}, {2, 6, 6, 6, 10}, {2, 1, 2}, {0, 0, 1}, {0, 0, 1}, {1, 1, 2}},
    {{2, 6, 5, 4}, {6, 5, 3, 3}, {2, 5, 10, 9}, {1}, {0}, {1}, {2}},
    {{2, 6, 5, 4}, {6, 5, 1, 1}, {2, 5, 7, 6}, {1}, {0}, {2}, {3}},
    {{1, 4, 3, 3, 4}, {4, 3, 2, 2, 3}, {1, 6, 5, 4, 4}, {2, 1, 1}, {1, 0, 1}, {1, 0, 0}, {1}, 2},
    {{3, 4, 4, 5}, {3, 2, 2, 2, 2}, {2, 5, 5, 6}},
};

void check_spread(const SpreadCase& s, Dtype dtype, int layout) {
    INFO(to_string(s.input) << " by " << to_string(s.weight) << " " << name(dtype) << ", layout " << layout);
    const auto strides = [&](const Shape& shape) { return strides_of(shape, s.sides(), layout); };
    const Shape channels{s.weight[1] * s.groups};
    const auto x = random(s.input, dtype, 1, strides(s.input)), w = random(s.weight, dtype, 2, strides(s.weight));
    const auto b = random(channels, dtype, 3), g = random(s.out, dtype, 4, strides(s.out));
    diopiContext ctx(cpu_device());
    struct Results {
        TensorPtr y, alone, gx, gw, gb;
    };
    const auto run = [&](auto* forward, auto* backward, const Results& to) {
        for (const bool has_bias : {true, false}) {
            REQUIRE(forward(&ctx, "op", s.sides(), (has_bias ? to.y : to.alone).get(), x.get(), w.get(),
                            has_bias ? b.get() : nullptr, list(s.stride), list(s.padding), list(s.output_padding),
                            s.groups, list(s.dilation)) == diopiSuccess);
        }
        REQUIRE(backward(&ctx, "op", s.sides(), to.gx.get(), to.gw.get(), to.gb.get(), g.get(), x.get(), w.get(),
                         nullptr, list(s.stride), list(s.padding), list(s.dilation), list(s.output_padding),
                         s.groups) == diopiSuccess);
    };
    const auto f64 = Dtype::float64;
    const Results wanted{unwritten(s.out, f64), unwritten(s.out, f64), unwritten(s.input, f64),
                         unwritten(s.weight, f64), unwritten(channels, f64)};
    const Results found{unwritten(s.out, dtype, strides(s.out)), unwritten(s.out, dtype, strides(s.out)),
                        unwritten(s.input, dtype, strides(s.input)), unwritten(s.weight, dtype, strides(s.weight)),
                        unwritten(channels, dtype)};
    run(&reference::conv_transpose, &reference::conv_transpose_backward, wanted);
    run(&cpu::conv_transpose, &cpu::conv_transpose_backward, found);
    check_close(*found.y, values(*wanted.y), 64, 16);
    check_close(*found.alone, values(*wanted.alone), 64, 16);
    check_close(*found.gx, values(*wanted.gx), 64, 16);
    check_close(*found.gw, values(*wanted.gw), 64, 64);
    check_close(*found.gb, values(*wanted.gb), 64, 64);
}

}  // namespace

TEST_CASE("cpu: transposed convolutions agree with the reference, for every dtype and layout", "[conv_transpose]") {
    for (const SpreadCase& s : kSpreadCases) {
        for (const Dtype dtype : kFloats) {
            for (const int layout : {0, 1, 2}) check_spread(s, dtype, layout);
        }
    }
}

TEST_CASE("cpu: transposed convolutions of other shapes are refused with a message", "[conv_transpose]") {
    const auto x = random({1, 4, 3, 3}, Dtype::float32, 1), w = random({4, 2, 2, 2}, Dtype::float32, 2);
    const auto y = unwritten({1, 2, 4, 4}, Dtype::float32);
    const IntList one{1}, none{0};
    diopiContext ctx(cpu_device());
    const auto run = [&](const TensorPtr& weight, const IntList& surplus, int64_t groups) {
        return cpu::conv_transpose(&ctx, "op", 2, y.get(), x.get(), weight.get(), nullptr, list(one), list(none),
                                   list(surplus), groups, list(one));
    };
    CHECK(run(w, none, 1) == diopiSuccess);
    CHECK(run(w, one, 1) == diopiErrorOccurred);
    CHECK(last_error().find("an output_padding of at least 0 and below stride or dilation") != std::string::npos);
    CHECK(run(w, none, 2) == diopiErrorOccurred);
    CHECK(last_error().find("out has shape (1, 2, 4, 4)") != std::string::npos);
    CHECK(run(random({3, 2, 2, 2}, Dtype::float32, 2), none, 1) == diopiErrorOccurred);
    CHECK(last_error().find("weight has shape (3, 2, 2, 2)") != std::string::npos);
}
