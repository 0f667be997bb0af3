#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "cases/case.hpp"
#include "check/ulp_histogram.hpp"
#include "report/error_report.hpp"
#include "report/function_figures.hpp"
#include "report/html_page.hpp"
#include "report/run_diff_report.hpp"
#include "report/run_report.hpp"
#include "report/summary.hpp"
#include "report/support_matrix.hpp"

namespace diopi {

namespace {

/// The order of the counts in the page.
constexpr std::array kVerdicts = {Verdict::kPassed,         Verdict::kFailed,  Verdict::kCrashed, Verdict::kTimeout,
                                  Verdict::kNotImplemented, Verdict::kSkipped, Verdict::kAdvice};
using VerdictCounts = std::array<int64_t, kVerdicts.size()>;

size_t position_of(Verdict verdict) {
    return static_cast<size_t>(std::ranges::find(kVerdicts, verdict) - kVerdicts.begin());
}

/// Names by their number, in the order in which they were asked for.
class NameTable {
 public:
    size_t index_of(const std::string& name) {
        const auto [at, is_new] = numbers_.try_emplace(name, names_.size());
        if (is_new) names_.push_back(name);
        return at->second;
    }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
    std::unordered_map<std::string, size_t> numbers_;
    std::vector<std::string> names_;
};

/// "0-26,30": whole numbers in ascending order as ranges; empty without a number.
class Ranges {
 public:
    void add(int64_t number) {
        if (!text_.empty() && number == last_ + 1) {
            last_ = number;
            return;
        }
        close();
        text_ += fmt::format("{}{}", text_.empty() ? "" : ",", number);
        first_ = last_ = number;
    }
    [[nodiscard]] std::string finish() {
        close();
        return text_;
    }

 private:
    void close() {
        if (last_ > first_) text_ += fmt::format("-{}", last_);
        first_ = last_;
    }

    std::string text_;
    int64_t first_ = 0, last_ = 0;
};

/// The id of a case without the number at its end, and that number; all of the id and -1 if there is none.
std::pair<std::string, int64_t> split_id(const std::string& id) {
    constexpr size_t kMostDigits = 15;  // a number of JavaScript holds them
    const size_t at = id.find_last_not_of("0123456789") + 1;
    const bool is_plain = at < id.size() && id.size() - at <= kMostDigits && (id[at] != '0' || at + 1 == id.size());
    if (!is_plain) return {id, -1};
    return {id.substr(0, at), std::stoll(id.substr(at))};
}

/// Failures with a picture; each takes up to 1 KB.
constexpr size_t kMostPictures = 500;

Json fault_json(const Fault& fault, const std::string& options, bool has_picture) {
    const CaseResult& result = *fault.result;
    Json json = {{"case", result.case_id},
                 {"function", fault.function},
                 {"step", fault.step},
                 {"dtype", result.dtype},
                 {"verdict", name(fault.verdict)},
                 {"reason", fault.reason},
                 {"tensors", tensor_info(result.tensors)},
                 {"repeat", repeat_command(result.case_id, options)}};
    if (!fault.bundle.empty()) json["bundle"] = fault.bundle;
    if (fault.deviation == nullptr) return json;
    const DeviationText text = deviation_text(*fault.deviation);
    json["mismatches"] = text.mismatches;
    json["where"] = fault.deviation->where;
    json["worst"] = text.worst;
    json["error"] = text.error;
    if (!fault.deviation->ulp_counts.empty()) json["ulp"] = fault.deviation->ulp_counts;
    if (!fault.deviation->picture.empty() && has_picture) json["picture"] = fault.deviation->picture;
    return json;
}

std::string heading_of(const RunHeader& run) {
    return fmt::format("{}, seed {}{}", run.started, run.seed, run.shard.empty() ? "" : ", shard " + run.shard);
}

std::string totals_text(const Journal& journal) {
    std::string text = summary_line(count(journal.results), seconds_of(journal), "s of work in its cases") + ".";
    const auto missing = journal.header.cases - static_cast<int64_t>(journal.results.size());
    if (missing > 0) text += fmt::format(" {} cases have no result: the run was interrupted.", missing);
    return text;
}

class PageData {
 public:
    explicit PageData(const Journal& journal) : journal_(journal) {}

