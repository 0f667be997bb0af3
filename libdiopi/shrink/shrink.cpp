#include "shrink/shrink.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cases/bind.hpp"
#include "cases/case_writer.hpp"
#include "cases/plan.hpp"
#include "cases/variant.hpp"
#include "core/stopwatch.hpp"
#include "file/atomic_file.hpp"
#include "shrink/failure_signature.hpp"
#include "shrink/reductions.hpp"

namespace diopi {

namespace {

/// Values are stated when no other reduction helps, or when no drawn ones show the failure.
constexpr int64_t kStatedAtLast = 64;
constexpr int64_t kStatedAtFirst = 4096;
/// The number of names under which the case is tried: each draws other numbers.
constexpr int kNames = 6;

constexpr double kLeastLimit_s = 2;
constexpr double kLimitFactor = 5;

/// "add_shrunk_add_17": unique among shrunk cases, so that several files can be in one run.
std::string shrunk_group(const Case& c, int attempt) {
    const std::string suite = c.suite == "ops" ? "" : c.suite + "_";
    const std::string number = attempt == 0 ? "" : "_" + std::to_string(attempt + 1);
    return suite + c.group + "_shrunk_" + c.op + "_" + std::to_string(c.index) + number;
}

/// Whether its calls can be planned: the failure of a contradictory case is not the library's.
bool is_valid(const Case& c) {
    if (!plan(c).ok()) return false;
    const auto rows = rows_for(c);
    if (!rows.ok()) return false;
    for (const Row* row : {rows->forward, c.inplace ? rows->inplace : nullptr}) {
        if (row != nullptr && !bind_call(*row, c, shape_tensors(c)).ok()) return false;
    }
    return true;
}

class Shrinker {
 public:
    Shrinker(const Case& c, const ShrinkOptions& options) : original_(c), options_(options) {}

    Result<Shrunk> run() {
        if (Status s = repeat_original(); !s.ok()) return s.error();
        if (Status s = find_first_form(); !s.ok()) return s.error();
        bool finished = reduce();
        Case stated = out_.smallest;
        if (finished && state_values(stated, options_.worker.cases.seed, kStatedAtLast) && accept(stated)) {
            finished = reduce();
        }
        out_.finished = finished && may_go_on();
        out_.seconds = watch_.seconds();
        auto file = case_file_text(out_.smallest);
        if (!file.ok()) return file.error();
        out_.file = std::move(*file);
        return std::move(out_);
    }

 private:
    [[nodiscard]] bool may_go_on() const { return watch_.seconds() < options_.seconds && !interrupted(); }

    CaseResult run_alone(const Case& c, double limit_s) {
        PoolOptions pool = options_.pool;
        pool.jobs = 1;
        pool.timeout_s = limit_s;
        CaseWorker worker(options_.worker);
        CaseResult result;
        const auto work = [&](size_t) { return worker.work(c); };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            result = worker.result_of(c, outcome);
            return Status();
        };
        if (Status s = run_in_workers({0}, pool, work, done); !s.ok()) status_ = s;
        return result;
    }

    Status repeat_original() {
        const Stopwatch watch;
        const bool hung = options_.verdict == Verdict::kTimeout;
        const double most_s = std::min(options_.pool.timeout_s, hung ? options_.hang_s : options_.seconds);
        out_.before = run_alone(original_, most_s);
        if (!status_.ok()) return status_;
        if (interrupted()) return failed("interrupted");
        wanted_ = signature_of(out_.before);
        const Verdict verdict = wanted_.verdict;
        if (!is_failure(verdict)) {
            return failed(original_.id() + " does not fail alone: nothing to shrink; try --find-order");
        }
        if (verdict == Verdict::kTimeout && !hung) {
            return failed(original_.id() + " takes longer than the search is allowed to; try a longer --shrink-time");
        }
        const double factor = std::max(kLimitFactor * watch.seconds(), kLeastLimit_s);
        limit_s_ = hung ? most_s : std::min(options_.pool.timeout_s, factor);
        out_.timeout_s = limit_s_;
        return {};
    }

