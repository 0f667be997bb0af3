/// Replay bundles: one failed step of a case in one HDF5 file, with everything that is needed to run and judge it
/// again without the case's files. docs/hdf5.md describes the layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call/arg_tensor.hpp"
#include "capture/call_file.hpp"
#include "capture/capture.hpp"
#include "check/verdict.hpp"
#include "core/status.hpp"
#include "infer/infer.hpp"

namespace diopi {

/// The origin of a bundle, the same for all bundles of one run.
struct BundleOrigin {
    std::string backend;    ///< the backend: "cpu"
    std::string file;       ///< path of the file that holds its functions
    std::string file_hash;  ///< its XXH64
    std::string version;    ///< the program that wrote the bundle: "diopi 1.0.0"
    /// "kernel", "cpu" and the relevant environment variables, with their values.
    std::vector<std::pair<std::string, std::string>> environment;
};

struct Bundle {
    explicit Bundle(StoredCall call) : stored(std::move(call)) {}

    std::string case_id;
    uint64_t seed = 0;
    std::string step;      ///< "forward", "inplace", "backward"
    std::string function;  ///< "add_backward": the name in reports
    Verdict verdict = Verdict::kFailed;
    std::string reason;
    std::string repeat;  ///< the command that repeats the case on a machine with its files
    StoredCall stored;   ///< with the inputs as they were drawn, and the generator before the call
    std::vector<OutputSpec> outputs;
    /// The layouts of the tensors on the device: storages and tensors only, with the places ("input", "tensors.2") as
    /// ids; empty: their own.
    Capture layouts;
    /// Wide values (wide_dtype), contiguous; empty for a random operator.
    std::vector<ArgTensor> expected;
    std::vector<ArgTensor> actual;  ///< empty after a crash or a hang
    Tolerance tolerance;
    bool random = false, legacy = false, exact = false;
    std::string checks;  ///< "all", "guards inputs"
    BundleOrigin origin;
};

/// `folder`/<case id>-<step>.h5, with "-" for every character of the id that is no letter, digit or underscore.
[[nodiscard]] std::string bundle_path(const std::string& folder, std::string_view case_id, std::string_view step);

/// The file gets its name only when it is complete.
Status write_bundle(const std::string& path, const Bundle& bundle);

/// Bad input for a file that is no bundle, has another version of the layout, or contradicts itself.
[[nodiscard]] Result<Bundle> read_bundle(const std::string& path);

}  // namespace diopi
