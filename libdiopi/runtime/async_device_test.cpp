#include "runtime/async_device.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace diopi {

namespace {

using std::chrono::milliseconds;

std::shared_ptr<void> memory_of(Device& device, size_t nbytes) {
    auto memory = device.allocate(nbytes);
    REQUIRE(memory.ok());
    return *memory;
}

diopiStreamHandle_t stream_of(Device& device) {
    auto stream = device.create_stream();
    REQUIRE(stream.ok());
    return *stream;
}

/// A task that blocks a stream until the test opens it.
struct Gate {
    std::promise<void> promise;
    std::shared_future<void> opened = promise.get_future().share();
    [[nodiscard]] std::function<void()> task() const {
        return [opened = opened] { opened.wait(); };
    }
    void open() { promise.set_value(); }
};

}  // namespace

TEST_CASE("a copy to the host is complete only after a synchronisation of the stream") {
    AsyncDevice device;
    const auto memory = memory_of(device, 4);
    int32_t value = 7;
    REQUIRE(device.copy_to_device(nullptr, memory.get(), &value, 4).ok());
    Gate gate;
    REQUIRE(device.enqueue(nullptr, gate.task()).ok());
    value = 0;
    REQUIRE(device.copy_to_host(nullptr, &value, memory.get(), 4).ok());
    CHECK(value == 0);
    gate.open();
    REQUIRE(device.synchronize(nullptr).ok());
    CHECK(value == 7);
}

TEST_CASE("the source of a copy to the device may change as soon as the copy is enqueued") {
    AsyncDevice device;
    const auto memory = memory_of(device, 4);
    Gate gate;
    REQUIRE(device.enqueue(nullptr, gate.task()).ok());
    int32_t value = 7;
    REQUIRE(device.copy_to_device(nullptr, memory.get(), &value, 4).ok());
    value = 0;
    REQUIRE(device.copy_to_host(nullptr, &value, memory.get(), 4).ok());
    gate.open();
    REQUIRE(device.synchronize(nullptr).ok());
    CHECK(value == 7);
    REQUIRE(device.copy_to_device(nullptr, nullptr, nullptr, 0).ok());
    REQUIRE(device.synchronize(nullptr).ok());
}

TEST_CASE("the tasks of a stream run in their order, in parallel to those of others") {
    AsyncDevice device;
    const auto first = stream_of(device);
    const auto second = stream_of(device);
    Gate gate;
    std::vector<int> order;
    REQUIRE(device.enqueue(first, gate.task()).ok());
    for (int i = 0; i < 3; ++i) {
        REQUIRE(device.enqueue(first, [&order, i] { order.push_back(i); }).ok());
    }
    std::atomic<bool> beside = false;
    REQUIRE(device.enqueue(second, [&beside] { beside = true; }).ok());
    REQUIRE(device.synchronize(second).ok());
    CHECK(beside);
    gate.open();
    REQUIRE(device.destroy_stream(first).ok());
    CHECK(order == std::vector<int>{0, 1, 2});
    REQUIRE(device.destroy_stream(second).ok());
}

TEST_CASE("an error of a task stays with its stream") {
    AsyncDevice device;
    const auto stream = stream_of(device);
    bool ran = false;
    REQUIRE(device.enqueue(stream, [] { throw std::runtime_error("bad address"); }).ok());
    REQUIRE(device.enqueue(stream, [&ran] { ran = true; }).ok());
    for (int i = 0; i < 2; ++i) {
        const Status status = device.synchronize(stream);
        REQUIRE_FALSE(status.ok());
        CHECK_THAT(status.message(), Catch::Contains("bad address"));
    }
    CHECK_FALSE(ran);
    auto event = device.create_event();
    REQUIRE(event.ok());
    REQUIRE((*event)->record(stream).ok());
    CHECK((*event)->synchronize().ok());
    CHECK(device.synchronize(nullptr).ok());
    CHECK_FALSE(device.destroy_stream(stream).ok());
}

TEST_CASE("events measure the time between two points of a stream") {
    AsyncDevice device;
    auto start = device.create_event();
    auto end = device.create_event();
    REQUIRE((start.ok() && end.ok()));
    CHECK_FALSE((*start)->synchronize().ok());
    CHECK_FALSE((*end)->elapsed_ms_since(**start).ok());
    REQUIRE((*start)->record(nullptr).ok());
    REQUIRE(device.enqueue(nullptr, [] { std::this_thread::sleep_for(milliseconds(20)); }).ok());
    REQUIRE((*end)->record(nullptr).ok());
    REQUIRE((*end)->synchronize().ok());
    const auto elapsed = (*end)->elapsed_ms_since(**start);
    REQUIRE(elapsed.ok());
    CHECK(*elapsed >= 20);
    CHECK(*elapsed < 2000);
}

TEST_CASE("memory is freed only when no stream uses it any more") {
    AsyncDevice device;
    auto memory = memory_of(device, 64);
    std::atomic<bool> done = false;
    REQUIRE(device
                .enqueue(nullptr,
                         [&done, bytes = static_cast<char*>(memory.get())] {
                             std::this_thread::sleep_for(milliseconds(20));
                             bytes[0] = 1;
                             done = true;
                         })
                .ok());
    memory.reset();
    CHECK(done);
}

TEST_CASE("a task may release the last reference to a block, and a block may outlive the device") {
    auto device = std::make_unique<AsyncDevice>();
    auto memory = memory_of(*device, 64);
    const std::weak_ptr<void> seen = memory;
    REQUIRE(device->enqueue(nullptr, [held = std::move(memory)] {}).ok());
    REQUIRE(device->synchronize(nullptr).ok());
    CHECK(seen.expired());
    const auto survivor = memory_of(*device, 64);
    device.reset();
    static_cast<char*>(survivor.get())[63] = 1;
}

TEST_CASE("objects of a task are released before synchronize returns, and may use the stream") {
    AsyncDevice device;
    std::atomic<bool> released = false;
    const auto release = [&](const int* owned) {
        std::this_thread::sleep_for(milliseconds(20));
        delete owned;
        // CHECK must not be used on the stream's thread.
        (void)device.enqueue(nullptr, [&released] { released = true; });
    };
    REQUIRE(device.enqueue(nullptr, [owned = std::shared_ptr<int>(new int, release)] {}).ok());
    REQUIRE(device.synchronize(nullptr).ok());
    CHECK(released);
}

TEST_CASE("a destroyed or unknown stream is refused") {
    AsyncDevice device;
    const auto stream = stream_of(device);
    REQUIRE(device.destroy_stream(stream).ok());
    CHECK_THAT(device.synchronize(stream).message(), Catch::Contains("none of this device"));
    CHECK_FALSE(device.enqueue(stream, [] {}).ok());
    CHECK_THAT(device.destroy_stream(nullptr).message(), Catch::Contains("default stream"));
}

TEST_CASE("a tensor is copied to the asynchronous device and back") {
    AsyncDevice device;
    auto host = make_tensor(cpu_device(), {{3}, Dtype::int32, {}});
    REQUIRE(host.ok());
    for (int i = 0; i < 3; ++i) (*host)->data_as<int32_t>()[i] = i + 1;
    auto there = to_device(device, nullptr, **host);
    REQUIRE(there.ok());
    CHECK((*there)->storage.device == diopi_device);
    auto back = to_host(device, nullptr, **there);
    REQUIRE(back.ok());
    CHECK((*back)->data_as<int32_t>()[2] == 3);
}

}  // namespace diopi
