#include "runtime/held_stream.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "core/stopwatch.hpp"
#include "runtime/async_device.hpp"
#include "runtime/library_device.hpp"

namespace diopi {

namespace {

constexpr double kHold_s = 0.1;

diopiError_t copy_at_once(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    std::memmove(dst, src, bytes);
    return diopiSuccess;
}

/// A vendor's device whose work is done when its functions return.
LibraryDevice prompt_device(bool has_copies) {
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

}  // namespace

TEST_CASE("a held stream begins what is enqueued behind its work later, in order") {
    AsyncDevice device;
    const diopiStreamHandle_t stream = *device.create_stream();
    auto held = HeldStream::create(device, stream);
    REQUIRE(held.ok());
    REQUIRE(*held != nullptr);
    int from = 7, to = 0;
    const Stopwatch watch;
    REQUIRE((*held)->hold(kHold_s).ok());
    REQUIRE((*held)->copy(&to, &from, sizeof to).ok());
    CHECK(watch.seconds() < kHold_s / 2);
    REQUIRE(device.synchronize(stream).ok());
    CHECK(watch.seconds() > kHold_s / 2);
    CHECK(to == 7);
    held->reset();
    CHECK(device.destroy_stream(stream).ok());
}

TEST_CASE("how fast a device copies is measured once") {
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

TEST_CASE("a stream that cannot be held behind the caller's back is none") {
    CHECK(*HeldStream::create(cpu_device(), nullptr) == nullptr);
    for (const bool has_copies : {false, true}) {
        LibraryDevice device = prompt_device(has_copies);
        auto held = HeldStream::create(device, nullptr);
        REQUIRE(held.ok());
        CHECK(*held == nullptr);
        CHECK(device.pace->nbytes == 0);
    }
}

}  // namespace diopi
