/// Collects the reasons why a device is slower than possible. It is asked while it works: an idle device has none.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/stopwatch.hpp"
#include "runtime/device.hpp"

namespace diopi {

class SlowdownWatch {
 public:
    /// Asks once and ignores the answer: the first one takes long, because the driver's library is opened.
    explicit SlowdownWatch(Device& device) : device_(&device) { static_cast<void>(device.slowdown()); }

    /// Can be called at any rate while the device works: the device is asked at once, then every 50 ms.
    void ask() {
        if (questions_ == 0 || since_.seconds() >= kBetweenQuestions_s) ask_now();
    }

    /// Each reason that was given since the last call, once. Asks if ask() was not called meanwhile.
    [[nodiscard]] std::vector<std::string> take_reasons() {
        if (questions_ == reported_questions_) ask_now();
        reported_questions_ = questions_;
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
    int64_t questions_ = 0, reported_questions_ = 0;
    std::set<std::string> reasons_;
};

}  // namespace diopi
