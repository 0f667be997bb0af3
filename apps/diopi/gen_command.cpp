/// diopi gen: baselines, and what there is to generate.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "conformance/generate.hpp"
#include "options.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

struct GenOptions {
    CommonOptions common;
    bool list_models = false;
    bool list_ops = false;
    bool dry_run = false;
    bool force = false;
    bool self_contained = false;
};

Json counts_json(const CaseCounts& counts) {
    return {{"total", counts.total},
            {"also_inplace", counts.inplace},
            {"also_backward", counts.backward},
            {"random", counts.random}};
}

std::string size_text(int64_t bytes) {
    if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
    if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

int list(const std::vector<std::string>& names, bool json) {
    if (json)
        fmt::print("{}\n", Json(names).dump(2));
    else
        fmt::print("{}\n", fmt::join(names, "\n"));
    return static_cast<int>(Exit::kPassed);
}

/// Counts per suite and group of the chosen cases; the whole catalogue is counted without expanding it.
struct DryRun {
    CaseCounts operators, models;
    std::map<std::string, CaseCounts> groups;
    std::map<std::string, CaseCounts> by_model;
    std::map<std::string, int64_t> not_implemented;  ///< cases by operator that no backend has
};

bool implemented(const std::string& op) {
    return std::ranges::any_of(backends(), [&](const Backend* b) { return b->implements(op); });
}

DryRun count_all(const Catalogue& catalogue, const std::string& fname) {
    DryRun run;
    for (const CaseGroup& group : catalogue.groups()) {
        CaseGroup chosen = group;
        if (!fname.empty() && fname != "all") {
            std::erase_if(chosen.ops, [&](const std::string& op) { return op != fname; });
            if (chosen.ops.empty()) continue;
        }
        const CaseCounts counts = count(chosen);
        const bool is_model = group.suite != "ops";
        (is_model ? run.models : run.operators) += counts;
        (is_model ? run.by_model[group.suite] : run.groups[group.name]) += counts;
        for (const std::string& op : chosen.ops) {
            if (!implemented(op)) run.not_implemented[op] += counts.total / static_cast<int64_t>(chosen.ops.size());
        }
    }
    return run;
}

Json counts_json(const DryRun& run) {
    Json groups = Json::object();
    for (const auto& [name, counts] : run.groups) groups[name] = counts_json(counts);
    Json models = Json::object();
    for (const auto& [name, counts] : run.by_model) models[name] = counts_json(counts);
    Json operators = counts_json(run.operators);
    operators["groups"] = groups;
    Json model_sum = counts_json(run.models);
    model_sum["models"] = models;
    return {{"operator_cases", run.operators.total},
            {"model_cases", run.models.total},
            {"operators", operators},
            {"models", model_sum},
            {"not_implemented", run.not_implemented}};
}

void print_counts(const DryRun& run) {
    Table table({{"Cases", Align::kLeft, 0},
                 {"Total", Align::kRight, 0},
                 {"Inplace", Align::kRight, 0},
                 {"Backward", Align::kRight, 0},
                 {"Random", Align::kRight, 0}});
    const auto row = [&](const std::string& title, const CaseCounts& c, Style style) {
        table.add_row({title, std::to_string(c.total), std::to_string(c.inplace), std::to_string(c.backward),
                       std::to_string(c.random)},
                      style);
    };
    for (const auto& [name, counts] : run.groups) row("ops/" + name, counts, Style::kPlain);
    for (const auto& [name, counts] : run.by_model) row(name, counts, Style::kPlain);
    if (run.operators.total > 0) row("operator cases", run.operators, Style::kBold);
    if (run.models.total > 0) row("model cases", run.models, Style::kBold);
    table.print(stdout);
}

int dry_run(const GenOptions& options) {
    const CommonOptions& common = options.common;
    CaseSelection selection;
    const bool whole = common.model.empty() && common.fname.empty() && common.case_files.empty();
    selection.ops = common.model.empty() && (whole || !common.fname.empty());
    selection.all_models = whole || common.model == "all";
    if (!common.model.empty() && common.model != "all") selection.models = {common.model};
    selection.files = common.case_files;
    auto catalogue = Catalogue::load(cases_folder(common), selection);
    if (!catalogue.ok()) return report_error(catalogue.error());
    auto cases = select_cases(common, *catalogue);
    if (!cases.ok()) return report_error(cases.error());
    const DryRun run = count_all(*catalogue, common.fname);
    int64_t bytes = 0;
    for (const Case& c : *cases) bytes += estimate_bytes(c);
    if (common.json) {
        Json json = counts_json(run);
        json["bytes"] = bytes;
        fmt::print("{}\n", json.dump(2));
        return static_cast<int>(Exit::kPassed);
    }
    print_counts(run);
    int64_t missing = 0;
    for (const auto& [op, n] : run.not_implemented) missing += n;
    if (missing > 0) {
        fmt::print("\n{} cases of {} operators are not implemented by any backend:\n", missing,
                   run.not_implemented.size());
        for (const auto& [op, n] : run.not_implemented) fmt::print("  {} ({} cases): not implemented\n", op, n);
    }
    fmt::print("\n{} of tensors: inputs, and outputs where their shapes are known\n", size_text(bytes));
    return static_cast<int>(Exit::kPassed);
}

void print_file(const GeneratedFile& file, bool quiet) {
    if (!file.trouble.empty()) {
        fmt::print(stderr, "diopi: {}: {}\n", file.path, file.trouble);
        return;
    }
    if (quiet || (file.cases == 0 && file.left_out > 0)) return;
    if (file.kept == Kept::kForeign) {
        fmt::print("{}: made by something else, kept (--force replaces it)\n", file.path);
        return;
    }
    const std::string left = file.left_out > 0 ? fmt::format(", {} left out", file.left_out) : "";
    const std::string former = file.former > 0 ? fmt::format(", {} more kept", file.former) : "";
    fmt::print("{}: {} cases, {}{}{}{}\n", file.path, file.cases, size_text(file.bytes), left, former,
               file.kept == Kept::kUnchanged ? ", kept (--force makes it again)" : "");
    std::fflush(stdout);
}

int make_baselines(const GenOptions& options, const std::vector<Dtype>& filtered) {
    auto cases = choose_cases(options.common, reference_backend());
    if (!cases.ok()) return report_error(cases.error());
    std::erase_if(*cases, [&](const Case& c) { return uses_any(c, filtered); });
    GenerateOptions generation{options.common.data,
                               options.common.seed,
                               options.force,
                               options.self_contained,
                               {.jobs = worker_count(options.common), .timeout_s = 24 * 3600.0, .memory_limit = 0}};
    install_interrupt_handler();
    auto files = generate(*cases, generation, [&](const GeneratedFile& file) {
        if (!options.common.json) print_file(file, options.common.quiet);
    });
    if (!files.ok()) return report_error(files.error());
    GeneratedFile sum;
    int64_t troubles = 0;
    Json list = Json::array();
    for (const GeneratedFile& file : *files) {
        sum.cases += file.cases;
        sum.left_out += file.left_out;
        sum.bytes += file.bytes;
        troubles += file.trouble.empty() ? 0 : 1;
        list.push_back({{"file", file.path},
                        {"cases", file.cases},
                        {"left_out", file.left_out},
                        {"bytes", file.bytes},
                        {"kept", file.kept != Kept::kNot},
                        {"error", file.trouble}});
    }
    if (options.common.json) {
        fmt::print("{}\n", Json{{"files", list}, {"cases", sum.cases}, {"left_out", sum.left_out}}.dump(2));
    } else {
        fmt::print("{} cases stored in {} ({}), seed {}\n", sum.cases, options.common.data + "/baselines",
                   size_text(sum.bytes), options.common.seed);
        if (sum.left_out > 0) {
            fmt::print(
                "{} cases left out: random operators, and operators without a reference (diopi gen --dry-run "
                "names them)\n",
                sum.left_out);
        }
    }
    if (interrupted()) {
        fmt::print(stderr, "diopi: interrupted; finished files are kept, the same command goes on\n");
        return static_cast<int>(Exit::kInterrupted);
    }
    return static_cast<int>(troubles > 0 ? Exit::kBadInput : Exit::kPassed);
}

int run_gen(const GenOptions& options) {
    if (auto backend = Implementation::find(options.common.impl, options.common.loading); !backend.ok())
        return report_error(backend.error());
    auto filtered = parse_dtypes(options.common.filter_dtype);
    if (!filtered.ok()) return report_error(filtered.error());
    if (options.list_models) return list(list_models(cases_folder(options.common)), options.common.json);
    if (options.list_ops) {
        auto catalogue = load_catalogue(options.common);
        if (!catalogue.ok()) return report_error(catalogue.error());
        return list(catalogue->list_ops(), options.common.json);
    }
    return options.dry_run ? dry_run(options) : make_baselines(options, *filtered);
}

}  // namespace

void add_gen_command(CLI::App& app, int& code) {
    auto options = std::make_shared<GenOptions>();
    CLI::App* command = app.add_subcommand("gen", "compute baselines with the float64 reference");
    add_common_options(*command, options->common);
    command->add_flag("--list-models", options->list_models, "print the models that there are cases of");
    command->add_flag("--list-ops", options->list_ops, "print the operators that there are cases of");
    command->add_flag("--dry-run", options->dry_run, "count cases and bytes, write nothing");
    command->add_flag("--force", options->force, "make files again that are there and unchanged");
    command->add_flag("--self-contained", options->self_contained, "store the inputs, too");
    command->footer(
        "Examples:\n"
        "  diopi gen --fname add          baselines of one operator\n"
        "  diopi gen --dry-run --json     every case counted\n"
        "  diopi gen --model resnet50 --self-contained --data /tmp/baselines\n");
    command->callback([options, &code] { code = run_gen(*options); });
}

}  // namespace diopi
