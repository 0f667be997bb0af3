/// The baselines of a data folder, opened when a case first needs one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baseline/baseline.hpp"
#include "baseline/manifest.hpp"
#include "cases/case.hpp"
#include "worker/work.hpp"

namespace diopi {

/// Belongs to one process: HDF5 files must not be shared across a fork.
class StoredBaselines {
 public:
    StoredBaselines(std::string data, uint64_t seed) : data_(std::move(data)), seed_(seed) {}

    /// Whether the existing files of these cases are complete and unchanged since they were generated. Of a file that
    /// no manifest lists, as another program writes it, every baseline of these cases is read and must fit its case.
    [[nodiscard]] static Status check(const std::string& data, const std::vector<Case>& cases, uint64_t seed,
                                      const PoolOptions& pool);

    /// The stored baseline of a case, or null: no file, no such case in it, a file with another seed (and other
    /// inputs), or a case that an option varied. Files must have passed check().
    [[nodiscard]] Result<const CaseBaseline*> find(const Case& c);

 private:
    [[nodiscard]] Result<const BaselineReader*> open(const std::string& path);

    std::string data_;
    uint64_t seed_;
    std::map<std::string, std::optional<BaselineReader>> files_;
    CaseBaseline current_;
};

}  // namespace diopi
