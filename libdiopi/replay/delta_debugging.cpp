#include "replay/delta_debugging.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace diopi {

namespace {

/// Replays without fallback that detect a flaky failure; if one passes, as many as its rate needs.
constexpr int kControls = 2;
constexpr int kFlakyControls = 12;
/// Further replays that confirm the result.
constexpr int kConfirmations = 3;
/// The probability that a set that sometimes fails is taken for one that passes, and the most replays for it.
constexpr double kErrorRate = 0.002;
constexpr int kMostRepeats = 50;

/// The number of passing replays in a row that show that a set passes, if this many of the runs failed.
int repeats_for(int failures, int runs) {
    // The rate is lowered by one standard deviation: the true rate may well be lower than the observed one.
    const double rate = std::max(failures - std::sqrt(failures), 0.5) / runs;
    return std::min(kMostRepeats, static_cast<int>(std::ceil(std::log(kErrorRate) / std::log1p(-rate))));
}

/// Each member returns an error of a replay, or of an interruption, at once.
class Search {
 public:
    explicit Search(const DeltaDebuggingOptions& options) : options_(options), repeats_(options.repeats) {}

    Result<DeltaDebugging> run() {
        Status s = search();
        if (!s.ok() && !stopped_) return s.error();
        if (stopped_) result_.end = *stopped_;
        result_.repeats = repeats_;
        return result_;
    }

 private:
    Status search() {
        UnitSet all(options_.units);
        std::iota(all.begin(), all.end(), size_t{0});
        bool passed = options_.controlled;
        if (!passed) {
            if (Status s = measure_failure(kControls); !s.ok() || result_.end != DeltaDebugging::End::kFound) return s;
            if (Status s = passes(all, passed); !s.ok()) return s;
        }
        if (!passed) return elsewhere();
        if (Status s = narrow(passed); !s.ok()) return s;
        if (!passed && !result_.flaky) {
            // Sets that passed before now fail: perhaps the failure is flaky.
            if (Status s = measure_failure(kFlakyControls); !s.ok()) return s;
            if (result_.flaky) {
                if (Status s = narrow(passed); !s.ok()) return s;
            }
        }
        if (passed) return {};
        result_.set = all;
        result_.end = DeltaDebugging::End::kNotMonotone;
        return remove_unneeded();
    }

    Status elsewhere() {
        result_.end = DeltaDebugging::End::kElsewhere;
        result_.reason = last_reason_;
        return {};
    }

    /// Checks that the replay fails without fallback. If one of `wanted` replays passes, more replays estimate the
    /// rate.
    Status measure_failure(int wanted) {
        int failures = 0, runs = 0;
        for (; runs < wanted; ++runs) {
            auto trial = replay({});
            if (!trial.ok()) return trial.status();
            if (!trial->passed) result_.reason = trial->reason;
            failures += trial->passed ? 0 : 1;
            if (failures <= runs) wanted = kFlakyControls;
        }
        if (failures == 0) result_.end = DeltaDebugging::End::kNothingWrong;
        result_.flaky = failures > 0 && failures < runs;
        if (result_.flaky) repeats_ = std::max(repeats_, repeats_for(failures, runs));
        return {};
    }

    /// Finds the faulty units in ascending order; `confirmed` when their set passes repeatedly.
    Status narrow(bool& confirmed) {
        result_.set.clear();
        confirmed = false;
        for (size_t begin = 0; begin < options_.units && !confirmed; ++begin) {
            // The first unit of the shortest suffix that passes together with the known units is another faulty one.
            if (Status s = begin_shortest_suffix(begin); !s.ok()) return s;
            result_.set.push_back(begin);
            if (Status s = passes(result_.set, confirmed); !s.ok()) return s;
        }
        if (!confirmed) return {};
        if (Status s = remove_unneeded(); !s.ok()) return s;
        for (int i = 0; i < kConfirmations && confirmed; ++i) {
            if (Status s = passes(result_.set, confirmed); !s.ok()) return s;
        }
        return {};
    }

    /// Moves `begin` to the first unit of the shortest suffix that passes together with the known units.
    Status begin_shortest_suffix(size_t& begin) {
        size_t failing = options_.units;
        while (failing - begin > 1) {
            const size_t middle = begin + (failing - begin) / 2;
            bool passed = false;
            if (Status s = passes(with_suffix(middle), passed); !s.ok()) return s;
            (passed ? begin : failing) = middle;
        }
        return {};
    }

    /// The known faulty units and all units from `begin` on.
    [[nodiscard]] UnitSet with_suffix(size_t begin) const {
        UnitSet set = result_.set;
        for (size_t unit = begin; unit < options_.units; ++unit) set.push_back(unit);
        return set;
    }

    /// Removes each unit without which the rest still passes.
    Status remove_unneeded() {
        for (size_t i = 0; i < result_.set.size() && result_.set.size() > 1;) {
            UnitSet rest = result_.set;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
            bool passed = false;
            if (Status s = passes(rest, passed); !s.ok()) return s;
            if (passed)
                result_.set = std::move(rest);
            else
                ++i;
        }
        return {};
    }

    Status passes(const UnitSet& set, bool& passed) {
        passed = true;
        for (int i = 0; i < repeats_ && passed; ++i) {
            auto trial = replay(set);
            if (!trial.ok()) return trial.status();
            passed = trial->passed;
            if (!passed) last_reason_ = trial->reason;
        }
        return {};
    }

    Result<Trial> replay(const UnitSet& set) {
        if (options_.interrupted && options_.interrupted()) return stop(DeltaDebugging::End::kInterrupted);
        if (options_.most_replays > 0 && result_.replays >= options_.most_replays) {
            return stop(DeltaDebugging::End::kTooMany);
        }
        ++result_.replays;
        return options_.replay(set);
    }

    Error stop(DeltaDebugging::End end) {
        stopped_ = end;
        return failed("stopped");
    }

    const DeltaDebuggingOptions& options_;
    int repeats_;
    std::optional<DeltaDebugging::End> stopped_;
    std::string last_reason_;
    DeltaDebugging result_;
};

}  // namespace

Result<DeltaDebugging> run_delta_debugging(const DeltaDebuggingOptions& options) { return Search(options).run(); }

}  // namespace diopi
