#include "conformance/save_failures.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>

#include "call/tensors.hpp"
#include "file/atomic_file.hpp"
#include "worker/printable.hpp"

namespace diopi {

namespace {

void add_layout(Capture& layouts, const Place& place, const TensorSpec& spec, const LayoutRule& rule) {
    const Layout layout = rule(place, spec);
    const int64_t nbytes = layout.extent * static_cast<int64_t>(size_of(spec.dtype));
    layouts.storages.push_back({place.name(), nbytes, {}});
    layouts.add_tensor(place.name(), layouts.storages.size() - 1,
                       {layout.shape(spec.shape), spec.dtype, layout.strides}, layout.offset);
}

Capture layouts_of(const Step& step, const LayoutRule& rule) {
    Capture layouts;
    if (!rule) return layouts;
    for_each_tensor(step.call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read() || tensor->is_sparse()) return;
        add_layout(layouts, place, {tensor->shape, tensor->dtype, tensor->strides}, rule);
    });
    for (const OutputSpec& output : step.outputs) {
        const Arg& arg = step.call.row->args()[output.arg];
        if (!arg.is_made) add_layout(layouts, {arg, static_cast<int64_t>(output.position)}, output.spec, rule);
    }
    return layouts;
}

}  // namespace

Status check_bundle_folder(const std::string& folder) {
    const std::string probe = folder + "/bundle.h5";
    if (Status s = make_parent_folder(probe); !s.ok()) return s;
    auto file = PendingFile::create(probe);
    return file.ok() ? Status() : Status(bad_input("--save-failures: " + file.error().message));
}

void FailureSaver::save(const FailedStep& failed_step) {
    write(failed_step.step, failed_step.expected, failed_step.actual, failed_step.result.verdict,
          failed_step.result.reason);
}

void FailureSaver::save(const Unsaved& unsaved) {
    try {
        if (Status s = plan_and_write(unsaved); !s.ok()) warn(s.message());
    } catch (const std::exception& e) {
        warn(e.what());
    }
}

Status FailureSaver::plan_and_write(const Unsaved& unsaved) {
    auto steps = steps_of(case_, options_);
    if (!steps.ok()) return steps.status();
    for (const std::string& name : (*steps)->names()) {
        const bool wanted = unsaved.step.empty() || unsaved.step == name;
        if (!wanted || case_.skip_reason(name) != nullptr) continue;
        auto step = (*steps)->plan(name);
        if (!step.ok()) return step.status();
        if (!options_.backend->implements(*step->call.row)) continue;
        auto expected = (*steps)->expected(*step);
        if (!expected.ok()) return expected.status();
        write(*step, *expected, {}, unsaved.verdict, unsaved.reason);
    }
    return {};
}

void FailureSaver::write(const Step& step, const std::vector<ArgTensor>& expected, const std::vector<ArgTensor>& actual,
                         Verdict verdict, const std::string& reason) {
    try {
        const StepRules rules = rules_for(case_, options_);
        Bundle bundle({step.call, {}});
        bundle.case_id = case_.id();
        bundle.seed = options_.seed;
        bundle.step = step.name;
        bundle.function = step.function;
        bundle.verdict = verdict;
        bundle.reason = reason;
        if (save_.repeat) bundle.repeat = save_.repeat(bundle.case_id);
        bundle.outputs = step.outputs;
        bundle.layouts = layouts_of(step, layout_rule(case_));
        bundle.expected = expected;
        bundle.actual = actual;
        bundle.tolerance = rules.tolerance;
        bundle.random = rules.random;
        bundle.legacy = rules.legacy;
        bundle.exact = rules.exact;
        bundle.checks = rules.checks.text();
        bundle.origin = save_.origin;
        const std::string path = bundle_path(save_.folder, bundle.case_id, step.name);
        const std::string place = std::filesystem::path(save_.start) / path;
        if (Status s = write_bundle(place, bundle); !s.ok()) return warn(s.message());
        files_.emplace_back(step.name, path);
    } catch (const std::exception& e) {
        warn(e.what());
    }
}

void FailureSaver::warn(const std::string& what) {
    warnings_.push_back(one_line(fmt::format("no bundle of {}: {}", case_.id(), what)));
}

void FailureSaver::name_files(CaseResult& result) const {
    for (const auto& [step, path] : files_) {
        for (StepResult& of_step : result.steps) {
            if (of_step.step == step) of_step.bundle = path;
        }
    }
}

std::string FailureSaver::files() const {
    std::string text;
    for (const auto& [step, path] : files_) text += (text.empty() ? "" : " ") + path;
    return text;
}

}  // namespace diopi
