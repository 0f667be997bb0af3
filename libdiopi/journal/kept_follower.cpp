#include "journal/kept_follower.hpp"

#include <utility>

namespace diopi {

namespace {

Result<KeptReport> report_in(const std::string& path) {
    auto reports = kept_reports_at(path);
    if (!reports.ok()) return reports.error();
    return std::move(reports->front());
}

}  // namespace

std::vector<KeptFollower::Change> KeptFollower::poll() {
    namespace fs = std::filesystem;
    std::vector<Change> changes;
    for (const std::string& path : kept_report_paths(place_)) {
        std::error_code error, other_error;
        const Stamp stamp{fs::last_write_time(path, error), fs::file_size(path, other_error)};
        const auto known = stamps_.find(path);
        if (error || other_error) {
            if (known == stamps_.end()) continue;
            stamps_.erase(known);
            changes.push_back({path, std::nullopt});
        } else if (known == stamps_.end() || known->second != stamp) {
            stamps_[path] = stamp;
            changes.push_back({path, report_in(path)});
        }
    }
    return changes;
}

}  // namespace diopi
