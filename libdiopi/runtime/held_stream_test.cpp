#include "runtime/held_stream.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/stopwatch.hpp"
#include "runtime/async_device.hpp"
#include "runtime/guarded_device.hpp"
#include "runtime/library_device.hpp"
#include "runtime/memory_checker.hpp"

namespace diopi {

namespace {

constexpr double kHold_s = 0.1;
/// Measuring copies is repeated, because other processes disturb it.
constexpr int kTries = 3;

diopiError_t copy_at_once(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    std::memmove(dst, src, bytes);
    return diopiSuccess;
}

/// A vendor's device whose work is done when its functions return.
LibraryDevice synchronous_device(bool has_copies) {
    return {"prompt", [has_copies](DeviceFunctions& functions) {
                functions.allocate = [](uint64_t bytes) { return std::calloc(1, bytes); };
                functions.free = std::free;
                functions.copy_in = copy_at_once;
                functions.copy_out = copy_at_once;
                functions.copy_on_device = has_copies ? copy_at_once : nullptr;
                functions.make_stream = [](diopiStreamHandle_t* stream) {
                    static int made = 0;
                    *stream = &made;
                    return diopiSuccess;
                };
                functions.destroy_stream = [](diopiStreamHandle_t) { return diopiSuccess; };
                functions.synchronize = [](diopiStreamHandle_t) { return diopiSuccess; };
                return Status();
            }};
}

/// A device whose streams pause, or whose pause blocks the caller.
class Pausing final : public AsyncDevice {
 public:
    enum class Pause { kOnStream, kInCaller };
    explicit Pausing(Pause pause) : pause_(pause) {}

    int pauses = 0;
    int64_t copies = 0;
    size_t allocated = 0;

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        allocated += nbytes;
        return AsyncDevice::allocate(nbytes);
    }
    Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        ++copies;
        return AsyncDevice::copy_on_device(stream, dst, src, nbytes);
    }
    Status pause(diopiStreamHandle_t stream, double seconds) override {
        ++pauses;
        const auto sleep = [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
        if (pause_ == Pause::kOnStream) return enqueue(stream, sleep);
        sleep();
        return {};
    }

 private:
    Pause pause_;
};

/// Checks that commands after the hold have not begun when the caller continues.
void expect_held(Device& device) {
    const diopiStreamHandle_t stream = *device.create_stream();
    auto held = HeldStream::create(device, stream);
    REQUIRE(held.ok());
    REQUIRE(*held != nullptr);
    int from = 7, to = 0;
    double held_s = 0;
    for (int tries = 0; tries < kTries && held_s < kHold_s / 2; ++tries) {
        if (tries > 0) (*held)->lengthen(held_s);
        to = 0;
        const Stopwatch watch;
        REQUIRE((*held)->hold(kHold_s).ok());
        REQUIRE((*held)->copy(&to, &from, sizeof to).ok());
        CHECK(watch.seconds() < kHold_s / 2);
        REQUIRE(device.synchronize(stream).ok());
        held_s = watch.seconds();
    }
    CHECK(held_s > kHold_s / 2);
    CHECK(to == 7);
    held->reset();
    CHECK(device.destroy_stream(stream).ok());
}

}  // namespace

TEST_CASE("a held stream begins later commands afterwards, in order") {
    AsyncDevice device;
    expect_held(device);
}

TEST_CASE("a device inside decorators is held like the device alone") {
    AsyncDevice device;
    MemoryChecker checker(device);
    expect_held(checker);
    CHECK(checker.live().empty());
    GuardedDevice guarded(checker, Guard::kZones);
    expect_held(guarded);
}

TEST_CASE("a stream with pauses is held by one, without scratch memory") {
    Pausing device(Pausing::Pause::kOnStream);
    MemoryChecker checker(device);
    expect_held(checker);
    CHECK(checker.pace->has_pauses);
    CHECK(device.copies <= 5);
    CHECK(device.allocated < 4096);
    auto held = HeldStream::create(checker, nullptr);
    const int before = device.pauses;
    REQUIRE((*held)->hold(0.18).ok());
    (*held)->lengthen(0.001);
    CHECK(device.pauses == before + 1);
    CHECK(device.synchronize(nullptr).ok());
}

TEST_CASE("a stream whose pauses block the caller cannot be held") {
    Pausing device(Pausing::Pause::kInCaller);
    auto held = HeldStream::create(device, nullptr);
    REQUIRE(held.ok());
    CHECK(*held == nullptr);
    CHECK(device.allocated < 4096);
}

TEST_CASE("the copy speed of a device is measured once") {
    int64_t copies = 0;
    class Counting final : public AsyncDevice {
     public:
        explicit Counting(int64_t& copies) : copies_(&copies) {}
        Status copy_on_device(diopiStreamHandle_t, void*, const void*, size_t) override { return ++*copies_, Status(); }

     private:
        int64_t* copies_;
    } counting(copies);
    counting.pace = CopyPace{4096, 1e-3};
    auto held = HeldStream::create(counting, nullptr);
    REQUIRE(held.ok());
    CHECK(copies == 0);
    REQUIRE((*held)->hold(0.01).ok());
    CHECK(copies == 10);
}

TEST_CASE("a stream that cannot be held without blocking the caller is null") {
    CHECK(*HeldStream::create(cpu_device(), nullptr) == nullptr);
    MemoryChecker checker(cpu_device());
    CHECK(*HeldStream::create(checker, nullptr) == nullptr);
    for (const bool has_copies : {false, true}) {
        LibraryDevice device = synchronous_device(has_copies);
        auto held = HeldStream::create(device, nullptr);
        REQUIRE(held.ok());
        CHECK(*held == nullptr);
        CHECK_FALSE(device.pace->can_hold());
    }
}

}  // namespace diopi
