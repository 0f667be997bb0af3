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
        if (Status s = controls(all); !s.ok() || culprits_.end != Culprits::End::kFound) return s;
        for (size_t end = all.size();;) {
            // The unit that ends the shortest prefix which passes, beside those that are known, is another culprit.
            size_t length = 0;
            if (Status s = shortest_prefix(end, length); !s.ok()) return s;
            if (length == 0) break;
            culprits_.set.insert(culprits_.set.begin(), length - 1);
            end = length - 1;
            bool passed = false;
            if (Status s = passes(culprits_.set, passed); !s.ok()) return s;
            if (passed) break;
            if (end == 0) return give_up(all);
        }
        return drop_needless();
    }

    /// Without any fallback it must fail, with all of it pass.
    Status controls(const UnitSet& all) {
        int failures = 0, runs = 0;
        for (int wanted = kControls; runs < wanted; ++runs) {
            auto trial = replay({});
            if (!trial.ok()) return trial.status();
            if (!trial->passed) culprits_.reason = trial->reason;
            failures += trial->passed ? 0 : 1;
            if (failures <= runs) wanted = kFlakyControls;
        }
        if (failures == 0) {
            culprits_.end = Culprits::End::kNothingWrong;
            return {};
        }
        culprits_.flaky = failures < runs;
        if (culprits_.flaky) repeats_ = std::max(repeats_, repeats_for(failures, runs));
        bool passed = false;
        if (Status s = passes(all, passed); !s.ok()) return s;
        if (passed) return {};
        culprits_.end = Culprits::End::kElsewhere;
        culprits_.reason = last_reason_;
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

    /// What passes is kept as it is when units get in each other's way.
    Status give_up(const UnitSet& all) {
        culprits_.set = all;
        culprits_.end = Culprits::End::kNotMonotone;
        return drop_needless();
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
