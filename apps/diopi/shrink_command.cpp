#include "shrink_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cases/case_file.hpp"
#include "file/atomic_file.hpp"
#include "report/error_report.hpp"

namespace diopi {

namespace {

constexpr int kMostPerOperator = 5;
constexpr double kLineEvery_s = 1;

/// "(64, 128) float16", for a list "3 x (64, 128) float16".
std::string form(const CaseTensor& tensor) {
    if (tensor.absent || (tensor.specs.empty() && !tensor.is_list)) return "absent";
    if (tensor.specs.empty()) return "empty list";
    const TensorSpec& first = tensor.specs.front();
    std::string text = fmt::format("{} {}", to_string(first.shape), name(first.dtype));
    if (tensor.is_list) text = fmt::format("{} x {}", tensor.specs.size(), text);
    if (tensor.no_contiguous || !first.strides.empty()) text += " non-contiguous";
    return text;
}

/// "ones", "values" with a few of them.
std::string values_of(const CaseTensor& tensor) {
    if (tensor.fill.fn != Fill::kValue) {
        const char* fill = fill_name(tensor.fill.fn);
        return fill == nullptr ? "captured" : fill;
    }
    constexpr size_t kShown = 12;
    const size_t shown = std::min(kShown, tensor.values.size());
    return fmt::format("[{}{}]",
                       fmt::join(tensor.values.begin(), tensor.values.begin() + static_cast<int64_t>(shown), ", "),
                       shown < tensor.values.size() ? ", ..." : "");
}

const CaseTensor* find_tensor(const Case& c, const std::string& wanted) {
    const auto found = std::ranges::find(c.tensors, wanted, &CaseTensor::name);
    return found == c.tensors.end() ? nullptr : &*found;
}

std::string forms(const Case& c) {
    std::vector<std::string> parts;
    for (const CaseTensor& tensor : c.tensors) parts.push_back(tensor.name + " " + form(tensor));
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// Failing cases, of each operator the first ones; and how many were left out.
std::vector<const CaseResult*> chosen(const ShrinkCommand& command, int64_t& left_out) {
    std::map<std::string, int> per_operator;
    std::vector<const CaseResult*> results;
    for (const CaseResult& result : command.results) {
        if (!is_failure(result.verdict)) continue;
        if (++per_operator[result.op] > kMostPerOperator) {
            ++left_out;
        } else {
            results.push_back(&result);
        }
    }
    return results;
}

/// The file of a case's smallest form: "ops/add.add.3" is ops.add.add.3.json.
std::string file_of(const ShrinkCommand& command, std::string id) {
    std::ranges::replace(id, '/', '.');
    return command.common.run_folder + "/shrunk/" + id + ".json";
}

class Shrinking {
 public:
    explicit Shrinking(const ShrinkCommand& command) : command_(command), out_(command.common.json ? stderr : stdout) {}

    Status run() {
        int64_t left_out = 0;
        for (const CaseResult* result : chosen(command_, left_out)) {
            const auto found =
                std::ranges::find_if(command_.cases, [&](const Case& c) { return c.id() == result->case_id; });
            if (found == command_.cases.end() || interrupted()) continue;
            if (Status s = shrink_one(*found, result->verdict); !s.ok()) return s;
        }
        if (left_out > 0) {
            fmt::print(out_, "\n{} more failing case{} not shrunk; --case ID --shrink does it\n", left_out,
                       left_out == 1 ? " was" : "s were");
        }
        return {};
    }

 private:
    Status shrink_one(const Case& c, Verdict verdict) {
        RunWorkers workers = workers_of(command_.conformance);
        ShrinkOptions options;
        options.verdict = verdict;
        options.pool = workers.pool;
        options.worker = std::move(workers.worker);
        options.seconds = command_.seconds;
        options.prepare = command_.prepare;
        options.progress = [&](const ShrinkProgress& progress) { tell(progress); };
        fmt::print(out_, "\nshrinking {}: {}\n", c.id(), forms(c));
        std::fflush(out_);
        last_line_s_ = 0;
        const auto shrunk = shrink(c, options);
        if (!shrunk.ok()) {
            fmt::print(out_, "  not shrunk: {}\n", shrunk.error().message);
            return {};
        }
        const std::string file = file_of(command_, c.id());
        Status s = make_parent_folder(file);
        if (s.ok()) s = write_file_atomically(file, shrunk->file);
        if (s.ok()) print(c, *shrunk, file);
        return s;
    }

    void tell(const ShrinkProgress& progress) {
        if (command_.common.quiet || progress.seconds - last_line_s_ < kLineEvery_s) return;
        last_line_s_ = progress.seconds;
        fmt::print(out_, "  {} tried, {} accepted, {:.0f} s: {}\n", progress.tried, progress.accepted, progress.seconds,
                   forms(progress.smallest));
        std::fflush(out_);
    }

    void print(const Case& c, const Shrunk& shrunk, const std::string& file) const {
        fmt::print(out_, "  {}\n", describe_change(c, shrunk.smallest));
        for (const CaseTensor& tensor : shrunk.smallest.tensors) {
            if (!tensor.absent) fmt::print(out_, "  {} = {}\n", tensor.name, values_of(tensor));
        }
        fmt::print(out_, "  {}: {}\n", name(shrunk.after.verdict), shrunk.after.reason);
        fmt::print(out_, "  {} tried, {} accepted, {:.1f} s{}\n", shrunk.tried, shrunk.accepted, shrunk.seconds,
                   shrunk.finished ? "" : "; stopped before it was done: try a longer --shrink-time");
        fmt::print(out_, "  diopi test {}\n", command_.repeat(shrunk, file));
        std::fflush(out_);
    }

    const ShrinkCommand& command_;
    std::FILE* out_;
    double last_line_s_ = 0;
};

}  // namespace

std::string describe_change(const Case& before, const Case& after) {
    std::vector<std::string> parts;
    for (const CaseTensor& tensor : before.tensors) {
        const CaseTensor* now = find_tensor(after, tensor.name);
        const std::string was = form(tensor), is = now == nullptr ? "absent" : form(*now);
        parts.push_back(tensor.name + " " + was + (was == is ? "" : " -> " + is));
    }
    std::vector<std::string> dropped;
    for (const auto& [param, value] : before.params) {
        if (after.param(param) == nullptr) dropped.push_back(param);
    }
    if (!dropped.empty()) parts.push_back(fmt::format("without {}", fmt::join(dropped, ", ")));
    if (before.inplace && !after.inplace) parts.emplace_back("not in place");
    if (before.backward && !after.backward) parts.emplace_back("not backward");
    if (before.layout != LayoutOptions() && after.layout == LayoutOptions())
        parts.emplace_back("in no layout of an option");
    return fmt::format("{}", fmt::join(parts, "; "));
}

Status run_shrink_command(const ShrinkCommand& command) { return Shrinking(command).run(); }

}  // namespace diopi
