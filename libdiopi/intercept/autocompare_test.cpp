#include "intercept/autocompare.hpp"

#include <catch2/catch.hpp>

#include "backend/testing.hpp"
#include "intercept/testing.hpp"
#include "runtime/async_device.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

diopiError_t half_wrong_add(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t other, const diopiScalar_t*) {
    for (int64_t i = 0; i < out->numel(); ++i) {
        out->data_as<float>()[i] = input->data_as<float>()[i] + other->data_as<float>()[i] + (i == 1 ? 0.5f : 0.0f);
    }
    input->data_as<float>()[0] += 1;  // the function writes a const input
    return diopiSuccess;
}

diopiError_t broken_add(diopiContextHandle_t) { return diopiErrorOccurred; }

/// A backend with its own memory and one function.
struct AutocompareChip {
    AutocompareChip(const char* function, AnyFunction is) {
        table.assign(rows().size(), nullptr);
        table[find_row(function)->index()] = is;
        backend.emplace("chip", device, table);
        auto made = Side::create(*backend);
        REQUIRE(made.ok());
        side = std::move(*made);
    }

    AsyncDevice device;
    std::vector<AnyFunction> table;
    std::optional<Backend> backend;
    std::unique_ptr<Side> side;
};

struct Verdicts {
    std::vector<ComparedTensor> tensors;
    std::string skipped;
    Outcome outcome;
};

Verdicts compared(AutocompareChip& chip, Call& call, const Backend& against = cpu(), bool exact = false,
                  std::optional<Dtype> against_dtype = std::nullopt) {
    auto other = Side::create(against, against_dtype), reference = Side::create(reference_backend());
    REQUIRE((other.ok() && reference.ok()));
    const ToleranceTable tolerances;
    Verdicts seen;
    Autocompare autocompare(**other, tolerances, [&](const ComparedCall& call_compared) {
        seen.tensors = call_compared.tensors;
        seen.skipped = call_compared.skipped;
    });
    if (exact) autocompare.ask(**reference);
    Chain chain(*chip.backend);
    chain.add(autocompare);
    seen.outcome = chain.run(call, chip.side->context());
    return seen;
}

/// A one-dim tensor of some dtype, as an output of add.
TensorPtr tensor_with(const std::vector<float>& values, Dtype dtype) {
    auto made = cast(*floats_on(cpu_device(), values), dtype);
    REQUIRE(made.ok());
    return *made;
}

ComparedTensor compared_in(const std::vector<float>& actual, Dtype actual_dtype, const std::vector<float>& expected,
                           Dtype expected_dtype, const ToleranceTable& tolerances = {}) {
    const Call call(*find_row("diopiAdd"));
    return compare_tensors(call, *tensor_with(actual, actual_dtype), *tensor_with(expected, expected_dtype), "out",
                           tolerances);
}

}  // namespace

TEST_CASE("equal answers are allclose, inputs included", "[intercept][autocompare]") {
    AutocompareChip chip("diopiAdd", cpu().function(*find_row("diopiAdd")));
    Call call = add_on(chip.device, {1, 2, 3}, {10, 20, 30});
    const Verdicts seen = compared(chip, call);
    REQUIRE(seen.outcome.ok());
    REQUIRE(seen.tensors.size() == 3);
    for (const ComparedTensor& tensor : seen.tensors) CHECK(tensor.allclose);
    CHECK(seen.tensors[0].place == "out");
    CHECK(seen.tensors[0].role == ComparedTensor::Role::kOutput);
    CHECK(seen.tensors[2].place == "other");
    CHECK(seen.tensors[2].role == ComparedTensor::Role::kInput);
    CHECK(seen.tensors[2].nth == 1);
}

