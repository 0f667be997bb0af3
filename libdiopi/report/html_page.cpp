#include "report/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "file/atomic_file.hpp"
#include "journal/kept_report.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"

namespace diopi {

namespace {

/// JSON for a script element: no text in it can end the element.
std::string script_json(const Json& json) {
    std::string text;
    for (const char c : one_line(json)) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return text;
}

/// For a browser without scripts.
std::string summaries_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("<p>{}</p>\n", xml_escaped(line));
    return text;
}

}  // namespace

std::string page_label(const std::vector<std::string>& command) {
    constexpr size_t kMost = 40;
    std::vector<std::string> words(command.begin() + (command.empty() ? 0 : 1), command.end());
    const auto run = std::ranges::find(words, "--run");
    if (run != words.end()) words.erase(run, std::ranges::next(run, 2, words.end()));
    const std::string text = command_text(words);
    return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

HtmlPage::HtmlPage() : runs_(std::make_shared<Json>(Json::array())) {}

void HtmlPage::add(const Journal& journal, const RunDiff* diff) { runs_->push_back(page_data(journal, diff)); }

Status HtmlPage::add(const std::vector<KeptReport>& reports) {
    for (const KeptReport& report : reports) {
        auto data = page_data(report);
        if (!data.ok()) return data.status();
        runs_->push_back(std::move(*data));
    }
    return {};
}

std::vector<std::string> HtmlPage::lines() const {
    std::vector<std::string> lines;
    for (const Json& run : *runs_) {
        lines.push_back(run.at("title").get<std::string>() + ": " + run.at("summary").get<std::string>());
    }
    return lines;
}

bool HtmlPage::has_failures() const {
    return std::ranges::any_of(*runs_, [](const Json& run) { return run.at("failures").get<int64_t>() > 0; });
}

std::string HtmlPage::text() const {
    const bool is_single = runs_->size() == 1;
    const std::string title =
        is_single ? runs_->front().at("title").get<std::string>() : fmt::format("diopi: {} runs", runs_->size());
    const std::array<std::pair<std::string_view, std::string>, 5> parts = {{
        {"title", xml_escaped(title)},
        {"summaries", summaries_of(lines())},
        {"style", kPageStyle},
        {"script", kPageScript},
        {"data", script_json(*runs_)},
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

Status HtmlPage::write(const std::string& path) const { return write_file_atomically(path, text()); }

}  // namespace diopi
