#include "shrink/order_finder.hpp"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "core/stopwatch.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

using Unary = diopiError_t(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);

diopiError_t good_relu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const AnyFunction good = (*find_backend("cpu"))->function(*find_row("diopiRelu"));
    return reinterpret_cast<Unary*>(good)(ctx, out, input);
}

/// Belongs to one process, like a library's static state.
int g_calls = 0;
bool g_mul_ran = false;

diopiError_t relu_that_fails_every_fifth_time(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input) {
    return ++g_calls % 5 == 0 ? diopiErrorOccurred : good_relu(ctx, out, input);
}
diopiError_t mul_that_leaves_a_mark(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t other) {
    using Binary =
        diopiError_t(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t);
    g_mul_ran = true;
    const AnyFunction good = (*find_backend("cpu"))->function(*find_row("diopiMul"));
    return reinterpret_cast<Binary*>(good)(ctx, out, input, other);
}
diopiError_t relu_that_bears_no_mark(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t input) {
    return g_mul_ran ? diopiErrorOccurred : good_relu(ctx, out, input);
}
diopiError_t relu_that_needs_the_mark(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input) {
    return g_mul_ran ? good_relu(ctx, out, input) : diopiErrorOccurred;
}
diopiError_t slow_relu_that_bears_no_mark(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return relu_that_bears_no_mark(ctx, out, input);
}
diopiError_t relu_that_wants_a_page(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const void* data = nullptr;
    diopiGetTensorDataConst(input, &data);
    const bool is_inside = reinterpret_cast<uintptr_t>(data) % 1024 >= 512;
    return is_inside ? diopiErrorOccurred : good_relu(ctx, out, input);
}
int* g_calls_of_all_processes = nullptr;
diopiError_t relu_that_changes_its_mind(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                        diopiConstTensorHandle_t input) {
    return ++*g_calls_of_all_processes % 2 == 0 ? diopiErrorOccurred : good_relu(ctx, out, input);
}

/// `before` cases of relu, one of mul, and `behind` cases of relu.
std::vector<Case> cases_around_mul(int before, int behind) {
    std::vector<Case> cases;
    for (int i = 0; i <= before + behind; ++i) {
        cases.push_back(make_case("relu", {case_tensor("input", {8})}));
        if (i == before) cases.back() = make_case("mul", {case_tensor("input", {8}), case_tensor("other", {8})});
        cases.back().index = i;
    }
    return cases;
}

OrderReport report_of(Replacements replacements, const std::vector<Case>& cases, double search_s = 60) {
    const FaultyBackend faulty(replacements);
    OrderOptions options;
    options.worker.cases.backend = &faulty.backend();
    options.worker.cases.checks = *Checks::parse({"none"});
    options.pool.memory_limit = 0;
    options.order.by = RunOrder::By::kGiven;
    options.search_s = search_s;
    auto report = find_order_dependence(cases, options);
    if (!report.ok()) FAIL(report.error().message);
    return std::move(*report);
}

}  // namespace

TEST_CASE("without a dependence on the order there is nothing to report") {
    CHECK(report_of({}, cases_around_mul(2, 2)).found.empty());
    const auto fail = [](diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
        return diopiErrorOccurred;
    };
    const OrderReport failing = report_of({{"diopiRelu", any_function(+fail)}}, cases_around_mul(2, 2));
    CHECK(failing.found.empty());
    CHECK(failing.failures == 4);
}

TEST_CASE("the one case that makes others fail is found among many") {
    const OrderReport report = report_of(
        {{"diopiRelu", any_function(relu_that_bears_no_mark)}, {"diopiMul", any_function(mul_that_leaves_a_mark)}},
        cases_around_mul(6, 12));
    // These are all cases after mul in the given order, and perhaps some that followed it only in the shuffled one.
    REQUIRE(report.found.size() >= 12);
    for (const OrderDependence& found : report.found) {
        CAPTURE(found.item);
        CHECK(found.alone == Verdict::kPassed);
        CHECK(found.verdict == Verdict::kFailed);
        CHECK(found.before == std::vector<size_t>{6});
        CHECK(found.fewest);
        if (found.item > 6) CHECK(found.in_run == Verdict::kFailed);
    }
}

TEST_CASE("a case that passes only after another one is also found") {
    const OrderReport report = report_of(
        {{"diopiRelu", any_function(relu_that_needs_the_mark)}, {"diopiMul", any_function(mul_that_leaves_a_mark)}},
        cases_around_mul(0, 3));
    REQUIRE(report.found.size() == 3);
    CHECK(report.failures == 3);
    for (const OrderDependence& found : report.found) {
        CHECK(found.alone == Verdict::kFailed);
        CHECK(found.verdict == Verdict::kPassed);
        CHECK(found.before == std::vector<size_t>{0});
    }
}

TEST_CASE("a counter that all cases share needs as many of them as it counts") {
    const OrderReport report =
        report_of({{"diopiRelu", any_function(relu_that_fails_every_fifth_time)}}, cases_around_mul(11, 0));
    REQUIRE_FALSE(report.found.empty());
    for (const OrderDependence& found : report.found) {
        CHECK(found.before.size() == 4);
        CHECK(found.verdict == Verdict::kFailed);
    }
}

TEST_CASE("a case that depends on the addresses of its tensors is found alone") {
    // Not aligned, so that the input has memory on the device; above 32 MiB, so that malloc maps it and it begins at
    // the same place of a page in every process.
    std::vector<Case> one = {make_case("relu", {case_tensor("input", {9 << 20})})};
    one.front().layout.unaligned = true;
    const OrderReport report = report_of({{"diopiRelu", any_function(relu_that_wants_a_page)}}, one);
    REQUIRE(report.found.size() == 1);
    CHECK(report.found[0].alone == Verdict::kPassed);
    CHECK(report.found[0].verdict == Verdict::kFailed);
    CHECK_FALSE(report.found[0].flaky);
    CHECK(report.found[0].before.empty());
    CHECK(report.found[0].addresses.has_value());
}

TEST_CASE("a case that changes alone is reported as flaky") {
    void* shared = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    g_calls_of_all_processes = static_cast<int*>(shared);
    std::vector<Case> one = {make_case("relu", {case_tensor("input", {8})})};
    const OrderReport report = report_of({{"diopiRelu", any_function(relu_that_changes_its_mind)}}, one);
    munmap(shared, sizeof(int));
    REQUIRE(report.found.size() == 1);
    CHECK(report.found[0].flaky);
    CHECK(report.found[0].before.empty());
}

TEST_CASE("the search for the responsible predecessor ends in time") {
    const Stopwatch watch;
    const OrderReport report = report_of(
        {{"diopiRelu", any_function(slow_relu_that_bears_no_mark)}, {"diopiMul", any_function(mul_that_leaves_a_mark)}},
        cases_around_mul(0, 12), 0.3);
    CHECK(report.found.size() >= 12);
    CHECK(std::ranges::any_of(report.found, [](const OrderDependence& found) { return !found.fewest; }));
    // The limit allows three times 12 slow cases, and 0.3 s with one more attempt for each.
    CHECK(watch.seconds() < 25);
}
