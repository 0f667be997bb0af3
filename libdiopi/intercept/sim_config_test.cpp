#include "intercept/sim_config.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

std::string sim_refusal(const std::string& text) {
    const auto options = sim_config_from(text, "chip.json");
    REQUIRE_FALSE(options.ok());
    CHECK(options.error().code == Errc::kBadInput);
    return options.error().message;
}

}  // namespace

TEST_CASE("a device file gives a simulated device its costs and its operators", "[run][sim]") {
    auto options = sim_config_from(R"({"name": "chip", "copy": {"latency_us": 20, "gigabytes_per_second": 3},
        "kernel": {"launch_us": 7, "slowdown": 2}, "memory_gib": 0.5, "operators": ["conv2d", "add.*"],
        "except": ["addmm"], "dtypes": ["float32", "int64"], "layouts": ["contiguous"],
        "converts": true})",
                                   "chip.json");
    REQUIRE(options.ok());
    CHECK(options->model.name == "chip");
    CHECK(options->model.copy_latency_s == Approx(20e-6));
    CHECK(options->model.copy_bytes_per_s == Approx(3e9));
    CHECK(options->model.launch_s == Approx(7e-6));
    CHECK(options->model.slowdown == 2);
    CHECK(options->model.memory_bytes == int64_t{1} << 29);
    CHECK(options->operators->matches(Call(*find_row("diopiAdd"))));
    CHECK(options->except->matches(Call(*find_row("diopiAddmm"))));
    CHECK(options->dtypes == std::vector{Dtype::float32, Dtype::int64});
    CHECK(options->contiguous);
    CHECK(options->converts);
}

TEST_CASE("an empty device file does not change the device", "[run][sim]") {
    const auto options = sim_config_from("{}", "chip.json");
    REQUIRE(options.ok());
    CHECK(options->model.name == "sim");
    CHECK_FALSE(options->operators);
    CHECK(options->dtypes.empty());
    CHECK_FALSE(options->contiguous);
    CHECK_FALSE(options->converts);
}

TEST_CASE("an invalid device file is refused with the place of the error", "[run][sim]") {
    using Catch::Matchers::Contains;
    CHECK_THAT(sim_refusal(R"({"copy": {"latency": 3}})"), Contains("chip.json:1") && Contains("latency_us"));
    CHECK_THAT(sim_refusal(R"({"copy": {"gigabytes_per_second": 0}})"), Contains("/copy/gigabytes_per_second"));
    CHECK_THAT(sim_refusal(R"({"kernel": {"launch_us": -1}})"), Contains("/kernel/launch_us"));
    CHECK_THAT(sim_refusal(R"({"kernel": {"slowdown": 0.5}})"), Contains("1 or more"));
    CHECK_THAT(sim_refusal(R"({"memory_gib": "much"})"), Contains("/memory_gib"));
    CHECK_THAT(sim_refusal(R"({"operators": ["(add"]})"), Contains("'(add'"));
    CHECK_THAT(sim_refusal(R"({"operators": ["add,mul"]})"), Contains("comma"));
    CHECK_THAT(sim_refusal(R"({"dtypes": ["float31"]})"), Contains("float31"));
    CHECK_THAT(sim_refusal(R"({"layouts": ["NHWC"]})"), Contains("/layouts/0") && Contains("contiguous"));
    CHECK_THAT(sim_refusal(R"({"converts": 1})"), Contains("/converts"));
    CHECK_THAT(sim_refusal("{"), Contains("chip.json:1"));
}

}  // namespace diopi
