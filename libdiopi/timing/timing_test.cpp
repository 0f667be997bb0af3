#include "timing/timing.hpp"

#include <catch2/catch.hpp>

#include "timing/launch_testing.hpp"

namespace diopi {

namespace {

using testing::LaunchDevice;
using testing::Launches;

/// The host's time to launch a small kernel.
constexpr double kLaunch = 8e-6;

TimingOptions short_timing() {
    TimingOptions options;
    options.max_seconds = 0.01;
    options.max_warmup_seconds = 0.001;
    return options;
}

/// A call on the launching device, with everything that timing it needs.
class Timed {
 public:
    explicit Timed(double device_s) : work_(device, kLaunch, device_s) { chain_.add(work_); }

    Samples samples(const TimingOptions& options, size_t sets = 1) {
        Context context(device);
        auto clock = ProfileClock::start(context);
        REQUIRE(clock.ok());
        const std::vector<Call*> calls(sets, &call_);
        auto samples = time_call(chain_, calls, context, *clock, options);
        REQUIRE(samples.ok());
        return std::move(*samples);
    }

    LaunchDevice device;

 private:
    Launches work_;
    Chain chain_{**find_backend("cpu")};
    Call call_{*find_row("diopiAdd")};
};

}  // namespace

TEST_CASE("on a device with its own clock a batch shares the time of the first launch", "[run][timing]") {
    for (const double seconds : {12e-6, 40e-6, 150e-6, 250e-6}) {
        Timed timed(seconds);
        const Samples samples = timed.samples(short_timing());
        CHECK(static_cast<double>(samples.batch) * (seconds + kLaunch) >= 200e-6);
        for (const TimedRun& run : samples.runs) {
            CHECK(run.device > seconds);
            CHECK(run.device < 1.05 * seconds);
        }
    }
}

TEST_CASE("a call whose launch takes longer than its work has the time of launches", "[run][timing]") {
    Timed timed(1e-6);
    const Samples samples = timed.samples(short_timing());
    for (const TimedRun& run : samples.runs) CHECK(run.device == Approx(kLaunch).epsilon(0.02));
}

TEST_CASE("only a very short call needs many batches, and a batch has no argument set twice", "[run][timing]") {
    TimingOptions options = short_timing();
    options.wanted_interval = 1;
    options.min_samples = 4;
    options.min_short_samples = 30;
    CHECK(Timed(0.1e-6).samples(options).runs.size() >= 30);
    CHECK(Timed(12e-6).samples(options).runs.size() < 30);
    CHECK(Timed(12e-6).samples(options, 7).batch == 7);
}

TEST_CASE("a device that was idle is kept busy before the first call is timed", "[run][timing]") {
    Timed timed(40e-6);
    TimingOptions options = short_timing();
    CHECK(timed.samples(options).runs.front().start < 0.04);
    options.ramp_seconds = 0.05;
    timed.device.launches = 0;
    const double idle = timed.device.host;
    const Samples samples = timed.samples(options);
    CHECK(samples.runs.front().start >= 0.05);
    // The ramp makes batches, not single calls: in 50 ms of the host's time the modelled device does a lot.
    CHECK(timed.device.launches > 1000);
    CHECK(timed.device.host - idle < 1.1 * 40e-6 * static_cast<double>(timed.device.launches));
    // The nested calls are not part of the call's own time.
    CHECK(samples.warmup < 100);
}

}  // namespace diopi
