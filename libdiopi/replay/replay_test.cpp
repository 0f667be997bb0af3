#include "replay/replay.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "conformance/outcome.hpp"
#include "conformance/save_failures.hpp"
#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

/// The strides of the last call's tensors.
Shape g_input_strides, g_output_strides;

/// relu whose last element is wrong by one, for all tensors or only for non-contiguous ones.
template <bool kStridedOnly>
diopiError_t wrong_relu(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    g_input_strides = input->strides;
    g_output_strides = out->strides;
    const auto at = [](const Tensor& t, int64_t i, int64_t k) { return i * t.strides[0] + k * t.strides[1]; };
    for (int64_t i = 0; i < out->shape[0]; ++i) {
        for (int64_t k = 0; k < out->shape[1]; ++k) {
            out->data_as<float>()[at(*out, i, k)] = std::max(input->data_as<float>()[at(*input, i, k)], 0.0f);
        }
    }
    if (!kStridedOnly || !out->is_contiguous()) {
        out->data_as<float>()[at(*out, out->shape[0] - 1, out->shape[1] - 1)] += 1;
    }
    return diopiSuccess;
}

Case replayed_relu() { return testing::make_case("relu", {testing::case_tensor("input", {4, 33})}); }

/// Runs the case and saves failures; returns the bundle of its forward step.
std::string saved(const TestFolder& folder, const Case& c, const Backend& backend) {
    const SaveFailures save{folder.path(), {"faulty", "lib.so", "0123", "diopi 1.0.0", {}}, {}};
    CaseOptions options;
    options.backend = &backend;
    options.seed = 3;
    FailureSaver saver(save, c, options);
    options.on_failure = [&](const Case&, const FailedStep& failed_step) { saver.save(failed_step); };
    CaseResult result = run_case(c, options);
    saver.name_files(result);
    REQUIRE(saver.warnings().empty());
    return result.steps.at(0).bundle;
}

Replay replayed(const std::string& file, const Backend& backend) {
    ReplayOptions options;
    options.file = file;
    options.backend = &backend;
    const auto replay = replay_bundle(options);
    if (!replay.ok()) FAIL(replay.error().message);
    return *replay;
}

}  // namespace

TEST_CASE("a replay fails like the run, and passes on a correct library", "[run][replay]") {
    const TestFolder folder;
    const testing::FaultyBackend faulty({{"diopiRelu", testing::any_function(wrong_relu<false>)}});
    const Backend backend = faulty.backend();
    const std::string file = saved(folder, replayed_relu(), backend);
    CHECK(file == folder / "ops-test-relu-0-forward.h5");
    const Replay bad = replayed(file, backend);
    CHECK(bad.result.verdict == Verdict::kFailed);
    CHECK(bad.result.reason == bad.reason);
    CHECK_THAT(bad.reason, Contains("out: "));
    CHECK(bad.recorded == Verdict::kFailed);
    CHECK(bad.result.case_id == "ops/test.relu.0");
    CHECK(bad.origin.file_hash == "0123");
    CHECK(replayed(file, **find_backend("cpu")).result.verdict == Verdict::kPassed);
    CHECK(replayed(file, reference_backend()).result.verdict == Verdict::kPassed);
    const auto bundle = read_bundle(file);
    REQUIRE(bundle.ok());
    CHECK(bundle->seed == 3);
    CHECK(bundle->checks == "all");
    CHECK(bundle->actual.size() == 1);
}