    Json build() {
        for (const CaseResult& result : journal_.results) add(result);
        const RunHeader& run = journal_.header;
        const std::string backend = short_name(run.backend);
        Json json = {{"kind", "test"},
                     {"title", "diopi test: " + backend},
                     {"label", page_label(run.command)},
                     {"heading", heading_of(run)},
                     {"environment", run.environment},
                     {"command", command_text(run.command)},
                     {"summary", totals_text(journal_)},
                     {"options", run.repeat}};
        json["failures"] = count(journal_.results).failures();
        json["verdicts"] = verdicts_json();
        json["counts"] = counts_;
        json["families"] = families_json();
        json["aspects"] = aspects_json();
        json["matrix"] = matrix_json();
        json["groups"] = groups_json();
        json["faults"] = std::move(faults_);
        json["accuracy"] = accuracy_json();
        json["times"] = times_json();
        json["operators"] = operators_.names();
        json["dtypes"] = dtypes_.names();
        json["ulp_bins"] = UlpHistogram::kTitles;
        json["prefixes"] = prefixes_.names();
        return json;
    }

 private:
    /// Operator, dtype, verdict, aspects, prefix of the ids.
    using GroupKey = std::tuple<size_t, size_t, Verdict, unsigned, size_t>;

    void add(const CaseResult& result) {
        ++counts_[position_of(result.verdict)];
        ++families_[family_of(result.op)][position_of(result.verdict)];
        add_to_group(result);
        for (const StepResult& step : result.steps) add_step(step, functions_);
        for (const Fault& fault : faults_of(result)) {
            if (!is_failure(fault.verdict)) continue;
            faults_.push_back(fault_json(fault, journal_.header.repeat, faults_.size() < kMostPictures));
        }
    }

    /// Bad calls are in no cell of the matrix.
    void add_to_group(const CaseResult& result) {
        if (result.suite == kBadSuite) return;
        const auto [prefix, number] = split_id(result.case_id);
        Ranges& ranges = groups_[{operators_.index_of(result.op), dtypes_.index_of(result.dtype), result.verdict,
                                  aspects_of(result, journal_.header), prefixes_.index_of(prefix)}];
        if (number >= 0) ranges.add(number);
    }

    [[nodiscard]] Json families_json() const {
        Json list = Json::array();
        for (const auto& [family, counts] : families_) {
            Json row = Json::array({family});
            for (const int64_t count : counts) row.push_back(count);
            list.push_back(std::move(row));
        }
        return list;
    }

    [[nodiscard]] static Json verdicts_json() {
        Json list = Json::array();
        for (const Verdict verdict : kVerdicts) list.push_back(name(verdict));
        return list;
    }

    [[nodiscard]] static Json aspects_json() {
        Json list = Json::array();
        for (const Aspect aspect : kAspects) list.push_back(std::string(name(aspect)));
        return list;
    }

    [[nodiscard]] Json matrix_json() {
        Json list = Json::array();
        for (const SharedSupport& row : shared_support(support_of(journal_))) {
            Json dtypes = Json::array();
            for (const std::string& dtype : row.dtypes) dtypes.push_back(dtypes_.index_of(dtype));
            list.push_back(
                {operators_.index_of(row.op), std::move(dtypes), fmt::format("{}", fmt::join(row.words, " "))});
        }
        return list;
    }

    [[nodiscard]] Json groups_json() {
        Json list = Json::array();
        for (auto& [key, ranges] : groups_) {
            const auto& [op, dtype, verdict, aspects, prefix] = key;
            list.push_back(Json::array({op, dtype, name(verdict), aspects, prefix, ranges.finish()}));
        }
        return list;
    }

    [[nodiscard]] Json accuracy_json() const {
        Json list = Json::array();
        for (const auto& [function, figures] : functions_) {
            if (figures.budgets.empty()) continue;
            Json bins = Json::array();
            for (const auto& [share, outputs] : figures.budgets) bins.push_back(Json::array({share, outputs}));
            list.push_back(Json::array({function, std::move(bins)}));
        }
        return list;
    }

    [[nodiscard]] Json times_json() const {
        Json list = Json::array();
        for (const auto& [function, figures] : functions_) {
            if (figures.calls > 0)
                list.push_back(Json::array({function, figures.calls, figures.seconds, figures.longest}));
        }
        return list;
    }

    const Journal& journal_;
    VerdictCounts counts_{};
    std::map<std::string, VerdictCounts> families_;
    FiguresByFunction functions_;
    std::map<GroupKey, Ranges> groups_;
    NameTable operators_, dtypes_, prefixes_;
    Json faults_ = Json::array();
};

}  // namespace

Json page_data(const Journal& journal, const RunDiff* diff) {
    Json data = PageData(journal).build();
    if (diff == nullptr) return data;
    data["diff"] = run_diff_data(*diff);
    data["diff"]["summary"] = run_diff_summary(*diff);
    return data;
}

}  // namespace diopi
