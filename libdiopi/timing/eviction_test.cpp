#include "timing/eviction.hpp"

#include <catch2/catch.hpp>

#include "timing/launch_testing.hpp"
#include "timing/timing.hpp"

namespace diopi {

namespace {

constexpr int64_t kCache = int64_t{1} << 20;

}  // namespace

TEST_CASE("a copy inside a device's memory that is larger than its caches clears them", "[run][timing]") {
    testing::LaunchDevice device;
    Context context(device);
    Eviction evict(context, kCache);
    std::vector<std::pair<std::byte*, std::byte*>> copies;
    size_t bytes = 0;
    device.on_copy = [&](void* dst, const void* src, size_t nbytes) {
        copies.emplace_back(static_cast<std::byte*>(dst), static_cast<std::byte*>(const_cast<void*>(src)));
        bytes = nbytes;
    };
    REQUIRE(evict.is_possible().ok());
    CHECK(*evict.is_possible());
    copies.clear();
    REQUIRE(evict().ok());
    REQUIRE(copies.size() == 1);
    CHECK(bytes > kCache);
    CHECK(copies[0].first - copies[0].second >= static_cast<std::ptrdiff_t>(bytes));
    // The host does not wait for it.
    CHECK(device.is_busy());
}

TEST_CASE("the caches of a device without copies inside its memory are not cleared", "[run][timing]") {
    testing::LaunchDevice device;
    device.copies = false;
    Context context(device);
    Eviction evict(context, kCache);
    REQUIRE(evict.is_possible().ok());
    CHECK_FALSE(*evict.is_possible());
    Context host(cpu_device());
    CHECK(*Eviction(host, kCache).is_possible());
    CHECK(Eviction(host, kCache)().ok());
}

TEST_CASE("the time to clear the caches is in no sample", "[run][timing]") {
    testing::LaunchDevice device;
    Context context(device);
    const auto clock = ProfileClock::start(context);
    REQUIRE(clock.ok());
    testing::Launches work(device, 8e-6, 30e-6);
    Chain chain(**find_backend("cpu"));
    chain.add(work);
    Call call(*find_row("diopiAdd"));
    Call* const calls[] = {&call, &call};
    Eviction evict(context, kCache);
    int evicted = 0;
    SampleHooks hooks;
    hooks.evict = [&] {
        ++evicted;
        return evict();
    };
    EventTimer watch(chain, calls, context, *clock, hooks);
    REQUIRE(watch.create().ok());
    for (int i = 0; i < 4; ++i) {
        const auto run = watch.measure(2);
        REQUIRE(run.ok());
        // The stream is busy with the copy while the host makes the calls, so that the time has no launch.
        CHECK(run->device == Approx(30e-6));
    }
    CHECK(evicted == 4);
}

}  // namespace diopi