    /// Finds a new name for the case under which it fails.
    Status find_first_form() {
        Case first = original_;
        first.suite = "ops";
        first.index = 0;
        first.skipped_steps.clear();
        for (int attempt = 0; attempt < kNames && may_go_on(); ++attempt) {
            first.group = shrunk_group(original_, attempt);
            if (accept(first)) return status_;
        }
        Case stated = original_;
        if (state_values(stated, options_.worker.cases.seed, kStatedAtFirst)) {
            first.tensors = std::move(stated.tensors);
            first.group = shrunk_group(original_, 0);
            if (accept(first)) return status_;
        }
        if (!status_.ok()) return status_;
        if (interrupted()) return failed("interrupted");
        if (!may_go_on()) return failed(original_.id() + ": the time is up; try a longer --shrink-time");
        return failed(original_.id() + " fails with its own numbers only, which are too many to be stated in a file");
    }

    /// Repeats rounds of all reductions, each as long as it helps; true when a whole round did not help.
    bool reduce() {
        for (bool helped = true; helped;) {
            helped = false;
            for (const Reduction& reduction : reductions()) {
                while (apply(reduction)) helped = true;
                if (!may_go_on() || !status_.ok()) return false;
            }
        }
        return true;
    }

    bool apply(const Reduction& reduction) {
        bool helped = false;
        for (const Edit& edit : reduction.edits(out_.smallest)) {
            if (!may_go_on() || !status_.ok()) return false;
            Case candidate = out_.smallest;
            if (edit(candidate) && accept(candidate)) helped = true;
        }
        return helped;
    }

    /// Makes the candidate the smallest form if it fails for the same cause.
    bool accept(const Case& candidate) {
        auto form = reread(candidate);
        if (!form.ok()) return false;
        form->layout = candidate.layout;
        form->four_bytes = candidate.four_bytes;
        const auto prepared = as_repeated(*form);
        if (!prepared || !is_valid(*prepared) || !tried_.insert(prepared->fingerprint()).second) return false;
        CaseResult result = run_alone(*prepared, limit_s_);
        ++out_.tried;
        const bool same = !interrupted() && status_.ok() && signature_of(result) == wanted_;
        if (same) {
            ++out_.accepted;
            out_.smallest = std::move(*form);
            out_.after = std::move(result);
        }
        if (options_.progress) {
            const Case& smallest = out_.accepted > 0 ? out_.smallest : original_;
            options_.progress({out_.tried, out_.accepted, watch_.seconds(), smallest});
        }
        return same;
    }

    /// The case in the run that repeats it; nullopt if that run leaves it out.
    [[nodiscard]] std::optional<Case> as_repeated(const Case& form) const {
        VariantOptions variants;
        variants.layout = form.layout;
        variants.four_bytes = form.four_bytes;
        Case plain = form;
        plain.layout = {};
        plain.four_bytes = false;
        auto varied = vary(plain, variants);
        if (!varied.ok() || !varied->skip_reason.empty()) return std::nullopt;
        if (options_.prepare && !options_.prepare(varied->changed)) return std::nullopt;
        return std::move(varied->changed);
    }

    const Case& original_;
    const ShrinkOptions& options_;
    const Stopwatch watch_;
    FailureSignature wanted_;
    double limit_s_ = 0;
    std::set<std::string> tried_;
    Shrunk out_;
    Status status_;
};

}  // namespace

Result<Shrunk> shrink(const Case& c, const ShrinkOptions& options) { return Shrinker(c, options).run(); }

FailuresToShrink choose_failures(const std::vector<CaseResult>& results) {
    constexpr int kMostPerOperator = 5;
    std::map<std::string, int> per_operator;
    FailuresToShrink failures;
    for (const CaseResult& result : results) {
        if (!is_failure(result.verdict)) continue;
        if (++per_operator[result.op] > kMostPerOperator) {
            ++failures.left_out;
        } else {
            failures.chosen.push_back(&result);
        }
    }
    return failures;
}

Result<std::string> write_shrunk(const std::string& run_folder, std::string case_id, const Shrunk& shrunk) {
    std::ranges::replace(case_id, '/', '.');
    std::string file = run_folder + "/shrunk/" + case_id + ".json";
    Status s = make_parent_folder(file);
    if (s.ok()) s = write_file_atomically(file, shrunk.file);
    if (!s.ok()) return s.error();
    return file;
}

}  // namespace diopi
