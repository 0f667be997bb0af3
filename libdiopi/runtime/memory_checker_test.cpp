#include "runtime/memory_checker.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "runtime/async_device.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Allocates memory. Its name must be in the backtrace, so it is not in an anonymous namespace.
[[gnu::noinline]] std::shared_ptr<void> ask_for_memory_by_name(Device& device, size_t nbytes) {
    auto memory = device.allocate(nbytes);
    REQUIRE(memory.ok());
    return *memory;
}

TEST_CASE("a block is live until its last owner releases it") {
    MemoryChecker checker(cpu_device());
    auto first = ask_for_memory_by_name(checker, 100);
    auto second = ask_for_memory_by_name(checker, 28);
    const auto copy = second;
    first.reset();
    second.reset();
    const auto live = checker.live();
    REQUIRE(live.size() == 1);
    CHECK(live[0].address == copy.get());
    CHECK(live[0].nbytes == 28);
    CHECK(live[0].serial == 2);
    CHECK(live[0].frames.empty());
    CHECK(checker.last_serial() == 2);
    CHECK(checker.live(2).empty());
}

TEST_CASE("a report counts blocks and bytes and lists as many as requested") {
    MemoryChecker checker(cpu_device());
    CHECK(checker.leak_report(10).empty());
    std::vector<std::shared_ptr<void>> held;
    for (size_t i = 1; i <= 3; ++i) held.push_back(ask_for_memory_by_name(checker, 10 * i));
    CHECK_THAT(checker.leak_report(2, "in a test"),
               Catch::StartsWith("dipu memory checker: leaked 3 blocks, 60 bytes in a test\n") &&
                   Catch::Contains("block 1 of 10 bytes at 0x") && Catch::Contains("block 2 of 20 bytes") &&
                   !Catch::Contains("block 3") && Catch::EndsWith("and 1 more\n"));
    CHECK_THAT(checker.leak_report(9, "", 2), Catch::StartsWith("dipu memory checker: leaked 1 block, 30 bytes\n"));
    held.clear();
    CHECK(checker.leak_report(10).empty());
}

TEST_CASE("a backtrace names the function that allocated the block") {
    MemoryChecker checker(cpu_device(), true);
    const auto held = ask_for_memory_by_name(checker, 8);
    CHECK_THAT(checker.leak_report(1), Catch::Contains("from diopi::ask_for_memory_by_name(diopi::Device&"));
    int local = 0;
    CHECK_THAT(frame_text(&local), Catch::StartsWith("? ("));
}

TEST_CASE("an empty block and one that the device refuses are not counted") {
    MemoryChecker checker(cpu_device());
    CHECK(checker.allocate(0).ok());
    CHECK_FALSE(checker.allocate(SIZE_MAX).ok());
    CHECK(checker.last_serial() == 0);
}

TEST_CASE("several threads may allocate and free blocks, and blocks may outlive the checker") {
    auto checker = std::make_unique<MemoryChecker>(cpu_device(), true);
    std::shared_ptr<void> kept;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                auto memory = checker->allocate(16);
                if (t == 0 && i == 100) kept = *memory;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(checker->live().size() == 1);
    CHECK(checker->last_serial() == 800);
    checker.reset();
    kept.reset();
}

TEST_CASE("the checker wraps any device and passes everything on") {
    AsyncDevice device;
    MemoryChecker checker(device);
    CHECK(checker.name() == "async");
    CHECK_FALSE(checker.is_host());
    CHECK(checker.info()->name == device.info()->name);
    auto stream = checker.create_stream();
    REQUIRE(stream.ok());
    Context context(checker, *stream);
    const int64_t two = 2;
    const diopiSize_t size{&two, 1};
    diopiTensorHandle_t handle = nullptr;
    REQUIRE(diopiRequireTensor(&context, &handle, &size, nullptr, diopi_dtype_int32, diopi_device) == diopiSuccess);
    CHECK(checker.live().size() == 1);
    const std::vector<int32_t> sent = {5, 6};
    std::vector<int32_t> received(2);
    REQUIRE(checker.copy_to_device(*stream, handle->data(), sent.data(), 8).ok());
    REQUIRE(checker.copy_to_host(*stream, received.data(), handle->data(), 8).ok());
    auto event = checker.create_event();
    REQUIRE((event.ok() && (*event)->record(*stream).ok()));
    REQUIRE(checker.synchronize(*stream).ok());
    CHECK(received == sent);
    context.release();
    CHECK(checker.live().empty());
    CHECK(checker.destroy_stream(*stream).ok());
}

}  // namespace diopi
