/// Baseline generation: writes expected values of cases to HDF5, one file per operator or model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "baseline/baseline.hpp"
#include "baseline/generated_file.hpp"
#include "cases/case.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

struct GenerateOptions {
    std::string data;
    uint64_t seed = 0;
    bool force = false;           ///< make existing, unchanged files again
    bool self_contained = false;  ///< store the inputs, too
    PoolOptions pool;
    /// Called with the number of cases that are computed, at least once a second; empty: not called.
    std::function<void(int64_t cases)> progress = {};
};

/// Makes the files of the cases; `on_file` gets each finished file. An existing file does not change until the new one
/// is complete.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate(const std::vector<Case>& cases,
                                                          const GenerateOptions& options,
                                                          const std::function<void(const GeneratedFile&)>& on_file);

/// Expected values of every step of a case. Inputs are stored if `self_contained`, else their checksums. A case that
/// the reference lacks is not implemented.
[[nodiscard]] Result<CaseBaseline> make_baseline(const Case& c, uint64_t seed, bool self_contained);

/// Bytes of the inputs of a case, and of its outputs with known shapes.
[[nodiscard]] int64_t estimate_bytes(const Case& c);

}  // namespace diopi
