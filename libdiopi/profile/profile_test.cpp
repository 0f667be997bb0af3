#include "profile/profile.hpp"

#include <omp.h>
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <new>
#include <set>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "call/chain.hpp"
#include "core/stopwatch.hpp"
#include "profile/profile_baseline.hpp"
#include "profile/profile_testing.hpp"
#include "runtime/async_device.hpp"
#include "runtime/device_decorator.hpp"
#include "timing/launch_testing.hpp"
#include "timing/metered_device.hpp"
#include "timing/roofs.hpp"
#include "timing/timing_interceptor.hpp"

using namespace diopi;
using testing::add_case;

namespace {

/// A device with its own clock on which a "kernel" takes 2 ms.
class SlowAdd final : public Interceptor {
 public:
    explicit SlowAdd(AsyncDevice& device) : device_(device) {}
    Outcome around(Call&, Context& context, const Next&) override {
        const Status s =
            device_.enqueue(context.stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
        return s.ok() ? Outcome() : Outcome{diopiErrorOccurred, s.message()};
    }

 private:
    AsyncDevice& device_;
};

ProfiledCall timed(const std::string& name, double seconds, int passes = 5) {
    ProfiledCall call;
    call.name = name;
    for (int p = 0; p < passes; ++p) {
        for (int i = 0; i < 20; ++i) {
            const double variation = 1 + 0.002 * ((p * 7 + i * 3) % 5);
            call.runs.push_back({0, seconds * variation, 0, p, 0});
        }
    }
    return call;
}

diopiError_t crash(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                   const diopiScalar_t*) {
    raise(SIGKILL);
    return diopiSuccess;
}

/// A device that gives no memory after a call has made it unusable.
class UnusableDevice final : public DeviceDecorator {
 public:
    UnusableDevice() : DeviceDecorator(cpu_device()) {}
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (is_unusable) return failed("device error 700");
        return device_->allocate(nbytes);
    }
    bool is_unusable = false;
};
UnusableDevice* g_unusable = nullptr;

diopiError_t make_unusable(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, const diopiScalar_t*) {
    g_unusable->is_unusable = true;
    return diopiErrorOccurred;
}

/// A function that works for three milliseconds in each thread.
diopiError_t add_in_parallel(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                             diopiConstTensorHandle_t, const diopiScalar_t*) {
#pragma omp parallel
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
        while (std::chrono::steady_clock::now() < end) {
        }
    }
    return diopiSuccess;
}

/// The number of processes on the crowded machine, which share it.
std::atomic<int>* g_processes = nullptr;

/// A machine on which every other process is crowded: its calls and the probe take longer.
class CrowdedMachine {
 public:
    CrowdedMachine() {
        void* shared =
            mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(shared != MAP_FAILED);
        g_processes = new (shared) std::atomic<int>(0);
    }
    [[nodiscard]] const Backend& backend() const { return faulty_.backend(); }

    static bool is_crowded() {
        static const bool is_crowded = (*g_processes)++ % 2 == 1;
        return is_crowded;
    }
    static double probe(Crowding::Of) { return is_crowded() ? 45e-6 : 30e-6; }

 private:
    /// Every other process is slow during its whole life, like one whose memory has unlucky addresses.
    static diopiError_t add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                            diopiConstTensorHandle_t, const diopiScalar_t*) {
        std::this_thread::sleep_for(std::chrono::milliseconds(is_crowded() ? 10 : 1));
        return diopiSuccess;
    }

    testing::FaultyBackend faulty_{{{"diopiAdd", testing::any_function(add)}}};
};

/// Operations per second of a matrix product by plain loops, the best of some. A sanitizer or an emulated processor
/// slows it and the libraries alike.
double speed_of_plain_product() {
    constexpr size_t kSize = 96;
    const std::vector<float> a(kSize * kSize, 1.5F), b(kSize * kSize, 0.25F);
    std::vector<float> c(kSize * kSize);
    double best = HUGE_VAL;
    for (int trial = 0; trial < 5; ++trial) {
        const Stopwatch watch;
        for (size_t i = 0; i < kSize; ++i) {
            for (size_t j = 0; j < kSize; ++j) {
                float sum = 0;
                for (size_t k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[k * kSize + j];
                c[i * kSize + j] = sum;
            }
        }
        best = std::min(best, watch.seconds());
    }
    CHECK(c.back() == 36);
    return 2.0 * kSize * kSize * kSize / best;
}

}  // namespace

