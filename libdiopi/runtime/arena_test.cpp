#include "runtime/arena.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

using namespace diopi;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// A block with one byte all over.
struct Marked {
    std::byte* memory;
    size_t nbytes;
    unsigned char mark;

    static Marked make(Arena& arena, size_t nbytes, unsigned char mark) {
        auto* memory = static_cast<std::byte*>(arena.allocate(nbytes));
        REQUIRE(memory != nullptr);
        std::memset(memory, mark, nbytes);
        return {memory, nbytes, mark};
    }
    [[nodiscard]] bool is_intact() const {
        return std::all_of(memory, memory + nbytes, [&](std::byte b) { return b == std::byte{mark}; });
    }
};

long page_faults() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

}  // namespace

TEST_CASE("the pages of freed neighbours serve a block of any size") {
    Arena arena;
    const Marked whole = Marked::make(arena, 12 * kMiB, 7);
    arena.free(whole.memory, whole.nbytes);
    CHECK(arena.used_bytes() == 0);
    CHECK(arena.kept_bytes() == 12 * kMiB);
    std::vector<std::byte*> parts;
    for (const size_t size : {5 * kMiB, 3 * kMiB, 4 * kMiB}) {
        parts.push_back(static_cast<std::byte*>(arena.allocate(size)));
        CHECK(parts.back() >= whole.memory);
        CHECK(parts.back() + size <= whole.memory + whole.nbytes);
    }
    CHECK(arena.kept_bytes() == 0);
    arena.free(parts[0], 5 * kMiB);
    arena.free(parts[2], 4 * kMiB);
    arena.free(parts[1], 3 * kMiB);
    CHECK(arena.allocate(12 * kMiB) == whole.memory);
    arena.free(whole.memory, whole.nbytes);
}

TEST_CASE("a block gets the pages of several kept ranges, which the kernel need not clear again") {
    Arena arena;
    std::vector<Marked> blocks;
    for (unsigned char i = 0; i < 8; ++i) blocks.push_back(Marked::make(arena, 4 * kMiB, i));
    for (size_t i = 0; i < 8; i += 2) arena.free(blocks[i].memory, blocks[i].nbytes);
    CHECK(arena.kept_bytes() == 16 * kMiB);
    auto* memory = static_cast<std::byte*>(arena.allocate(16 * kMiB));
    REQUIRE(memory != nullptr);
    CHECK(arena.kept_bytes() == 0);
    // A sanitizer looks at a byte of its own for eight of these.
    constexpr long kPagesOfSanitizer = 16 * kMiB / 8 / 4096;
    const long before = page_faults();
    std::memset(memory, 9, 16 * kMiB);
    CHECK(page_faults() - before < 100 + (kIsSanitized ? kPagesOfSanitizer : 0));
    for (size_t i = 1; i < 8; i += 2) CHECK(blocks[i].is_intact());
    arena.free(memory, 16 * kMiB);
    for (size_t i = 1; i < 8; i += 2) arena.free(blocks[i].memory, blocks[i].nbytes);
    CHECK(arena.kept_bytes() == 32 * kMiB);
}

TEST_CASE("blocks of an arena never overlap, and used and kept bytes stay below the maximum of used bytes") {
    Arena arena;
    std::mt19937_64 random(1);
    std::vector<Marked> blocks;
    size_t most = 0;
    for (int i = 0; i < 600; ++i) {
        const bool frees = !blocks.empty() && (blocks.size() >= 8 || random() % 2 == 0);
        if (frees) {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            REQUIRE(blocks.back().is_intact());
            arena.free(blocks.back().memory, blocks.back().nbytes);
            blocks.pop_back();
        } else {
            const size_t nbytes = 1 + random() % (3 * kMiB);
            blocks.push_back(Marked::make(arena, nbytes, static_cast<unsigned char>(i)));
        }
        most = std::max(most, arena.used_bytes());
        REQUIRE(arena.used_bytes() + arena.kept_bytes() <= most);
    }
    for (const Marked& block : blocks) arena.free(block.memory, block.nbytes);
    CHECK(arena.used_bytes() == 0);
}

TEST_CASE("a trimmed arena keeps no more than it is told, also of later blocks") {
    Arena arena;
    const Marked large = Marked::make(arena, 64 * kMiB, 1);
    arena.free(large.memory, large.nbytes);
    CHECK(arena.kept_bytes() == 64 * kMiB);
    arena.trim(16 * kMiB);
    CHECK(arena.kept_bytes() == 16 * kMiB);
    const Marked a = Marked::make(arena, 10 * kMiB, 2), b = Marked::make(arena, 10 * kMiB, 3);
    CHECK(arena.used_bytes() + arena.kept_bytes() == 20 * kMiB);
    arena.free(a.memory, a.nbytes);
    arena.free(b.memory, b.nbytes);
    arena.trim(0);
    CHECK(arena.kept_bytes() == 0);
}

TEST_CASE("an arena that is to keep a part of a page keeps whole pages") {
    Arena arena;
    std::vector<Marked> blocks;
    for (unsigned char round = 0; round < 20; ++round) {
        for (unsigned char i = 0; i < 4; ++i) blocks.push_back(Marked::make(arena, (2 + i) * kMiB, round));
        for (const Marked& block : blocks) {
            REQUIRE(block.is_intact());
            arena.free(block.memory, block.nbytes);
        }
        blocks.clear();
        const size_t kept = 3 * kMiB + 1000U * round + 1;
        arena.trim(kept);
        REQUIRE(arena.kept_bytes() <= kept);
        REQUIRE(arena.kept_bytes() == Arena::rounded(arena.kept_bytes()));
    }
}

TEST_CASE("an arena gives all kept pages back, once") {
    Arena arena;
    void* memory = arena.allocate(8 * kMiB);
    REQUIRE(memory != nullptr);
    CHECK_FALSE(arena.give_back());
    arena.free(memory, 8 * kMiB);
    CHECK(arena.kept_bytes() == 8 * kMiB);
    CHECK(arena.give_back());
    CHECK(arena.kept_bytes() == 0);
    CHECK_FALSE(arena.give_back());
}

TEST_CASE("without memory there is no block") {
    Arena arena;
    CHECK(arena.allocate(size_t{1} << 60) == nullptr);
    CHECK(arena.used_bytes() == 0);
}
