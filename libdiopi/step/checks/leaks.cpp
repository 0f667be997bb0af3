/// A call frees the memory that it takes: further calls on the tensors of the second attempt keep nothing.
#include <algorithm>

#include "call/tensors.hpp"
#include "runtime/allocation_count.hpp"
#include "step/checks/list.hpp"

namespace diopi {

namespace {

/// The number of further calls that show a leak. The C allocator's own statistics count up to seven freed pieces of
/// each size, its cache, as held: where it refills the cache from other free pieces, a leak shows in one of eight calls
/// only.
constexpr int kWindowCalls = 8, kCountedWindowCalls = 4;
/// The memory that a window keeps may still be caches that fill: the C allocator's, of several sizes of small pieces,
/// or those of a driver's threads. So calls follow until the caches are full, then rounds of calls each of which must
/// keep memory.
struct Settling {
    int calls, rounds;
};
constexpr Settling kOnHost = {64, 2}, kOnDevice = {256, 6};
constexpr int kRoundCalls = 16;
/// The C allocator's smallest piece. A call that keeps less on average keeps something now and then: a cache.
constexpr int64_t kSmallestPiece = 32;
/// On the host a call that keeps more in each of some windows leaks: the C allocator's caches hold only small pieces.
/// Where a call in place changes the numbers that the next one reads, a library may choose another algorithm in one
/// window or two, and keep a plan of it.
constexpr int64_t kMostCached = 4096;
constexpr int kMostWindows = 5;
/// A quick call is always repeated; a slower one when it kept much, or kept something and is not slow. A call of few
/// elements may be slow because the machine is busy: it counts as slow when each of this many calls is.
constexpr int64_t kFewElements = 4096;
constexpr int kTimedCalls = 3;
constexpr double kPromptCall_s = 1e-3;
constexpr double kQuickCall_s = 50e-6;
constexpr double kSlowCall_s = 0.02;
constexpr int64_t kMuch = 64 << 10;
/// Where all calls are slow, they are repeated because one kept much, which no cache for small pieces does: few tell.
constexpr int kSlowWindowCalls = 2;

int64_t elements_of(const Call& call) {
    int64_t elements = 0;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) { elements += tensor->numel(); });
    return elements;
}

class LeakCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool needs_second() const override { return true; }

    void before_call() override {
        if (measures_) held_before_ = bytes_held();
    }

    Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings&) override {
        // The second attempt of each step is measured; the first one ends the repeated calls of the step before.
        measures_ = &attempt != test.second;
        if (!measures_) kept_by_second_ = bytes_kept(attempt);
        return {};
    }

    void judge(StepUnderTest& test, Findings& findings) override {
        if (findings.has_failed() || test.second == nullptr || test.step.call.row->makes_results()) return;
        auto kept = kept_by_each_call(*test.second);
        if (!kept.ok()) return findings.fail(kept.error());
        if (*kept <= 0) return;
        findings.fail({FailureKind::kKeepsMemory, "keeps " + std::to_string(*kept) + " bytes of memory at each call"});
    }

 private:
    [[nodiscard]] int64_t bytes_held() const { return setup_.device().allocated_bytes().value_or(0); }

    [[nodiscard]] bool counts_exactly() const { return setup_.device().is_host() && counts_allocations(); }

    /// Bytes that the process holds more than before the call, after the context has freed its tensors.
    [[nodiscard]] int64_t bytes_kept(Attempt& attempt) {
        // Tensors that the call required of the context are ours to free.
        setup_.attempts.free_required(attempt);
        return bytes_held() - held_before_;
    }

    /// 0 if nothing is kept, or the calls are too slow to decide. The first window may fill caches once.
    Result<int64_t> kept_by_each_call(Attempt& attempt) {
        const bool worth_it = attempt.seconds < kQuickCall_s || kept_by_second_ > kMuch ||
                              (kept_by_second_ > 0 && attempt.seconds < kSlowCall_s);
        const bool is_small = elements_of(attempt.placed.call()) <= kFewElements;
        if (!worth_it && !is_small) return 0;
        const auto first = kept_in_window(attempt, worth_it);
        if (!first.ok() || *first <= 0) return first;
        const bool is_host = setup_.device().is_host();
        int64_t least = *first;
        for (int windows = 1; windows < (is_host && least > kMostCached ? kMostWindows : 2); ++windows) {
            const auto next = kept_in_window(attempt, true);
            if (!next.ok()) return next;
            least = std::min(least, *next);
        }
        if (least < kSmallestPiece) return 0;
        if (is_host && least > kMostCached) return least;
        const auto grows = keeps_growing(attempt, least, is_host ? kOnHost : kOnDevice);
        if (!grows.ok()) return grows.error();
        return *grows ? least : 0;
    }

    /// The bytes that each of some calls keeps, on average; 0 if these calls are slow and not worth their time.
    Result<int64_t> kept_in_window(Attempt& attempt, bool worth_it) {
        setup_.attempts.free_required(attempt);
        const int64_t before = bytes_held();
        double fastest_s = attempt.seconds;
        const int most_calls = counts_exactly() ? kCountedWindowCalls : kWindowCalls;
        int calls = 0;
        for (; calls < most_calls; ++calls) {
            if (!worth_it && calls == kTimedCalls && fastest_s > kPromptCall_s) return 0;
            if (calls == kSlowWindowCalls && fastest_s >= kSlowCall_s) break;
            if (Status s = setup_.attempts.repeat(attempt); !s.ok()) return s.error();
            fastest_s = std::min(fastest_s, attempt.seconds);
            setup_.attempts.free_required(attempt);
        }
        return std::max<int64_t>(bytes_held() - before, 0) / calls;
    }

    /// Only steady growth is a leak.
    Result<bool> keeps_growing(Attempt& attempt, int64_t least, const Settling& settling) {
        int64_t held_before_round = 0;
        for (int i = 1; i <= settling.calls + settling.rounds * kRoundCalls; ++i) {
            if (Status s = setup_.attempts.repeat(attempt); !s.ok()) return s.error();
            setup_.attempts.free_required(attempt);
            const bool ends_round = i >= settling.calls && (i - settling.calls) % kRoundCalls == 0;
            if (!ends_round) continue;
            const int64_t held = bytes_held();
            if (i > settling.calls && 2 * (held - held_before_round) < least * kRoundCalls) return false;
            held_before_round = held;
        }
        return true;
    }

    /// Whether a call is measured.
    bool measures_ = true;
    int64_t held_before_ = 0;  ///< bytes of the device's memory that the process held when the last such call began
    int64_t kept_by_second_ = 0;
};

}  // namespace

std::unique_ptr<StepCheck> step_check::leaks(const CheckSetup& setup) {
    return setup.rules.checks.leaks ? std::make_unique<LeakCheck>(setup) : nullptr;
}

}  // namespace diopi
