#include "report/html_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "file/atomic_file.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"
#include "report/run_diff_report.hpp"
#include "report/run_report.hpp"
#include "report/summary.hpp"

namespace diopi {

namespace {

/// JSON for a script element: no text in it can end the element.
std::string script_json(const Json& json) {
    std::string text;
    for (const char c : one_line(json)) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return text;
}

/// A backend's name, or the name of a library's file.
std::string title_of(const std::string& backend) { return backend.substr(backend.find_last_of('/') + 1); }

std::string command_line(const RunHeader& run) {
    std::string text;
    for (const std::string& word : run.command) text += (text.empty() ? "" : " ") + shell_quoted(word);
    return text;
}

std::string heading_of(const RunHeader& run) {
    const std::string seed = fmt::format("seed {}", run.seed);
    return fmt::format("{}, {}{}", run.started, seed, run.shard.empty() ? "" : ", shard " + run.shard);
}

std::string totals_text(const Journal& journal) {
    std::string text = summary_line(count(journal.results), seconds_of(journal), "s of work in its cases") + ".";
    const auto missing = journal.header.cases - static_cast<int64_t>(journal.results.size());
    if (missing > 0) text += fmt::format(" {} cases have no result: the run was interrupted.", missing);
    return text;
}

}  // namespace

std::string html_page(const Journal& journal, const RunDiff* diff) {
    Json data = page_data(journal);
    if (diff != nullptr) {
        data["diff"] = run_diff_data(*diff);
        data["diff"]["summary"] = run_diff_summary(*diff);
    }
    const RunHeader& run = journal.header;
    const std::array<std::pair<std::string_view, std::string>, 7> parts = {{
        {"title", xml_escaped("diopi test: " + title_of(run.backend))},
        {"run", xml_escaped(heading_of(run))},
        {"command", xml_escaped(command_line(run))},
        {"summary", xml_escaped(totals_text(journal))},
        {"style", kPageStyle},
        {"script", kPageScript},
        {"data", script_json(data)},
    }};
    std::string page;
    std::string_view rest = kPageHtml;
    for (size_t at = rest.find("{{"); at != std::string_view::npos; at = rest.find("{{")) {
        page += rest.substr(0, at);
        const size_t end = rest.find("}}", at);
        for (const auto& [place, text] : parts) {
            if (place == rest.substr(at + 2, end - at - 2)) page += text;
        }
        rest.remove_prefix(end + 2);
    }
    return page.append(rest);
}

Status write_html(const std::string& path, const Journal& journal, const RunDiff* diff) {
    return write_file_atomically(path, html_page(journal, diff));
}

}  // namespace diopi
