#include "gui/kept_views.hpp"

#include <utility>

#include "report/error_report.hpp"

namespace diopi {

namespace {

/// The view of a record, or why the report has none.
template <class File, class View, class Record>
File shown_file(KeptViews::About about, Result<Record> record, std::string_view filter) {
    if (!record.ok()) return bad_input(about.path + ": " + record.error().message);
    return KeptViews::Shown<View>{std::move(about), View(std::move(*record), filter)};
}

}  // namespace

KeptViews::File KeptViews::file_of(const std::string& path, const KeptReport& kept) const {
    About about{path, kept.written, kept.environment, command_text(kept.command)};
    if (kept.kind == "profile") return shown_file<File, KeptProfileView>(std::move(about), profile_in(kept), filter_);
    if (kept.kind == "compare")
        return shown_file<File, KeptCompareView>(std::move(about), comparison_in(kept), filter_);
    if (kept.kind == "fallback")
        return shown_file<File, KeptFallbackView>(std::move(about), fallback_in(kept), filter_);
    return shown_file<File, KeptBisectView>(std::move(about), bisection_in(kept), filter_);
}

void KeptViews::take(std::vector<KeptFollower::Change> changes) {
    for (const auto& [path, report] : changes) {
        files_.erase(path);
        if (!report) continue;
        files_.emplace(path, report->ok() ? file_of(path, **report) : File(report->error()));
    }
}

void KeptViews::choose(std::string_view filter) {
    filter_ = filter;
    for (auto& [path, file] : files_) {
        std::visit(
            [&](auto& shown) {
                if constexpr (!std::is_same_v<decltype(shown), Error&>) shown.view.choose(filter);
            },
            file);
    }
}

std::vector<std::string> KeptViews::problems() const {
    std::vector<std::string> problems;
    for (const auto& [path, file] : files_) {
        if (const auto* const error = std::get_if<Error>(&file)) problems.push_back(error->message);
    }
    return problems;
}

}  // namespace diopi
