#include "kernels/cpu/instruction_sets.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

/// A product and a sum, which must not become one operation, and one that the function itself asks for.
struct ProductAndSum {
    float operator()(float a, float b) const { return std::fma(a, b, 1.0F) - (a * b + 0.1F); }
};

template <class T>
std::vector<T> loop_result(cpu::TileFunction loop, const std::vector<T>& a, const std::vector<T>& b,
                           const void* state) {
    std::vector<T> out(a.size());
    void* outs[] = {out.data()};
    const void* ins[] = {a.data(), b.data()};
    loop(outs, ins, static_cast<int64_t>(a.size()), state);
    return out;
}

template <class T>
std::vector<T> ramp(int64_t n, float step) {
    std::vector<T> made;
    for (int64_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(i) * step - 17.3F;
        if constexpr (std::is_same_v<T, float>)
            made.push_back(x);
        else
            made.push_back(to_bfloat16(x));
    }
    return made;
}

/// Whether every set that the processor has gives the bits of the baseline.
template <class T>
bool sets_agree(int64_t n) {
    const ProductAndSum f;
    const auto a = ramp<T>(n, 0.37F), b = ramp<T>(n, 0.11F);
    using Loops = cpu::Versions<cpu::map_loop<2, T, ProductAndSum>>;
    const auto wanted = loop_result(cpu::map_loop<2, T, ProductAndSum>, a, b, &f);
    const auto is_same = [&](cpu::TileFunction loop) {
        const auto got = loop_result(loop, a, b, &f);
        return got.empty() || std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0;
    };
    const auto most = cpu::instruction_set();
    return (most < cpu::InstructionSet::avx2 || is_same(Loops::avx2)) &&
           (most < cpu::InstructionSet::avx512 || is_same(Loops::avx512));
}

}  // namespace

TEST_CASE("each instruction set gives the same bits", "[cpu]") {
    const int64_t n = GENERATE(0, 1, 7, 16, 63, 1000);
    CHECK(sets_agree<float>(n));
    CHECK(sets_agree<Bfloat16>(n));
}

TEST_CASE("the loops of this processor's instruction set are chosen", "[cpu]") {
    using Loops = cpu::Versions<cpu::map_loop<2, float, ProductAndSum>>;
    const cpu::TileFunction chosen = cpu::best<cpu::map_loop<2, float, ProductAndSum>>();
    switch (cpu::instruction_set()) {
        case cpu::InstructionSet::baseline:
            CHECK(chosen == cpu::map_loop<2, float, ProductAndSum>);
            break;
        case cpu::InstructionSet::avx2:
            CHECK(chosen == Loops::avx2);
            break;
        case cpu::InstructionSet::avx512:
            CHECK(chosen == Loops::avx512);
            break;
    }
}
