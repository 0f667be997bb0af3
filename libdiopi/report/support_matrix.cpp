#include "report/support_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cases/case.hpp"
#include "json/json_text.hpp"
#include "report/csv.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

constexpr std::array<std::string_view, kAspects.size()> kAspectNames = {"forward", "in place", "backward", "strided",
                                                                        "nhwc",    "empty",    "0-dim"};

/// Whether the run was made with this option.
bool has_option(const RunHeader& run, std::string_view option) {
    return std::ranges::find(run.command, option) != run.command.end();
}

/// Whether a hard case has an operand that is not contiguous.
bool has_views(const CaseResult& result) {
    return std::ranges::any_of(result.choices, [](const auto& choice) {
        return choice.first.ends_with("layout") && choice.second != "contiguous" && choice.second != "one object";
    });
}

bool has_shape(const CaseResult& result, bool (*is_such)(const std::vector<int64_t>& shape)) {
    return std::ranges::any_of(result.tensors, [&](const TensorInfo& tensor) { return is_such(tensor.shape); });
}

bool is_empty(const std::vector<int64_t>& shape) { return std::ranges::find(shape, 0) != shape.end(); }
bool is_zero_dim(const std::vector<int64_t>& shape) { return shape.empty(); }

Aspect aspect_of(const StepResult& step) {
    if (step.step == "inplace") return Aspect::kInplace;
    return step.step == "backward" ? Aspect::kBackward : Aspect::kForward;
}

unsigned bit(Aspect aspect) { return 1u << static_cast<unsigned>(aspect); }

/// The aspects that describe a case rather than its steps.
unsigned properties_of(const CaseResult& result, const RunHeader& run) {
    unsigned bits = 0;
    if (has_views(result) || has_option(run, "--strided")) bits |= bit(Aspect::kStrided);
    if (has_option(run, "--nhwc")) bits |= bit(Aspect::kChannelsLast);
    if (has_shape(result, is_empty)) bits |= bit(Aspect::kEmpty);
    if (has_shape(result, is_zero_dim)) bits |= bit(Aspect::kZeroDim);
    return bits;
}

void add_case(const CaseResult& result, const RunHeader& run, SupportRow& row) {
    const auto cell = [&](Aspect aspect) -> SupportCell& { return row.cells[static_cast<size_t>(aspect)]; };
    for (const StepResult& step : result.steps) cell(aspect_of(step)).add(step.verdict);
    if (result.steps.empty()) cell(Aspect::kForward).add(result.verdict);
    const unsigned properties = properties_of(result, run);
    for (const Aspect aspect : kAspects) {
        if ((properties & bit(aspect)) != 0) cell(aspect).add(result.verdict);
    }
}

std::vector<std::string> words_of(const SupportRow& row) {
    std::vector<std::string> words;
    for (const SupportCell& cell : row.cells) words.emplace_back(cell.word());
    return words;
}

Style row_style(const std::vector<std::string>& words) {
    const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
    if (has("FAIL")) return Style::kRed;
    return has("no") || has("part") ? Style::kYellow : Style::kPlain;
}

/// Names joined to lines of at most `width` columns, each with one name at least.
std::vector<std::string> lines_of(const std::vector<std::string>& names, size_t width) {
    std::vector<std::string> lines;
    for (const std::string& name : names) {
        if (lines.empty() || lines.back().size() + 1 + name.size() > width) {
            lines.push_back(name);
        } else {
            lines.back() += " " + name;
        }
    }
    return lines;
}

/// The columns of the screen that the dtypes may take.
size_t dtypes_width(const std::vector<SharedSupport>& rows, const Screen& screen) {
    size_t taken = 0;
    for (const SharedSupport& row : rows) taken = std::max(taken, row.op.size());
    for (const std::string_view aspect : kAspectNames) taken += kColumnGap + aspect.size();
    const auto width = static_cast<size_t>(screen.width);
    return width > taken + kColumnGap ? width - taken - kColumnGap : 0;
}

std::string table_text(const SupportMatrix& matrix, const Screen& screen) {
    std::vector<Column> columns = {{"operator", Align::kLeft, 0, false, true}};
    for (const std::string_view aspect : kAspectNames) columns.push_back({std::string(aspect)});
    columns.push_back({"dtypes"});
    Table table(std::move(columns));
    std::map<std::string, int64_t> totals;
    const std::vector<SharedSupport> shared = shared_support(matrix);
    const size_t width = dtypes_width(shared, screen);
    for (const SharedSupport& row : shared) {
        std::vector<std::string> cells = {row.op};
        cells.insert(cells.end(), row.words.begin(), row.words.end());
        for (std::string& line : lines_of(row.dtypes, width)) {
            cells.push_back(std::move(line));
            table.add_row(std::exchange(cells, std::vector<std::string>(1 + kAspects.size())), row_style(row.words));
        }
    }
    for (const SupportRow& row : matrix.rows) ++totals[std::string(row.cells.front().word())];
    std::string line =
        fmt::format("{} pairs of operator and dtype, forward on {}:", matrix.rows.size(), matrix.backend);
    for (const auto& [word, pairs] : totals)
        line += fmt::format(" {} {},", pairs, word == "." ? "without a case" : word);
    line.back() = '\n';
    return table.render(screen) + line;
}