TEST_CASE("a wrong element and a written input are differences", "[intercept][autocompare]") {
    AutocompareChip chip("diopiAdd", reinterpret_cast<AnyFunction>(&half_wrong_add));
    Call call = add_on(chip.device, {1, 2, 3}, {10, 20, 30});
    const Verdicts seen = compared(chip, call);
    REQUIRE(seen.tensors.size() == 3);
    CHECK_FALSE(seen.tensors[0].allclose);
    CHECK(seen.tensors[0].deviation.max_abs == Approx(0.5));
    CHECK_FALSE(seen.tensors[1].allclose);
    CHECK(seen.tensors[2].allclose);
}

TEST_CASE("the reference answers as the other side, and as the oracle", "[intercept][autocompare]") {
    AutocompareChip chip("diopiAdd", cpu().function(*find_row("diopiAdd")));
    Call call = add_on(chip.device, {1, 2, 3}, {10, 20, 30});
    const Verdicts seen = compared(chip, call, reference_backend(), true);
    REQUIRE(seen.tensors.size() == 3);
    CHECK(seen.tensors[0].allclose);
    CHECK(seen.tensors[0].expected->dtype == Dtype::float32);
    REQUIRE(seen.tensors[0].exact != nullptr);
    CHECK(seen.tensors[0].exact->dtype == Dtype::float64);
    CHECK(seen.tensors[0].exact->data_as<double>()[2] == 33);
}

TEST_CASE("a function that the other side lacks, or that fails there, is reported and changes nothing",
          "[intercept][autocompare]") {
    AutocompareChip chip("diopiAdd", cpu().function(*find_row("diopiAdd")));
    Call call = add_on(chip.device, {1, 2, 3}, {10, 20, 30});
    const std::vector<AnyFunction> nothing(rows().size(), nullptr);
    const Verdicts lacking = compared(chip, call, Backend("empty", cpu_device(), nothing));
    CHECK(lacking.outcome.ok());
    CHECK_THAT(lacking.skipped, Contains("empty does not implement it"));

    std::vector<AnyFunction> failing(rows().size(), reinterpret_cast<AnyFunction>(&broken_add));
    const Verdicts failed = compared(chip, call, Backend("broken", cpu_device(), failing));
    CHECK(failed.outcome.ok());
    CHECK_THAT(failed.skipped, Contains("broken: diopiErrorOccurred"));
    CHECK(floats_of(chip.side->context(), *call.tensor("out")) == std::vector<float>{11, 22, 33});
}

TEST_CASE("random numbers are not compared", "[intercept][autocompare]") {
    AutocompareChip chip("diopiNormalInp", cpu().function(*find_row("diopiNormalInp")));
    Generator generator{1, 0};
    Call call(*find_row("diopiNormalInp"));
    call["inout"] = floats_on(chip.device, std::vector<float>(8, 0));
    call["mean"] = 0.0;
    call["std"] = 1.0;
    call["generator"] = diopiGeneratorHandle_t{&generator};
    const Verdicts seen = compared(chip, call);
    CHECK(seen.outcome.ok());
    CHECK_THAT(seen.skipped, Contains("random"));
}

TEST_CASE("floating tensors of two dtypes are compared in the wider one, to the narrower one's tolerance",
          "[intercept][autocompare]") {
    struct Pair {
        Dtype one, other;
        const char* cast;
        double atol;
    };
    for (const Pair& pair :
         {Pair{Dtype::float16, Dtype::float32, "float16 and float32 as float32", 1e-2},
          Pair{Dtype::float32, Dtype::float16, "float32 and float16 as float32", 1e-2},
          Pair{Dtype::bfloat16, Dtype::float16, "bfloat16 and float16 as float32", 1e-2},
          Pair{Dtype::float64, Dtype::float32, "float64 and float32 as float64", 1e-4},
          Pair{Dtype::complex64, Dtype::complex128, "complex64 and complex128 as complex128", 1e-4}}) {
        CAPTURE(pair.cast);
        const ComparedTensor same = compared_in({1, 2, 3}, pair.one, {1, 2, 3}, pair.other);
        CHECK(same.allclose);
        CHECK(same.error.empty());
        CHECK(same.cast == pair.cast);
        CHECK(same.atol == pair.atol);
        CHECK(same.deviation.cosine == Approx(1));
        const ComparedTensor different = compared_in({1, 2, 3}, pair.one, {1, 2, 4}, pair.other);
        CHECK_FALSE(different.allclose);
        CHECK(different.deviation.max_abs == 1);
    }
    CHECK(compared_in({1}, Dtype::float16, {1}, Dtype::float16).cast.empty());
}

