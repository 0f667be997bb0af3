#include "score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "excuses.hpp"

namespace diopi::mutation {

namespace {

using OrderedJson = nlohmann::ordered_json;

struct Cell {
    const FunctionRecord& function;
    const Fault& fault;
    const Detection& detection;
    Mark mark;
};

template <class Visit>
void for_each_cell(const CampaignRecord& record, const CampaignOptions& options, Visit visit) {
    for (const FunctionRecord& function : record.functions) {
        for (size_t f = 0; f < options.faults.size(); ++f) {
            const Detection& detection = function.detections[f];
            const Fault& fault = *options.faults[f];
            visit(Cell{function, fault, detection, mark_of(detection, fault, *function.row)});
        }
    }
}

std::string short_name(const Row& row) { return std::string(row.function.substr(std::string_view("diopi").size())); }

std::string repeat_of(const Cell& cell, const Candidate& candidate) {
    const std::string options = candidate.options.empty() ? "" : fmt::format(" --options '{}'", candidate.options);
    return fmt::format("scripts/mutation.sh --function {} --fault {} --case {}{}", cell.function.row->function,
                       cell.fault.name, candidate.c.id(), options);
}

std::string marks_table(const CampaignRecord& record, const CampaignOptions& options) {
    size_t width = 0;
    for (const FunctionRecord& function : record.functions) width = std::max(width, short_name(*function.row).size());
    std::string text;
    // Codes are printed vertically.
    for (const size_t line : {size_t{0}, size_t{1}}) {
        text += fmt::format("{:<{}}", "", width);
        for (const Fault* fault : options.faults) text += fmt::format(" {}", fault->code[line]);
        text += "\n";
    }
    for (const FunctionRecord& function : record.functions) {
        text += fmt::format("{:<{}}", short_name(*function.row), width);
        for (size_t f = 0; f < options.faults.size(); ++f) {
            text += fmt::format(" {}", sign_of(mark_of(function.detections[f], *options.faults[f], *function.row)));
        }
        text += "\n";
    }
    return text;
}

std::string legend(const CampaignOptions& options) {
    std::string text = "+ seen   - not seen   e excused   . never made a difference\n\n";
    for (const Fault* fault : options.faults)
        text += fmt::format("{} {:<24} {}\n", fault->code, fault->name, fault->text);
    return text;
}

std::string checks_table(const CampaignRecord& record, const CampaignOptions& options) {
    std::map<std::string, std::map<std::string, int>> counts;
    std::set<std::string> checks;
    for_each_cell(record, options, [&](const Cell& cell) {
        if (!cell.detection.seen) return;
        ++counts[std::string(cell.fault.name)][cell.detection.check];
        checks.insert(cell.detection.check);
    });
    std::string text = fmt::format("{:<24}", "seen first by");
    for (const std::string& check : checks) text += fmt::format(" {:>9}", check);
    text += "\n";
    for (const Fault* fault : options.faults) {
        if (!counts.contains(std::string(fault->name))) continue;
        text += fmt::format("{:<24}", fault->name);
        for (const std::string& check : checks) {
            const int count = counts[std::string(fault->name)][check];
            text += count == 0 ? fmt::format(" {:>9}", ".") : fmt::format(" {:>9}", count);
        }
        text += "\n";
    }
    return text;
}

std::string missed_list(const CampaignRecord& record, const CampaignOptions& options,
                        const std::vector<Candidate>& candidates) {
    std::string text;
    for_each_cell(record, options, [&](const Cell& cell) {
        if (cell.mark != Mark::kMissed) return;
        text += fmt::format("not seen: {} in {}\n    {}\n", cell.fault.name, cell.function.row->function,
                            repeat_of(cell, candidates[cell.detection.candidate]));
    });
    for (const std::string& alarm : record.false_alarms) text += fmt::format("false alarm: {}\n", alarm);
    return text;
}

std::string excuse_list(const CampaignRecord& record, const CampaignOptions& options) {
    std::map<const Excuse*, int> used;
    for_each_cell(record, options, [&](const Cell& cell) {
        if (cell.mark == Mark::kExcused) ++used[find_excuse(cell.fault.name, *cell.function.row)];
    });
    std::string text;
    for (const auto& [excuse, count] : used) {
        text +=
            fmt::format("excused {} times: {} in {}: {}\n", count, excuse->fault, excuse->functions, excuse->reason);
    }
    return text;
}

}  // namespace

char sign_of(Mark mark) {
    switch (mark) {
        case Mark::kNotApplicable:
            return '.';
        case Mark::kSeen:
            return '+';
        case Mark::kMissed:
            return '-';
        case Mark::kExcused:
            return 'e';
    }
    return '?';
}

Mark mark_of(const Detection& detection, const Fault& fault, const Row& row) {
    if (!detection.planted) return Mark::kNotApplicable;
    if (detection.seen) return Mark::kSeen;
    return find_excuse(fault.name, row) != nullptr ? Mark::kExcused : Mark::kMissed;
}

Score score_of(const CampaignRecord& record, const CampaignOptions& options) {
    Score score;
    for_each_cell(record, options, [&](const Cell& cell) {
        if (cell.mark == Mark::kSeen || cell.mark == Mark::kMissed) ++score.planted;
        if (cell.mark == Mark::kSeen) ++score.seen;
        if (cell.mark == Mark::kExcused) ++score.excused;
    });
    return score;
}

std::string text_report(const CampaignRecord& record, const CampaignOptions& options,
                        const std::vector<Candidate>& candidates) {
    const Score score = score_of(record, options);
    std::string text = marks_table(record, options) + "\n" + legend(options) + "\n" + checks_table(record, options);
    for (const std::string& part : {missed_list(record, options, candidates), excuse_list(record, options)}) {
        if (!part.empty()) text += "\n" + part;
    }
    text += fmt::format("\n{} functions, {} faults, {} runs with a fault, {:.1f} s\n", record.functions.size(),
                        options.faults.size(), record.runs, record.seconds);
    return text + fmt::format("mutation score: {:.1f}% ({}/{})\n", score.percent(), score.seen, score.planted);
}

std::string json_report(const CampaignRecord& record, const CampaignOptions& options,
                        const std::vector<Candidate>& candidates) {
    const Score score = score_of(record, options);
    OrderedJson report = {{"score", score.percent()},
                          {"seen", score.seen},
                          {"planted", score.planted},
                          {"excused", score.excused},
                          {"runs", record.runs},
                          {"seconds", record.seconds},
                          {"false_alarms", record.false_alarms},
                          {"faults", OrderedJson::array()},
                          {"results", OrderedJson::array()}};
    for (const Fault* fault : options.faults) {
        report["faults"].push_back({{"code", fault->code}, {"name", fault->name}, {"text", fault->text}});
    }
    for_each_cell(record, options, [&](const Cell& cell) {
        if (cell.mark == Mark::kNotApplicable) return;
        const Candidate& run = candidates[cell.detection.candidate];
        report["results"].push_back({{"function", cell.function.row->function},
                                     {"fault", cell.fault.name},
                                     {"mark", std::string(1, sign_of(cell.mark))},
                                     {"check", cell.detection.check},
                                     {"reason", cell.detection.reason},
                                     {"case", run.c.id()},
                                     {"options", run.options}});
    });
    return report.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace diopi::mutation