TEST_CASE("each pass has its own process, whose noise is not the call's") {
    const CrowdedMachine machine;
    ProfileOptions options = testing::quick_profile();
    options.backend = &machine.backend();
    options.passes = 6;
    const auto profile = profile_cases({add_case({4})}, options);
    REQUIRE(profile.ok());
    const Passes passes = passes_of(profile->calls[0], false).passes;
    REQUIRE(passes.size() == 6);
    for (size_t i = 0; i < passes.size(); ++i) CHECK((median(passes[i]) > 9e-3) == (i % 2 == 1));
    CHECK(*g_processes == 6);
}

TEST_CASE("a profile has the calls that work in parallel") {
    ProfileOptions options = testing::quick_profile();
    options.passes = 2;
    omp_set_num_threads(2);
    const testing::FaultyBackend faulty({{"diopiAdd", testing::any_function(add_in_parallel)}});
    options.backend = &faulty.backend();
    options.steps = {"forward", "inplace"};
    const auto profile = profile_cases({add_case({4})}, options);
    omp_set_num_threads(1);
    REQUIRE(profile.ok());
    REQUIRE(profile->calls.size() == 2);
    CHECK(profile->calls[0].parallel);
    CHECK_FALSE(profile->calls[1].parallel);
}

TEST_CASE("samples on a crowded core do not count, and further passes replace them") {
    CrowdedMachine machine;
    ProfileOptions options = testing::quick_profile();
    options.backend = &machine.backend();
    options.passes = 6;
    options.timing.max_seconds = 0.4;
    options.timing.max_warmup_seconds = 0.001;
    options.probe = CrowdedMachine::probe;
    const auto profile = profile_cases({add_case({4})}, options);
    REQUIRE(profile.ok());
    CHECK(profile->quietest == 30e-6);
    const ProfiledCall& call = profile->calls[0];
    // More passes run until five of six requested ones are quiet.
    CHECK(profile->pace.size() == 9);
    CHECK(passes_of(call, false).passes.size() == 5);
    for (const TimedRun& run : call.runs) CHECK(run.crowding == Approx(run.pass % 2 == 1 ? 1.5 : 1.0));
    const Summary summary = summary_of(call, false);
    CHECK(summary.median < 5e-3);
    CHECK(summary.discarded >= std::ranges::count_if(call.runs, [](const auto& run) { return run.crowding > 1.4; }));
    // A pass waits 200 ms for a quiet moment, in samples of 10 ms.
    const int64_t crowded = std::ranges::count(call.runs, 1, &TimedRun::pass);
    CHECK(crowded >= 3);
    CHECK(crowded <= 20);
}

TEST_CASE("with few quiet passes there are verdicts only about large changes") {
    Profile base;
    base.calls = {timed("add", 1e-3, 20)};
    Profile now = base;
    for (TimedRun& run : now.calls[0].runs) {
        run.cpu *= 1.3;
        run.crowding = run.pass < 4 ? 1 : 1.5;
    }
    CHECK(passes_of(now.calls[0], false).is_crowded);
    CHECK(passes_of(now.calls[0], false).passes.size() == 20);
    auto comparison = compare_profiles(base, now);
    REQUIRE(comparison.ok());
    CHECK(comparison->ambiguous == 1);
    // A slowdown larger than that of crowded cores is a change.
    for (TimedRun& run : now.calls[0].runs) run.cpu *= 3;
    comparison = compare_profiles(base, now);
    REQUIRE(comparison.ok());
    CHECK(comparison->slower == 1);
    for (TimedRun& run : now.calls[0].runs) run.cpu /= 3;
    for (TimedRun& run : now.calls[0].runs) run.crowding = run.pass < 8 ? 1 : 1.5;
    CHECK(passes_of(now.calls[0], false).passes.size() == 8);
    comparison = compare_profiles(base, now);
    REQUIRE(comparison.ok());
    CHECK(comparison->slower == 1);
    // Four quiet samples are not enough for a quiet pass.
    int of_pass = 0;
    for (TimedRun& run : now.calls[0].runs) {
        if (run.pass == 0) run.crowding = ++of_pass <= 4 ? 1 : 1.5;
    }
    CHECK(passes_of(now.calls[0], false).passes.size() == 7);
}

