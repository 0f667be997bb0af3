#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"
#include "runtime/generator.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

/// The library's function that corresponds to one of the cpu backend.
template <class Function>
Function* on_host(Function*, const char* name) {
    static void* const library = dlopen(DIOPI_CUDA_ON_HOST, RTLD_NOW | RTLD_LOCAL);
    const char* why = library == nullptr ? dlerror() : "";
    INFO(why);
    REQUIRE(library != nullptr);
    auto* function = reinterpret_cast<Function*>(dlsym(library, name));
    REQUIRE(function != nullptr);
    return function;
}
#define ON_HOST(name) on_host(cpu::name, #name)

const std::pair<Shape, Shape> kLayouts[] = {{{1025}, {}}, {{50, 41}, {1, 50}}, {{}, {}}, {{6}, {3}}, {{0, 3}, {}}};
const Dtype kFloating[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// Calls draw(on host or not, tensor, generator) twice from one state, and checks that numbers and final states are
/// equal.
template <class Draw>
void expect_same_numbers(Dtype dtype, const Draw& draw) {
    for (const auto& [shape, strides] : kLayouts) {
        INFO(name(dtype) << " " << to_string(shape));
        diopiGenerator ours{77, uint64_t{1} << 33}, theirs = ours;
        const auto a = blank(dtype, shape, strides), b = blank(dtype, shape, strides);
        REQUIRE(draw(false, a.get(), &ours) == diopiSuccess);
        REQUIRE(draw(true, b.get(), &theirs) == diopiSuccess);
        CHECK(same(values(a), values(b)));
        CHECK(ours.seed == theirs.seed);
        CHECK(ours.offset == theirs.offset);
    }
}

}  // namespace

TEST_CASE("cuda on host: normal_ draws the numbers of the cpu backend") {
    const auto function = ON_HOST(diopiNormalInp);
    for (const Dtype dtype : kFloating) {
        expect_same_numbers(dtype, [&](bool on_host, diopiTensorHandle_t x, diopiGeneratorHandle_t generator) {
            return (on_host ? function : cpu::diopiNormalInp)(&context, x, -0.25, 3.5, generator);
        });
    }
}

TEST_CASE("cuda on host: bernoulli draws the numbers of the cpu backend") {
    const auto scalar = ON_HOST(diopiBernoulliScalar);
    const auto tensor = ON_HOST(diopiBernoulli);
    for (const Dtype dtype : {Dtype::float16, Dtype::float64, Dtype::int32, Dtype::boolean}) {
        expect_same_numbers(dtype, [&](bool on_host, diopiTensorHandle_t x, diopiGeneratorHandle_t generator) {
            return (on_host ? scalar : cpu::diopiBernoulliScalar)(&context, x, 0.3, generator);
        });
    }
    for (const Dtype dtype : kFloating) {
        expect_same_numbers(Dtype::int8, [&](bool on_host, diopiTensorHandle_t x, diopiGeneratorHandle_t generator) {
            const auto p = generate(dtype, x->shape, [](int64_t i) { return static_cast<double>(i % 11) / 10; });
            return (on_host ? tensor : cpu::diopiBernoulli)(&context, x, p.get(), generator);
        });
    }
}

TEST_CASE("cuda on host: numbers that a dtype does not hold become the same as on the cpu backend") {
    const auto function = ON_HOST(diopiCopyInp);
    const std::vector<Complex> numbers = {0,    -0.0, 0.5,  -1.5,     300.7,     -70000.0, 3e9,    -3e9,
                                          1e10, 1e19, 1e30, INFINITY, -INFINITY, NAN,      {0, 2}, {-1, 0.5}};
    const auto number = [&](int64_t i) { return numbers[static_cast<size_t>(i)]; };
    for (const Dtype from : all_dtypes()) {
        if (!is_floating(from) && !is_complex(from)) continue;
        const auto x = generate(from, {static_cast<int64_t>(numbers.size())}, number);
        for (const Dtype to : all_dtypes()) {
            INFO(name(from) << " to " << name(to));
            const auto ours = blank(to, x->shape), theirs = blank(to, x->shape);
            REQUIRE(cpu::diopiCopyInp(&context, x.get(), ours.get()) == diopiSuccess);
            REQUIRE(function(&context, x.get(), theirs.get()) == diopiSuccess);
            const auto wanted = complex_values(ours), found = complex_values(theirs);
            for (size_t i = 0; i < numbers.size(); ++i) {
                INFO(numbers[i]);
                CHECK((same(found[i].real(), wanted[i].real()) && same(found[i].imag(), wanted[i].imag())));
            }
        }
    }
}

