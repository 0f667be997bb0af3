#include "conformance/conformance.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "conformance/cost.hpp"
#include "conformance/follow_ups.hpp"
#include "conformance/outcome.hpp"
#include "conformance/run_order.hpp"
#include "conformance/stored_baselines.hpp"
#include "core/stopwatch.hpp"
#include "journal/journal.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

/// Failed cases that are repeated alone, and the time after which no other one is.
constexpr size_t kMostRepeated = 32;
constexpr double kMostRepeating_s = 60;

/// A case needs this multiple of its tensors' bytes: log_softmax 1, products 2, with the sums of magnitudes.
constexpr double kRoomToWork = 2;

/// The items of a run: the cases, and then the bundles still to be saved for cases whose workers died.
class Conformance {
 public:
    Conformance(const std::vector<Case>& cases, const ConformanceOptions& options,
                const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result)
        : cases_(cases), options_(options), on_result_(on_result) {}

    Result<ConformanceRun> run() {
        const Stopwatch watch;
        if (Status s = check_baselines(cases_, options_); !s.ok()) return s.error();
        if (Status s = open_journal(); !s.ok()) return s.error();
        std::vector<size_t> items = settle_without_running();
        if (!status_.ok()) return status_.error();
        arrange(items, cases_, *options_.cases.backend, options_.order);
        if (Status s = run_items(items); !s.ok()) return s.error();
        if (Status s = repeat_alone(); !s.ok()) return s.error();
        run_.interrupted = interrupted();
        run_.seconds = watch.seconds();
        return std::move(run_);
    }

