#include "aten/aten_call.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace diopi {

namespace {

struct TableRow {
    std::string_view overloads, function, sources, when;
    bool is_whole;  ///< one call of the standard for one of ATen
};

// A row of ATEN_THEN belongs to the row before it, so neither can be read backwards.
constexpr TableRow kTable[] = {
#define ATEN_ROW(overloads, function, sources, ...) {overloads, #function, sources, "" __VA_ARGS__, true},
#define ATEN_EACH(overloads, function, sources, ...) {overloads, #function, sources, "", false},
#define ATEN_THEN(function, sources) {"", #function, sources, "", false},
#include "aten/all.inc"
#undef ATEN_ROW
#undef ATEN_EACH
#undef ATEN_THEN
};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool is_name(std::string_view text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
           std::ranges::all_of(text,
                               [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

bool is_constant(std::string_view text) {
    if (text == "None" || text == "True" || text == "False" || text.empty()) return !text.empty();
    const char first = text[0];
    if (first == '\'') return text.size() >= 2 && text.find('\'', 1) == text.size() - 1;
    if (first == '[') return text.back() == ']' && text.find_first_not_of("[]0123456789-, ") == std::string_view::npos;
    return text.find_first_not_of("0123456789.-") == std::string_view::npos;
}

/// The number of a result: r0, r1, ..; -1 for other names.
int result_of(std::string_view text) {
    return text.size() == 2 && text[0] == 'r' && std::isdigit(static_cast<unsigned char>(text[1])) != 0 ? text[1] - '0'
                                                                                                        : -1;
}

/// The name between "function(" and ")".
std::optional<std::string_view> inside(std::string_view text, std::string_view function) {
    if (!text.starts_with(function) || text.size() < function.size() + 3 || text[function.size()] != '(') return {};
    if (text.back() != ')') return {};
    const std::string_view name = text.substr(function.size() + 1, text.size() - function.size() - 2);
    return is_name(name) ? std::optional(name) : std::nullopt;
}

/// Names that are Python's words end with an underscore in the table.
std::string_view plain(std::string_view name) { return name == "from_" ? name.substr(0, 4) : name; }

/// Reads "name=value", or "name" for "name=name".
std::pair<std::string_view, std::string_view> halves(std::string_view part) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return {part, part};
    return {trimmed(part.substr(0, equals)), trimmed(part.substr(equals + 1))};
}

/// Takes in the source of one parameter; false if it cannot be read backwards.
bool take(AtenCall& call, const Row& row, std::string_view name, std::string_view source) {
    const int parameter = row.find(plain(name));
    if (parameter < 0) return false;
    using Form = AtenArgument::Form;
    if (const int result = result_of(source); result >= 0) {
        const auto needed = static_cast<size_t>(result) + 1;
        if (call.results.size() < needed) call.results.resize(needed, -1);
        call.results[needed - 1] = parameter;
        return true;
    }
    if (is_constant(source)) {
        call.required.push_back({"", parameter, source});
    } else if (source == "GENERATOR") {
        call.arguments.push_back({"generator", parameter, Form::kGenerator});
    } else if (is_name(source)) {
        call.arguments.push_back({plain(source), parameter, Form::kPlain});
    } else if (const auto dims = inside(source, "dims_of")) {
        call.arguments.push_back({*dims, parameter, Form::kPlain});
    } else if (const auto mode = inside(source, "rounding_of")) {
        call.arguments.push_back({*mode, parameter, Form::kRounding});
    } else {
        return false;
    }
    return true;
}

/// The parts "rank_of(input) == 4" of a condition. The others hold for every call of the standard, or speak of
/// arguments that the row gives.
std::vector<AtenRank> ranks_in(std::string_view when) {
    constexpr std::string_view kBegin = "rank_of(", kMiddle = ") == ";
    std::vector<AtenRank> ranks;
    for (size_t at = when.find(kBegin); at != std::string_view::npos; at = when.find(kBegin, at + 1)) {
        const size_t middle = when.find(kMiddle, at);
        if (middle == std::string_view::npos) break;
        const size_t name = at + kBegin.size();
        ranks.push_back({when.substr(name, middle - name), when[middle + kMiddle.size()] - '0'});
    }
    return ranks;
}

std::optional<AtenCall> read(const TableRow& table, const Row& row) {
    AtenCall call;
    for (size_t at = 0; at < table.overloads.size();) {
        const size_t end = std::min(table.overloads.find(' ', at), table.overloads.size());
        call.overloads.push_back(table.overloads.substr(at, end - at));
        at = end + 1;
    }
    call.ranks = ranks_in(table.when);
    const size_t bar = table.sources.find(" | ");
    for (const std::string_view part : split_list(table.sources.substr(0, bar))) {
        const auto [name, source] = halves(part);
        if (!take(call, row, name, source)) return std::nullopt;
    }
    if (bar == std::string_view::npos) return call;
    for (const std::string_view part : split_list(table.sources.substr(bar + 3))) {
        const auto [name, value] = halves(part);
        call.given.push_back({name, -1, value});
    }
    return call;
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    bool is_text = false;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) {
            if (text[i] == '\'') is_text = !is_text;
            if (text[i] == '(' || text[i] == '[') ++depth;
            if (text[i] == ')' || text[i] == ']') --depth;
            if (text[i] != ',' || depth > 0 || is_text) continue;
        }
        if (const std::string_view part = trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
        begin = i + 1;
    }
    return parts;
}

std::vector<AtenCall> aten_calls_of(const Row& row) {
    std::vector<AtenCall> calls;
    for (size_t i = 0; i < std::size(kTable); ++i) {
        const TableRow& table = kTable[i];
        const bool has_more = i + 1 < std::size(kTable) && kTable[i + 1].overloads.empty();
        if (table.function != row.function || !table.is_whole || has_more) continue;
        if (auto call = read(table, row)) calls.push_back(std::move(*call));
    }
    return calls;
}

}  // namespace diopi
