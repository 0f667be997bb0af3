#include "report/csv.hpp"

#include <fmt/format.h>

#include "core/shape.hpp"
#include "file/atomic_file.hpp"
#include "report/error_report.hpp"

namespace diopi {

namespace {

/// The fewest digits that give the same double back; NaN and infinities are "nan" and "inf".
std::string number(double x) { return fmt::format("{}", x); }

std::vector<std::string> header() {
    return {"index",       "case",    "function",    "verdict",      "dtype",        "step",
            "tensor_info", "max_ulp", "p99_ulp",     "max_abs_diff", "max_rel_diff", "cosine_similarity",
            "mismatches",  "numel",   "worst_index", "actual",       "expected",     "where",
            "reason",      "repeat",  "bundle"};
}

/// The columns from max_ulp to where; empty when nothing was compared.
std::vector<std::string> deviation_fields(const Deviation* d) {
    constexpr size_t kFields = 11;
    if (d == nullptr) return std::vector<std::string>(kFields);
    return {number(d->max_ulp),
            number(d->p99_ulp),
            number(d->max_abs),
            number(d->max_rel),
            number(d->cosine),
            std::to_string(d->mismatches),
            std::to_string(d->numel),
            to_string(d->worst_index),
            number(d->worst_actual),
            number(d->worst_expected),
            d->where};
}

}  // namespace

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

std::string csv_row(const std::vector<std::string>& fields) {
    std::string row;
    for (const std::string& field : fields) {
        if (&field != &fields.front()) row += ',';
        row += csv_field(field);
    }
    return row + "\r\n";
}

std::string error_csv(const std::vector<CaseResult>& results, const std::string& options) {
    std::string text = csv_row(header());
    int64_t index = 0;
    for (const Fault& fault : faults_of(results)) {
        const CaseResult& result = *fault.result;
        std::vector<std::string> fields = {std::to_string(++index),    result.case_id, fault.function,
                                           name(fault.verdict),        result.dtype,   fault.step,
                                           tensor_info(result.tensors)};
        for (std::string& field : deviation_fields(fault.deviation)) fields.push_back(std::move(field));
        fields.push_back(fault.reason);
        fields.push_back(repeat_command(result.case_id, options));
        fields.push_back(fault.bundle);
        text += csv_row(fields);
    }
    return text;
}

Status write_error_csv(const std::string& path, const std::vector<CaseResult>& results, const std::string& options) {
    return write_file_atomically(path, error_csv(results, options));
}

}  // namespace diopi
