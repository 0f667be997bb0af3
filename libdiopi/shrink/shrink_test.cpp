#include "shrink/shrink.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "cases/case_file.hpp"
#include "cases/case_writer.hpp"
#include "cases/catalogue.hpp"
#include "cases/draw.hpp"
#include "cases/testing.hpp"
#include "core/stopwatch.hpp"
#include "core/strided.hpp"
#include "shrink/failure_signature.hpp"
#include "shrink/reductions.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// A float32 relu with a fault after it.
template <void (*kFault)(const Tensor& input, const Tensor& out)>
diopiError_t cpu_relu_and(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    using Relu = diopiError_t(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
    static const AnyFunction good = (*find_backend("cpu"))->function(*find_row("diopiRelu"));
    const diopiError_t error = reinterpret_cast<Relu*>(good)(ctx, out, input);
    kFault(*input, *out);
    return error;
}

void wrong_in_the_tail(const Tensor&, const Tensor& out) {
    const int64_t n = out.numel();
    if (n % 8 != 0 && n > 100) out.data_as<float>()[n - 1] += 1;
}
void wrong_in_float16(const Tensor& input, const Tensor& out) {
    if (input.dtype == Dtype::float16) out.data_as<uint16_t>()[0] ^= 0x4000;
}
void wrong_in_float32_and_float64(const Tensor& input, const Tensor& out) {
    if (input.dtype == Dtype::float64) out.data_as<double>()[0] += 1;
    if (input.dtype == Dtype::float32) out.data_as<float>()[0] += 1;
}
void wrong_with_strides(const Tensor& input, const Tensor& out) {
    if (!input.is_contiguous()) out.data_as<float>()[0] += 1;
}
void crash_on_a_negative(const Tensor& input, const Tensor&) {
    for_each_offset(input.shape, input.strides, [&](int64_t at) {
        if (input.data_as<float>()[at] < 0) std::raise(SIGSEGV);
    });
}
void hang_over_ten(const Tensor& input, const Tensor&) {
    while (input.numel() > 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
void slow_and_wrong(const Tensor& input, const Tensor& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    if (input.numel() > 2) out.data_as<float>()[0] += 1;
}
float g_magic = 0;
void wrong_at_one_value(const Tensor& input, const Tensor& out) {
    const float* in = input.data_as<float>();
    for (int64_t i = 0; i < input.numel(); ++i) {
        if (in[i] == g_magic) out.data_as<float>()[i] += 1;
    }
}
/// Has two faults: the smaller case shows the other one.
void write_or_differ(const Tensor& input, const Tensor& out) {
    if (input.numel() >= 20) {
        out.data_as<float>()[0] += 1;
    } else {
        const_cast<Tensor&>(input).data_as<float>()[0] += 1;
    }
}
void nothing(const Tensor&, const Tensor&) {}

Case shrinkable_relu(const Shape& shape = {4, 33}, Dtype dtype = Dtype::float32) {
    return make_case("relu", {case_tensor("input", shape, dtype)});
}

ShrinkOptions shrink_options(const Backend& backend) {
    ShrinkOptions options;
    options.worker.cases.backend = &backend;
    options.pool.memory_limit = 0;
    return options;
}

Shrunk shrunk_with(AnyFunction relu, const Case& c, double seconds = 60) {
    const FaultyBackend faulty({{"diopiRelu", relu}});
    ShrinkOptions options = shrink_options(faulty.backend());
    options.seconds = seconds;
    auto result = shrink(c, options);
    if (!result.ok()) FAIL(result.error().message);
    return std::move(*result);
}

const CaseTensor& input_of(const Shrunk& shrunk) { return shrunk.smallest.tensors.front(); }
int64_t numel_of(const Shrunk& shrunk) { return numel(input_of(shrunk).specs.front().shape); }

}  // namespace

TEST_CASE("a fault after the last full tile shrinks to the smallest size that has it") {
    const AnyFunction relu = any_function(cpu_relu_and<wrong_in_the_tail>);
    Case c = shrinkable_relu({3, 63, 129});
    c.inplace = true;
    c.tensors[0].requires_grad = true;
    c.backward = true;
    const Shrunk shrunk = shrunk_with(relu, c);
    CHECK(shrunk.finished);
    CHECK(numel_of(shrunk) == 101);
    CHECK(input_of(shrunk).fill.fn == Fill::kOnes);
    CHECK_FALSE(shrunk.smallest.inplace);
    CHECK_FALSE(shrunk.smallest.backward);
    CHECK(shrunk.smallest.id() == "ops/test_shrunk_relu_0.relu.0");
    CHECK(shrunk.accepted <= shrunk.tried);
}

TEST_CASE("the file fails like the case") {
    const FaultyBackend faulty({{"diopiRelu", any_function(cpu_relu_and<wrong_in_the_tail>)}});
    const auto shrunk = shrink(shrinkable_relu(), shrink_options(faulty.backend()));
    REQUIRE(shrunk.ok());
    const auto groups = parse_case_file(shrunk->file, "shrunk.json");
    REQUIRE(groups.ok());
    const std::vector<Case> cases = expand(groups->front());
    REQUIRE(cases.size() == 1);
    CaseOptions run;
    run.backend = &faulty.backend();
    CHECK(signature_of(run_case(cases.front(), run)) == signature_of(shrunk->before));
    CHECK(shrunk->after.verdict == Verdict::kFailed);
}

TEST_CASE("a failure that needs its dtype keeps it, others become float32") {
    const Shrunk kept =
        shrunk_with(any_function(cpu_relu_and<wrong_in_float16>), shrinkable_relu({4, 33}, Dtype::float16));
    CHECK(kept.smallest.dtype() == Dtype::float16);
    CHECK(numel_of(kept) == 1);
    const Shrunk changed =
        shrunk_with(any_function(cpu_relu_and<wrong_in_float32_and_float64>), shrinkable_relu({4, 33}, Dtype::float64));
    CHECK(changed.smallest.dtype() == Dtype::float32);
    CHECK(numel_of(changed) == 1);
}

TEST_CASE("a failure that needs strides keeps them, others lose them") {
    Case c = shrinkable_relu();
    c.tensors[0].no_contiguous = true;
    const Shrunk kept = shrunk_with(any_function(cpu_relu_and<wrong_with_strides>), c);
    CHECK(input_of(kept).no_contiguous);
    CHECK(numel_of(kept) == 2);
    const Shrunk lost = shrunk_with(any_function(cpu_relu_and<wrong_in_the_tail>), c);
    CHECK_FALSE(input_of(lost).no_contiguous);
}

TEST_CASE("a layout of the options is kept as long as the failure needs it") {
    Case c = shrinkable_relu();
    c.layout.strided = true;
    const Shrunk kept = shrunk_with(any_function(cpu_relu_and<wrong_with_strides>), c);
    CHECK(kept.smallest.layout.strided);
    CHECK(kept.file.find("strided") == std::string::npos);
    const Shrunk lost = shrunk_with(any_function(cpu_relu_and<wrong_in_float32_and_float64>), c);
    CHECK_FALSE(lost.smallest.layout.strided);
}

TEST_CASE("a crash shrinks to the value that it needs") {
    const Shrunk shrunk = shrunk_with(any_function(cpu_relu_and<crash_on_a_negative>), shrinkable_relu());
    CHECK(shrunk.before.verdict == Verdict::kCrashed);
    CHECK(shrunk.after.verdict == Verdict::kCrashed);
    const std::vector<double>& values = input_of(shrunk).values;
    REQUIRE(input_of(shrunk).fill.fn == Fill::kValue);
    CHECK(std::ranges::count(values, -1) == 1);
    CHECK(std::ranges::count(values, 0) == static_cast<int64_t>(values.size()) - 1);
    CHECK(values.size() <= 4);
}

TEST_CASE("a hang shrinks, and each candidate has little time") {
    const FaultyBackend faulty({{"diopiRelu", any_function(cpu_relu_and<hang_over_ten>)}});
    ShrinkOptions options = shrink_options(faulty.backend());
    options.verdict = Verdict::kTimeout;
    options.hang_s = 0.5;
    const auto shrunk = shrink(shrinkable_relu(), options);
    REQUIRE(shrunk.ok());
    CHECK(shrunk->after.verdict == Verdict::kTimeout);
    CHECK(numel_of(*shrunk) == 11);
    CHECK(shrunk->timeout_s == 0.5);
}

TEST_CASE("a case slower than the time limit of the search is refused") {
    const FaultyBackend faulty({{"diopiRelu", any_function(cpu_relu_and<hang_over_ten>)}});
    ShrinkOptions options = shrink_options(faulty.backend());
    options.seconds = 0.3;
    const auto shrunk = shrink(shrinkable_relu(), options);
    REQUIRE_FALSE(shrunk.ok());
    CHECK_THAT(shrunk.error().message, Catch::Contains("--shrink-time"));
}

TEST_CASE("a failure of certain numbers is stated with them") {
    const Case c = shrinkable_relu();
    g_magic = draw(c.tensors[0], c.key(0))->front()->data_as<float>()[5];
    REQUIRE(g_magic != 0);
    g_magic = std::abs(g_magic);
    Case positive = c;
    positive.tensors[0].fill.fn = Fill::kPositive;
    g_magic = draw(positive.tensors[0], c.key(0))->front()->data_as<float>()[5];
    const Shrunk shrunk = shrunk_with(any_function(cpu_relu_and<wrong_at_one_value>), positive);
    const std::vector<double>& values = input_of(shrunk).values;
    REQUIRE(values.size() == 6);
    CHECK(values[5] == static_cast<double>(g_magic));
    CHECK(std::ranges::count(values, 0) == 5);
}

TEST_CASE("the cause stays the same: a smaller case with another failure does not count") {
    const Shrunk shrunk = shrunk_with(any_function(cpu_relu_and<write_or_differ>), shrinkable_relu());
    CHECK(shrunk.before.kind == FailureKind::kValues);
    CHECK(shrunk.after.kind == FailureKind::kValues);
    CHECK(numel_of(shrunk) == 20);
}

TEST_CASE("parameters, optional tensors and further list elements are removed") {
    const auto refuse = [](diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                           diopiConstTensorHandle_t, diopiConstTensorHandle_t) { return diopiErrorOccurred; };
    const auto fail_to_cat = [](diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t*, int64_t,
                                int64_t) { return diopiErrorOccurred; };
    const FaultyBackend faulty({{"diopiLinear", any_function(+refuse)}, {"diopiCat", any_function(+fail_to_cat)}});
    const auto linear = shrink(
        make_case("linear", {case_tensor("input", {6, 20}), case_tensor("weight", {7, 20}), case_tensor("bias", {7})}),
        shrink_options(faulty.backend()));
    REQUIRE(linear.ok());
    Case smallest = linear->smallest;
    CHECK(find_present(smallest, "bias") == nullptr);
    CHECK(find_present(smallest, "weight")->specs.front().shape == Shape{1, 1});

    Case cat = make_case("cat", {case_tensor("tensors", {4, 5})});
    cat.tensors[0].is_list = true;
    cat.tensors[0].specs.resize(7, cat.tensors[0].specs.front());
    cat.params = {{"dim", Param{int64_t{1}}}};
    const auto one = shrink(cat, shrink_options(faulty.backend()));
    REQUIRE(one.ok());
    CHECK(one->smallest.tensors[0].specs.size() == 1);
    CHECK(one->smallest.tensors[0].specs[0].shape == Shape{1});
    CHECK(one->smallest.params.empty());
}

TEST_CASE("an index stays within the dim that it points into") {
    Case c = make_case("embedding", {case_tensor("weight", {100, 8}), case_tensor("indices", {30}, Dtype::int64)});
    c.tensors[1].fill = {Fill::kRandint, 0, 100};
    REQUIRE(has_meaning(c, c.tensors[1]));
    for (const Reduction& reduction : reductions()) {
        for (const Edit& edit : reduction.edits(c)) {
            Case candidate = c;
            if (!edit(candidate) || find_present(candidate, "indices") == nullptr) continue;
            const CaseTensor& index = *find_present(candidate, "indices");
            CAPTURE(reduction.name);
            CHECK((index.fill.fn == Fill::kRandint && index.specs.front().dtype != Dtype::float32));
            CHECK(static_cast<int64_t>(index.fill.high) <= find_present(candidate, "weight")->specs[0].shape[0]);
        }
    }
}

TEST_CASE("values follow their tensor when a dim shrinks") {
    Case c = shrinkable_relu({2, 3});
    c.tensors[0].fill.fn = Fill::kValue;
    c.tensors[0].values = {1, 2, 3, 4, 5, 6};
    bool seen = false;
    for (const Edit& edit : dim_edits(c)) {
        Case candidate = c;
        if (!edit(candidate) || candidate.tensors[0].specs[0].shape != Shape{2, 2}) continue;
        CHECK(candidate.tensors[0].values == std::vector<double>{1, 2, 4, 5});
        seen = true;
    }
    CHECK(seen);
}

TEST_CASE("the time is limited") {
    const Stopwatch watch;
    const Shrunk shrunk = shrunk_with(any_function(cpu_relu_and<slow_and_wrong>), shrinkable_relu({64, 64, 3}), 1.5);
    CHECK(watch.seconds() < 8);
    CHECK_FALSE(shrunk.finished);
    CHECK(numel_of(shrunk) < 64 * 64 * 3);
    CHECK(shrunk.after.verdict == Verdict::kFailed);
}

TEST_CASE("a case that does not fail alone is refused, with a suggestion") {
    const FaultyBackend faulty({{"diopiRelu", any_function(cpu_relu_and<nothing>)}});
    const auto shrunk = shrink(shrinkable_relu(), shrink_options(faulty.backend()));
    REQUIRE_FALSE(shrunk.ok());
    CHECK_THAT(shrunk.error().message, Catch::Contains("does not fail alone") && Catch::Contains("--find-order"));
}

TEST_CASE("five failures of each operator are shrunk, in the order of the results", "[shrink]") {
    std::vector<CaseResult> results;
    for (int i = 0; i < 8; ++i) {
        CaseResult& result = results.emplace_back();
        result.op = i == 7 ? "mul" : "add";
        result.case_id = std::to_string(i);
        result.verdict = i == 1 ? Verdict::kPassed : i == 2 ? Verdict::kSkipped : Verdict::kCrashed;
    }
    results.push_back(results[3]);
    const FailuresToShrink failures = choose_failures(results);
    std::string chosen;
    for (const CaseResult* result : failures.chosen) chosen += result->case_id;
    CHECK(chosen == "034567");
    CHECK(failures.left_out == 1);
}

TEST_CASE("a case that a run of the file would skip is not a candidate") {
    const FaultyBackend faulty({{"diopiRelu", any_function(cpu_relu_and<wrong_in_the_tail>)}});
    ShrinkOptions options = shrink_options(faulty.backend());
    options.prepare = [](Case& c) { return c.tensors[0].specs[0].shape.size() > 1; };
    int64_t told = 0;
    options.progress = [&](const ShrinkProgress& progress) { told = progress.tried; };
    const auto shrunk = shrink(shrinkable_relu(), options);
    REQUIRE(shrunk.ok());
    CHECK(input_of(*shrunk).specs[0].shape.size() == 2);
    CHECK(told == shrunk->tried);
}
