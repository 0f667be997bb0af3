#include "runtime/caching_allocator.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace diopi {
namespace {

/// Host memory of `capacity` bytes that counts requests.
struct CountingSource {
    explicit CountingSource(size_t limit = SIZE_MAX) : capacity(limit) {}
    size_t capacity;
    size_t held = 0;
    int drains = 0;
    std::map<void*, size_t> blocks;

    MemorySource source() {
        return {[this](size_t nbytes) -> Result<void*> {
                    if (nbytes > capacity - held) return failed("no memory left");
                    void* memory = std::malloc(1);
                    blocks[memory] = nbytes;
                    held += nbytes;
                    return memory;
                },
                [this](void* memory) {
                    held -= blocks.at(memory);
                    blocks.erase(memory);
                    std::free(memory);
                },
                [this] {
                    ++drains;
                    return Status();
                }};
    }
};

void* take(CachingAllocator& allocator, size_t nbytes) {
    const auto memory = allocator.allocate(nbytes);
    REQUIRE(memory.ok());
    return *memory;
}

}  // namespace

TEST_CASE("a freed block serves the next request of its size, and is counted") {
    CountingSource below;
    CachingAllocator allocator(below.source());
    void* first = take(allocator, 1000);
    allocator.free(first);
    CHECK(allocator.statistics().cached_bytes == 1024);
    CHECK(take(allocator, 700) == first);
    void* second = take(allocator, 700);
    CHECK(second != first);
    const AllocatorStatistics now = allocator.statistics();
    CHECK(now.used_bytes == 1024 + 1024);
    CHECK(now.peak_used_bytes == 2048);
    CHECK(now.cached_bytes == 0);
    CHECK(now.from_cache == 1);
    CHECK(now.from_source == 2);
    allocator.free(first);
    allocator.free(second);
    CHECK(allocator.statistics().used_bytes == 0);
    CHECK(allocator.statistics().peak_used_bytes == 2048);
}

TEST_CASE("a block much larger than the request stays kept") {
    CountingSource below;
    CachingAllocator allocator(below.source());
    void* large = take(allocator, size_t{64} << 20);
    allocator.free(large);
    void* small = take(allocator, 100);
    CHECK(small != large);
    allocator.free(small);
}

TEST_CASE("with several streams a freed block waits until each has been waited for") {
    CountingSource below;
    CachingAllocator allocator(below.source());
    const int streams[2] = {};
    allocator.stream_created(&streams[0]);
    allocator.stream_created(&streams[1]);
    void* block = take(allocator, 512);
    allocator.free(block);
    void* other = take(allocator, 512);
    CHECK(other != block);
    allocator.stream_drained(&streams[0]);
    void* third = take(allocator, 512);
    CHECK(third != block);
    allocator.stream_drained(&streams[1]);
    CHECK(take(allocator, 512) == block);
    for (void* memory : {block, other, third}) allocator.free(memory);
}

TEST_CASE("a newer stream does not get a freed block while the other stream works") {
    CountingSource below;
    CachingAllocator allocator(below.source());
    const int streams[2] = {};
    allocator.stream_created(&streams[0]);
    void* block = take(allocator, 512);
    allocator.free(block);
    allocator.stream_created(&streams[1]);
    void* other = take(allocator, 512);
    CHECK(other != block);
    allocator.stream_destroyed(&streams[0]);
    CHECK(take(allocator, 512) == block);
    allocator.free(block);
    allocator.free(other);
}

TEST_CASE("if the device is full, kept blocks are returned to it when their streams are idle") {
    CountingSource below(4096);
    CachingAllocator allocator(below.source());
    allocator.free(take(allocator, 1024));
    void* all = take(allocator, 4096);
    CHECK(below.drains == 1);
    CHECK(below.held == 4096);
    const auto more = allocator.allocate(512);
    REQUIRE_FALSE(more.ok());
    CHECK(more.error().message == "no memory left");
    allocator.free(all);
    allocator.release_cached();
    CHECK(below.held == 0);
    CHECK(allocator.statistics().cached_bytes == 0);
}

TEST_CASE("without a cache a block has the requested size, and is returned when nothing runs") {
    CountingSource below;
    CachingAllocator allocator(below.source(), Caching::kOff);
    void* first = take(allocator, 1000);
    void* second = take(allocator, (size_t{1} << 20) + 1);
    CHECK(below.held == 1000 + (size_t{1} << 20) + 1);
    CHECK(allocator.statistics().used_bytes == static_cast<int64_t>(below.held));
    allocator.free(second);
    CHECK(below.drains == 1);
    CHECK(below.held == 1000);
    allocator.free(first);
    CHECK(below.drains == 2);
    CHECK(below.held == 0);
    const AllocatorStatistics now = allocator.statistics();
    CHECK(now.used_bytes == 0);
    CHECK(now.cached_bytes == 0);
    CHECK(now.from_cache == 0);
    CHECK(now.from_source == 2);
}

TEST_CASE("requests are rounded up, so that blocks can be used again") {
    CHECK(CachingAllocator::rounded(1) == 512);
    CHECK(CachingAllocator::rounded(512) == 512);
    CHECK(CachingAllocator::rounded((size_t{1} << 20) + 1) == size_t{2} << 20);
    CHECK(CachingAllocator::rounded(SIZE_MAX) == SIZE_MAX);
}

}  // namespace diopi
