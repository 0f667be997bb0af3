#include "run/culprits.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace diopi {

namespace {

/// Replays without fallback, so that a flaky outcome is seen; when one passes, so many that its rate is known.
constexpr int kControls = 2;
constexpr int kFlakyControls = 12;
/// Further replays of what was found.
constexpr int kConfirmations = 3;
/// How likely a set that fails now and then may be taken for one that passes, and the most replays spent on it.
constexpr double kMistaken = 0.002;
constexpr int kMostRepeats = 50;

/// Replays in a row that show that a set passes, where so many of the runs failed.
int repeats_for(int failures, int runs) {
    // One standard deviation below what was seen: the true rate may well be lower.
    const double rate = std::max(failures - std::sqrt(failures), 0.5) / runs;
    return std::min(kMostRepeats, static_cast<int>(std::ceil(std::log(kMistaken) / std::log1p(-rate))));
}

/// Each member returns an error of a replay, or of an interruption, at once.
class Search {
 public:
    explicit Search(const CulpritOptions& options) : options_(options), repeats_(options.repeats) {}

    Result<Culprits> run() {
        Status s = search();
        if (!s.ok() && !interrupted_) return s.error();
        if (interrupted_) culprits_.end = Culprits::End::kInterrupted;
        return culprits_;
    }

 private:
    Status search() {
        UnitSet all(options_.units);
        std::iota(all.begin(), all.end(), size_t{0});
        if (Status s = measure_failure(kControls); !s.ok() || culprits_.end != Culprits::End::kFound) return s;
        bool passed = false;
        if (Status s = passes(all, passed); !s.ok()) return s;
        if (!passed) return elsewhere();
        if (Status s = narrow(passed); !s.ok()) return s;
        if (!passed && !culprits_.flaky) {
            // Sets that passed before do not now: perhaps the failure only seemed to be there each time.
            if (Status s = measure_failure(kFlakyControls); !s.ok()) return s;
            if (culprits_.flaky) {
                if (Status s = narrow(passed); !s.ok()) return s;
            }
        }
        if (passed) return {};
        culprits_.set = all;
        culprits_.end = Culprits::End::kNotMonotone;
        return drop_needless();
    }

    Status elsewhere() {
        culprits_.end = Culprits::End::kElsewhere;
        culprits_.reason = last_reason_;
        return {};
    }

    /// Without fallback it must fail. When one of `wanted` replays passes, more tell at which rate.
    Status measure_failure(int wanted) {
        int failures = 0, runs = 0;
        for (; runs < wanted; ++runs) {
            auto trial = replay({});
            if (!trial.ok()) return trial.status();
            if (!trial->passed) culprits_.reason = trial->reason;
            failures += trial->passed ? 0 : 1;
            if (failures <= runs) wanted = kFlakyControls;
        }
        if (failures == 0) culprits_.end = Culprits::End::kNothingWrong;
        culprits_.flaky = failures < runs;
        if (culprits_.flaky && failures > 0) repeats_ = std::max(repeats_, repeats_for(failures, runs));
        return {};
    }

    /// Finds the culprits one after the other, the last one first; `confirmed` when they pass again and again.
    Status narrow(bool& confirmed) {
        culprits_.set.clear();
        confirmed = false;
        for (size_t end = options_.units; end > 0 && !confirmed;) {
            // The unit that ends the shortest prefix which passes, beside those that are known, is another culprit.
            size_t length = 0;
            if (Status s = shortest_prefix(end, length); !s.ok()) return s;
            end = length - 1;
            culprits_.set.insert(culprits_.set.begin(), end);
            if (Status s = passes(culprits_.set, confirmed); !s.ok()) return s;
        }
        if (!confirmed) return {};
        if (Status s = drop_needless(); !s.ok()) return s;
        for (int i = 0; i < kConfirmations && confirmed; ++i) {
            if (Status s = passes(culprits_.set, confirmed); !s.ok()) return s;
        }
        return {};
    }

    /// Length of the shortest prefix of the units before `end` that passes together with the known culprits.
    Status shortest_prefix(size_t end, size_t& length) {
        size_t failing = 0, passing = end;
        while (passing - failing > 1) {
            const size_t middle = failing + (passing - failing) / 2;
            bool passed = false;
            if (Status s = passes(with_prefix(middle), passed); !s.ok()) return s;
            (passed ? passing : failing) = middle;
        }
        length = passing;
        return {};
    }

    [[nodiscard]] UnitSet with_prefix(size_t length) const {
        UnitSet set(length);
        std::iota(set.begin(), set.end(), size_t{0});
        set.insert(set.end(), culprits_.set.begin(), culprits_.set.end());
        std::ranges::sort(set);
        return set;
    }

    /// Leaves out each unit without which the rest still passes.
    Status drop_needless() {
        for (size_t i = 0; i < culprits_.set.size() && culprits_.set.size() > 1;) {
            UnitSet rest = culprits_.set;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
            bool passed = false;
            if (Status s = passes(rest, passed); !s.ok()) return s;
            if (passed)
                culprits_.set = std::move(rest);
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
        if (options_.interrupted && options_.interrupted()) {
            interrupted_ = true;
            return failed("interrupted");
        }
        ++culprits_.replays;
        return options_.replay(set);
    }

    const CulpritOptions& options_;
    int repeats_;
    bool interrupted_ = false;
    std::string last_reason_;
    Culprits culprits_;
};

}  // namespace

Result<Culprits> find_culprits(const CulpritOptions& options) { return Search(options).run(); }

}  // namespace diopi