TEST_CASE("cuda on host: integers wrap in the dtype of the operands before the conversion to a wider out") {
    const auto a = tensor(Dtype::uint8, {3}, {255, 200, 1}), b = tensor(Dtype::uint8, {3}, {255, 100, 2});
    const diopiScalar_t two = scalar(int64_t{2});
    const auto add = ON_HOST(diopiAdd);
    const auto mul = ON_HOST(diopiMul);
    const auto mul_scalar = ON_HOST(diopiMulScalar);
    const auto pow = ON_HOST(diopiPow);
    const auto neg = ON_HOST(diopiNeg);
    const auto addcmul = ON_HOST(diopiAddcmul);
    for (const Dtype dtype : {Dtype::int16, Dtype::int32, Dtype::int64, Dtype::float16, Dtype::float64}) {
        INFO(name(dtype));
        const auto out = blank(dtype, {3});
        REQUIRE(mul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
        CHECK(values(out) == Values{1, 32, 2});
        REQUIRE(add(&context, out.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{253, 144, 5});
        REQUIRE(mul_scalar(&context, out.get(), a.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{254, 144, 2});
        REQUIRE(pow(&context, out.get(), a.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{1, 64, 1});
        REQUIRE(neg(&context, out.get(), a.get()) == diopiSuccess);
        CHECK(values(out) == Values{1, 56, 255});
        REQUIRE(addcmul(&context, out.get(), a.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{1, 8, 5});
    }
}

TEST_CASE("cuda on host: arange writes into a strided output") {
    const auto function = ON_HOST(diopiArange);
    diopiScalar_t start{}, end{}, step{};
    for (diopiScalar_t* number : {&start, &end, &step}) number->stype = diopi_dtype_int64;
    start.ival = -3;
    end.ival = 7;
    step.ival = 2;
    for (const Dtype dtype : {Dtype::float16, Dtype::float64, Dtype::int8}) {
        const auto y = blank(dtype, {5}, {3});
        REQUIRE(function(&context, y.get(), &start, &end, &step) == diopiSuccess);
        CHECK(values(y) == Values{-3, -1, 1, 3, 5});
    }
}

TEST_CASE("cuda on host: matrices of a batch with a negative stride are copied before the library's call") {
    const auto function = ON_HOST(diopiBmm);
    const auto number = [](int64_t i) { return static_cast<double>(i % 7 - 3); };
    const auto a = generate(Dtype::float32, {3, 2, 4}, number), b = generate(Dtype::float32, {3, 4, 5}, number);
    const auto back_a = alias(a, a->shape, {-8, 4, 1}, 16), back_b = alias(b, b->shape, {-20, 5, 1}, 40);
    for (const auto& [x, y] : {std::pair{back_a, b}, {a, back_b}, {back_a, back_b}}) {
        const auto ours = blank(Dtype::float32, {3, 2, 5}), theirs = blank(Dtype::float32, {3, 2, 5});
        REQUIRE(cpu::diopiBmm(&context, ours.get(), x.get(), y.get()) == diopiSuccess);
        CHECK(function(&context, theirs.get(), x.get(), y.get()) == diopiSuccess);
        CHECK(values(ours) == values(theirs));
    }
}
