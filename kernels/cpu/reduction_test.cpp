#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

const Dtype kSummable[] = {Dtype::int8,    Dtype::uint8,   Dtype::int16,    Dtype::uint16,
                           Dtype::int32,   Dtype::uint32,  Dtype::int64,    Dtype::float16,
                           Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::boolean};

double small_signed(int64_t i) { return double((i * 7 + 3) % 11) - 4; }

diopiError_t sum(const TensorPtr& out, const TensorPtr& in, const Shape& dims) {
    return cpu::diopiSum(&context, out.get(), in.get(), {dims.data(), int64_t(dims.size())});
}
diopiError_t mean(const TensorPtr& out, const TensorPtr& in, const Shape& dims) {
    return cpu::diopiMean(&context, out.get(), in.get(), {dims.data(), int64_t(dims.size())});
}

std::vector<bool> flags(const TensorPtr& in, const Shape& dims) {
    std::vector<bool> reduced(in->shape.size(), dims.empty());
    for (const int64_t d : dims) reduced[size_t(d < 0 ? d + in->rank() : d)] = true;
    return reduced;
}

Shape reduced_shape(const TensorPtr& in, const Shape& dims, bool keepdim) {
    const auto reduced = flags(in, dims);
    Shape shape;
    for (size_t d = 0; d < reduced.size(); ++d) {
        if (!reduced[d]) shape.push_back(in->shape[d]);
        if (reduced[d] && keepdim) shape.push_back(1);
    }
    return shape;
}

/// Sums by index arithmetic, in double.
Values naive_sum(const TensorPtr& in, const Shape& dims) {
    const auto reduced = flags(in, dims);
    const Shape kept = reduced_shape(in, dims, true);
    Shape strides = contiguous_strides(kept);
    for (size_t d = 0; d < reduced.size(); ++d) strides[d] = reduced[d] ? 0 : strides[d];
    Values result(size_t(numel(kept)), 0.0);
    const Values all = values(in);
    size_t i = 0;
    for_each_offset(in->shape, strides, [&](int64_t at) { result[size_t(at)] += all[i++]; });
    return result;
}

Dtype sum_dtype(Dtype dtype) { return is_floating(dtype) ? dtype : Dtype::int64; }

}  // namespace

TEST_CASE("sum over each set of dimensions, dtype and layout", "[cpu][reduction]") {
    const std::vector<Shape> sets = {{}, {0}, {1}, {2}, {-1, 0}, {1, 2}, {0, 1}, {0, 1, 2}};
    const std::vector<Shape> layouts = {{}, {1, 6, 42}, {245, 7, 1}, {42 * 35, 2, 14}, {0, 35, 1}};
    for (const Dtype dtype : kSummable) {
        for (const Shape& layout : layouts) {
            const auto in = generate(dtype, {6, 7, 35}, small_signed, layout);
            for (const Shape& dims : sets) {
                for (const bool keepdim : {false, true}) {
                    const auto out = blank(sum_dtype(dtype), reduced_shape(in, dims, keepdim));
                    REQUIRE(sum(out, in, dims) == diopiSuccess);
                    Values wanted = naive_sum(in, dims);
                    for (double& x : wanted) x = rounded(out->dtype, x);
                    INFO(name(dtype) << " dims " << to_string(dims) << " strides " << to_string(layout));
                    CHECK(same(values(out), wanted));
                }
            }
        }
    }
}

TEST_CASE("sum of long and short rows and columns", "[cpu][reduction]") {
    const std::vector<Shape> shapes = {{1023},      {1024},       {1025},       {5000},       {70, 513},  {70, 2000},
                                       {2000, 70},  {4000, 2},    {2, 4000},    {4000, 3},    {3000, 33}, {1500, 1},
                                       {3, 400, 2}, {30, 30, 30}, {2, 3000, 5}, {5, 2, 1100}, {3, 9000},  {20, 4097}};
    for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::uint8}) {
        for (const Shape& shape : shapes) {
            const auto in = generate(dtype, shape, small_signed);
            for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
                const auto out = blank(sum_dtype(dtype), reduced_shape(in, {d}, false));
                REQUIRE(sum(out, in, {d}) == diopiSuccess);
                INFO(name(dtype) << " " << to_string(shape) << " dim " << d);
                CHECK(same(values(out), naive_sum(in, {d})));
            }
            if (shape.size() == 3) {
                const auto out = blank(sum_dtype(dtype), {shape[1]});
                REQUIRE(sum(out, in, {0, 2}) == diopiSuccess);
                CHECK(same(values(out), naive_sum(in, {0, 2})));
            }
        }
    }
}