TEST_CASE("a machine that is always crowded is measured nevertheless") {
    ProfileOptions options = testing::quick_profile();
    options.passes = 4;
    options.probe = [](Crowding::Of) {
        static double takes = 30e-6;
        return takes *= 1.1;
    };
    const auto profile = profile_cases({add_case({4})}, options);
    REQUIRE(profile.ok());
    // More passes run until the call has had its time.
    CHECK(profile->pace.size() > 4);
    CHECK(profile->pace.size() <= 8);
    CHECK(summary_of(profile->calls[0], false).samples > 0);
    CHECK(summary_of(profile->calls[0], false).median > 0);
    const auto again = compare_profiles(*profile, *profile);
    REQUIRE(again.ok());
    CHECK(again->ambiguous == 1);
}

TEST_CASE("passes without enough time are left out, but never the first one") {
    ProfileOptions options = testing::quick_profile();
    options.timing.max_seconds = 0.5;  // enough for every pass while other processes delay the samples
    Case other = add_case({8});
    other.index = 1;
    const std::vector<Case> cases = {add_case({4}), other};
    options.budget_seconds = 1e-9;
    const auto brief = profile_cases(cases, options);
    REQUIRE(brief.ok());
    CHECK(brief->pace.size() == 1);
    CHECK(brief->left_out == 19);
    REQUIRE(brief->calls.size() == 2);
    for (const ProfiledCall& call : brief->calls) {
        CHECK(summary_of(call, false).samples >= 10);
        // Omitted passes count: a plateau needs all passes.
        CHECK((call.stop == "time limit" || call.stop == "converged"));
    }
    options.budget_seconds = 600;
    const auto whole = profile_cases(cases, options);
    REQUIRE(whole.ok());
    CHECK(whole->left_out == 0);
    CHECK(whole->pace.size() == 20);
    for (const ProfiledCall& call : whole->calls) {
        std::set<int64_t> passes;
        for (const TimedRun& run : call.runs) passes.insert(run.pass);
        CHECK(passes.size() == 20);
    }
    // The budget is ignored with a schedule, whose iterations are counted.
    options.budget_seconds = 1e-9;
    options.schedule = *Schedule::parse("active=3");
    const auto counted = profile_cases(cases, options);
    REQUIRE(counted.ok());
    CHECK(counted->left_out == 0);
    CHECK(counted->calls[0].runs.size() == 3);
}

TEST_CASE("a call that crashes fails only its case, and the others are measured") {
    const testing::FaultyBackend faulty({{"diopiAddInp", testing::any_function(crash)}});
    ProfileOptions options = testing::quick_profile();
    options.backend = &faulty.backend();
    options.steps = {"forward", "inplace"};
    Case other = add_case({8});
    other.index = 1;
    other.inplace = false;
    int64_t done = 0;
    options.progress = [&](int64_t now, int64_t total) {
        CHECK(++done == now);
        CHECK(total == 40);
    };
    const auto profile = profile_cases({add_case({4}), other}, options);
    REQUIRE(profile.ok());
    REQUIRE(profile->calls.size() == 3);
    CHECK(profile->calls[0].error.find("SIGKILL") != std::string::npos);
    CHECK(profile->calls[0].error.find("in inplace (diopiAddInp)") != std::string::npos);
    CHECK(profile->calls[1].runs.empty());
    CHECK(passes_of(profile->calls[2], false).passes.size() == 20);
    CHECK(done == 40);
}

