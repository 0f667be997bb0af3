/// The recorded iterations of a run: --schedule skip_first=,wait=,warmup=,active=,repeat=.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// The first `skip_first` iterations are not timed; then follow, `repeat` times: `wait` more of these, `warmup` ones
/// that are timed and discarded, `active` ones that are recorded.
struct Schedule {
    enum class Action { kIgnore, kWarmup, kRecord };

    int64_t skip_first = 0, wait = 0, warmup = 0, active = 1, repeat = 1;

    /// Parses "wait=1,warmup=1,active=3": missing words keep their defaults. Refuses unknown words, negative numbers,
    /// and schedules that record nothing or have more than a million iterations.
    [[nodiscard]] static Result<Schedule> parse(std::string_view text);

    [[nodiscard]] int64_t iterations() const { return skip_first + repeat * (wait + warmup + active); }
    /// The action of iteration `i`, from 0 on.
    [[nodiscard]] Action action(int64_t i) const;
};

}  // namespace diopi