TEST_CASE("rounding errors of long sums stay far below 4 sqrt(K) u S", "[cpu][reduction]") {
    const int64_t n = 3'000'000;
    for (const auto& [dtype, unit] : {std::pair{Dtype::float32, 0x1p-24}, {Dtype::float64, 0x1p-53}}) {
        const double tenth = rounded(dtype, 0.1);
        const long double exact = static_cast<long double>(tenth) * n;
        const auto in = generate(dtype, {n}, [](int64_t) { return 0.1; });
        const auto total = blank(dtype, {});
        REQUIRE(sum(total, in, {}) == diopiSuccess);
        const double bound = 4 * std::sqrt(double(n)) * unit * double(exact);
        CHECK(std::fabs(double(values(total)[0] - exact)) < 20 * unit * double(exact));
        // The same as columns of height n / 3.
        const auto columns = alias(in, {n / 3, 3}, {3, 1});
        const auto sums = blank(dtype, {3});
        REQUIRE(sum(sums, columns, {0}) == diopiSuccess);
        for (const double x : values(sums)) CHECK(std::fabs(double(x - exact / 3)) < bound / 3 / std::sqrt(3.0) / 2);
    }
}

TEST_CASE("half types add up in a wider type", "[cpu][reduction]") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        const auto in = generate(dtype, {4, 4096}, [](int64_t) { return 1.0; });
        const auto out = blank(dtype, {4});
        REQUIRE(sum(out, in, {1}) == diopiSuccess);
        CHECK(values(out) == Values(4, 4096.0));
        const auto wide = blank(Dtype::float32, {});
        REQUIRE(sum(wide, in, {}) == diopiSuccess);
        CHECK(values(wide) == Values{16384});
        REQUIRE(mean(out, in, {1}) == diopiSuccess);
        CHECK(values(out) == Values(4, 1.0));
    }
}

TEST_CASE("a sum of float32 to float64 is formed in float64", "[cpu][reduction]") {
    const auto in = random({130, 65}, Dtype::float32, 3);
    for (const Shape& dims : {Shape{}, Shape{0}, Shape{1}}) {
        const auto out = unwritten(reduced_shape(in, dims, false), Dtype::float64);
        REQUIRE(sum(out, in, dims) == diopiSuccess);
        const Values expected = naive_sum(in, dims), got = values(out);
        for (size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-12));
    }
}

TEST_CASE("sums over no elements are 0, means NaN, and results without elements are nothing", "[cpu][reduction]") {
    const auto in = blank(Dtype::float32, {16, 0, 9});
    const auto total = blank(Dtype::float32, {});
    REQUIRE(sum(total, in, {}) == diopiSuccess);
    CHECK(values(total) == Values{0});
    REQUIRE(mean(total, in, {}) == diopiSuccess);
    CHECK(std::isnan(values(total)[0]));
    const auto grid = blank(Dtype::float32, {16, 9});
    REQUIRE(sum(grid, in, {1}) == diopiSuccess);
    CHECK(values(grid) == Values(144, 0.0));
    CHECK(sum(blank(Dtype::float32, {16, 0}), in, {2}) == diopiSuccess);
}

TEST_CASE("sum of a 0-dim tensor, of NaN, infinities and complex numbers", "[cpu][reduction]") {
    const auto point = tensor(Dtype::float64, {}, {2.5});
    const auto out = blank(Dtype::float64, {});
    REQUIRE(sum(out, point, {-1}) == diopiSuccess);
    CHECK(values(out) == Values{2.5});
    const double inf = std::numeric_limits<double>::infinity();
    auto in = generate(Dtype::float32, {2000}, [=](int64_t i) { return i == 1999 ? inf : 1.0; });
    const auto total = blank(Dtype::float32, {});
    REQUIRE(sum(total, in, {}) == diopiSuccess);
    CHECK(values(total) == Values{inf});
    in->data_as<float>()[3] = -INFINITY;
    REQUIRE(sum(total, in, {}) == diopiSuccess);
    CHECK(std::isnan(values(total)[0]));
    const auto z = generate(Dtype::complex64, {3}, [](int64_t i) { return Complex(double(i), 1); });
    const auto w = blank(Dtype::complex64, {});
    REQUIRE(sum(w, z, {}) == diopiSuccess);
    CHECK(complex_values(w)[0] == Complex(3, 3));
    REQUIRE(mean(w, z, {}) == diopiSuccess);
    CHECK(complex_values(w)[0] == Complex(1, 1));
    CHECK(sum(total, z, {}) == diopiDtypeNotSupported);
}

