#include "profile/profile_capture.hpp"

#include <catch2/catch.hpp>

#include "intercept/testing.hpp"
#include "timing/launch_testing.hpp"
#include "timing/timing.hpp"

namespace diopi {

namespace {

using namespace testing;

/// sum = a + b, lost = erfinv(sum), product = sum * b, c = convex_iou(product, b): nobody implements two of the calls.
Capture calls_with_gaps() {
    Capture capture;
    capture.name = "four";
    const Recipe one{Recipe::Kind::kUniform, Dtype::float32, 1, 2};
    const size_t a = add_floats(capture, "a", 1000, one), b = add_floats(capture, "b", 1000, one);
    const size_t sum = add_floats(capture, "sum", 1000), lost = add_floats(capture, "lost", 1000);
    const size_t product = add_floats(capture, "product", 1000), c = add_floats(capture, "c", 500);
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", sum}, {"input", a}, {"other", b}},
             [](Call& call) { call["alpha"] = Scalar::of(1.0); });
    capture.calls.back().phase = "forward";
    capture.calls.back().layer = "block.0";
    capture.calls.back().forward_id = 3;
    capture.calls.emplace_back().overload = "erfinv";
    capture.calls.back().reads = {sum};
    capture.calls.back().writes = {{lost, one}};
    add_call(capture, "mul.Tensor", "diopiMul", {{"out", product}, {"input", sum}, {"other", b}}, [](Call&) {});
    add_call(capture, "convex_iou", "diopiConvexIouMmcv", {{"ious", c}, {"pointsets", product}, {"polygons", b}},
             [](Call&) {});
    return capture;
}

Profile profiled(CaptureProfileOptions options, SimBackend* sim = nullptr) {
    const Capture capture = calls_with_gaps();
    const CaptureValues values;
    auto replay = CaptureReplay::create(capture, values, 0);
    REQUIRE(replay.ok());
    options.backend = sim == nullptr ? *find_backend("cpu") : &sim->backend();
    options.sim = sim;
    options.roofs = false;
    auto profile = profile_capture(*replay, capture, options);
    REQUIRE(profile.ok());
    return std::move(*profile);
}

/// A profile on a device with its own clock.
Profile launched(testing::LaunchBackend& launching, bool roofs) {
    const Capture capture = calls_with_gaps();
    const CaptureValues values;
    auto replay = CaptureReplay::create(capture, values, 0);
    REQUIRE(replay.ok());
    CaptureProfileOptions options;
    options.backend = &launching.backend();
    options.roofs = roofs;
    auto profile = profile_capture(*replay, capture, options);
    REQUIRE(profile.ok());
    return std::move(*profile);
}

}  // namespace

TEST_CASE("the profile of a capture has a row for the step, and one for each call inside it", "[run][profile]") {
    CaptureProfileOptions options;
    options.run_times = 4;
    const Profile profile = profiled(options);
    REQUIRE(profile.calls.size() == 5);
    CHECK(profile.calls[0].name == "four step");
    CHECK(profile.calls[0].parent == -1);
    CHECK(profile.calls[0].runs.size() == 4);
    const ProfiledCall& add = profile.calls[1];
    CHECK(add.name == "add.Tensor");
    CHECK(add.function == "diopiAdd");
    CHECK(add.layer == "block.0");
    CHECK(add.forward_id == 3);
    CHECK(add.parent == 0);
    CHECK(add.bytes == 12000);
    REQUIRE(add.runs.size() == 4);
    CHECK(add.warmup == 1);
    for (size_t i = 0; i < 4; ++i) {
        const TimedRun& step = profile.calls[0].runs[i];
        CHECK(add.runs[i].cpu > 0);
        CHECK(add.runs[i].start >= step.start);
        CHECK(add.runs[i].start + add.runs[i].cpu <= step.start + step.cpu);
        CHECK(add.runs[i].pass == step.pass);
    }
    CHECK(profile.calls[3].name == "mul.Tensor");
    CHECK(profile.calls[3].runs.size() == 4);
}

TEST_CASE("a call that nobody implements has that as its error, and no time", "[run][profile]") {
    const Profile profile = profiled({});
    CHECK_THAT(profile.calls[2].error, Catch::Matchers::Contains("erfinv"));
    CHECK(profile.calls[2].runs.empty());
    CHECK_THAT(profile.calls[4].error, Catch::Matchers::Contains("diopiConvexIouMmcv"));
    CHECK(profile.calls[4].runs.empty());
    CHECK(profile.calls[3].error.empty());
}

TEST_CASE("memory is allocated at the first call that uses it and freed after the last", "[run][profile]") {
    CaptureProfileOptions options;
    options.memory = true;
    const Profile profile = profiled(options);
    CHECK(profile.calls[1].allocated == 4000);
    CHECK(profile.calls[1].freed == 4000);  // a is freed
    CHECK(profile.calls[3].allocated == 4000);
    CHECK(profile.calls[3].freed == 4000);  // sum is freed
    CHECK(profile.calls[4].allocated == 2000);
    CHECK(profile.calls[4].freed == 8000);  // product and b are freed; c is a result
}

TEST_CASE("a schedule determines the recorded steps", "[run][profile]") {
    CaptureProfileOptions options;
    options.run_times = 7;
    options.schedule = Schedule{1, 1, 2, 3, 1};
    const Profile profile = profiled(options);
    CHECK(profile.calls[0].runs.size() == 3);
    REQUIRE(profile.calls[1].runs.size() == 3);
    CHECK(profile.calls[1].runs[0].pass == 4);
}

TEST_CASE("on a simulated device the calls have the device's times", "[run][profile]") {
    SimOptions options;
    options.model.launch_s = 0.5;
    SimBackend sim(std::move(options));
    const Profile profile = profiled({}, &sim);
    CHECK(profile.has_device_time);
    REQUIRE(profile.calls[1].runs.size() == 3);
    for (const TimedRun& run : profile.calls[1].runs) {
        CHECK(run.device >= 0.5);
        CHECK(run.device < 0.6);
        CHECK(run.cpu < 0.1);
    }
}

TEST_CASE("a device that was idle is busy with steps before the first that counts", "[run][profile]") {
    testing::LaunchBackend launching;
    const Profile profile = launched(launching, false);
    CHECK(profile.calls[1].runs.size() == 3);
    CHECK(profile.calls[1].warmup > 1);
    CHECK(profile.calls[0].runs[0].start >= kRampSeconds);
    // The slowdown is read after the first call, not after the step; again in each step that begins 50 ms later.
    CHECK_FALSE(profile.slowdowns.empty());
    for (const std::string& reason : profile.slowdowns) CHECK(reason == "power limit");
}

TEST_CASE("roofs are measured with no other stream on the device", "[run][profile]") {
    testing::LaunchBackend launching;
    int most = 0;
    launching.on_launch = [&] { most = std::max(most, launching.device.streams); };
    CHECK_FALSE(launched(launching, true).roofs.copies.empty());
    CHECK(most == 1);
    CHECK(launching.device.streams == 0);
}

}  // namespace diopi
