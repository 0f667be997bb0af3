#include <omp.h>

#include <catch2/catch.hpp>
#include <functional>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

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

TEST_CASE("large outputs bypass the caches in threads, too", "[cpu][elementwise]") {
    const int64_t n = (5 << 20) + 13;
    const auto a = generate(Dtype::float32, {n}, wave);
    CHECK(is_same_in_threads(Dtype::float32, {n}, {}, [&](diopiTensorHandle_t out) {
        return cpu::diopiAdd(&context, out, a.get(), a.get(), nullptr);
    }));
}

TEST_CASE("a thread's division by zero is reported", "[cpu][elementwise]") {
    const Threads threads(2);
    const int64_t n = 200'000, place = GENERATE(int64_t{0}, int64_t{199'999});
    const auto a = generate(Dtype::int64, {n}, wave);
    const auto b = generate(Dtype::int64, {n}, [&](int64_t i) { return i == place ? 0 : 3; });
    const auto out = blank(Dtype::int64, {n});
    CHECK(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeTrunc) == diopiErrorOccurred);
}
