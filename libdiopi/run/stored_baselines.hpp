/// The baselines of a data folder, opened when a case first asks for one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cases/case.hpp"
#include "store/baseline.hpp"
#include "store/manifest.hpp"

namespace diopi {

/// For one process: HDF5 files must not be shared across a fork.
class StoredBaselines {
 public:
    StoredBaselines(std::string data, uint64_t seed) : data_(std::move(data)), seed_(seed) {}

    /// The stored baseline of a case, or null: no file, no such case in it, or a file made with another seed (its
    /// inputs would be others). A file that has changed since it was generated is bad input.
    [[nodiscard]] Result<const CaseBaseline*> find(const Case& c);

 private:
    [[nodiscard]] Result<const BaselineReader*> open(const std::string& path);

    std::string data_;
    uint64_t seed_;
    std::map<std::string, std::optional<BaselineReader>> files_;
    CaseBaseline current_;
};

}  // namespace diopi
