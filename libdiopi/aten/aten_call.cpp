#include "aten/aten_call.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace diopi {

namespace {

enum class Use : uint8_t {
    kWhole,  ///< one call of the standard for one of ATen
    kPart,   ///< of several calls
    kAnd,    ///< one more call of ATen after that of the row before
    kNone    ///< no call: `sources` has the reason
};

struct TableRow {
    std::string_view overloads, function, sources, when;
    Use use;
};

/// A parameter with its source.
struct Taken {
    std::string_view source;
    int parameter = -1;
};

constexpr TableRow kTable[] = {
#define ATEN_ROW(overloads, function, sources, ...) {overloads, #function, sources, "" __VA_ARGS__, Use::kWhole},
#define ATEN_EACH(overloads, function, sources, ...) {overloads, #function, sources, "", Use::kPart},
#define ATEN_THEN(function, sources) {"", #function, sources, "", Use::kPart},
#define ATEN_BACK ATEN_ROW
#define ATEN_GRADIENT ATEN_ROW
#define ATEN_AND(overloads, function, sources) {overloads, #function, sources, "", Use::kAnd},
#define ATEN_NONE(function, reason) {"", #function, reason, "", Use::kNone},
#include "aten/all.inc"
#undef ATEN_ROW
#undef ATEN_EACH
#undef ATEN_THEN
#undef ATEN_BACK
#undef ATEN_GRADIENT
#undef ATEN_AND
#undef ATEN_NONE
};

constexpr std::string_view kUnread = "_";  ///< the source of a parameter that ATen does not need

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

/// Reads "folded(self, 2)".
std::optional<std::pair<std::string_view, int64_t>> folded(std::string_view text) {
    constexpr std::string_view kBegin = "folded(";
    const size_t comma = text.find(',');
    if (!text.starts_with(kBegin) || comma == std::string_view::npos || text.back() != ')') return std::nullopt;
    const std::string_view digits = trimmed(text.substr(comma + 1, text.size() - comma - 2));
    int64_t dim = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), dim);
    return std::pair(text.substr(kBegin.size(), comma - kBegin.size()), dim);
}

/// Names that are Python's words end with an underscore in the table.
std::string_view plain(std::string_view name) { return name == "from_" ? name.substr(0, 4) : name; }

/// Reads "name=value", or "name" for "name=name".
std::pair<std::string_view, std::string_view> halves(std::string_view part) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return {part, part};
    return {trimmed(part.substr(0, equals)), trimmed(part.substr(equals + 1))};
}

/// Notes the parameter of a result.
void set_result(std::vector<int>& results, int result, int parameter) {
    const auto needed = static_cast<size_t>(result) + 1;
    if (results.size() < needed) results.resize(needed, -1);
    results[needed - 1] = parameter;
}

/// Takes in the source of one parameter; false if it cannot be read backwards.
bool take(AtenCall& call, int parameter, std::string_view source) {
    using Form = AtenArgument::Form;
    const bool is_made = source.starts_with("[r") && source.ends_with("]");
    if (const int result = result_of(is_made ? source.substr(1, source.size() - 2) : source); result >= 0) {
        set_result(call.results, result, parameter);
    } else if (source == kUnread) {
        return true;
    } else if (is_constant(source)) {
        call.required.push_back({"", parameter, source});
    } else if (source == "GENERATOR") {
        call.arguments.push_back({"generator", parameter, Form::kGenerator});
    } else if (is_name(source)) {
        call.arguments.push_back({plain(source), parameter, Form::kPlain});
    } else if (const auto dims = inside(source, "dims_of")) {
        call.arguments.push_back({*dims, parameter, Form::kPlain});
    } else if (const auto numbers = inside(source, "number_of")) {
        call.arguments.push_back({*numbers, parameter, Form::kPlain});
    } else if (const auto mode = inside(source, "rounding_of")) {
        call.arguments.push_back({*mode, parameter, Form::kRounding});
    } else if (const auto part = folded(source)) {
        call.arguments.push_back({part->first, parameter, Form::kFolded, part->second});
    } else if (const auto name = inside(source, "gradient_of")) {
        const int result = result_of(*name);
        if (result >= 0) set_result(call.incoming, result, parameter);
        if (result < 0) call.gradients.push_back({*name, parameter});
    } else {
        return false;
    }
    return true;
}

