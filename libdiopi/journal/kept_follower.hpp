/// Reads the kept reports of a run again when they were written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/kept_report.hpp"

namespace diopi {

class KeptFollower {
 public:
    /// `place` is a run's folder, which need not exist yet, or a kept report.
    explicit KeptFollower(std::string place) : place_(std::move(place)) {}

    struct Change {
        std::string path;
        std::optional<Result<KeptReport>> report;  ///< nothing: the file was removed
    };
    /// The files that were written or removed since the last call: those whose time or size is another one. A damaged
    /// file is one change.
    [[nodiscard]] std::vector<Change> poll();

 private:
    struct Stamp {
        std::filesystem::file_time_type time;
        std::uintmax_t bytes = 0;
        bool operator==(const Stamp&) const = default;
    };

    std::string place_;
    std::map<std::string, Stamp> stamps_;  ///< of the files that were read
};

}  // namespace diopi
