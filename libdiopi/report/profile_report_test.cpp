#include "report/profile_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

ProfiledCall measured_call(const std::string& name) {
    ProfiledCall call;
    call.name = name;
    call.function = "diopi" + name;
    call.phase = "forward";
    call.shapes = {{2, 3}};
    for (int i = 0; i < 20; ++i) call.runs.push_back({0.001 * i, 0.002, 0, i / 4, 0});
    return call;
}

ProfiledCall failed_call(const std::string& name, const std::string& case_id) {
    ProfiledCall call;
    call.name = name;
    call.case_id = case_id;
    call.error = "not implemented";
    return call;
}

Profile two_measured() {
    Profile profile;
    profile.backend = "cpu";
    profile.pace = {1, 1};
    profile.calls = {measured_call("Add"), measured_call("Mul"), failed_call("Cdist", "ops/x.cdist.0")};
    return profile;
}

ProfileComparison one_slower() {
    ProfileComparison comparison;
    comparison.calls.resize(3);
    comparison.calls[0] = SpeedComparison();
    comparison.calls[0]->verdict = SpeedVerdict::kSlower;
    comparison.compared = comparison.slower = 1;
    comparison.unknown = 1;
    comparison.drift = 1.1;
    return comparison;
}

Roofs some_roofs() {
    Roofs roofs;
    roofs.copies = {{1 << 20, 5e9}};
    roofs.matmul = {{Dtype::float32, 2e12}, {Dtype::float64, 1e12}};
    roofs.empty_call = 1e-6;
    return roofs;
}

}  // namespace

TEST_CASE("a profile's text counts the measured calls and the verdicts against the baseline", "[report][profile]") {
    ProfileView view;
    view.not_implemented = 3;
    auto text = profile_report(two_measured(), one_slower(), view, {});
    REQUIRE(text.ok());
    CHECK_THAT(*text, Contains("2 calls on cpu, hot, 2 passes\n3 cases not implemented by cpu\n"));
    CHECK_THAT(*text, Contains("1 calls: 1 SLOWER, 0 FASTER, 0 SAME, 0 AMBIGUOUS; 1 are new\n"));
    CHECK_THAT(*text, Contains("The machine itself is 10.0% slower than in that run"));
    CHECK_THAT(*text, Contains("Add"));
    view.quiet = true;
    text = profile_report(two_measured(), std::nullopt, view, {});
    REQUIRE(text.ok());
    CHECK_THAT(*text, !Contains("Add") && !Contains("baseline"));
    view.sort_by = "colour";
    CHECK_FALSE(profile_report(two_measured(), std::nullopt, view, {}).ok());
}

TEST_CASE("a profile's JSON has every call, with the error of one that could not be measured", "[report][profile]") {
    const auto json = nlohmann::json::parse(profile_report_json(two_measured(), one_slower(), {}));
    REQUIRE(json.at("calls").size() == 3);
    CHECK(json.at("calls").at(0).at("median_s") == 0.002);
    CHECK(json.at("calls").at(0).at("baseline").at("verdict") == "SLOWER");
    CHECK_FALSE(json.at("calls").at(1).contains("baseline"));
    CHECK(json.at("calls").at(2).at("error") == "not implemented");
    CHECK_FALSE(json.at("calls").at(2).contains("median_s"));
    CHECK(json.at("baseline").at("drift") == 1.1);
    CHECK_FALSE(json.contains("layers"));
}

TEST_CASE("a profile against another implementation shows its time, its launch, and the mean ratio",
          "[report][profile]") {
    Profile profile = two_measured();
    profile.roofs = some_roofs();
    ProfileComparison comparison = one_slower();
    comparison.calls[0]->ratio = {2, 1.9, 2.1};
    comparison.calls[0]->base = 1e-3;
    comparison.drift = 1;
    comparison.geometric_mean = 2;
    comparison.against = "build/lib/libother.so";
    comparison.empty_call = 3e-6;
    comparison.error = "diopiNoImplement";
    const auto text = profile_report(profile, comparison, {}, {});
    REQUIRE(text.ok());
    CHECK_THAT(*text, Contains("Against  ") && Contains("  1.000ms  2.000  1.900..2.100   SLOWER"));
    CHECK_THAT(*text, Contains("Against libother.so: 1 calls: 1 SLOWER, 0 FASTER, 0 SAME, 0 AMBIGUOUS; 1 only here "
                               "(diopiNoImplement)\n"));
    CHECK_THAT(*text, Contains("Launch (a call on one element): cpu 1.000us, libother.so 3.000us\n"));
    CHECK_THAT(*text, Contains("Geometric mean of the ratios: 2.000, so cpu is 0.50 times as fast as libother.so\n"));

    const auto json = nlohmann::json::parse(profile_report_json(profile, comparison, {}));
    CHECK(json.at("calls").at(0).at("against").at("median_s") == 1e-3);
    CHECK(json.at("against").at("geometric_mean") == 2);
    CHECK(json.at("against").at("empty_call_s") == 3e-6);
    CHECK(json.at("against").at("backend") == "build/lib/libother.so");
    CHECK_FALSE(json.contains("baseline"));
}