/// Reads "shape_of(r0)", "shape_of(r0)[-1:]", "shape_of(r0)[0]" or "product(shape_of(r0)[2:])"; the parameter is the
/// one with the source between the first brackets.
std::optional<AtenShape> read_shape(std::string_view name, std::string_view value, const std::vector<Taken>& taken) {
    constexpr std::string_view kProduct = "product(", kBegin = "shape_of(", kZeros = "zeros_like(";
    AtenShape shape{name};
    if (value.starts_with(kProduct) && value.ends_with(")")) {
        shape.form = AtenShape::Form::kProduct;
        value = value.substr(kProduct.size(), value.size() - kProduct.size() - 1);
    }
    if (value.starts_with(kZeros)) shape.form = AtenShape::Form::kZeros;
    if (!value.starts_with(kBegin) && !value.starts_with(kZeros)) return std::nullopt;
    const size_t open = value.find('(') + 1, close = value.rfind(')'), digits = value.find('[', close);
    const auto found = std::ranges::find(taken, value.substr(open, close - open), &Taken::source);
    if (found == taken.end()) return std::nullopt;
    shape.parameter = found->parameter;
    if (digits == std::string_view::npos) return shape;
    const auto [end, error] = std::from_chars(value.data() + digits + 1, value.data() + value.size(), shape.dim);
    if (error != std::errc()) return std::nullopt;
    if (*end != ':') shape.form = AtenShape::Form::kOne;
    return shape;
}

/// Takes in the value of an argument of ATen that no parameter gives: a constant, or from a shape.
bool give(AtenCall& call, std::string_view name, std::string_view value, const std::vector<Taken>& taken) {
    if (is_constant(value)) {
        call.given.push_back({name, -1, value});
        return true;
    }
    const auto shape = read_shape(name, value, taken);
    if (shape) call.shapes.push_back(*shape);
    return shape.has_value();
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
    std::vector<Taken> taken;
    for (const std::string_view part : split_list(table.sources.substr(0, bar))) {
        const auto [name, source] = halves(part);
        taken.push_back({source, row.find(plain(name))});
        if (taken.back().parameter < 0 || !take(call, taken.back().parameter, source)) return std::nullopt;
    }
    if (bar == std::string_view::npos) return call;
    for (const std::string_view part : split_list(table.sources.substr(bar + 3))) {
        const auto [name, value] = halves(part);
        if (!give(call, name, value, taken)) return std::nullopt;
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

std::string_view no_aten_call(const Row& row) {
    for (const TableRow& table : kTable) {
        if (table.function == row.function && table.use == Use::kNone) return table.sources;
    }
    return {};
}

std::vector<AtenCall> aten_calls_of(const Row& row) {
    std::vector<AtenCall> calls;
    for (size_t i = 0; i < std::size(kTable); ++i) {
        const TableRow& table = kTable[i];
        // A row before one of ATEN_THEN makes only a part of the work.
        const bool has_more =
            i + 1 < std::size(kTable) && kTable[i + 1].overloads.empty() && kTable[i + 1].use == Use::kPart;
        if (table.function != row.function || table.use != Use::kWhole || has_more) continue;
        auto call = read(table, row);
        if (!call) continue;
        for (size_t next = i + 1; next < std::size(kTable) && kTable[next].use == Use::kAnd; ++next) {
            if (auto more = read(kTable[next], row)) call->more.push_back(std::move(*more));
        }
        calls.push_back(std::move(*call));
    }
    return calls;
}

}  // namespace diopi