 private:
    Status open_journal() {
        if (options_.append) return reopen_journal();
        if (options_.resume) {
            auto journal = read_journal(journal_path(options_.run_folder));
            if (!journal.ok()) return journal.status();
            if (journal->header.seed != options_.cases.seed ||
                journal->header.backend != options_.cases.backend->name()) {
                return bad_input("the journal in " + options_.run_folder + " is of backend " + journal->header.backend +
                                 " and seed " + std::to_string(journal->header.seed) +
                                 "; give the same --impl and --seed to --resume");
            }
            if (Status s = check_shard(journal->header); !s.ok()) return s;
            if (Status s = check_options(journal->header); !s.ok()) return s;
            if (Status s = check_selection(journal->header); !s.ok()) return s;
            std::set<std::string> wanted;
            for (const Case& c : cases_) wanted.insert(c.id());
            if (Status s = reopen_journal(); !s.ok()) return s;
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
        header.device_config = options_.device_config;
        header.environment = options_.environment;
        header.cases = static_cast<int64_t>(cases_.size());
        header.shard = options_.shard;
        header.selection_cases = options_.selection.cases;
        header.selection = options_.selection.checksum;
        auto writer = JournalWriter::create(options_.run_folder, std::move(header));
        if (!writer.ok()) return writer.status();
        journal_ = std::move(*writer);
        return {};
    }

    Status reopen_journal() {
        auto writer = JournalWriter::resume(options_.run_folder);
        if (writer.ok()) journal_ = std::move(*writer);
        return writer.status();
    }

    /// Only the same shard may be continued: results of other cases in its journal would corrupt the merged report.
    Status check_shard(const RunHeader& former) const {
        const auto title = [](const std::string& shard) { return shard.empty() ? "a whole run" : "shard " + shard; };
        if (former.shard != options_.shard) {
            return bad_input("the journal in " + options_.run_folder + " is of " + title(former.shard) + ", not of " +
                             title(options_.shard) + "; give the same --shard to --resume, or another --run");
        }
        return {};
    }

    /// Only the same cases may be continued. A journal of an older program does not have the selection.
    [[nodiscard]] Status check_selection(const RunHeader& former) const {
        if (former.selection.empty() || former.selection == options_.selection.checksum) return {};
        return bad_input("the journal in " + options_.run_folder + " is of " +
                         (former.shard.empty() ? "" : "shard " + former.shard + " of ") +
                         "another selection of cases; give the same options to --resume, or another --run");
    }

    /// Whether the run to be continued had the options of this one.
    [[nodiscard]] Status check_options(const RunHeader& header) const {
        if (header.repeat != options_.repeat) {
            return bad_input("the journal in " + options_.run_folder + " is of a run with the options '" +
                             header.repeat + "', not '" + options_.repeat + "'; give the same ones to --resume");
        }
        if (header.device_config != options_.device_config) {
            return bad_input("the device configuration has changed since the run in " + options_.run_folder +
                             " began; start a new run without --resume, or give it the former file");
        }
        return {};
    }

    /// Settles cases that are skipped or that no backend has; returns the cases that must run.
    std::vector<size_t> settle_without_running() {
        std::vector<size_t> items;
        for (size_t i = 0; i < cases_.size() && status_.ok(); ++i) {
            const Case& c = cases_[i];
            if (!finished_.empty() && finished_.contains(c.id())) continue;
            if (auto reason = options_.skip_reason ? options_.skip_reason(c) : std::nullopt) {
                skip(c, std::move(*reason));
            } else if (!options_.cases.backend->implements(c.op)) {
                CaseResult result = describe(c);
                result.verdict = Verdict::kNotImplemented;
                result.reason = lacks(*options_.cases.backend, c.op).message;
                record(std::move(result));
            } else if (auto reason = too_large(i)) {
                skip(c, std::move(*reason));
            } else {
                items.push_back(i);
            }
        }
        return items;
    }

    void skip(const Case& c, std::string reason) {
        CaseResult result = describe(c);
        result.verdict = Verdict::kSkipped;
        result.reason = std::move(reason);
        record(std::move(result));
    }

    /// The work of the case without the steps that the options leave out.
    [[nodiscard]] CaseWork work_to_do(const Case& c) const {
        const Backend& backend = *options_.cases.backend;
        const std::vector<std::string>& steps = options_.cases.steps;
        if (steps.empty()) return work_of(c, backend);
        Case fewer = c;
        fewer.inplace = c.inplace && std::ranges::find(steps, "inplace") != steps.end();
        fewer.backward = c.backward && std::ranges::find(steps, "backward") != steps.end();
        return work_of(fewer, backend);
    }

    /// Why the tensors of the case fit into no worker's memory; nullopt where they may.
    std::optional<std::string> too_large(size_t item) {
        if (most_memory_ == 0) return std::nullopt;
        needed_[item] = work_to_do(cases_[item]).largest.most();
        if (needed_[item] <= most_memory_) return std::nullopt;
        return "its tensors need " + memory_text(needed_[item]) + " of memory at one time, and a worker may take " +
               memory_text(most_memory_) + "; try a machine with more, or --memory-limit";
    }

    Status run_items(const std::vector<size_t>& items) {
        auto [pool, options] = workers_of(options_);
        pool.needs = needs();
        pool.may_reorder = options_.order.by == RunOrder::By::kCost;
        pool.is_enough = [this] { return options_.max_failures > 0 && failures_ >= options_.max_failures; };
        options.after_case = options_.after_case;
        options.save = options_.save;
        if (saves()) {
            auto follow_ups = FollowUps::create(static_cast<size_t>(std::max(pool.jobs, 1)));
            if (!follow_ups.ok()) return follow_ups.status();
            follow_ups_.emplace(std::move(*follow_ups));
            followed_.resize(static_cast<size_t>(std::max(pool.jobs, 1)));
        }
        CaseWorker worker(std::move(options));
        const std::vector<size_t> kept = kept_memory(items, pool.needs, cases_.size());
        const auto work = [&](size_t item) {
            if (item >= cases_.size()) return save_unsaved(item - cases_.size(), worker);
            return worker.work(cases_[item], kept[item]);
        };
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>& more) {
            if (item < cases_.size()) {
                take(item, worker.result_of(cases_[item], outcome), outcome.warnings, more);
            } else {
                take_saved(item - cases_.size(), outcome);
            }
            return status_;
        };
        pool.needs_all = [&](size_t item, const WorkOutcome& outcome) {
            // A recording has the calls of each case once.
            if (item >= cases_.size() || options_.cases.first_run != nullptr) return false;
            if (outcome.end == WorkOutcome::End::kOutOfMemory) return true;
            if (outcome.payload.find(name(FailureKind::kOutOfMemory)) == std::string::npos) return false;
            const CaseResult result = worker.result_of(cases_[item], outcome);
            if (result.kind != FailureKind::kOutOfMemory) return false;
            for (const StepResult& step : result.steps) {
                std::error_code ignored;
                if (!step.bundle.empty()) std::filesystem::remove(step.bundle, ignored);
            }
            return true;
        };
        Status status = run_in_workers(items, pool, work, done);
        for (std::optional<CaseResult>& result : followed_) {
            if (status.ok() && result) record(std::move(*result));
        }
        return status.ok() ? status_ : status;
    }

    /// The memory of each item.
    [[nodiscard]] std::function<int64_t(size_t)> needs() const {
        return [this](size_t item) {
            const int64_t bytes = item < cases_.size() ? needed_[item] : 0;
            return static_cast<int64_t>(kRoomToWork * static_cast<double>(bytes));
        };
    }

    [[nodiscard]] bool saves() const { return !options_.save.folder.empty(); }

