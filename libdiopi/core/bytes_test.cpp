#include <catch2/catch.hpp>
#include <vector>

#include "core/bytes.hpp"

using namespace diopi;

TEST_CASE("bytes are counted at every place, however many there are") {
    for (const size_t size : {0, 1, 239, 240, 241, 479, 5000}) {
        std::vector<uint8_t> bytes(size, 0xa5);
        CHECK(count_others(bytes, 0xa5) == 0);
        CHECK(count_others(bytes, 0xff) == static_cast<int64_t>(size));
        CHECK(count_different(bytes, bytes) == 0);
        CHECK(count_different(bytes, std::vector<uint8_t>(size, 0xa4)) == static_cast<int64_t>(size));
        if (size == 0) continue;
        for (const size_t at : {size_t{0}, size / 2, size - 1}) {
            std::vector<uint8_t> one = bytes;
            one[at] = 0;
            CHECK(count_others(one, 0xa5) == 1);
            CHECK(count_different(one, bytes) == 1);
        }
    }
}
