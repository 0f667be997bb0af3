#include "kernels/cuda/philox.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "core/philox.hpp"

namespace diopi::cuda {
namespace {

constexpr uint64_t kSeeds[] = {0, 77, 0xffffffffffffffff};
constexpr uint64_t kOffsets[] = {0, 8, uint64_t{1} << 33};

/// Compares the numbers of blocks 0, 1, ... with those of core.
template <class T>
void expect_normals_of_core(uint64_t seed, uint64_t offset) {
    std::vector<T> wanted(4096), found;
    normal_block(seed, offset, 0, std::span<T>(wanted));
    for (uint64_t block = 0; found.size() < wanted.size(); ++block) {
        T numbers[kNormalsOfBlock<T>];
        normals_of(philox_words(seed, block, offset), numbers);
        found.insert(found.end(), std::begin(numbers), std::end(numbers));
    }
    CHECK(found == wanted);
}

}  // namespace

TEST_CASE("cuda: a block has the words of core's Philox") {
    for (const uint64_t seed : kSeeds) {
        for (const uint64_t offset : kOffsets) {
            for (const uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{12345}, uint64_t{1} << 40}) {
                const Words words = philox_words(seed, block, offset);
                const auto wanted = philox(seed, block, offset);
                CHECK(std::equal(wanted.begin(), wanted.end(), words.at));
            }
        }
    }
}

TEST_CASE("cuda: normal numbers are core's, bit by bit") {
    for (const uint64_t seed : kSeeds) {
        for (const uint64_t offset : kOffsets) {
            expect_normals_of_core<float>(seed, offset);
            expect_normals_of_core<double>(seed, offset);
        }
    }
}

}  // namespace diopi::cuda
