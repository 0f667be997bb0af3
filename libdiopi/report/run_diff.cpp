#include "report/run_diff.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "journal/case_order.hpp"
#include "report/error_report.hpp"

namespace diopi {

namespace {

/// A function with fewer calls has no typical ratio.
constexpr int64_t kFewestCalls = 10;
/// The smallest reported change of accuracy: the share of the allowed error changes by this factor and by this much.
constexpr double kAccuracyFactor = 1.25;
constexpr double kAccuracyStep = 0.05;
/// Times of single calls vary more than those of a profile.
constexpr double kLeastTimeChange = 0.1;

bool has_run(Verdict verdict) { return verdict != Verdict::kSkipped && verdict != Verdict::kNotImplemented; }

VerdictChange change_of(const CaseResult& before, const CaseResult& after, const std::string& options) {
    const CaseResult& told = after.verdict == Verdict::kPassed ? before : after;
    return {after.case_id,
            after.op,
            after.dtype,
            before.verdict,
            after.verdict,
            told.reason,
            repeat_command(after.case_id, options)};
}

/// The calls of one function in the cases that pass in both runs.
struct CallTimes {
    double before = 0, after = 0;
    std::vector<double> ratios;

    [[nodiscard]] int64_t calls() const { return std::ssize(ratios); }
};

/// Figures by function, or by function and output.
struct Figures {
    std::map<std::string, CallTimes> times;
    std::map<std::pair<std::string, std::string>, AccuracyChange> accuracy;
};

void add_accuracy(const StepResult& before, const StepResult& after, const std::string& id, Figures& figures) {
    for (const Deviation& then : before.deviations) {
        const auto now = std::ranges::find(after.deviations, then.output, &Deviation::output);
        if (now == after.deviations.end()) continue;
        AccuracyChange& change = figures.accuracy[{after.function, then.output}];
        if (std::max(then.budget_used, now->budget_used) > std::max(change.before, change.after)) change.case_id = id;
        change.before = std::max(change.before, then.budget_used);
        change.after = std::max(change.after, now->budget_used);
        ++change.calls;
    }
}

void add_time(const StepResult& before, const StepResult& after, Figures& figures) {
    if (before.seconds <= 0 || after.seconds <= 0) return;
    CallTimes& times = figures.times[after.function];
    times.before += before.seconds;
    times.after += after.seconds;
    times.ratios.push_back(after.seconds / before.seconds);
}

void add_figures(const CaseResult& before, const CaseResult& after, Figures& figures) {
    for (const StepResult& now : after.steps) {
        const auto then = std::ranges::find_if(before.steps, [&](const StepResult& each) {
            return each.step == now.step && each.function == now.function;
        });
        if (then == before.steps.end()) continue;
        add_accuracy(*then, now, after.case_id, figures);
        add_time(*then, now, figures);
    }
}

void sort_changes(const Figures& figures, RunDiff& diff) {
    for (const auto& [key, change] : figures.accuracy) {
        const double low = std::min(change.before, change.after), high = std::max(change.before, change.after);
        if (high < low * kAccuracyFactor || high - low < kAccuracyStep) continue;
        auto& list = change.after > change.before ? diff.less_accurate : diff.more_accurate;
        list.push_back(change);
        std::tie(list.back().function, list.back().output) = key;
    }
    const auto step = [](const AccuracyChange& change) { return -std::abs(change.after - change.before); };
    std::ranges::stable_sort(diff.less_accurate, {}, step);
    std::ranges::stable_sort(diff.more_accurate, {}, step);
}

/// Each pair of calls is independent of the others: it is a pass with the time 1 before and the ratio after.
void judge_times(const Figures& figures, RunDiff& diff) {
    std::vector<SpeedPair> pairs;
    for (const auto& [function, times] : figures.times) {
        if (times.calls() < kFewestCalls) continue;
        SpeedPair& pair = pairs.emplace_back();
        for (const double ratio : times.ratios) {
            pair.base.push_back({1});
            pair.now.push_back({ratio});
        }
        diff.times.push_back({function, times.calls(), times.before, times.after, {}});
    }
    const auto speeds = compare_speed(pairs, {.least_effect = kLeastTimeChange});
    for (size_t i = 0; i < speeds.size(); ++i) diff.times[i].speed = speeds[i];
    std::ranges::stable_sort(
        diff.times, [](const TimeChange& a, const TimeChange& b) { return a.speed.ratio.value > b.speed.ratio.value; });
}

std::vector<VerdictChange>& list_of(Verdict before, Verdict after, RunDiff& diff) {
    if (is_failure(after) && !is_failure(before)) return diff.broken;
    if (is_failure(before) && after == Verdict::kPassed) return diff.mended;
    if (before == Verdict::kPassed && !has_run(after)) return diff.lost;
    if (!has_run(before) && after == Verdict::kPassed) return diff.gained;
    return diff.other;
}

class Differ {
 public:
    Differ(const Journal& before, const Journal& after) : before_(before), after_(after) {
        diff_.before = before.header;
        diff_.after = after.header;
        if (before.header.seed != after.header.seed) diff_.accuracy_left_out = "the runs have other seeds";
    }

    RunDiff run() {
        auto then = before_.results.begin();
        for (const CaseResult& now : after_.results) {
            for (; then != before_.results.end() && natural_less(then->case_id, now.case_id); ++then) {
                diff_.only_before.push_back(then->case_id);
            }
            const bool is_common = then != before_.results.end() && then->case_id == now.case_id;
            if (is_common) {
                compare(*then++, now);
            } else {
                add_new(now);
            }
        }
        for (; then != before_.results.end(); ++then) diff_.only_before.push_back(then->case_id);
        if (diff_.accuracy_left_out.empty()) sort_changes(figures_, diff_);
        judge_times(figures_, diff_);
        return std::move(diff_);
    }

 private:
    void compare(const CaseResult& then, const CaseResult& now) {
        ++diff_.common;
        if (then.verdict == Verdict::kPassed && now.verdict == Verdict::kPassed) {
            add_figures(then, now, figures_);
        } else if (then.verdict != now.verdict) {
            list_of(then.verdict, now.verdict, diff_).push_back(change_of(then, now, after_.header.repeat));
        }
    }

    void add_new(const CaseResult& now) {
        diff_.only_after.push_back(now.case_id);
        if (is_failure(now.verdict)) diff_.newly_failing.push_back(change_of(now, now, after_.header.repeat));
    }

    const Journal &before_, &after_;
    Figures figures_;
    RunDiff diff_;
};

}  // namespace

RunDiff diff_runs(const Journal& before, const Journal& after) { return Differ(before, after).run(); }

}  // namespace diopi