TEST_CASE("a device that stays in error fails only the call, and a new worker continues") {
    UnusableDevice device;
    g_unusable = &device;
    const testing::FaultyBackend faulty({{"diopiAddInp", testing::any_function(make_unusable)}});
    const Backend backend = faulty.backend().on(device);
    ProfileOptions options = testing::quick_profile();
    options.backend = &backend;
    options.passes = 4;
    options.steps = {"inplace", "forward"};
    Case other = add_case({8});
    other.index = 1;
    const auto profile = profile_cases({add_case({4}), other}, options);
    REQUIRE(profile.ok());
    REQUIRE(profile->calls.size() == 4);
    for (const size_t inplace : {0, 2}) {
        CHECK_THAT(profile->calls[inplace].error, Catch::Matchers::Contains("stayed in error, its worker"));
        // In the first pass, the case's other step had no usable device.
        CHECK(passes_of(profile->calls[inplace + 1], false).passes.size() == 3);
        CHECK(profile->calls[inplace + 1].error == "");
    }
}

TEST_CASE("a profile holds samples of every pass, with the call's shapes, bytes and memory") {
    ProfileOptions options = testing::quick_profile();
    options.steps = {"forward", "inplace", "backward"};
    options.memory = true;
    const auto profile = profile_cases({add_case({64, 1024})}, options);
    REQUIRE(profile.ok());
    REQUIRE(profile->calls.size() == 2);
    CHECK(profile->pace.size() == 20);
    const ProfiledCall& call = profile->calls.front();
    CHECK(call.error == "");
    CHECK(call.function == "diopiAdd");
    CHECK(call.phase == "forward");
    CHECK(call.shapes == std::vector<Shape>{{64, 1024}, {64, 1024}});
    CHECK(call.bytes == 3 * 64 * 1024 * 4);
    CHECK(call.allocated == 64 * 1024 * 4);
    CHECK(passes_of(call, false).passes.size() == 20);
    CHECK(summary_of(call, false).median > 0);
    CHECK(profile->calls[1].name == "add_inp");
    CHECK(profile->calls[1].allocated == 0);
}

TEST_CASE("cold calls use other tensors each time, without errors") {
    ProfileOptions options = testing::quick_profile();
    options.cold = true;
    options.passes = 2;
    const auto profile = profile_cases({add_case({1 << 20})}, options);
    REQUIRE(profile.ok());
    CHECK(profile->mode == "cold");
    CHECK(profile->calls[0].error == "");
    CHECK(profile->calls[0].runs.size() >= 6);
}

TEST_CASE("a schedule records its active iterations, one sample each") {
    ProfileOptions options = testing::quick_profile();
    options.schedule = Schedule{1, 1, 2, 3, 2};
    const auto profile = profile_cases({add_case({256})}, options);
    REQUIRE(profile.ok());
    const ProfiledCall& call = profile->calls[0];
    CHECK(call.runs.size() == 6);
    CHECK(call.warmup == 4);
    CHECK(call.runs[0].pass == 4);
    CHECK(call.runs[3].pass == 10);
}

TEST_CASE("a call that cannot run has the reason, and the others run") {
    Case broken = add_case({4});
    broken.index = 1;
    broken.tensors[1].specs[0].shape = {3};
    const auto profile = profile_cases({broken, add_case({4})}, testing::quick_profile());
    REQUIRE(profile.ok());
    REQUIRE(profile->calls.size() == 2);
    CHECK(profile->calls[0].error.find("do not broadcast") != std::string::npos);
    CHECK(profile->calls[0].runs.empty());
    CHECK_FALSE(profile->calls[1].runs.empty());
}

TEST_CASE("roofs are measured through the backend, and larger copies are not faster than the fastest") {
    const Dtype dtypes[] = {Dtype::float32, Dtype::int32, Dtype::float32};
    const auto roofs = measure_roofs(*testing::quick_profile().backend, dtypes);
    REQUIRE(roofs.ok());
    CHECK(roofs->copies.size() >= 5);
    CHECK(roofs->matmul.size() == 1);
    CHECK(matmul_roof(*roofs, Dtype::float32) > speed_of_plain_product());
    CHECK(matmul_roof(*roofs, Dtype::float64) == 0);
    CHECK(roofs->empty_call > 0);
    CHECK(roofs->empty_call < 1e-3);
}

