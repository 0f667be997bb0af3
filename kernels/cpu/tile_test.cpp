#include <omp.h>

#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "core/half.hpp"
#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/testing.hpp"
#include "kernels/cpu/threads.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

/// Sets the number of threads until the end of the test.
class Threads {
 public:
    explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
    ~Threads() { omp_set_num_threads(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

 private:
    int before_;
};

double wave(int64_t i) { return static_cast<double>(i % 1013) / 64 - 7; }

/// Whether the whole storage of what `run` writes has the same bits with one thread and with several.
bool is_same_in_threads(Dtype dtype, const Shape& shape, const Shape& strides,
                        const std::function<diopiError_t(diopiTensorHandle_t)>& run) {
    const auto in_threads = [&](int count) {
        const Threads threads(count);
        auto out = blank(dtype, shape, strides);
        REQUIRE(run(out.get()) == diopiSuccess);
        return out;
    };
    const auto one = in_threads(1);
    for (const int count : {2, 3, 7}) {
        const auto several = in_threads(count);
        if (std::memcmp(one->storage.memory.get(), several->storage.memory.get(), one->storage.nbytes) != 0)
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("the number of threads changes no bit", "[cpu][elementwise]") {
    // Wide and narrow outer dims, and layouts that merge into one run, into rows, or not at all.
    const Shape shape = GENERATE(Shape{300'007}, Shape{2, 150'001}, Shape{3, 2, 70'001}, Shape{700, 601});
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float64, Dtype::int32);
    const bool is_reversed = GENERATE(false, true);
    Shape strides(shape.size(), 1);
    if (is_reversed) {
        for (size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
    } else {
        strides.clear();
    }
    const auto a = generate(dtype, shape, wave);
    const auto row = generate(dtype, {shape.back()}, wave);
    INFO(to_string(shape) << ' ' << name(dtype) << (is_reversed ? " reversed" : ""));
    CHECK(is_same_in_threads(dtype, shape, strides, [&](diopiTensorHandle_t out) {
        return cpu::diopiAdd(&context, out, a.get(), row.get(), nullptr);
    }));
    CHECK(is_same_in_threads(dtype, shape, strides,
                             [&](diopiTensorHandle_t out) { return cpu::diopiMul(&context, out, a.get(), a.get()); }));
    CHECK(is_same_in_threads(dtype, shape, strides,
                             [&](diopiTensorHandle_t out) { return cpu::diopiCastDtype(&context, out, a.get()); }));
    if (!is_floating(dtype)) return;
    CHECK(is_same_in_threads(dtype, shape, strides,
                             [&](diopiTensorHandle_t out) { return cpu::diopiTanh(&context, out, a.get()); }));
}

TEST_CASE("a result does not depend on its neighbours", "[cpu][elementwise][vectors]") {
    // Arguments that the C library computes are among the others.
    const int64_t n = 3000;
    const auto x = generate(Dtype::float32, {n}, [](int64_t i) { return i % 5 == 0 ? 1e7 : wave(i) / 3; });
    const auto y = generate(Dtype::float32, {n}, [](int64_t i) { return i % 7 == 0 ? kInf : i % 3 == 0 ? 2 : 1.7; });
    const auto out = [&] { return blank(Dtype::float32, {n}); };
    const auto sin = out(), cos = out(), pow = out();
    REQUIRE(cpu::diopiSin(&context, sin.get(), x.get()) == diopiSuccess);
    REQUIRE(cpu::diopiCos(&context, cos.get(), x.get()) == diopiSuccess);
    REQUIRE(cpu::diopiPowTensor(&context, pow.get(), x.get(), y.get()) == diopiSuccess);
    int64_t different = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto one = [&](const TensorPtr& t) { return alias(t, {1}, {1}, i); };
        const auto alone = blank(Dtype::float32, {1});
        const auto is_same = [&](const TensorPtr& all) { return same(values(alone), values(one(all))); };
        REQUIRE(cpu::diopiSin(&context, alone.get(), one(x).get()) == diopiSuccess);
        different += is_same(sin) ? 0 : 1;
        REQUIRE(cpu::diopiCos(&context, alone.get(), one(x).get()) == diopiSuccess);
        different += is_same(cos) ? 0 : 1;
        REQUIRE(cpu::diopiPowTensor(&context, alone.get(), one(x).get(), one(y).get()) == diopiSuccess);
        different += is_same(pow) ? 0 : 1;
    }
    CHECK(different == 0);
}

TEST_CASE("the number of threads changes no bit of a sum", "[cpu][reduction]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::bfloat16, Dtype::float64, Dtype::int32);
    const auto check_sum = [&](const Shape& shape, int64_t dim, const Shape& result) {
        INFO(to_string(shape) << ' ' << dim << ' ' << name(dtype));
        const auto a = generate(dtype, shape, [](int64_t i) { return wave(i) * (1 + static_cast<double>(i % 7) / 3); });
        const diopiSize_t dims{&dim, 1};
        CHECK(is_same_in_threads(dtype, result, {},
                                 [&](diopiTensorHandle_t out) { return cpu::diopiSum(&context, out, a.get(), dims); }));
    };
    check_sum({1'000'003}, 0, {});
    check_sum({3, 300'001}, 1, {3});
    check_sum({600, 601}, 1, {600});
    check_sum({600, 601}, 0, {601});
    check_sum({70'001, 9}, 0, {9});
    check_sum({20'001, 40}, 0, {40});
    check_sum({3, 20'001, 40}, 1, {3, 40});
    check_sum({30, 4'100}, 0, {4'100});
}

TEST_CASE("operators on bfloat16 alone round once, to nearest even, and keep NaN", "[cpu][elementwise]") {
    const int64_t n = GENERATE(5, 3000);
    const Dtype dtype = Dtype::bfloat16;
    const auto number = [](int64_t i) { return i % 11 == 0 ? kNan : i % 13 == 0 ? -kInf : wave(i * 7) * 1.7; };
    const auto a = generate(dtype, {n}, wave), b = generate(dtype, {n}, number), y = blank(dtype, {n});
    const Values x = values(a), z = values(b);
    const auto is_rounded = [&](const std::function<double(double, double)>& f) {
        Values wanted;
        for (size_t i = 0; i < x.size(); ++i) wanted.push_back(rounded(dtype, f(x[i], z[i])));
        return same(values(y), wanted);
    };
    REQUIRE(cpu::diopiAdd(&context, y.get(), a.get(), b.get(), nullptr) == diopiSuccess);
    CHECK(is_rounded([](double p, double q) { return p + q; }));
    REQUIRE(cpu::diopiMul(&context, y.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(is_rounded([](double p, double q) { return p * q; }));
    REQUIRE(cpu::diopiMaximum(&context, y.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(is_rounded([](double p, double q) { return std::isnan(q) ? q : std::max(p, q); }));
    REQUIRE(cpu::diopiNeg(&context, y.get(), b.get()) == diopiSuccess);
    CHECK(is_rounded([](double, double q) { return -q; }));
}

TEST_CASE("vectors are rounded to bfloat16 as single numbers are, NaN and infinities among them",
          "[cpu][elementwise]") {
    constexpr int64_t kCount = 1 << 12;
    std::vector<float> x;
    for (int64_t i = 0; i < kCount; ++i) {
        const auto mixed = static_cast<uint32_t>(static_cast<uint64_t>(i) * 2'654'435'761U);
        const bool is_finite = (mixed & 0x7f800000U) != 0x7f800000U;
        x.push_back(is_finite ? std::bit_cast<float>(mixed) : 1.0F);
    }
    const auto check = [&] {
        std::vector<uint16_t> got(x.size()), wanted;
        for (const float number : x) wanted.push_back(to_bfloat16(number).bits);
        const auto convert = cpu::half_converters().float_to_bfloat16;
        convert(x.data(), got.data(), std::ssize(x));
        CHECK(got == wanted);
        // Runs that are too short for several vectors at once.
        std::ranges::fill(got, uint16_t{1});
        for (size_t i = 0; i < x.size(); i += 31) {
            convert(&x[i], &got[i], static_cast<int64_t>(std::min<size_t>(31, x.size() - i)));
        }
        CHECK(got == wanted);
    };
    check();
    // Each in another lane. A NaN whose bits are rounded like those of a number becomes an infinity or -0.
    for (size_t i = 0; i < 64; ++i) x[i * 65] = std::bit_cast<float>(i % 2 == 0 ? 0x7fffffffU : 0x7f800001U);
    for (size_t i = 0; i < 32; ++i) x[i * 97 + 5] = std::bit_cast<float>(0xffffffffU);
    check();
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < 64; ++i) x[i * 64] = i % 2 == 0 ? kInfinite : -kInfinite;
    x.resize(x.size() - 3);
    check();
}

TEST_CASE("float64 numbers are rounded once to a half type, ties to even", "[cpu][elementwise][vectors]") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16);
    // Numbers of the half type, the middles between two, and what is next to these in float64 and in float32.
    std::vector<double> x = {kInf, -kInf, 0.0, -0.0, 5e-324, 1e300, -3.4028235677973366e38, 65519.999, 65520};
    for (int exponent = -140; exponent < 130; ++exponent) {
        for (const double digits : {1.0, 1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1p-11, 1 + 3 * 0x1p-11, 1.7}) {
            const double middle = std::ldexp(exponent % 2 == 0 ? digits : -digits, exponent);
            const double unit = std::ldexp(1, exponent);
            x.insert(x.end(), {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf),
                               middle + unit * 0x1p-25, middle - unit * 0x1p-25, middle + unit * 0x1p-23});
        }
    }
    std::vector<uint16_t> wanted, got(x.size());
    for (const double number : x) {
        wanted.push_back(dtype == Dtype::float16 ? to_half(number).bits : to_bfloat16(number).bits);
    }
    cpu::converter(Dtype::float64, dtype)(x.data(), got.data(), std::ssize(x));
    CHECK(got == wanted);
    for (size_t i = 0; i < 16; ++i) {
        x[i * 17] = kNan;
        wanted[i * 17] = dtype == Dtype::float16 ? 0x7e00 : 0x7fc0;
    }
    cpu::converter(Dtype::float64, dtype)(x.data(), got.data(), std::ssize(x));
    CHECK(got == wanted);
}

TEST_CASE("a large fill writes its elements and no others", "[cpu][shape]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::uint8);
    const auto n = (int64_t{33} << 20) / static_cast<int64_t>(size_of(dtype)) + 13;
    const auto all = blank(dtype, {n + 2}), inner = alias(all, {n}, {1}, 1);
    const diopiScalar_t x = scalar(3.0);
    REQUIRE(cpu::diopiFill(&context, inner.get(), &x) == diopiSuccess);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong += read(dtype, inner->data(), i).real() == 3 ? 0 : 1;
    CHECK(wrong == 0);
    const double before = read(dtype, blank(dtype, {1})->data(), 0).real();
    CHECK(same(read(dtype, all->data(), 0).real(), before));
    CHECK(same(read(dtype, all->data(), n + 1).real(), before));
}

TEST_CASE("a fill past the caches writes its elements and no others, wherever it begins and ends", "[cpu][shape]") {
    const int64_t item = GENERATE(1, 2, 4, 8, 16), before = GENERATE(0, 1, 3, 5), count = GENERATE(0, 1, 7, 100, 3000);
    constexpr int64_t kMost = 4096;
    alignas(64) static std::byte memory[kMost * 16];
    std::byte element[16];
    for (int64_t i = 0; i < item; ++i) element[i] = static_cast<std::byte>(i + 1);
    std::memset(memory, 0x5a, sizeof memory);
    cpu::fill_run(element, item, memory + before * item, count, true);
    int64_t wrong = 0;
    for (int64_t i = 0; i < kMost * item; ++i) {
        const bool is_inside = i >= before * item && i < (before + count) * item;
        wrong += memory[i] == (is_inside ? element[i % item] : std::byte{0x5a}) ? 0 : 1;
    }
    INFO(item << " bytes, from element " << before << ", " << count << " elements");
    CHECK(wrong == 0);
}

TEST_CASE("threads share elements that are far apart, and copy each of them", "[cpu][shape]") {
    constexpr int64_t kRows = 5003, kColumns = 67;
    const auto matrix = generate(Dtype::int32, {kRows, kColumns}, [](int64_t i) { return i; });
    const auto column = blank(Dtype::int32, {kRows}), written = blank(Dtype::int32, {kRows, kColumns});
    const Threads threads(GENERATE(1, 2, 7));
    REQUIRE(cpu::diopiSelect(&context, column.get(), matrix.get(), 1, 5) == diopiSuccess);
    REQUIRE(cpu::diopiSelectBackward(&context, written.get(), column.get(), {matrix->shape.data(), 2}, 1, 5) ==
            diopiSuccess);
    int64_t wrong = 0;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
        if (i % kColumns == 5) wrong += read(Dtype::int32, column->data(), i / kColumns).real() == i ? 0 : 1;
        wrong += read(Dtype::int32, written->data(), i).real() == (i % kColumns == 5 ? i : 0) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

TEST_CASE("a loop within a loop in threads stays on its thread", "[cpu]") {
    const Threads threads(2);
    std::atomic<int> parts = 0, calls = 0, regions = 0;
    cpu::parallel_for(2, 1 << 20, [&](int64_t, int64_t) {
        ++regions;
        const int outer = omp_get_thread_num();
        cpu::parallel_for(8, 1 << 20, [&](int64_t begin, int64_t end) {
            ++calls;
            parts += omp_get_level() == 1 && omp_get_thread_num() == outer ? static_cast<int>(end - begin) : 0;
        });
    });
    CHECK(regions == 2);
    CHECK(calls == 2);
    CHECK(parts == 16);
}

TEST_CASE("a thread's division by zero is reported", "[cpu][elementwise]") {
    const Threads threads(2);
    const int64_t n = 200'000, place = GENERATE(int64_t{0}, int64_t{199'999});
    const auto a = generate(Dtype::int64, {n}, wave);
    const auto b = generate(Dtype::int64, {n}, [&](int64_t i) { return i == place ? 0 : 3; });
    const auto out = blank(Dtype::int64, {n});
    CHECK(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeTrunc) == diopiErrorOccurred);
}