TEST_CASE("the tolerance of a cast is that of the narrower dtype", "[intercept][autocompare]") {
    ToleranceTable tolerances;
    REQUIRE(tolerances.add_option("bfloat16=0.5,0").ok());
    REQUIRE(tolerances.add_option("float16=0.25,0").ok());
    CHECK(compared_in({1.4f}, Dtype::float16, {1}, Dtype::bfloat16, tolerances).allclose);
    CHECK_FALSE(compared_in({1.4f}, Dtype::float16, {1}, Dtype::float32, tolerances).allclose);
    CHECK_FALSE(compared_in({1.4f}, Dtype::float32, {1}, Dtype::float16, tolerances).allclose);
    // The rounding to half is no difference, but a larger error is.
    REQUIRE(tolerances.add_option("float16=0").ok());
    CHECK(compared_in({0.1f, 1e-7f}, Dtype::float16, {0.1f, 1e-7f}, Dtype::float32, tolerances).allclose);
    CHECK(compared_in({0.1f, 1e-7f}, Dtype::float32, {0.1f, 1e-7f}, Dtype::float16, tolerances).allclose);
    CHECK_FALSE(compared_in({0.1f}, Dtype::float16, {0.1001f}, Dtype::float32, tolerances).allclose);
}

TEST_CASE("an overflow only in the narrower dtype is a difference", "[intercept][autocompare]") {
    const ComparedTensor overflow = compared_in({1, 70000}, Dtype::float16, {1, 70000}, Dtype::float32);
    CHECK_FALSE(overflow.allclose);
    CHECK_THAT(overflow.error, Contains("inf at (1,) where 70000 is expected"));
}

TEST_CASE("a floating dtype against an integer one or bool is a mismatch with both names", "[intercept][autocompare]") {
    for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::boolean}) {
        const std::string its(name(dtype));
        const ComparedTensor one = compared_in({1, 0}, dtype, {1, 0}, Dtype::float32);
        CHECK_FALSE(one.allclose);
        CHECK(one.error == "dtype " + its + " where float32 is wanted");
        CHECK(one.cast.empty());
        CHECK(compared_in({1, 0}, Dtype::float16, {1, 0}, dtype).error == "dtype float16 where " + its + " is wanted");
    }
    CHECK(compared_in({1}, Dtype::int32, {1}, Dtype::int64).error == "dtype int32 where int64 is wanted");
    CHECK(compared_in({1}, Dtype::complex64, {1}, Dtype::float32).error == "dtype complex64 where float32 is wanted");
}

TEST_CASE("the other side can compute in another floating dtype", "[intercept][autocompare]") {
    AutocompareChip chip("diopiAdd", cpu().function(*find_row("diopiAdd")));
    Call call = add_on(chip.device, {1, 2, 3}, {10, 20, 30});
    for (const Backend* against : {&cpu(), &reference_backend()}) {
        const Verdicts seen = compared(chip, call, *against, true, Dtype::bfloat16);
        REQUIRE(seen.tensors.size() == 3);
        CHECK(seen.tensors[0].cast == "float32 and bfloat16 as float32");
        CHECK(seen.tensors[0].actual->dtype == Dtype::float32);
        CHECK(seen.tensors[0].expected->dtype == Dtype::bfloat16);
        CHECK(seen.tensors[0].allclose);
        CHECK(seen.tensors[0].exact->data_as<double>()[2] == 33);
        CHECK(seen.tensors[1].cast == "float32 and bfloat16 as float32");
    }
}

}  // namespace diopi
