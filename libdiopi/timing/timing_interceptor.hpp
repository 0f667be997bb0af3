/// Timing as a tool on the chain: notes the begin and the duration of each call.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "timing/timing.hpp"

namespace diopi {

class TimingInterceptor final : public Interceptor {
 public:
    struct Noted {
        const Row* row = nullptr;
        const CallOrigin* origin = nullptr;  ///< Call::origin
        TimedRun run;
        /// Position of the call that was running when this one began (of a tool further in); -1: none.
        int64_t parent = -1;
        bool ok = true;
    };

    /// The clock must outlive it. Memory for `expected` calls is reserved, so that noting one takes no time.
    explicit TimingInterceptor(const ProfileClock& clock, size_t expected = 1024) : clock_(&clock) {
        noted_.reserve(expected);
    }

    Outcome around(Call& call, Context& context, const Next& next) override;

    /// Begins a new pass: its number goes into TimedRun::pass.
    void set_pass(int64_t pass) { pass_ = pass; }
    /// The calls since the last collection, in their order; waits for the device if it has a clock of its own.
    [[nodiscard]] Result<std::vector<Noted>> collect();

 private:
    struct Pair {
        size_t call = 0;  ///< position in noted_
        std::unique_ptr<Event> start, end;
    };

    const ProfileClock* clock_;
    std::vector<Noted> noted_;
    std::vector<Pair> events_;
    int64_t pass_ = 0;
    int64_t running_ = -1;
};

}  // namespace diopi
