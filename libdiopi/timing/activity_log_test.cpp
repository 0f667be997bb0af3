#include "timing/activity_log.hpp"

#include <catch2/catch.hpp>

#include "call/chain.hpp"
#include "profile/profile_testing.hpp"
#include "runtime/device_decorator.hpp"

using namespace diopi;

namespace {

/// A device that reports one kernel, or why it cannot, and that is too hot.
class ReportingDevice final : public DeviceDecorator {
 public:
    explicit ReportingDevice(std::string error = "") : DeviceDecorator(cpu_device()), error_(std::move(error)) {}

    std::string slowdown() override { return "too hot"; }
    Result<std::unique_ptr<ActivityRecording>> record_activities() override {
        if (!error_.empty()) return bad_input(error_);
        return std::unique_ptr<ActivityRecording>(std::make_unique<Recording>());
    }

 private:
    struct Recording final : ActivityRecording {
        Result<std::vector<DeviceActivity>> finish() override {
            return std::vector<DeviceActivity>{{"add_kernel", 7, 1e-6, 3e-6, 5e-6, 2e-6}};
        }
    };

    std::string error_;
};

}  // namespace

TEST_CASE("the activities of a device are on the profile's clock") {
    ReportingDevice device;
    Context context(device);
    const auto clock = ProfileClock::start(context);
    REQUIRE(clock.ok());
    Profile profile;
    ActivityLog log(profile);
    log.finish("nothing was begun");
    CHECK(profile.activities.empty());
    const double before = clock->now();
    log.begin(device, *clock);
    log.finish("add");
    REQUIRE(profile.activities.size() == 1);
    const auto& [kernel, call] = profile.activities[0];
    CHECK(call == "add");
    CHECK(kernel.stream == 7);
    CHECK(kernel.launched >= before);
    CHECK(kernel.start - kernel.launched == Approx(4e-6));
}

TEST_CASE("a profile holds what the device did for each step once, and how often it was slow") {
    ReportingDevice device;
    const Backend backend = (*find_backend("cpu"))->on(device);
    ProfileOptions options = testing::quick_profile();
    options.backend = &backend;
    options.passes = 3;
    CHECK(profile_cases({testing::add_case({4})}, options)->activities.empty());
    options.activities = true;
    const auto profile = profile_cases({testing::add_case({4})}, options);
    REQUIRE(profile.ok());
    REQUIRE(profile->activities.size() == 1);
    CHECK(profile->activities[0].activity.name == "add_kernel");
    CHECK(profile->activities[0].call == "add");
    CHECK(profile->slowdowns == std::vector<std::string>(3, "too hot"));
}

TEST_CASE("a device that cannot be recorded is profiled all the same, and the reason is kept") {
    ReportingDevice device("libreporting.so cannot be opened");
    const Backend backend = (*find_backend("cpu"))->on(device);
    ProfileOptions options = testing::quick_profile();
    options.backend = &backend;
    options.passes = 2;
    options.activities = true;
    const auto profile = profile_cases({testing::add_case({4})}, options);
    REQUIRE(profile.ok());
    CHECK(profile->unrecorded == "libreporting.so cannot be opened");
    CHECK_FALSE(profile->calls[0].runs.empty());
}
