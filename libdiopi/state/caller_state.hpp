/// The state of the calling thread and its process that a called function must leave as it found it.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace diopi {

/// The state at one moment. Taking it costs some ten microseconds and changes nothing.
class CallerState {
 public:
    [[nodiscard]] static CallerState now();

    /// Keeps copies of the standard descriptors, from which `restore` puts back a closed or redirected one. To be
    /// called once, when they are what they have to be.
    static void keep_descriptors();

    /// The parts that differ from `before`, in plain words: "the working directory".
    [[nodiscard]] std::vector<std::string> changes_since(const CallerState& before) const;

    /// Sets every part that differs back to this state. False if some part cannot be set: the process is not fit for
    /// other calls.
    [[nodiscard]] bool restore() const;

 private:
    static constexpr size_t kSignals = 65;
    static constexpr size_t kDescriptors = 3;

    /// The file behind a standard descriptor.
    struct Descriptor {
        bool is_open = false;
        dev_t device = 0;
        ino_t inode = 0;
        int flags = 0;
        bool operator==(const Descriptor&) const = default;
    };

    uint64_t float_control_ = 0;  ///< control bits of the vector unit, without the flags of what happened
    uint64_t x87_control_ = 0;
    uint64_t signal_mask_ = 0;  ///< a bit for each blocked signal
    std::array<struct sigaction, kSignals> handlers_{};
    std::string folder_;
    mode_t umask_ = 0;
    std::string locale_;
    locale_t thread_locale_ = nullptr;
    std::string environment_;  ///< each variable with a 0 behind it
    std::array<rlimit, RLIM_NLIMITS> limits_{};
    std::array<bool, 3> timers_{};  ///< whether ITIMER_REAL, _VIRTUAL, _PROF run
    int nice_ = 0;
    int policy_ = 0;
    cpu_set_t cores_{};
    std::array<Descriptor, kDescriptors> descriptors_{};
};

}  // namespace diopi
