#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

const Dtype kAll[] = {Dtype::int8,    Dtype::uint8,    Dtype::int16,     Dtype::uint16,    Dtype::int32,
                      Dtype::uint32,  Dtype::int64,    Dtype::uint64,    Dtype::float16,   Dtype::float32,
                      Dtype::float64, Dtype::bfloat16, Dtype::complex32, Dtype::complex64, Dtype::complex128};

double counting(int64_t i) { return double(i % 120); }

diopiError_t cat(const TensorPtr& out, const std::vector<TensorPtr>& parts, int64_t dim) {
    std::vector<diopiConstTensorHandle_t> handles;
    for (const TensorPtr& part : parts) handles.push_back(part.get());
    return cpu::diopiCat(&context, out.get(), handles.data(), int64_t(handles.size()), dim);
}

diopiError_t flip(const TensorPtr& out, const TensorPtr& in, const Shape& dims) {
    return cpu::diopiFlip(&context, out.get(), in.get(), {dims.data(), int64_t(dims.size())});
}

/// The flipped values by index arithmetic.
Values flipped(const TensorPtr& in, const std::vector<size_t>& dims) {
    const Values all = values(in);
    const Shape dense = contiguous_strides(in->shape);
    Shape strides = dense;
    int64_t start = 0;
    for (const size_t d : dims) {
        start += (in->shape[d] - 1) * dense[d];
        strides[d] = -dense[d];
    }
    Values result;
    for_each_offset(in->shape, strides, [&](int64_t at) { result.push_back(all[size_t(start + at)]); });
    return result;
}

}  // namespace

TEST_CASE("fill converts the number to every dtype", "[cpu][shape]") {
    const diopiScalar_t x = scalar(-2.6);
    for (const Dtype dtype : kAll) {
        for (const Shape& shape : {Shape{}, Shape{1}, Shape{1025}, Shape{3, 5}, Shape{0, 5}}) {
            const auto t = blank(dtype, shape);
            REQUIRE(cpu::diopiFill(&context, t.get(), &x) == diopiSuccess);
            double wanted = rounded(dtype, -2.6);
            if (is_integer(dtype)) wanted = rounded(dtype, -2.0);
            INFO(name(dtype) << " " << to_string(shape));
            CHECK(same(values(t), Values(size_t(numel(shape)), wanted)));
        }
    }
}

TEST_CASE("fill with bool, integers, infinities and NaN", "[cpu][shape]") {
    const double inf = std::numeric_limits<double>::infinity();
    const auto real = blank(Dtype::float16, {3});
    const auto whole = blank(Dtype::uint8, {3});
    const auto flag = blank(Dtype::boolean, {3});
    const diopiScalar_t yes = scalar(true), minus = scalar(int64_t{-10}), infinite = scalar(-inf), nan = scalar(NAN),
                        fraction = scalar(0.23);
    REQUIRE(cpu::diopiFill(&context, real.get(), &yes) == diopiSuccess);
    CHECK(values(real) == Values{1, 1, 1});
    REQUIRE(cpu::diopiFill(&context, real.get(), &infinite) == diopiSuccess);
    CHECK(values(real) == Values{-inf, -inf, -inf});
    REQUIRE(cpu::diopiFill(&context, real.get(), &nan) == diopiSuccess);
    CHECK(std::isnan(values(real)[2]));
    REQUIRE(cpu::diopiFill(&context, whole.get(), &minus) == diopiSuccess);
    CHECK(values(whole) == Values{246, 246, 246});
    REQUIRE(cpu::diopiFill(&context, flag.get(), &fraction) == diopiSuccess);
    CHECK(values(flag) == Values{1, 1, 1});
    const auto large = blank(Dtype::int64, {1});
    const diopiScalar_t exact = scalar(INT64_MAX - 1);
    REQUIRE(cpu::diopiFill(&context, large.get(), &exact) == diopiSuccess);
    CHECK(large->data_as<int64_t>()[0] == INT64_MAX - 1);
}

TEST_CASE("fill rounds a double once, not by way of float32", "[cpu][shape]") {
    for (const auto& [dtype, ulp] : {std::pair{Dtype::float16, 0x1p-10}, {Dtype::bfloat16, 0x1p-7}}) {
        const auto t = blank(dtype, {1});
        for (const double sign : {1.0, -1.0}) {
            const diopiScalar_t above = scalar(sign * (1 + ulp / 2 + 0x1p-45));
            REQUIRE(cpu::diopiFill(&context, t.get(), &above) == diopiSuccess);
            CHECK(values(t)[0] == sign * (1 + ulp));
            const diopiScalar_t below = scalar(sign * (1 + 1.5 * ulp - 0x1p-45));
            REQUIRE(cpu::diopiFill(&context, t.get(), &below) == diopiSuccess);
            CHECK(values(t)[0] == sign * (1 + ulp));
        }
    }
}

TEST_CASE("fill writes only the elements of a view", "[cpu][shape]") {
    const auto t = blank(Dtype::int32, {700}, {3});
    const diopiScalar_t seven = scalar(int64_t{7});
    REQUIRE(cpu::diopiFill(&context, t.get(), &seven) == diopiSuccess);
    CHECK(values(t) == Values(700, 7));
    for (int64_t i = 0; i + 1 < 700; ++i) REQUIRE(t->data_as<int32_t>()[3 * i + 1] == -1);
}

