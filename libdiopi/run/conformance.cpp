#include "run/conformance.hpp"

#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <set>

#include "run/stored_baselines.hpp"
#include "store/journal.hpp"

namespace diopi {

namespace {

/// Elements of all tensors: a stand-in for the time that a case takes.
int64_t cost_of(const Case& c) {
    int64_t elements = 0;
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) elements += numel(spec.shape);
    }
    return elements;
}

/// Freed memory stays with the worker: without this every large tensor is fetched from the kernel page by page.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
}

/// run_case, with what an exception says as the failure: memory that ran out, or a library that throws through C.
CaseResult run_safely(const Case& c, const CaseOptions& options) {
    std::string reason;
    try {
        return run_case(c, options);
    } catch (const std::bad_alloc&) {
        reason = "out of memory; try --jobs 1";
    } catch (const std::exception& e) {
        reason = std::string("an exception came out of the call: ") + e.what();
    }
    CaseResult result = describe(c);
    result.verdict = Verdict::kFailed;
    result.reason = std::move(reason);
    return result;
}

class Conformance {
 public:
    Conformance(const std::vector<Case>& cases, const ConformanceOptions& options,
                const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result)
        : cases_(cases), options_(options), on_result_(on_result) {}

    Result<ConformanceRun> run() {
        const auto start = std::chrono::steady_clock::now();
        if (Status s = StoredBaselines::check(options_.data, cases_); !s.ok()) return s.error();
        if (Status s = open_journal(); !s.ok()) return s.error();
        std::vector<size_t> items = settle_without_running();
        if (!trouble_.ok()) return trouble_.error();
        // The long ones first, so that no worker is left alone with one at the end.
        std::ranges::stable_sort(items, std::greater(), [&](size_t i) { return cost_of(cases_[i]); });
        if (Status s = run_items(items); !s.ok()) return s.error();
        run_.interrupted = interrupted();
        run_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return std::move(run_);
    }

 private:
    Status open_journal() {
        std::set<std::string> wanted;
        if (options_.resume) {
            auto journal = read_journal(journal_path(options_.run_folder));
            if (!journal.ok()) return journal.status();
            if (journal->header.seed != options_.cases.seed ||
                journal->header.backend != options_.cases.backend->name()) {
                return bad_input("the journal in " + options_.run_folder + " is of backend " + journal->header.backend +
                                 " and seed " + std::to_string(journal->header.seed) +
                                 "; give the same --impl and --seed to --resume");
            }
            if (journal->header.repeat != options_.repeat) {
                return bad_input("the journal in " + options_.run_folder + " is of a run with '" +
                                 journal->header.repeat + "', not '" + options_.repeat +
                                 "'; give the same options to --resume");
            }
            for (const Case& c : cases_) wanted.insert(c.id());
            auto writer = JournalWriter::resume(options_.run_folder);
            if (!writer.ok()) return writer.status();
            journal_ = std::move(*writer);
            for (CaseResult& result : journal->results) {
                if (!wanted.contains(result.case_id)) continue;
                finished_.insert(result.case_id);
                report(std::move(result));
            }
            return {};
        }
        RunHeader header;
        header.command = options_.command;
        header.repeat = options_.repeat;
        header.backend = options_.cases.backend->name();
        header.seed = options_.cases.seed;
        header.cases = static_cast<int64_t>(cases_.size());
        auto writer = JournalWriter::create(options_.run_folder, std::move(header));
        if (!writer.ok()) return writer.status();
        journal_ = std::move(*writer);
        return {};
    }

    /// Skips what is filtered and what no backend has; returns the cases that must run.
    std::vector<size_t> settle_without_running() {
        std::vector<size_t> items;
        for (size_t i = 0; i < cases_.size() && trouble_.ok(); ++i) {
            const Case& c = cases_[i];
            if (!finished_.empty() && finished_.contains(c.id())) continue;
            const auto filtered = std::ranges::find_if(options_.filtered, [&](Dtype d) { return c.uses(d); });
            if (filtered != options_.filtered.end()) {
                CaseResult result = describe(c);
                result.verdict = Verdict::kSkipped;
                result.reason = "uses " + std::string(name(*filtered)) + " (--filter-dtype)";
                record(std::move(result));
            } else if (!options_.cases.backend->implements(c.op)) {
                CaseResult result = describe(c);
                result.verdict = Verdict::kNotImplemented;
                result.reason = std::string(options_.cases.backend->name()) + " does not implement " + c.op;
                record(std::move(result));
            } else if (const auto skipped = options_.skipped.find(c.id()); skipped != options_.skipped.end()) {
                CaseResult result = describe(c);
                result.verdict = Verdict::kSkipped;
                result.reason = skipped->second;
                record(std::move(result));
            } else {
                items.push_back(i);
            }
        }
        return items;
    }

    Status run_items(const std::vector<size_t>& items) {
        std::optional<StoredBaselines> baselines;
        const auto work = [&](size_t item) {
            if (!baselines) {
                keep_freed_memory();
                omp_set_num_threads(1);
                baselines.emplace(options_.data, options_.cases.seed);
            }
            CaseOptions cases = options_.cases;
            cases.baseline = [&](const Case& c) { return baselines->find(c); };
            return to_json_line(run_safely(cases_[item], cases));
        };
        const auto done = [&](size_t item, const WorkOutcome& outcome) {
            record(result_of(item, outcome));
            return trouble_;
        };
        return run_in_workers(items, options_.pool, work, done);
    }

    CaseResult result_of(size_t item, const WorkOutcome& outcome) {
        if (outcome.end == WorkOutcome::End::kFinished) {
            if (auto result = from_json_line(outcome.payload)) return std::move(*result);
        }
        CaseResult result = describe(cases_[item]);
        result.verdict = outcome.end == WorkOutcome::End::kTimeout ? Verdict::kTimeout : Verdict::kCrashed;
        result.reason = outcome.reason;
        return result;
    }

    void record(CaseResult result) {
        if (Status s = journal_->append(result); !s.ok()) trouble_ = s;
        report(std::move(result));
    }

    void report(CaseResult result) {
        run_.results.push_back(std::move(result));
        on_result_(run_.results.back(), static_cast<int64_t>(run_.results.size()), static_cast<int64_t>(cases_.size()));
    }

    const std::vector<Case>& cases_;
    const ConformanceOptions& options_;
    const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result_;
    std::optional<JournalWriter> journal_;
    std::set<std::string> finished_;
    ConformanceRun run_;
    Status trouble_;
};

}  // namespace

Result<ConformanceRun> run_conformance(const std::vector<Case>& cases, const ConformanceOptions& options,
                                       const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result) {
    return Conformance(cases, options, on_result).run();
}

}  // namespace diopi
