#include "core/half_simd.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace diopi;

TEST_CASE("arrays of floats become the same halves as single floats", "[half][vectors]") {
    std::vector<float> floats;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
        floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    for (uint32_t half = 0; half < 0x10000u; ++half) {  // every half, the ties, and the floats beside them
        const float value = to_float(Half{static_cast<uint16_t>(half)});
        const float next = to_float(Half{static_cast<uint16_t>(half + 1)});
        const float tie = value / 2 + next / 2;
        for (const float x : {value, tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) floats.push_back(x);
    }
    for (const float x : {65519.0f, 65519.996f, 65520.0f, -65520.0f, 1e9f, -1e38f}) floats.push_back(x);
    std::vector<Half> halves(floats.size());
    std::vector<Bfloat16> bfloats(floats.size());
    to_half(floats, halves.data());
    to_bfloat16(floats, bfloats.data());
    size_t wrong = 0;
    for (size_t i = 0; i < floats.size(); ++i) {
        wrong += bfloats[i].bits != to_bfloat16(floats[i]).bits;
        if (std::isnan(floats[i])) {
            wrong += (halves[i].bits & 0x7fffu) != 0x7e00u;
        } else {
            wrong += halves[i].bits != to_half(floats[i]).bits;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("arrays of doubles become the same halves as single doubles", "[half][vectors]") {
    std::vector<double> doubles;
    for (uint32_t bits = 0; bits < 0x10000u; ++bits) {  // every half, the ties, and the doubles beside them
        const auto half = static_cast<uint16_t>(bits), next = static_cast<uint16_t>(bits + 1);
        const double pairs[][2] = {{to_float(Half{half}), to_float(Half{next})},
                                   {to_float(Bfloat16{half}), to_float(Bfloat16{next})}};
        for (const auto& [low, high] : pairs) {
            const double tie = low / 2 + high / 2;
            for (const double x : {low, tie, std::nextafter(tie, 0.0), std::nextafter(tie, 1e300)}) {
                doubles.push_back(x);
            }
        }
    }
    for (uint64_t i = 0; i < 200'000; ++i) {  // any bits
        doubles.push_back(std::bit_cast<double>(i * 0x9e3779b97f4a7c15u));
    }
    for (int exponent = -1074; exponent < 1024; ++exponent) doubles.push_back(-std::ldexp(1.0 + 0x1p-40, exponent));
    std::vector<Half> halves(doubles.size());
    std::vector<Bfloat16> bfloats(doubles.size());
    to_half(doubles, halves.data());
    to_bfloat16(doubles, bfloats.data());
    size_t wrong = 0;
    for (size_t i = 0; i < doubles.size(); ++i) {
        wrong += halves[i].bits != to_half(doubles[i]).bits;
        wrong += bfloats[i].bits != to_bfloat16(doubles[i]).bits;
    }
    CHECK(wrong == 0);
}