    /// Repeats the first failed cases, each in a worker of its own: one that passes there depends on what ran before.
    Status repeat_alone() {
        std::map<std::string, size_t> positions;
        for (size_t i = 0; i < cases_.size(); ++i) positions[cases_[i].id()] = i;
        std::map<size_t, CaseResult*> suspects;
        std::vector<size_t> items;
        for (CaseResult& result : run_.results) {
            const auto at = positions.find(result.case_id);
            const bool is_suspect = result.verdict == Verdict::kFailed && at != positions.end() && cases_.size() > 1;
            if (!is_suspect || items.size() == kMostRepeated) continue;
            suspects[at->second] = &result;
            items.push_back(at->second);
        }
        if (items.empty() || interrupted()) return {};
        auto [pool, options] = workers_of(options_);
        pool.needs = needs();
        pool.budget_s = kMostRepeating_s;
        CaseWorker worker(options);
        const auto work = [&](size_t item) {
            WorkAnswer answer = worker.work(cases_[item]);
            answer.last = true;
            return answer;
        };
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
            if (worker.result_of(cases_[item], outcome).verdict != Verdict::kPassed) return {};
            CaseResult& result = *suspects.at(item);
            result.passes_alone = true;
            warn(result.case_id +
                 " passes when it is repeated alone: it depends on earlier calls or on addresses; "
                 "--find-order looks for the case before it");
            return journal_->append(result);
        };
        return run_in_workers(items, pool, work, done);
    }

    /// Saves the bundles of a case whose own worker died, in a worker. Answers with their names.
    WorkAnswer save_unsaved(size_t place, CaseWorker& worker) const {
        const FollowUps::Note note = follow_ups_->read(place);
        if (note.item >= cases_.size()) {
            return {.warnings = {"the note of a case whose worker died was overwritten"}};
        }
        return worker.save(cases_[note.item], note.unsaved);
    }

    /// Records the result of a case, or keeps it until another worker has saved its bundles.
    void take(size_t item, CaseResult result, const std::vector<std::string>& warnings, std::vector<size_t>& more) {
        for (const std::string& warning : warnings) warn(warning);
        check_hash(result);
        const bool failed_in_step =
            std::ranges::any_of(result.steps, [](const StepResult& step) { return step.verdict == Verdict::kFailed; });
        std::optional<size_t> place;
        if (saves() && is_failure(result.verdict) && !failed_in_step) {
            place = follow_ups_->put(item, {result.step_under_way, result.verdict, result.reason});
        }
        if (!place) return record(std::move(result));
        followed_[*place] = std::move(result);
        more.push_back(cases_.size() + *place);
    }

    void check_hash(CaseResult& result) const {
        if (options_.hashes == nullptr || result.verdict != Verdict::kPassed) return;
        const auto wanted = options_.hashes->find(result.case_id);
        if (wanted == options_.hashes->end() || wanted->second == result.hash) return;
        result.verdict = Verdict::kFailed;
        result.kind = FailureKind::kNotRepeatable;
        result.reason = "its results have other bits than in the first round";
    }

    /// Takes the outcome of save_unsaved.
    void take_saved(size_t place, const WorkOutcome& outcome) {
        CaseResult result = std::move(*followed_[place]);
        followed_[place].reset();
        follow_ups_->release(place);
        for (const std::string& warning : outcome.warnings) warn(warning);
        if (outcome.finished()) {
            result.bundle = outcome.payload;
        } else {
            warn("no bundle of " + result.case_id + ": the worker that was to write it ended, too: " + outcome.reason);
        }
        record(std::move(result));
    }

    void warn(const std::string& text) const {
        if (options_.on_warning) options_.on_warning(text);
    }

    void record(CaseResult result) {
        failures_ += is_failure(result.verdict) ? 1 : 0;
        if (Status s = journal_->append(result); !s.ok()) status_ = s;
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
    std::vector<int64_t> needed_ = std::vector<int64_t>(cases_.size());  ///< bytes of the tensors, by case
    int64_t most_memory_ = memory_limit_of(options_.pool, 1);            ///< of one worker that runs alone; 0: no limit
    int64_t failures_ = 0;  ///< of this run, without those of a resumed journal
    std::optional<FollowUps> follow_ups_;
    std::vector<std::optional<CaseResult>> followed_;  ///< by place: results that wait for their bundles
    Status status_;
};

}  // namespace

RunWorkers workers_of(const ConformanceOptions& options) {
    PoolOptions pool = options.pool;
    pool.budget_s = options.budget_s;
    return {pool, {options.cases, options.data, {}}};
}

Status check_baselines(const std::vector<Case>& cases, const ConformanceOptions& options) {
    PoolOptions readers = workers_of(options).pool;
    readers.budget_s = 0;
    return StoredBaselines::check(options.data, cases, options.cases.seed, readers);
}

Result<ConformanceRun> run_conformance(const std::vector<Case>& cases, const ConformanceOptions& options,
                                       const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result) {
    return Conformance(cases, options, on_result).run();
}

}  // namespace diopi