TEST_CASE("tensors of a replay have their old places", "[run][replay]") {
    const TestFolder folder;
    const testing::FaultyBackend faulty({{"diopiRelu", testing::any_function(wrong_relu<true>)}});
    const Backend backend = faulty.backend();
    Case c = replayed_relu();
    CHECK(saved(folder, c, backend).empty());
    c.layout.strided = true;
    const std::string file = saved(folder, c, backend);
    REQUIRE_FALSE(file.empty());
    CHECK_FALSE(is_contiguous(Shape{4, 33}, g_output_strides));
    CHECK(replayed(file, backend).result.verdict == Verdict::kFailed);

    const auto bundle = read_bundle(file);
    REQUIRE(bundle.ok());
    const auto strides_at = [&](const std::string& place) {
        return std::ranges::find(bundle->layouts.tensors, place, &CapturedTensor::id)->tensor->strides;
    };
    CHECK((strides_at("input") == g_input_strides && strides_at("out") == g_output_strides));
}

TEST_CASE("a step whose worker died is saved without results", "[run][replay]") {
    const TestFolder folder;
    const SaveFailures save{folder.path(), {}, [](const std::string& id) { return "diopi test --case " + id; }};
    const Case c = replayed_relu();
    CaseOptions options;
    options.backend = *find_backend("cpu");
    FailureSaver saver(save, c, options);
    saver.save(Unsaved{"forward", Verdict::kCrashed, "SIGSEGV"});
    REQUIRE(saver.warnings().empty());
    const auto bundle = read_bundle(saver.files());
    REQUIRE(bundle.ok());
    CHECK(bundle->verdict == Verdict::kCrashed);
    CHECK(bundle->reason == "SIGSEGV");
    CHECK(bundle->repeat == "diopi test --case ops/test.relu.0");
    CHECK(bundle->actual.empty());
    CHECK(bundle->expected.size() == 1);
    CHECK(replayed(saver.files(), **find_backend("cpu")).result.verdict == Verdict::kPassed);
}

TEST_CASE("the current step is that of a worker's crash context", "[run][replay]") {
    CHECK(step_under_way({WorkPhase::kInCall, "backward", "diopiAddBackward", "", ""}) == "backward");
    CHECK(step_under_way({WorkPhase::kInChecks, "forward", "diopiAdd", "", ""}) == "forward");
    CHECK(step_under_way({WorkPhase::kInCall, "inplace", "diopiAddInp", "", "4 bytes behind the end"}) == "inplace");
    CHECK(step_under_way({}).empty());
    CHECK(step_under_way({WorkPhase::kInCall, "sideways", "diopiAdd", "", ""}).empty());
}

TEST_CASE("a bundle whose parts contradict each other is bad input", "[run][replay]") {
    const TestFolder folder;
    const testing::FaultyBackend faulty({{"diopiRelu", testing::any_function(wrong_relu<false>)}});
    const Backend backend = faulty.backend();
    const std::string file = saved(folder, replayed_relu(), backend);
    const auto refused = [&](void (*change)(Bundle&)) {
        auto bundle = read_bundle(file);
        change(*bundle);
        REQUIRE(write_bundle(folder / "odd.h5", *bundle).ok());
        ReplayOptions options;
        options.file = folder / "odd.h5";
        options.backend = &backend;
        const auto replay = replay_bundle(options);
        REQUIRE_FALSE(replay.ok());
        CHECK(replay.error().code == Errc::kBadInput);
        return replay.error().message;
    };
    CHECK_THAT(refused([](Bundle& b) {
                   b.outputs[0].spec.shape = {4, 34};
               }),
               Contains("out is expected as float64 (4, 33), and the call gives float32 (4, 34)"));
    CHECK_THAT(refused([](Bundle& b) { b.outputs[0].spec.dtype = Dtype::int32; }), Contains("the call gives int32"));
    CHECK_THAT(refused([](Bundle& b) { b.outputs.clear(); }), Contains("the call gives none there"));
    CHECK_THAT(refused([](Bundle& b) { b.expected.clear(); }), Contains("out has no expected values"));
    CHECK_THAT(refused([](Bundle& b) { b.outputs.push_back(b.outputs[0]); }), Contains("out is described twice"));
    CHECK_THAT(refused([](Bundle& b) { b.checks = "guard"; }), Contains("there is no check 'guard'"));
}

}  // namespace diopi
