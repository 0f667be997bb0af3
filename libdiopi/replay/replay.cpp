#include "replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "call/tensors.hpp"
#include "conformance/outcome.hpp"
#include "core/convert.hpp"
#include "journal/journal.hpp"
#include "step/step_run.hpp"
#include "worker/guard_fault.hpp"
#include "worker/message.hpp"
#include "worker/printable.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

/// The time limit for reading, if that of the call is longer.
constexpr double kReadSeconds = 60;

const Tensor* layout_at(const Bundle& bundle, const std::string& place, const TensorSpec& spec) {
    const auto found = std::ranges::find(bundle.layouts.tensors, place, &CapturedTensor::id);
    if (found == bundle.layouts.tensors.end()) return nullptr;
    const Shape& shape = found->tensor->shape;
    const bool fits = shape == spec.shape || (shape == Shape{1} && spec.shape.empty());
    return fits && found->tensor->dtype == spec.dtype ? found->tensor.get() : nullptr;
}

/// The number of elements that its storage can hold.
int64_t extent_of(const Tensor& tensor) { return static_cast<int64_t>(tensor.storage.nbytes / size_of(tensor.dtype)); }

/// The exact layouts of the bundle; a tensor without one keeps its own.
LayoutRule layout_rule(const Bundle& bundle) {
    if (bundle.layouts.tensors.empty()) return {};
    return [&bundle](const Place& place, const TensorSpec& spec) -> Layout {
        if (const Tensor* stored = layout_at(bundle, place.name(), spec)) {
            return {stored->strides, stored->offset, extent_of(*stored), stored->shape != spec.shape};
        }
        const Shape strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
        return {strides, 0, storage_extent(spec.shape, strides), false};
    };
}

/// Whether a tensor reserves more memory than a worker's default limit.
bool is_wide(const Bundle& bundle) {
    constexpr int64_t kWide = int64_t{1} << 28;
    return std::ranges::any_of(bundle.layouts.tensors, [](const CapturedTensor& layout) {
        const int64_t extent = extent_of(*layout.tensor);
        return extent > kWide && extent / 16 > layout.tensor->numel();
    });
}

/// The result of the case, as far as the bundle states it.
CaseResult result_of(const Bundle& bundle) {
    const Call& call = bundle.stored.call;
    CaseResult result;
    result.case_id = bundle.case_id;
    result.suite = bundle.case_id.substr(0, bundle.case_id.find('/'));
    result.op = call.row->op;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        result.tensors.push_back({place.name(), std::string(name(tensor->dtype)), tensor->shape});
        if (result.dtype.empty()) result.dtype = name(tensor->dtype);
    });
    return result;
}

void replay_step(const Bundle& bundle, const Step& step, const ReplayOptions& options, const Checks& checks,
                 StepResult& result) {
    if (checks.guard == Guard::kPages) install_guard_fault_handler();
    StepRules rules{options.backend, checks, bundle.tolerance, bundle.random, bundle.legacy, bundle.exact};
    rules.adaptor = options.adaptor;
    rules.interceptors = options.interceptors;
    BundleExpectations expectations(bundle);
    const Status placed = with_placement(rules, layout_rule(bundle), Inputs::kShared, [&](Placement& placement) {
        StepRun(rules, expectations, placement).run(step, result);
    });
    if (!placed.ok()) refuse_step(result, placed.error());
}

Result<Checks> checks_of(const Bundle& bundle) {
    std::vector<std::string> words;
    for (size_t begin = 0; begin <= bundle.checks.size();) {
        const size_t end = std::min(bundle.checks.find(' ', begin), bundle.checks.size());
        if (end > begin) words.push_back(bundle.checks.substr(begin, end - begin));
        begin = end + 1;
    }
    return Checks::parse(words);
}

/// Runs the step in the worker; a case's result with one step.
CaseResult replay(const Bundle& bundle, const ReplayOptions& options) {
    CaseResult result = result_of(bundle);
    StepResult& step_result = result.steps.emplace_back();
    step_result.step = bundle.step;
    step_result.function = bundle.function;
    try {
        auto step = step_of(bundle);
        auto checks = options.checks ? Result<Checks>(*options.checks) : checks_of(bundle);
        if (!step.ok() || !checks.ok()) {
            refuse_step(step_result, step.ok() ? checks.error() : step.error());
        } else {
            replay_step(bundle, *step, options, *checks, step_result);
        }
    } catch (const std::bad_alloc&) {
        refuse_step(step_result, failed("out of memory"));
    } catch (const std::exception& e) {
        refuse_step(step_result, failed(std::string("the call threw an exception: ") + e.what()));
    }
    result.verdict = step_result.verdict;
    result.kind = step_result.kind;
    result.reason = step_result.reason;
    result.seconds = step_result.seconds;
    return result;
}

class Replaying {
 public:
    explicit Replaying(const ReplayOptions& options) : options_(options), pool_(options.pool) { pool_.jobs = 1; }

