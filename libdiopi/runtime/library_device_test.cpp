#include "runtime/library_device.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace diopi {

namespace {

/// The calls that the fake vendor received, in order.
std::vector<std::string> g_calls;
int g_stream = 0;

diopiError_t copy(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    g_calls.emplace_back(stream == &g_stream ? "copy" : "copy on a stream that is not ours");
    std::memcpy(dst, src, bytes);
    return diopiSuccess;
}

DeviceFunctions fake() {
    DeviceFunctions functions;
    functions.allocate = [](uint64_t bytes) { return bytes > 1000 ? nullptr : std::malloc(bytes); };
    functions.free = [](void* memory) {
        g_calls.emplace_back("free");
        std::free(memory);
    };
    functions.copy_in = copy;
    functions.copy_out = copy;
    functions.make_stream = [](diopiStreamHandle_t* stream) {
        g_calls.emplace_back("make");
        *stream = &g_stream;
        return diopiSuccess;
    };
    functions.destroy_stream = [](diopiStreamHandle_t) { return diopiErrorOccurred; };
    functions.synchronize = [](diopiStreamHandle_t) {
        g_calls.emplace_back("wait");
        return diopiSuccess;
    };
    return functions;
}

LibraryDevice make_device() {
    g_calls.clear();
    return {"fake", [](DeviceFunctions& functions) {
                functions = fake();
                return Status();
            }};
}

}  // namespace

TEST_CASE("a library's device is opened at its first use, and again after a failure") {
    int opened = 0;
    LibraryDevice device("fake", [&](DeviceFunctions& functions) {
        functions = fake();
        return ++opened == 1 ? Status(failed("the driver sleeps")) : Status();
    });
    CHECK(opened == 0);
    CHECK(device.create_stream().error().message == "the driver sleeps");
    CHECK(device.create_stream().ok());
    CHECK(device.create_stream().ok());
    CHECK(opened == 2);
}

TEST_CASE("a library's device frees its memory, and reports a failed allocation") {
    LibraryDevice device = make_device();
    CHECK(*device.allocate(0) == nullptr);
    auto memory = device.allocate(8);
    REQUIRE(memory.ok());
    CHECK(g_calls.empty());
    memory->reset();
    CHECK(g_calls == std::vector<std::string>{"free"});
    const auto none = device.allocate(1001);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().message.find("device_malloc of fake gives no 1001 bytes") != std::string::npos);
}

TEST_CASE("a library's device waits for a copy in, not for a copy out, and has a stream for null") {
    LibraryDevice device = make_device();
    char there[4] = {}, back[4] = {};
    CHECK(device.copy_to_device(&g_stream, there, "abc", 4).ok());
    CHECK(g_calls == std::vector<std::string>{"copy", "wait"});
    g_calls.clear();
    CHECK(device.copy_to_host(nullptr, back, there, 4).ok());
    CHECK(device.copy_to_host(nullptr, back, there, 4).ok());
    CHECK(g_calls == std::vector<std::string>{"make", "copy", "copy"});
    CHECK(std::strcmp(back, "abc") == 0);
}

TEST_CASE("an error of a library's device names the function") {
    LibraryDevice device = make_device();
    const Status s = device.destroy_stream(&g_stream);
    REQUIRE_FALSE(s.ok());
    CHECK(s.message() == "fake: device_destroy_stream answers 1");
    CHECK(device.info().error().code == Errc::kNotImplemented);
}

TEST_CASE("an error of a library's device has the library's own words") {
    LibraryDevice device("fake", [](DeviceFunctions& functions) {
        functions = fake();
        functions.last_error = [] { return "the driver sleeps"; };
        return Status();
    });
    CHECK(device.destroy_stream(&g_stream).message() ==
          "fake: device_destroy_stream answers 1 (its last error: the driver sleeps)");
    CHECK_THAT(device.allocate(1001).error().message,
               Catch::Matchers::Contains("no 1001 bytes (its last error: the driver sleeps); run fewer"));
}

TEST_CASE("an event of a library's device waits for its stream") {
    LibraryDevice device = make_device();
    const auto start = device.create_event(), end = device.create_event();
    CHECK((*start)->record(&g_stream).ok());
    CHECK((*end)->record(&g_stream).ok());
    CHECK(g_calls == std::vector<std::string>{"wait", "wait"});
    CHECK(*(*end)->elapsed_ms_since(**start) >= 0);
}

}  // namespace diopi