TEST_CASE("a profile's CSV has one row per call", "[report][profile]") {
    ProfileComparison comparison = one_slower();
    comparison.calls[0]->ratio = {2, 1.9, 2.1};
    comparison.calls[0]->base = 1e-3;
    const std::string csv = profile_csv(two_measured(), comparison);
    CHECK_THAT(csv, Catch::StartsWith("name,case,function,phase,layer,dtype,shapes,median_s,"));
    CHECK_THAT(csv, Contains("\r\nAdd,,diopiAdd,forward,,float32,\"[[2, 3]]\",0.002,0.002,0.002,20,0,0,,0.001,2,1.9,"
                             "2.1,SLOWER,\r\n"));
    CHECK_THAT(csv, Contains("\r\nMul,,diopiMul,forward,,float32,\"[[2, 3]]\",0.002,0.002,0.002,20,0,0,,,,,,,\r\n"));
    CHECK_THAT(csv, Contains("Cdist,ops/x.cdist.0,,,,float32,[],,,,,,,,,,,,,not implemented\r\n"));
}

TEST_CASE("the seed's lines of a profile are of calls that ran", "[report][profile]") {
    Profile profile = two_measured();
    profile.calls[1].phase = "backward";
    CHECK(
        profile_seed_lines(profile) ==
        "SyncExecuteTimer: Add forward elasped 2.00000000 ms\nSyncExecuteTimer: Mul backward elasped 2.00000000 ms\n");
}

TEST_CASE("calls without samples are errors of cases, or functions that a replay lacks", "[report][profile]") {
    Profile profile = two_measured();
    CHECK(error_lines(profile) == std::vector<std::string>{"ops/x.cdist.0: not implemented"});
    profile.calls.push_back(failed_call("Cdist", ""));
    CHECK(missing_text(profile) == "not implemented: Cdist (2 calls)\n");
}

TEST_CASE("a slowdown of a device is reported once, with its count", "[report][profile]") {
    Profile profile = two_measured();
    CHECK(device_warnings(profile).empty());
    profile.unrecorded = "no CUPTI";
    profile.slowdowns = {"heat", "heat"};
    const std::vector<std::string> lines = device_warnings(profile);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "the trace lacks the device's kernels: no CUPTI");
    CHECK(lines[1] == "the device reduced its speed (heat), seen 2 times");
}

TEST_CASE("roofs mark products in TF32", "[report][profile]") {
    MeasuredRoofs measured{"cuda", false, some_roofs(), some_roofs()};
    measured.tf32->matmul[0].flops = 8e12;
    const std::string text = roofs_text(measured);
    CHECK_THAT(text, Contains("Roofs of cuda\ncopy     1024 KiB         5.0 GB/s\n"));
    CHECK_THAT(text, Contains("matmul    float32      2000.0 GFLOP/s\nmatmul       tf32      8000.0 GFLOP/s\n"));
    auto json = nlohmann::json::parse(roofs_json(measured));
    CHECK(json.at("matmul_flops_per_s").at("tf32") == 8e12);
    CHECK(json.at("matmul_flops_per_s").at("float32") == 2e12);
    measured = {"cuda+tf32", true, some_roofs(), std::nullopt};
    json = nlohmann::json::parse(roofs_json(measured));
    CHECK_FALSE(json.at("matmul_flops_per_s").contains("float32"));
    CHECK(json.at("matmul_flops_per_s").at("tf32") == 2e12);
}

}  // namespace diopi
