/// Why a device is slower than it could be, asked while it works: an idle one has no reason to be.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/stopwatch.hpp"
#include "runtime/device.hpp"

namespace diopi {

class SlowdownWatch {
 public:
    /// Asks once for nothing: the first answer takes long, for the driver's library is opened.
    explicit SlowdownWatch(Device& device) : device_(&device) { static_cast<void>(device.slowdown()); }

    /// To be called as often as one likes while the device works: it is asked at once, then each 50 ms.
    void ask() {
        if (questions_ == 0 || since_.seconds() >= kBetweenQuestions_s) ask_now();
    }

    /// Each reason once that was given since the last time. Asks where nobody did meanwhile.
    [[nodiscard]] std::vector<std::string> told() {
        if (questions_ == told_questions_) ask_now();
        told_questions_ = questions_;
        std::vector<std::string> reasons(reasons_.begin(), reasons_.end());
        reasons_.clear();
        return reasons;
    }

 private:
    static constexpr double kBetweenQuestions_s = 50e-3;

    void ask_now() {
        since_.restart();
        ++questions_;
        if (std::string reason = device_->slowdown(); !reason.empty()) reasons_.insert(std::move(reason));
    }

    Device* device_;
    Stopwatch since_;  ///< the last question
    int64_t questions_ = 0, told_questions_ = 0;
    std::set<std::string> reasons_;
};

}  // namespace diopi
