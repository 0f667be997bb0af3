#include "profile/profile_sampler.hpp"

#include <catch2/catch.hpp>

#include "profile/profile_testing.hpp"
#include "timing/launch_testing.hpp"

namespace diopi {

namespace {

/// A sampler whose additions are kernel launches.
class Sampling {
 public:
    explicit Sampling(const Shape& shape) : case_(testing::add_case(shape)), options(testing::quick_profile()) {
        options.backend = &launching.backend();
        options.passes = 1;
        options.timing.max_seconds = 0.01;
        steps_ = std::move(*CaseSteps::create(case_, 0, nullptr));
    }

    void run() {
        context_.emplace(device);
        sampler.emplace(options, *context_, 0);
        REQUIRE(sampler->start(begin_).ok());
        pass();
    }
    /// Seconds since the start of the profile.
    [[nodiscard]] double now() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }
    void pass(int64_t number = 0) {
        const auto step = steps_->plan("forward");
        REQUIRE(step.ok());
        REQUIRE(sampler->pass(*step, call, number).ok());
    }

 private:
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    Case case_;
    std::unique_ptr<CaseSteps> steps_;
    std::optional<Context> context_;

 public:
    testing::LaunchBackend launching;
    testing::LaunchDevice& device = launching.device;
    ProfileOptions options;
    ProfiledCall call;
    std::optional<ProfileSampler> sampler;
};

}  // namespace

TEST_CASE("a small cold call on a device has copies before its samples", "[run][profile]") {
    Sampling sampling({16});
    int copies = 0;
    sampling.device.on_copy = [&](void*, const void*, size_t) { ++copies; };
    SECTION("hot") {
        sampling.run();
        CHECK(copies == 0);
    }
    SECTION("cold") {
        sampling.options.cold = true;
        sampling.run();
        CHECK(copies > 1);
        for (const TimedRun& run : sampling.call.runs) CHECK(run.device == Approx(30e-6).epsilon(0.05));
    }
    SECTION("cold, and large enough without") {
        Sampling large({1 << 18});
        large.device.on_copy = [&](void*, const void*, size_t) { ++copies; };
        large.options.cold = true;
        large.run();
        CHECK(copies == 0);
    }
    SECTION("cold, on a device without copies") {
        sampling.options.cold = true;
        sampling.device.copies = false;
        sampling.run();
        CHECK_FALSE(sampling.call.runs.empty());
    }
}

TEST_CASE("a device is asked for slowdown reasons while it works on a sample", "[run][profile]") {
    Sampling sampling({16});
    sampling.run();
    // An idle device has no reason for a slowdown.
    CHECK_FALSE(sampling.device.is_busy());
    CHECK(sampling.sampler->take_events().slowdowns == std::vector<std::string>{"power limit"});
    CHECK(sampling.sampler->take_events().slowdowns.empty());
}

TEST_CASE("a process keeps its device busy before its first call only", "[run][profile]") {
    Sampling sampling({16});
    SECTION("samples") {}
    SECTION("iterations") { sampling.options.schedule = Schedule{0, 0, 0, 1, 2}; }
    sampling.run();
    CHECK(sampling.call.runs.front().start >= kRampSeconds);
    const size_t first = sampling.call.runs.size();
    const double begin = sampling.now();
    sampling.pass(1);
    REQUIRE(sampling.call.runs.size() > first);
    CHECK(sampling.call.runs[first].start < begin + kRampSeconds);
}

}  // namespace diopi
