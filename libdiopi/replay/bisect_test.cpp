#include "replay/bisect.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;

/// A chain of `length` calls on 8 numbers that start at 1: mul, add, sub, add, mul, ... by a tensor of 1.5.
Capture chain_of(int length) {
    Capture capture;
    capture.name = "chain";
    const size_t factor = add_floats(capture, "f", 8, Recipe{Recipe::Kind::kConstant, Dtype::float32, 1.5, 0});
    size_t x = add_floats(capture, "x", 8, Recipe{Recipe::Kind::kConstant, Dtype::float32, 1, 0});
    for (int i = 0; i < length; ++i) {
        const size_t out = add_floats(capture, std::to_string(i), 8);
        const bool is_mul = i % 4 == 0;
        const char* function = is_mul ? "diopiMul" : i % 4 == 2 ? "diopiSub" : "diopiAdd";
        const char* overload = is_mul ? "mul.Tensor" : i % 4 == 2 ? "sub.Tensor" : "add.Tensor";
        add_call(capture, overload, function, {{"out", out}, {"input", x}, {"other", factor}}, [&](Call& call) {
            if (!is_mul) call["alpha"] = Scalar::of(1.0);
        });
        x = out;
    }
    return capture;
}

/// The input of the wrong call: every product of the chain has another factor. 0: each call is wrong.
float wrong_input = 0;

/// The wrong call has a wrong first element; other results are right, because factor and alpha are known.
diopiError_t wrong_mul(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiConstTensorHandle_t) {
    for (int64_t i = 0; i < input->numel(); ++i) out->data_as<float>()[i] = 1.5f * input->data_as<float>()[i];
    if (wrong_input == 0 || input->data_as<float>()[7] == wrong_input) out->data_as<float>()[0] += 3;
    return diopiSuccess;
}
diopiError_t wrong_sub(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiConstTensorHandle_t, const diopiScalar_t*) {
    for (int64_t i = 0; i < input->numel(); ++i) out->data_as<float>()[i] = input->data_as<float>()[i] - 2.5f;
    return diopiSuccess;
}
diopiError_t nan_sub(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                     const diopiScalar_t*) {
    for (int64_t i = 0; i < out->numel(); ++i) out->data_as<float>()[i] = std::nanf("");
    return diopiSuccess;
}
diopiError_t crashing_sub(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                          const diopiScalar_t*) {
    std::abort();
}
diopiError_t hanging_sub(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                         const diopiScalar_t*) {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

std::string functions_in(const BisectReport& report) {
    std::string names;
    for (const FaultyFunction& function : report.functions) {
        names += (names.empty() ? "" : " ") + std::string(function.row->function);
    }
    return names;
}

BisectReport bisected(const Capture& capture, const Backend& backend, double timeout_s = 60, int call_replays = 0) {
    const CaptureValues values;
    auto replay = CaptureReplay::create(capture, values, 0);
    REQUIRE(replay.ok());
    BisectOptions options;
    options.backend = &backend;
    options.other = *find_backend("cpu");
    options.timeout_s = timeout_s;
    options.call_replays = call_replays;
    auto report = bisect(*replay, capture, values, options);
    REQUIRE(report.ok());
    return *report;
}

}  // namespace

TEST_CASE("the operator and the one call that are wrong are found", "[run][bisect]") {
    wrong_input = 27.375f;  // input of call 20
    const FaultyBackend faulty({{"diopiMul", any_function(&wrong_mul)}});
    const BisectReport report = bisected(chain_of(40), faulty.backend());
    CHECK(report.function_search.end == DeltaDebugging::End::kFound);
    CHECK(functions_in(report) == "diopiMul");
    CHECK(report.calls == std::vector<size_t>{20});
    CHECK_THAT(report.function_search.reason, Catch::Matchers::Contains("1 of 1 results differ, t39 by"));
}

TEST_CASE("every call of an operator that is always wrong is found", "[run][bisect]") {
    wrong_input = 0;
    const FaultyBackend faulty({{"diopiMul", any_function(&wrong_mul)}});
    const BisectReport report = bisected(chain_of(12), faulty.backend());
    CHECK(functions_in(report) == "diopiMul");
    CHECK(report.calls == std::vector<size_t>{0, 4, 8});
}

TEST_CASE("if too many calls are wrong, the first ones are found, and more replays find all", "[run][bisect]") {
    wrong_input = 0;
    const FaultyBackend faulty({{"diopiMul", any_function(&wrong_mul)}});
    const BisectReport report = bisected(chain_of(32), faulty.backend());
    CHECK(report.call_search.end == DeltaDebugging::End::kTooMany);
    CHECK(report.call_search.replays == 2 * 3 + 8);
    CHECK(report.calls.front() == 0);
    CHECK(report.functions[0].calls == 8);
    CHECK(bisected(chain_of(32), faulty.backend(), 60, 300).calls.size() == 8);
}

TEST_CASE("overloads that share a function are named together", "[run][bisect]") {
    wrong_input = 0;
    const FaultyBackend faulty({{"diopiMul", any_function(&wrong_mul)}});
    Capture capture = chain_of(12);
    capture.calls[4].overload = "mul.Scalar";
    const BisectReport report = bisected(capture, faulty.backend());
    REQUIRE(report.functions.size() == 1);
    CHECK(report.functions[0].overloads == std::vector<std::string>{"mul.Tensor", "mul.Scalar"});
}

TEST_CASE("two operators that are both wrong are found together", "[run][bisect]") {
    wrong_input = 1;  // input of call 0
    const FaultyBackend faulty({{"diopiMul", any_function(&wrong_mul)}, {"diopiSub", any_function(&wrong_sub)}});
    const BisectReport report = bisected(chain_of(7), faulty.backend());
    CHECK(functions_in(report) == "diopiMul diopiSub");
    CHECK(report.calls == std::vector<size_t>{0, 2, 6});
}

TEST_CASE("NaN, a crash and a hang are failures whose operator is found", "[run][bisect]") {
    struct Fault {
        AnyFunction function;
        const char* reason;
    };
    const Fault faults[] = {{any_function(&nan_sub), "differ"},
                            {any_function(&crashing_sub), "SIGABRT"},
                            {any_function(&hanging_sub), "no answer within"}};
    for (const Fault& fault : faults) {
        INFO(fault.reason);
        const FaultyBackend faulty({{"diopiSub", fault.function}});
        const BisectReport report = bisected(chain_of(4), faulty.backend(), 0.5);
        CHECK(functions_in(report) == "diopiSub");
        CHECK(report.calls == std::vector<size_t>{2});
        CHECK_THAT(report.function_search.reason, Catch::Matchers::Contains(fault.reason));
    }
}

TEST_CASE("a correct backend has no function at fault", "[run][bisect]") {
    const BisectReport report = bisected(chain_of(8), **find_backend("cpu"));
    CHECK(report.function_search.end == DeltaDebugging::End::kNothingWrong);
    CHECK(report.functions.empty());
}

}  // namespace diopi
