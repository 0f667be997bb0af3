#include "report/gen_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

std::string size_text(int64_t bytes) {
    if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
    if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

Json counts_json(const CaseCounts& counts) {
    return {{"total", counts.total},
            {"also_inplace", counts.inplace},
            {"also_backward", counts.backward},
            {"random", counts.random}};
}

Table totals_table(const CaseTotals& totals) {
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
    for (const auto& [name, counts] : totals.groups) row("ops/" + name, counts, Style::kPlain);
    for (const auto& [name, counts] : totals.by_model) row(name, counts, Style::kPlain);
    if (totals.operators.total > 0) row("operator cases", totals.operators, Style::kBold);
    if (totals.models.total > 0) row("model cases", totals.models, Style::kBold);
    return table;
}

GeneratedFile sum_of_files(const std::vector<GeneratedFile>& files) {
    GeneratedFile sum;
    for (const GeneratedFile& file : files) {
        sum.cases += file.cases;
        sum.left_out += file.left_out;
        sum.bytes += file.bytes;
    }
    return sum;
}

}  // namespace

std::string generated_line(const GeneratedFile& file) {
    if (!file.error.empty()) return file.path + ": " + file.error;
    if (file.cases == 0 && file.left_out > 0) return "";
    if (file.kept == Kept::kForeign) return file.path + ": made by another program, kept (--force replaces it)";
    const std::string left = file.left_out > 0 ? fmt::format(", {} left out", file.left_out) : "";
    const std::string former = file.former > 0 ? fmt::format(", {} more kept", file.former) : "";
    return fmt::format("{}: {} cases, {}{}{}{}", file.path, file.cases, size_text(file.bytes), left, former,
                       file.kept == Kept::kUnchanged ? ", kept (--force makes it again)" : "");
}

std::string generated_summary(const std::vector<GeneratedFile>& files, const std::string& folder, uint64_t seed) {
    const GeneratedFile sum = sum_of_files(files);
    std::string text =
        fmt::format("{} cases stored in {} ({}), seed {}\n", sum.cases, folder, size_text(sum.bytes), seed);
    if (sum.left_out == 0) return text;
    return text + fmt::format(
                      "{} cases left out: random operators, and operators without a reference (diopi gen --dry-run "
                      "names them)\n",
                      sum.left_out);
}

std::string generated_json(const std::vector<GeneratedFile>& files) {
    Json list = Json::array();
    for (const GeneratedFile& file : files) {
        list.push_back({{"file", file.path},
                        {"cases", file.cases},
                        {"left_out", file.left_out},
                        {"bytes", file.bytes},
                        {"kept", file.kept != Kept::kNot},
                        {"error", file.error}});
    }
    const GeneratedFile sum = sum_of_files(files);
    return indented(Json{{"files", list}, {"cases", sum.cases}, {"left_out", sum.left_out}});
}

std::string names_json(const std::vector<std::string>& names) { return indented(Json(names)); }

std::string totals_report(const CaseTotals& totals, int64_t bytes, const Screen& screen) {
    std::string text = totals_table(totals).render(screen);
    int64_t missing = 0;
    for (const auto& [op, n] : totals.not_implemented) missing += n;
    if (missing > 0) {
        text += fmt::format("\n{} cases of {} operators are not implemented by any backend:\n", missing,
                            totals.not_implemented.size());
        for (const auto& [op, n] : totals.not_implemented) {
            text += fmt::format("  {} ({} cases): not implemented\n", op, n);
        }
    }
    return text + fmt::format("\n{} of tensors: inputs, and outputs where their shapes are known\n", size_text(bytes));
}

std::string totals_json(const CaseTotals& totals, int64_t bytes) {
    Json groups = Json::object(), models = Json::object();
    for (const auto& [name, counts] : totals.groups) groups[name] = counts_json(counts);
    for (const auto& [name, counts] : totals.by_model) models[name] = counts_json(counts);
    Json operators = counts_json(totals.operators);
    operators["groups"] = groups;
    Json model_sum = counts_json(totals.models);
    model_sum["models"] = models;
    const Json json = {{"operator_cases", totals.operators.total},
                       {"model_cases", totals.models.total},
                       {"operators", operators},
                       {"models", model_sum},
                       {"not_implemented", totals.not_implemented},
                       {"bytes", bytes}};
    return indented(json);
}

}  // namespace diopi
