#include "intercept/tolerances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "call/call_name.hpp"
#include "core/suggest.hpp"

namespace diopi {

namespace {

std::optional<double> number_of(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) return std::nullopt;
    return value;
}

/// The priority of an entry; among the entries that match a call, the highest decides.
int rank(ToleranceTable::Source source, bool has_op, bool has_dtype) {
    return (source == ToleranceTable::Source::kOption ? 4 : 0) + (has_op ? 2 : 0) + (has_dtype ? 1 : 0);
}

}  // namespace

Result<AbsRel> parse_tolerance(std::string_view text) {
    const size_t comma = text.find(',');
    const auto atol = number_of(text.substr(0, comma));
    const auto rtol = comma == std::string_view::npos ? atol : number_of(text.substr(comma + 1));
    if (atol && rtol) return AbsRel{*atol, *rtol};
    return bad_input(fmt::format("'{}' is no tolerance; write ATOL,RTOL, such as 1e-3,1e-4", text));
}

Result<Dtype> parse_tolerance_dtype(std::string_view text) {
    if (const auto dtype = dtype_of_word(text)) return *dtype;
    std::vector<std::string> known;
    for (const Dtype dtype : all_dtypes()) known.emplace_back(name(dtype));
    return bad_input(
        fmt::format("'{}' is no dtype{}; there are: {}", text, did_you_mean(text, known), fmt::join(known, ", ")));
}

Status ToleranceTable::add_option(const std::string& text) {
    const size_t equals = text.rfind('=');
    auto tolerance = parse_tolerance(equals == std::string::npos ? text : text.substr(equals + 1));
    if (!tolerance.ok()) return tolerance.status();
    const std::string key = equals == std::string::npos ? "" : text.substr(0, equals);
    const size_t colon = key.find(':');
    std::optional<Dtype> dtype = dtype_of_word(key);
    if (colon != std::string::npos) {
        const auto named = parse_tolerance_dtype(key.substr(colon + 1));
        if (!named.ok()) return bad_input(named.error().message + "; write OP:DTYPE=ATOL,RTOL");
        dtype = *named;
    }
    const std::string op = colon != std::string::npos ? key.substr(0, colon) : dtype ? "" : key;
    add(Source::kOption, op, dtype, *tolerance);
    return {};
}

void ToleranceTable::add(Source source, std::string op, std::optional<Dtype> dtype, AbsRel tolerance) {
    entries_.push_back({source, std::move(op), dtype, tolerance});
}

AbsRel ToleranceTable::find(const Call& call, Dtype dtype) const {
    if (entries_.empty()) return standard(dtype);
    const std::vector<std::string> names = names_of(call);
    const Entry* best = nullptr;
    int best_rank = -1;
    for (const Entry& entry : entries_) {
        if (entry.dtype && *entry.dtype != dtype) continue;
        if (!entry.op.empty() && std::ranges::find(names, entry.op) == names.end()) continue;
        const int its = rank(entry.source, !entry.op.empty(), entry.dtype.has_value());
        if (its < best_rank) continue;
        best = &entry;
        best_rank = its;
    }
    return best == nullptr ? standard(dtype) : best->tolerance;
}

std::vector<std::string> ToleranceTable::option_operators() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) {
        if (entry.source == Source::kOption && !entry.op.empty()) names.push_back(entry.op);
    }
    return names;
}

AbsRel ToleranceTable::standard(Dtype dtype) {
    if (is_half(dtype)) return {1e-2, 5e-2};
    if (!is_floating(dtype) && !is_complex(dtype)) return {0, 0};
    if (dtype == Dtype::complex32) return {1e-2, 5e-2};
    return dtype == Dtype::float64 || dtype == Dtype::complex128 ? AbsRel{1e-8, 1e-8} : AbsRel{1e-4, 1e-4};
}

}  // namespace diopi
