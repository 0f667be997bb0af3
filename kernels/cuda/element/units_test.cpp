#include "kernels/cuda/element/units.hpp"

#include <catch2/catch.hpp>

namespace diopi::cuda {
namespace {

const void* address(uintptr_t at) { return reinterpret_cast<const void*>(at); }

}  // namespace

TEST_CASE("cuda: a unit is the largest one that divides every size and address, at most 16 bytes") {
    CHECK(UnitSize().nbytes() == 16);
    CHECK(UnitSize().divides(address(4096)).divides(96).nbytes() == 16);
    CHECK(UnitSize().divides(address(4096)).divides(24).nbytes() == 8);
    CHECK(UnitSize().divides(address(4098)).divides(24).nbytes() == 2);
    CHECK(UnitSize().divides(32).divides(7).nbytes() == 1);
    CHECK(UnitSize().divides(-12).nbytes() == 4);
    CHECK(UnitSize().divides(int64_t{0}).nbytes() == 16);
}

TEST_CASE("cuda: bits are copied as a type of their size") {
    for (const int64_t nbytes : {1, 2, 4, 8, 16}) {
        CHECK(with_bits(nbytes, []<class T>() { return static_cast<int64_t>(sizeof(T)); }) == nbytes);
    }
}

}  // namespace diopi::cuda