    Result<Replay> run() {
        if (Status s = read(); !s.ok()) return s.error();
        if (interrupted()) return interrupted_replay();
        const auto work = [&](size_t) { return replayed(); };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            replay_.result = settle(replay_.result, outcome);
            return Status();
        };
        if (Status s = run_in_workers({0}, pool_, work, done); !s.ok()) return s.error();
        return interrupted() ? interrupted_replay() : Result<Replay>(replay_);
    }

 private:
    /// Reads the file once to check that it is readable, and for its kind.
    Status read() {
        PoolOptions pool;
        pool.timeout_s = std::min(kReadSeconds, options_.pool.timeout_s);
        pool.memory_limit = 0;
        const auto work = [&](size_t) { return summary(); };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) { return take(outcome); };
        return run_in_workers({0}, pool, work, done);
    }

    /// The facts that the parent needs, or the reason why the file is invalid.
    [[nodiscard]] WorkAnswer summary() const {
        try {
            const auto bundle = read_bundle(options_.file);
            if (!bundle.ok()) return {.status = bundle.status()};
            if (const auto step = step_of(*bundle); !step.ok()) return {.status = step.status()};
            if (const auto checks = checks_of(*bundle); !checks.ok()) return {.status = checks.status()};
            const BundleOrigin& origin = bundle->origin;
            return {pack_message(to_json_line(result_of(*bundle)), is_wide(*bundle), bundle->verdict,
                                 one_line(bundle->reason), one_line(origin.backend), one_line(origin.file),
                                 one_line(origin.file_hash), one_line(origin.version))};
        } catch (const std::exception& e) {
            return {.status = failed(fmt::format("{} cannot be read: {}", options_.file, e.what()))};
        }
    }

    Status take(const WorkOutcome& outcome) {
        if (!outcome.finished()) {
            return bad_input(
                fmt::format("{} is damaged: the HDF5 library does not survive it ({}); save or copy it "
                            "again",
                            options_.file, outcome.reason));
        }
        if (!outcome.status.ok()) return bad_input(outcome.status.message());
        std::string line;
        bool wide = false;
        Verdict verdict = {};
        BundleOrigin& origin = replay_.origin;
        const bool is_valid = unpack_message(outcome.payload, line, wide, verdict, replay_.reason, origin.backend,
                                             origin.file, origin.file_hash, origin.version);
        const auto described = is_valid ? from_json_line(line) : std::nullopt;
        if (!described) return internal_error("the reader of " + options_.file + " gave no answer");
        replay_.result = *described;
        // A wide tensor reserves gigabytes but uses little of them.
        if (wide && pool_.memory_limit == PoolOptions::kFairShare) pool_.memory_limit = 0;
        for (const Verdict known : {Verdict::kFailed, Verdict::kCrashed, Verdict::kTimeout}) {
            if (verdict == known) replay_.recorded = known;
        }
        return {};
    }

    [[nodiscard]] WorkAnswer replayed() const {
        set_up_worker();
        const auto bundle = read_bundle(options_.file);
        if (!bundle.ok()) {
            CaseResult result = replay_.result;
            result.verdict = Verdict::kFailed;
            result.kind = FailureKind::kError;
            result.reason = bundle.error().message;
            return {to_json_line(result)};
        }
        CaseResult result = replay(*bundle, options_);
        if (options_.after_case) result.notes = options_.after_case(bundle->case_id);
        name_memory_limit(result);
        return {to_json_line(result)};
    }

    Result<Replay> interrupted_replay() {
        replay_.interrupted = true;
        return replay_;
    }

    const ReplayOptions& options_;
    PoolOptions pool_;
    Replay replay_;
};

}  // namespace

Result<Step> step_of(const Bundle& bundle) {
    Step step{bundle.step, bundle.function, bundle.stored.call, bundle.outputs};
    const auto refuse = [&](size_t arg, const std::string& what) {
        return bad_input(fmt::format("the bundle of {}, {}: {} {}", bundle.case_id, bundle.step,
                                     step.call.row->args()[arg].name, what));
    };
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const auto same = [&](const OutputSpec& other) { return other.place() == step.outputs[i].place(); };
        if (std::ranges::count_if(step.outputs, same) > 1) return refuse(step.outputs[i].arg, "is described twice");
    }
    for (size_t i = 0; i < step.call.args.size(); ++i) {
        const Arg& arg = step.call.row->args()[i];
        if (arg.is_output) step.call.args[i] = Value();
    }
    for (const ArgTensor& value : bundle.expected) {
        const auto result = step.result_at(value.place());
        if (!result) return refuse(value.arg, "has expected values, and the call gives none there");
        const Tensor& expected = *value.tensor;
        if (expected.shape == result->spec.shape && expected.dtype == wide_dtype(result->spec.dtype)) continue;
        return refuse(value.arg,
                      fmt::format("is expected as {} {}, and the call gives {} {}", name(expected.dtype),
                                  to_string(expected.shape), name(result->spec.dtype), to_string(result->spec.shape)));
    }
    for (const OutputSpec& output : step.outputs) {
        const bool known =
            std::ranges::find(bundle.expected, output.place(), &ArgTensor::place) != bundle.expected.end();
        if (!known && output.has_meaning && !bundle.random) return refuse(output.arg, "has no expected values");
    }
    return step;
}

Result<std::vector<ArgTensor>> BundleExpectations::expected(const Step&) { return bundle_->expected; }

Result<Replay> replay_bundle(const ReplayOptions& options) { return Replaying(options).run(); }

ReplayRecord to_record(const Replay& replay) {
    const BundleOrigin& origin = replay.origin;
    return {replay.result, replay.recorded,  replay.reason, origin.backend,
            origin.file,   origin.file_hash, origin.version};
}

}  // namespace diopi
