#include "core/instruction_sets.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/half.hpp"

using namespace diopi;

namespace {

float number(float x) { return x; }
float number(Bfloat16 x) { return to_float(x); }

/// A product and a sum, which must not become one operation, and one that the loop itself asks for.
template <class T>
void products_and_sums(const T* a, const T* b, T* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float x = number(a[i]), y = number(b[i]);
        const float result = std::fma(x, y, 1.0F) - (x * y + 0.1F);
        if constexpr (std::is_same_v<T, float>)
            out[i] = result;
        else
            out[i] = to_bfloat16(result);
    }
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

/// Whether every set that may be chosen gives the bits of the baseline.
template <class T>
bool sets_agree(int64_t n) {
    using Loops = Versions<products_and_sums<T>>;
    const auto a = ramp<T>(n, 0.37F), b = ramp<T>(n, 0.11F);
    const auto result_of = [&](auto loop) {
        std::vector<T> out(a.size());
        loop(a.data(), b.data(), out.data(), n);
        return out;
    };
    const auto wanted = result_of(products_and_sums<T>);
    const auto is_same = [&](auto loop) {
        const auto got = result_of(loop);
        return got.empty() || std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0;
    };
    const auto most = instruction_set();
    return (most < InstructionSet::avx2 || is_same(Loops::avx2)) &&
           (most < InstructionSet::avx512 || is_same(Loops::avx512));
}

}  // namespace

TEST_CASE("each instruction set gives the same bits", "[core]") {
    const int64_t n = GENERATE(0, 1, 7, 16, 63, 1000);
    CHECK(sets_agree<float>(n));
    CHECK(sets_agree<Bfloat16>(n));
}

TEST_CASE("the loops of this processor's instruction set are chosen", "[core][vectors]") {
    using Loops = Versions<products_and_sums<float>>;
    const auto chosen = best<products_and_sums<float>>();
    switch (instruction_set()) {
        case InstructionSet::baseline:
            CHECK(chosen == products_and_sums<float>);
            break;
        case InstructionSet::avx2:
            CHECK(chosen == Loops::avx2);
            break;
        case InstructionSet::avx512:
            CHECK(chosen == Loops::avx512);
            break;
    }
}

TEST_CASE("no instruction set is above what oneDNN's variable allows", "[core][vectors]") {
    const char* variable = std::getenv("DNNL_MAX_CPU_ISA");
    const std::string_view allowed = variable == nullptr ? "" : variable;
    if (allowed == "AVX2") CHECK(instruction_set() <= InstructionSet::avx2);
    if (allowed == "SSE41") CHECK(instruction_set() == InstructionSet::baseline);
}
