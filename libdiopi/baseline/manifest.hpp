/// `<data>/baselines/manifest.json`: the generated baseline files, their origin, and their checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

struct ManifestEntry {
    std::string file;  ///< path below the manifest's folder: "ops/add.h5"
    int64_t bytes = 0;
    int64_t cases = 0;
    uint64_t seed = 0;
    std::string generator;  ///< the file's attribute `generator`
    std::string plan;       ///< checksum of the cases that the file was generated from, computed by the caller
    std::string checksum;   ///< XXH64 of the file
};

class Manifest {
 public:
    /// Reads `folder`/manifest.json; an empty manifest when there is none.
    [[nodiscard]] static Result<Manifest> load(const std::string& folder);

    [[nodiscard]] const std::vector<ManifestEntry>& entries() const { return entries_; }
    [[nodiscard]] const ManifestEntry* find(const std::string& file) const;

    /// Records a finished file, replacing its former entry; size and checksum are taken from the file.
    Status record(ManifestEntry entry);

    /// Whether the file is unchanged since its generation. A file that the manifest does not list (from another
    /// program) is accepted; a listed one that is missing or has changed is not.
    Status verify(const std::string& file) const;

    /// Rewrites manifest.json in one step.
    Status save() const;

 private:
    explicit Manifest(std::string folder) : folder_(std::move(folder)) {}
    [[nodiscard]] std::string path() const { return folder_ + "/manifest.json"; }

    std::string folder_;
    std::vector<ManifestEntry> entries_;  ///< sorted by file
};

}  // namespace diopi
