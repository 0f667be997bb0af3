#include "run/crowding.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "store/profile_figures.hpp"

namespace diopi {

namespace {

/// Numbers that do not wait for each other: enough for all execution units.
constexpr int kNumbers = 64;
constexpr int kRounds = 2000;

double work() {
    const auto start = std::chrono::steady_clock::now();
    std::array<float, kNumbers> numbers;
    volatile float seed = 1;  // no compiler works it out beforehand
    numbers.fill(float{seed});
    for (int round = 0; round < kRounds; ++round) {
#pragma omp simd
        for (float& x : numbers) x = x * 0.999F + 0.001F;
    }
    float sum = 0;
    for (const float x : numbers) sum += x;
    seed = sum;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double Crowding::probe() {
    double longest = 0;
#pragma omp parallel reduction(max : longest)
    longest = work();
    return longest;
}

double Crowding::look() {
    const double look = probe_();
    quietest_ = std::min(quietest_, look);
    return look;
}

bool Crowding::is_crowded(double look) const { return look > kCrowded * quietest_; }

}  // namespace diopi