/// Text in a cell of a Markdown table.
std::string markdown_cell(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : c == '<' ? "&lt;" : std::string(1, c);
    return escaped;
}

std::string markdown_text(const SupportMatrix& matrix) {
    std::string text = fmt::format("| operator | {} | dtypes |\n|---|", fmt::join(kAspectNames, " | "));
    for (size_t i = 0; i <= kAspectNames.size(); ++i) text += "---|";
    text += "\n";
    for (const SharedSupport& row : shared_support(matrix)) {
        text += fmt::format("| {} | {} | {} |\n", markdown_cell(row.op), fmt::join(row.words, " | "),
                            markdown_cell(fmt::format("{}", fmt::join(row.dtypes, " "))));
    }
    return text;
}

/// "backend, operator, dtype", then four counts for each aspect.
std::string csv_text(const SupportMatrix& matrix) {
    std::vector<std::string> titles = {"backend", "operator", "dtype"};
    for (const std::string_view aspect : kAspectNames) {
        for (const char* count : {"passed", "failed", "not_implemented", "skipped"}) {
            titles.push_back(fmt::format("{} {}", aspect, count));
        }
    }
    std::string text = csv_row(titles);
    for (const SupportRow& row : matrix.rows) {
        std::vector<std::string> fields = {matrix.backend, row.op, row.dtype};
        for (const SupportCell& cell : row.cells) {
            for (const int64_t count : {cell.passed, cell.failed, cell.not_implemented, cell.skipped}) {
                fields.push_back(std::to_string(count));
            }
        }
        text += csv_row(fields);
    }
    return text;
}

std::string json_text(const SupportMatrix& matrix) {
    Json rows = Json::array();
    for (const SupportRow& row : matrix.rows) {
        Json cells = Json::object();
        for (size_t i = 0; i < row.cells.size(); ++i) {
            const SupportCell& cell = row.cells[i];
            if (cell.cases() == 0) continue;
            cells[std::string(kAspectNames[i])] = {{"support", cell.word()},
                                                   {"passed", cell.passed},
                                                   {"failed", cell.failed},
                                                   {"not_implemented", cell.not_implemented},
                                                   {"skipped", cell.skipped}};
        }
        rows.push_back({{"operator", row.op}, {"dtype", row.dtype}, {"cells", std::move(cells)}});
    }
    return indented({{"backend", matrix.backend}, {"rows", std::move(rows)}}) + "\n";
}

}  // namespace

std::string_view name(Aspect aspect) { return kAspectNames[static_cast<size_t>(aspect)]; }

void SupportCell::add(Verdict verdict) {
    if (verdict == Verdict::kPassed) ++passed;
    if (is_failure(verdict)) ++failed;
    if (verdict == Verdict::kNotImplemented) ++not_implemented;
    if (verdict == Verdict::kSkipped) ++skipped;
}

std::string_view SupportCell::word() const {
    if (failed > 0) return "FAIL";
    if (passed > 0) return not_implemented > 0 ? "part" : "yes";
    if (not_implemented > 0) return "no";
    return skipped > 0 ? "skip" : ".";
}

SupportMatrix support_of(const Journal& journal) {
    std::map<std::pair<std::string, std::string>, SupportRow> rows;
    for (const CaseResult& result : journal.results) {
        if (result.suite == kBadSuite) continue;
        add_case(result, journal.header, rows[{result.op, result.dtype}]);
    }
    SupportMatrix matrix{journal.header.backend, {}};
    for (auto& [key, row] : rows) {
        std::tie(row.op, row.dtype) = key;
        matrix.rows.push_back(std::move(row));
    }
    return matrix;
}

unsigned aspects_of(const CaseResult& result, const RunHeader& run) {
    unsigned bits = properties_of(result, run);
    for (const StepResult& step : result.steps) bits |= bit(aspect_of(step));
    return result.steps.empty() ? bits | bit(Aspect::kForward) : bits;
}

std::vector<SharedSupport> shared_support(const SupportMatrix& matrix) {
    std::vector<SharedSupport> shared;
    for (const SupportRow& row : matrix.rows) {
        const std::vector<std::string> words = words_of(row);
        const auto same = std::ranges::find_if(
            shared, [&](const SharedSupport& each) { return each.op == row.op && each.words == words; });
        if (same == shared.end()) {
            shared.push_back({row.op, words, {row.dtype}});
        } else {
            same->dtypes.push_back(row.dtype);
        }
    }
    return shared;
}

std::string matrix_text(const SupportMatrix& matrix, MatrixFormat format, const Screen& screen) {
    switch (format) {
        case MatrixFormat::kMarkdown:
            return markdown_text(matrix);
        case MatrixFormat::kCsv:
            return csv_text(matrix);
        case MatrixFormat::kJson:
            return json_text(matrix);
        case MatrixFormat::kTable:
            break;
    }
    return table_text(matrix, screen);
}

}  // namespace diopi
