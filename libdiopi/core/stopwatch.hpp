/// Measures how long something took.
#pragma once

#include <chrono>

namespace diopi {

/// Runs from its construction.
class Stopwatch {
 public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace diopi