TEST_CASE("roofs are measured with no other stream on the device, also after a schedule's iterations") {
    testing::LaunchBackend launching;
    launching.on_launch = [&] {
        if (launching.device.streams != 1) raise(SIGABRT);
    };
    ProfileOptions options = testing::quick_profile();
    options.backend = &launching.backend();
    options.roofs = true;
    options.schedule = Schedule{0, 0, 0, 1, 1};
    const auto profile = profile_cases({add_case({4})}, options);
    REQUIRE(profile.ok());
    CHECK(profile->calls[0].error == "");
    CHECK(profile->calls[0].runs.size() == 1);
    CHECK_FALSE(profile->roofs.copies.empty());
}

TEST_CASE("the better figures of two measurements of the roofs count") {
    Roofs a, b;
    a.copies = {{1000, 4e9}, {2000, 1e9}};
    b.copies = {{1000, 3e9}, {2000, 2e9}};
    a.matmul = {{Dtype::float32, 1e9}};
    b.matmul = {{Dtype::float32, 3e9}};
    a.empty_call = 2e-7;
    b.empty_call = 1e-7;
    const Roofs best = better(a, b);
    CHECK(best.copies[0].rate == 4e9);
    CHECK(best.copies[1].rate == 2e9);
    CHECK(matmul_roof(best, Dtype::float32) == 3e9);
    CHECK(best.empty_call == 1e-7);
    CHECK(better({}, b).empty_call == 1e-7);
}

