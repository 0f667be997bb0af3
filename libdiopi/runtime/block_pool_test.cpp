#include "runtime/block_pool.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

using namespace diopi;

TEST_CASE("a block is at most an eighth larger than requested, and nearly equal requests get equal sizes") {
    for (const size_t nbytes : {size_t{1}, size_t{4096}, size_t{1} << 20, size_t{12'000'000}, size_t{200'000'001}}) {
        CHECK(BlockPool::rounded(nbytes) >= nbytes);
        CHECK(BlockPool::rounded(nbytes) % 4096 == 0);
        CHECK(BlockPool::rounded(nbytes) <= nbytes + std::max<size_t>(nbytes / 8, 4095));
    }
    CHECK(BlockPool::rounded(12'000'000) == BlockPool::rounded(12'024'192));
}

TEST_CASE("a freed block serves a request of nearly its size") {
    BlockPool pool;
    void* first = pool.allocate(12'000'000);
    REQUIRE(first != nullptr);
    std::memset(first, 7, 12'000'000);
    pool.free(first, 12'000'000);
    CHECK(pool.used_bytes() == 0);
    CHECK(pool.kept_bytes() == BlockPool::rounded(12'000'000));
    void* second = pool.allocate(12'016'000);
    CHECK(second == first);
    CHECK(pool.kept_bytes() == 0);
    pool.free(second, 12'016'000);
    pool.release();
    CHECK(pool.kept_bytes() == 0);
}

TEST_CASE("used and kept bytes together never exceed the maximum of used bytes") {
    BlockPool pool;
    std::mt19937_64 random(1);
    std::vector<std::pair<void*, size_t>> blocks;
    size_t most = 0;
    for (int i = 0; i < 2000; ++i) {
        const bool frees = !blocks.empty() && (blocks.size() >= 8 || random() % 2 == 0);
        if (frees) {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            pool.free(blocks.back().first, blocks.back().second);
            blocks.pop_back();
        } else {
            const size_t nbytes = (size_t{1} << 20) + random() % (size_t{32} << 20);
            blocks.emplace_back(pool.allocate(nbytes), nbytes);
            REQUIRE(blocks.back().first != nullptr);
        }
        most = std::max(most, pool.used_bytes());
        REQUIRE(pool.used_bytes() + pool.kept_bytes() <= most);
    }
    for (const auto& [memory, nbytes] : blocks) pool.free(memory, nbytes);
}

TEST_CASE("without memory there is no block") {
    BlockPool pool;
    CHECK(pool.allocate(size_t{1} << 60) == nullptr);
    CHECK(pool.used_bytes() == 0);
}
