#include "step/placed_call.hpp"

#include <catch2/catch.hpp>

#include "backend/faulty_testing.hpp"
#include "cases/layout.hpp"
#include "cases/testing.hpp"
#include "step/case_run.hpp"
#include "timing/metered_device.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

/// Records how much device memory is in use when each call begins.
class HeldAtCalls final : public Interceptor {
 public:
    explicit HeldAtCalls(const MeteredDevice& device) : device_(&device) {}
    Outcome around(Call& call, Context& context, const Next& next) override {
        held.push_back(device_->allocated() - device_->freed());
        return next(call, context);
    }
    std::vector<int64_t> held;

 private:
    const MeteredDevice* device_;
};

/// Gives the case an index for which the output has a gap of one element behind each of its elements.
void slice_output(Case& c, const TensorSpec& out) {
    const Row& row = *find_row("diopiLogSoftmax");
    const auto is_sliced = [&] {
        const Layout layout = layout_of(row.args()[0], out, layout_salt(c, "out", 0), c.layout);
        return layout.extent == 2 * numel(out.shape) - 1;
    };
    while (!is_sliced()) ++c.index;
}

Case sliced_log_softmax(const TensorSpec& spec) {
    Case c = make_case("log_softmax", {case_tensor("input", spec.shape, spec.dtype)}, {{"dim", Param{int64_t{1}}}});
    c.layout.strided = true;
    slice_output(c, spec);
    return c;
}

diopiError_t write_between(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t, int64_t) {
    out->data_as<float>()[1] = 7;
    return diopiSuccess;
}

}  // namespace

TEST_CASE("a write between the elements of an output is a stray write", "[run]") {
    const testing::FaultyBackend faulty({{"diopiLogSoftmax", testing::any_function(write_between)}});
    CaseOptions options;
    options.backend = &faulty.backend();
    const CaseResult result = run_case(sliced_log_softmax({{3, 5}, Dtype::float32, {}}), options);
    CHECK(result.kind == FailureKind::kStrayWrite);
    CHECK(result.reason == "wrote 4 bytes between the elements of out: it has strides (10, 2)");
}

TEST_CASE("a second run does not keep the gaps between the elements of the first one's output", "[run]") {
    const TensorSpec spec{{1025, 4096}, Dtype::float64, {}};
    const int64_t nbytes = numel(spec.shape) * 8;
    MeteredDevice device(cpu_device());
    HeldAtCalls tool(device);
    const Backend backend = (*find_backend("cpu"))->on(device);
    CaseOptions options;
    options.backend = &backend;
    options.interceptors = {&tool};
    const CaseResult result = run_case(sliced_log_softmax(spec), options);
    INFO(result.reason);
    REQUIRE(result.verdict == Verdict::kPassed);
    REQUIRE(tool.held.size() >= 2);
    CHECK(tool.held[0] > 3 * nbytes);  // the output alone takes two
    CHECK(tool.held[1] < tool.held[0] + nbytes / 2);
}

}  // namespace diopi