TEST_CASE("cat along each dimension, for every dtype", "[cpu][shape]") {
    for (const Dtype dtype : kAll) {
        for (int64_t dim = -3; dim < 3; ++dim) {
            const auto d = size_t(dim < 0 ? dim + 3 : dim);
            std::vector<TensorPtr> parts;
            Shape whole = {2, 3, 5};
            whole[d] = 0;
            for (const int64_t size : {4, 0, 1, 7}) {
                Shape shape = {2, 3, 5};
                shape[d] = size;
                const double base = 20.0 * double(parts.size());
                parts.push_back(generate(dtype, shape, [=](int64_t i) { return base + double(i % 20); }));
                whole[d] += size;
            }
            const auto out = blank(dtype, whole);
            REQUIRE(cat(out, parts, dim) == diopiSuccess);
            INFO(name(dtype) << " dim " << dim);
            int64_t begin = 0;
            for (const TensorPtr& part : parts) {
                if (part->numel() > 0) {
                    const auto slice = alias(out, part->shape, out->strides, begin * out->strides[d]);
                    CHECK(same(values(slice), values(part)));
                }
                begin += part->shape[d];
            }
        }
    }
}

TEST_CASE("cat converts, skips tensors of shape (0,), and supports strides", "[cpu][shape]") {
    const auto a = tensor(Dtype::int16, {2, 2}, {1, 2, 3, 4}, {1, 2});
    const auto none = blank(Dtype::float32, {0});
    const auto b = tensor(Dtype::float16, {2, 1}, {0.5, -1.5});
    const auto out = blank(Dtype::float16, {2, 3}, {1, 2});
    REQUIRE(cat(out, {a, none, b}, 1) == diopiSuccess);
    CHECK(values(out) == Values{1, 2, 0.5, 3, 4, -1.5});
    const auto empty = blank(Dtype::float32, {0});
    CHECK(cat(empty, {none, none}, 0) == diopiSuccess);
}

TEST_CASE("cat refuses contradicting shapes", "[cpu][shape]") {
    const auto a = blank(Dtype::float32, {2, 3}), b = blank(Dtype::float32, {3, 3});
    CHECK(cat(blank(Dtype::float32, {2, 6}), {a, b}, 1) == diopiErrorOccurred);
    CHECK(last_error().find("tensors[1]") != std::string::npos);
    CHECK(cat(blank(Dtype::float32, {6, 3}), {a, b}, 0) == diopiErrorOccurred);
    CHECK(cat(blank(Dtype::float32, {5, 3}), {a, b}, 2) == diopiErrorOccurred);
    CHECK(cat(blank(Dtype::float32, {5, 3}), {}, 0) == diopiErrorOccurred);
    CHECK(cpu::diopiCat(&context, a.get(), nullptr, 0, 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiCat: no tensors, wanted one or more");
    CHECK(cpu::diopiCat(&context, nullptr, nullptr, 0, 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiCat: out is null");
}

TEST_CASE("flip of every dtype and set of dimensions", "[cpu][shape]") {
    for (const Dtype dtype : kAll) {
        for (const Shape& strides : {Shape{}, Shape{1, 4, 24}}) {
            const auto in = generate(dtype, {4, 6, 50}, counting, strides);
            const auto out = blank(dtype, {4, 6, 50});
            INFO(name(dtype) << " " << to_string(strides));
            REQUIRE(flip(out, in, {-1}) == diopiSuccess);
            CHECK(same(values(out), flipped(in, {2})));
            REQUIRE(flip(out, in, {0, -2}) == diopiSuccess);
            CHECK(same(values(out), flipped(in, {0, 1})));
            REQUIRE(flip(out, in, {2, 0, 1}) == diopiSuccess);
            CHECK(same(values(out), flipped(in, {0, 1, 2})));
            REQUIRE(flip(out, in, {}) == diopiSuccess);
            CHECK(same(values(out), values(in)));
        }
    }
}

TEST_CASE("flip of long rows, 0-dim and empty tensors, and onto itself", "[cpu][shape]") {
    const auto in = generate(Dtype::float32, {2, 2500}, [](int64_t i) { return double(i); });
    const auto out = blank(Dtype::float32, {2, 2500});
    REQUIRE(flip(out, in, {1}) == diopiSuccess);
    CHECK(same(values(out), flipped(in, {1})));
    const Values wanted = flipped(in, {1});
    REQUIRE(flip(in, in, {1}) == diopiSuccess);
    CHECK(same(values(in), wanted));
    const auto point = tensor(Dtype::int32, {}, {5});
    const auto same_point = blank(Dtype::int32, {});
    REQUIRE(flip(same_point, point, {-1}) == diopiSuccess);
    CHECK(values(same_point) == Values{5});
    CHECK(flip(blank(Dtype::int32, {12, 0}), blank(Dtype::int32, {12, 0}), {0, 1}) == diopiSuccess);
    CHECK(flip(out, in, {2}) == diopiErrorOccurred);
    CHECK(flip(out, in, {1, -1}) == diopiErrorOccurred);
    CHECK(flip(blank(Dtype::float32, {2500, 2}), in, {0}) == diopiErrorOccurred);
}