TEST_CASE("the roof of a call is that of its size, and the slower one of bytes and operations") {
    Roofs roofs;
    roofs.copies = {{1000, 4e9}, {100'000, 8e9}, {10'000'000, 1e9}};
    roofs.matmul = {{Dtype::float32, 1e9}};
    CHECK(copy_roof(roofs, 10) == 8e9);
    CHECK(copy_roof(roofs, 5e6) == 8e9);
    CHECK(copy_roof(roofs, 2e7) == 1e9);
    ProfiledCall call;
    call.bytes = 2e7;
    CHECK(roof_seconds(roofs, call) == Approx(0.02));
    call.flops = 1e8;
    CHECK(roof_seconds(roofs, call) == Approx(0.1));
    call.dtype = Dtype::float64;
    CHECK(roof_seconds(roofs, call) == Approx(0.02));
    CHECK(roof_seconds({}, call) == 0);
}

TEST_CASE("the meter counts allocations and frees, also after its own end") {
    std::shared_ptr<void> kept;
    {
        MeteredDevice device(cpu_device());
        auto first = device.allocate(1000);
        REQUIRE(first.ok());
        kept = *first;
        { const auto second = device.allocate(24); }
        CHECK(device.allocated() == 1024);
        CHECK(device.freed() == 24);
    }
    kept.reset();
}

TEST_CASE("as a tool on the chain, timing notes every call, also nested ones") {
    Context context(cpu_device());
    auto clock = ProfileClock::start(context);
    REQUIRE(clock.ok());
    TimingInterceptor outer(*clock);
    outer.set_pass(3);
    Chain chain(*testing::quick_profile().backend);
    chain.add(outer);
    chain.add(outer);
    const auto tensor = make_tensor(cpu_device(), {{4}, Dtype::float32, {}});
    Call call(*find_row("diopiFill"));
    call["input"] = *tensor;
    call["value"] = Scalar::of(1.0);
    REQUIRE(chain.run(call, context).ok());
    REQUIRE(chain.run(call, context).ok());
    const auto noted = outer.collect();
    REQUIRE(noted.ok());
    REQUIRE(noted->size() == 4);
    CHECK((*noted)[0].parent == -1);
    CHECK((*noted)[1].parent == 0);
    CHECK((*noted)[2].parent == -1);
    CHECK((*noted)[0].run.cpu >= (*noted)[1].run.cpu);
    CHECK((*noted)[1].run.pass == 3);
    CHECK((*noted)[0].row->function == "diopiFill");
    CHECK((*outer.collect()).empty());
}

TEST_CASE("on a device with its own clock, a launch is short and the work is long") {
    AsyncDevice device;
    const Backend backend = (*find_backend("cpu"))->on(device);
    Context context(device);
    auto clock = ProfileClock::start(context);
    REQUIRE(clock.ok());
    REQUIRE(clock->has_device_time());
    SlowAdd kernel(device);
    TimingInterceptor timing(*clock);
    Chain chain(backend);
    chain.add(timing);
    chain.add(kernel);
    Call call(*find_row("diopiAdd"));
    REQUIRE(chain.run(call, context).ok());
    REQUIRE(chain.run(call, context).ok());
    const auto noted = timing.collect();
    REQUIRE(noted.ok());
    for (const auto& each : *noted) {
        CHECK(each.run.device >= 0.0019);
        CHECK(each.run.device_start >= each.run.start - 1e-3);
    }
    Call* const only[] = {&call};
    TimingOptions options;
    options.max_seconds = 0.02;
    options.max_warmup_seconds = 0.001;
    const auto samples = time_call(chain, only, context, *clock, options);
    REQUIRE(samples.ok());
    for (const TimedRun& run : samples->runs) {
        CHECK(run.device >= 0.0019);
        CHECK(seconds_of(run, true) == run.device);
    }
}

TEST_CASE("a profile against itself has no verdict of a change, a call that became slower has") {
    Profile base;
    base.pace = {0.001, 0.001};
    for (const char* name : {"add", "mul", "relu"}) base.calls.push_back(timed(name, 1e-3));
    Profile now = base;
    const auto same = compare_profiles(base, now);
    REQUIRE(same.ok());
    CHECK(same->compared == 3);
    CHECK(same->slower + same->faster == 0);
    for (TimedRun& run : now.calls[1].runs) run.cpu *= 1.05;
    now.calls.push_back(timed("new", 1e-3));
    now.calls.erase(now.calls.begin());
    const auto slower = compare_profiles(base, now);
    REQUIRE(slower.ok());
    CHECK(slower->slower == 1);
    REQUIRE(slower->calls.size() == 3);
    CHECK(slower->calls[0]->verdict == SpeedVerdict::kSlower);
    CHECK(slower->calls[0]->ratio.value == Approx(1.05).epsilon(0.01));
    CHECK_FALSE(slower->calls[2]);
    CHECK(slower->unknown == 1);
    CHECK(slower->gone == 1);
}

TEST_CASE("a single pass does not distinguish a change from a slow process") {
    Profile base, now;
    for (int i = 0; i < 10; ++i) {
        base.calls.push_back(timed("call" + std::to_string(i), 1e-3));
        now.calls.push_back(timed("call" + std::to_string(i), 1.5e-3, 1));
    }
    for (const auto& [old, later] : {std::pair(&base, &now), std::pair(&now, &base), std::pair(&now, &now)}) {
        const auto comparison = compare_profiles(*old, *later);
        REQUIRE(comparison.ok());
        CHECK(comparison->ambiguous == 10);
    }
}

TEST_CASE("a slowdown of the machine itself is corrected, and makes verdicts less certain") {
    Profile base, now;
    base.pace = {0.001, 0.001};
    now.pace = {0.0012, 0.0012};
    base.calls = {timed("add", 1e-3)};
    now.calls = {timed("add", 1.2e-3)};
    const auto comparison = compare_profiles(base, now);
    REQUIRE(comparison.ok());
    CHECK(comparison->drift == Approx(1.2));
    CHECK(comparison->calls[0]->ratio.value == Approx(1).epsilon(0.001));
    CHECK(comparison->calls[0]->verdict == SpeedVerdict::kAmbiguous);
    now.mode = "cold";
    CHECK_FALSE(compare_profiles(base, now).ok());
    now.mode = base.mode;
    now.has_device_time = true;
    CHECK_FALSE(compare_profiles(base, now).ok());
}