TEST_CASE("a sum of all elements may go to a tensor of shape (1,)", "[cpu][reduction]") {
    const auto in = tensor(Dtype::float32, {2, 2}, {1, 2, 3, 4}), point = tensor(Dtype::float32, {}, {5});
    const auto out = blank(Dtype::float32, {1});
    REQUIRE(sum(out, in, {}) == diopiSuccess);
    CHECK(values(out) == Values{10});
    REQUIRE(sum(out, in, {1, -2}) == diopiSuccess);
    REQUIRE(sum(out, point, {-1}) == diopiSuccess);
    CHECK(values(out) == Values{5});
    CHECK(sum(out, in, {1}) == diopiErrorOccurred);
    CHECK(sum(blank(Dtype::float32, {1, 1, 1}), in, {}) == diopiErrorOccurred);
}

TEST_CASE("sum and mean refuse dimensions and outs that contradict", "[cpu][reduction]") {
    const auto in = blank(Dtype::float32, {2, 3});
    CHECK(mean(blank(Dtype::int64, {}), in, {}) == diopiDtypeNotSupported);
    CHECK(sum(blank(Dtype::float32, {2}), in, {2}) == diopiErrorOccurred);
    CHECK(sum(blank(Dtype::float32, {2}), in, {1, -1}) == diopiErrorOccurred);
    CHECK(sum(blank(Dtype::float32, {3}), in, {1}) == diopiErrorOccurred);
    CHECK(last_error().find("(3,)") != std::string::npos);
    CHECK(sum(blank(Dtype::float32, {2, 3}), in, {1}) == diopiErrorOccurred);
}

TEST_CASE("numbers whose sum overflows float32 on the way cancel out", "[cpu][reduction]") {
    // Every fourth pair of elements, and of rows, has both signs: sums of two or four neighbours are infinite.
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::bfloat16);
    const double huge = rounded(dtype, 3e38);
    const auto sign = [](int64_t i) { return i % 8 < 4 ? 1.0 : -1.0; };
    const Shape shape{64, 1024};
    const auto by_row = generate(dtype, shape, [&](int64_t i) { return huge * sign(i / 1024); });
    const auto by_block = generate(dtype, shape, [&](int64_t i) { return huge * sign(i / 32); });
    const auto across = blank(dtype, {1024}), along = blank(dtype, {64}), one = blank(dtype, {});
    REQUIRE(sum(across, by_row, {0}) == diopiSuccess);
    CHECK(values(across) == Values(1024, 0.0));
    REQUIRE(sum(along, by_block, {1}) == diopiSuccess);
    CHECK(values(along) == Values(64, 0.0));
    REQUIRE(sum(one, by_block, {}) == diopiSuccess);
    CHECK(values(one) == Values{0});
}

TEST_CASE("a mean in a half type is rounded once", "[cpu][reduction]") {
    // Means just beside the middle of two neighbours: float32 in between would give the even one.
    const Dtype dtype = GENERATE(Dtype::bfloat16, Dtype::float16);
    const double ulp = dtype == Dtype::bfloat16 ? 0x1p-7 : 0x1p-10;
    const bool is_above = GENERATE(false, true), is_odd = GENERATE(false, true);
    const double middle = 1 + ulp * (is_odd ? 1.5 : 0.5), beside = middle + (is_above ? 0x1p-40 : -0x1p-40);
    const auto x = tensor(Dtype::float64, {1}, {beside}), y = blank(dtype, {1});
    REQUIRE(cpu::diopiCastDtype(&context, y.get(), x.get()) == diopiSuccess);
    CHECK(values(y) == Values{middle + (is_above ? ulp : -ulp) / 2});
    REQUIRE(mean(y, x, {0}) == diopiSuccess);
    CHECK(values(y) == Values{middle + (is_above ? ulp : -ulp) / 2});
}

TEST_CASE("numbers beyond a half type's range, denormals and NaN are converted from float64", "[cpu][shape]") {
    const Values given{1e300, -1e300, kInf, kNan, 0, -0.0, 0x1p-160, 0x1.8p-134, 65520, 65519.999, 0x1.8p-25, -0x1p-25};
    const auto x = tensor(Dtype::float64, {int64_t(given.size())}, given);
    const auto b = blank(Dtype::bfloat16, x->shape), h = blank(Dtype::float16, x->shape);
    REQUIRE(cpu::diopiCastDtype(&context, b.get(), x.get()) == diopiSuccess);
    CHECK(same(values(b), {kInf, -kInf, kInf, kNan, 0, -0.0, 0, 0x1p-133, 65536, 65536, 0x1.8p-25, -0x1p-25}));
    REQUIRE(cpu::diopiCastDtype(&context, h.get(), x.get()) == diopiSuccess);
    CHECK(same(values(h), {kInf, -kInf, kInf, kNan, 0, -0.0, 0, 0, kInf, 65504, 0x1p-24, -0.0}));
}
