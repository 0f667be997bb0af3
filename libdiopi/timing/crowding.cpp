#include "timing/crowding.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "profile_data/profile_figures.hpp"

namespace diopi {

namespace {

/// Independent numbers, enough to keep the units for arithmetic, loads and stores busy: beside another guest
/// such work took 1.7 times as long; 64 numbers, which stay in registers, took 1.02 times as long.
constexpr int kNumbers = 1024;
constexpr int kProbeRounds = 1400;

void work() {
    alignas(64) std::array<float, kNumbers> numbers;
    volatile float seed = 1;  // so that no compiler computes the result in advance
    numbers.fill(float{seed});
    for (int round = 0; round < kProbeRounds; ++round) {
#pragma omp simd
        for (float& x : numbers) x = x * 0.999F + 0.001F;
    }
    float sum = 0;
    for (const float x : numbers) sum += x;
    seed = sum;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

double Crowding::probe(Of of) {
    auto start = Clock::now();
    if (of == Of::kThread) {
        work();
        return seconds_since(start);
    }
    double seconds = 0;
#pragma omp parallel
    {
        // The time begins when all threads have started: it must not include their wake-up.
#pragma omp barrier
#pragma omp master
        start = Clock::now();
        work();
#pragma omp barrier
#pragma omp master
        seconds = seconds_since(start);
    }
    return seconds;
}

double Crowding::measure(Of of) {
    const double seconds = probe_(of);
    quietest_ = quietest_ > 0 ? std::min(quietest_, seconds) : seconds;
    return seconds;
}

bool Crowding::is_crowded(double seconds) const { return seconds > kCrowded * quietest_; }

}  // namespace diopi
