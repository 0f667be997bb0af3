#include "report/order_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

bool is_explained(const OrderFinding& found) { return !found.after.empty() || found.addresses.has_value(); }

/// "fails after ops/x.y.3", "fails at other addresses", or the reason why the cause is not known.
std::string cause_of(const OrderFinding& found) {
    if (found.flaky) return "nothing: its verdict changes alone, too";
    if (!is_explained(found)) return found.fewest ? "no order that was found" : "not found in time";
    const char* verb = found.verdict == Verdict::kPassed    ? "passes"
                       : found.verdict == Verdict::kCrashed ? "crashes"
                       : found.verdict == Verdict::kTimeout ? "hangs"
                                                            : "fails";
    if (found.after.empty()) return fmt::format("{} at other addresses", verb);
    return fmt::format("{} after {}{}", verb, fmt::join(found.after, ", "),
                       found.fewest ? "" : " (not the fewest: out of time)");
}

/// The command that repeats the verdict; empty if the cause is not known.
std::string command_of(const OrderFinding& found, const std::string& options) {
    if (!is_explained(found)) return "";
    const std::string cases = found.after.empty()
                                  ? "--case " + found.case_id
                                  : fmt::format("--in-order {} {}", fmt::join(found.after, " "), found.case_id);
    const std::string addresses = found.addresses ? fmt::format(" --addresses {}", *found.addresses) : "";
    return fmt::format("diopi test {}{}{}{}", cases, options.empty() ? "" : " ", options, addresses);
}

}  // namespace

std::string order_report(const OrderRecord& record, const Screen& screen) {
    Table table({{"case"}, {"in the run"}, {"shuffled"}, {"alone"}, {"depends on"}});
    for (const OrderFinding& found : record.found) {
        table.add_row({found.case_id, name(found.in_run), name(found.shuffled), name(found.alone), cause_of(found)});
    }
    std::string text = table.empty() ? "" : table.render(screen);
    for (const OrderFinding& found : record.found) {
        if (!is_explained(found)) continue;
        text += fmt::format("\n{} {}\n    {}\n", found.case_id, cause_of(found), command_of(found, record.options));
    }
    return text + fmt::format("{}{} of {} cases depend on the order or on addresses, {} fail alone, {:.1f} s\n",
                              record.found.empty() ? "" : "\n", record.found.size(), record.cases, record.failures,
                              record.seconds);
}

std::string order_json(const OrderRecord& record) {
    Json list = Json::array();
    for (const OrderFinding& found : record.found) {
        list.push_back({{"case", found.case_id},
                        {"in_run", name(found.in_run)},
                        {"shuffled", name(found.shuffled)},
                        {"alone", name(found.alone)},
                        {"flaky", found.flaky},
                        {"after", found.after},
                        {"addresses", found.addresses ? Json(*found.addresses) : Json()},
                        {"fewest", found.fewest},
                        {"repeat", command_of(found, record.options)}});
    }
    const Json out = {{"cases", record.cases},
                      {"fail_alone", record.failures},
                      {"seconds", record.seconds},
                      {"order_dependent", std::move(list)}};
    return indented(out);
}

}  // namespace diopi
