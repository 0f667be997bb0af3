#include "journal/kept_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "file/atomic_file.hpp"
#include "journal/journal.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFormatMember = "diopi_report";
constexpr int64_t kReportFormat = 1;

std::string path_of(const std::string& folder, std::string_view kind) {
    return fmt::format("{}/{}.json", folder, kind);
}

std::vector<std::string> paths_in(const std::string& folder) {
    std::vector<std::string> paths = kept_report_paths(folder);
    std::erase_if(paths, [](const std::string& path) {
        std::error_code ignored;
        return !fs::exists(path, ignored);
    });
    return paths;
}

Result<KeptReport> read_kept(const std::string& path) {
    auto text = read_text_file(path);
    if (!text.ok()) return text.error();
    try {
        Json json = parse_own(*text);
        const auto format = json.at(kFormatMember).get<int64_t>();
        if (format > kReportFormat) {
            return bad_input(fmt::format("{} has format {}, this program reads up to {}; use a newer diopi", path,
                                         format, kReportFormat));
        }
        KeptReport kept{json.at("kind"), json.at("command"), json.at("written"), json.at("environment"),
                        std::make_shared<Json>(std::move(json.at("report")))};
        if (std::ranges::count(kKeptKinds, kept.kind) > 0) return kept;
        return bad_input(fmt::format("{} is a report of kind '{}', which this program does not know", path, kept.kind));
    } catch (const Json::exception&) {
        return bad_input(fmt::format(
            "{} is no report that diopi keeps, or it is damaged; run its command again, or remove the file", path));
    }
}

}  // namespace

Status keep_report(const std::string& folder, const KeptReport& about, std::string_view report) {
    const std::string path = path_of(folder, about.kind);
    if (Status s = make_parent_folder(path); !s.ok()) return s;
    std::string text = one_line(Json{{kFormatMember, kReportFormat},
                                     {"kind", about.kind},
                                     {"command", about.command},
                                     {"written", present_time()},
                                     {"environment", about.environment}});
    // The report can be large: it becomes the last member as it is.
    text.back() = ',';
    text.append("\"report\":").append(report).append("}\n");
    return write_file_atomically(path, text);
}

bool names_kept_report(const std::string& place) {
    std::error_code ignored;
    return place.ends_with(".json") && !fs::is_directory(place, ignored);
}

std::vector<std::string> kept_report_paths(const std::string& place) {
    if (names_kept_report(place)) return {place};
    std::vector<std::string> paths;
    for (const std::string_view kind : kKeptKinds) paths.push_back(path_of(place, kind));
    return paths;
}

bool has_kept_report(const std::string& folder) { return !paths_in(folder).empty(); }

Result<std::vector<KeptReport>> kept_reports_at(const std::string& place) {
    std::error_code ignored;
    std::vector<KeptReport> kept;
    for (const std::string& path : fs::is_directory(place, ignored) ? paths_in(place) : std::vector{place}) {
        auto one = read_kept(path);
        if (!one.ok()) return one.error();
        kept.push_back(std::move(*one));
    }
    return kept;
}

}  // namespace diopi
