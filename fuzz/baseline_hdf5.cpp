#include "baseline/baseline.hpp"
#include "file/hdf5_types.hpp"
#include "fuzz/hdf5_text.hpp"
#include "fuzz/scratch_file.hpp"
#include "fuzz/targets.hpp"

namespace diopi::fuzz {

/// A baseline file with wrong objects: opens it and reads every case.
bool baseline_hdf5(std::string_view bytes) {
    const hdf5::Session session;
    const ScratchFile file("");
    build_hdf5(file.path(), bytes);
    const auto reader = BaselineReader::open(file.path());
    if (!reader.ok()) return false;
    bool any = false;
    for (const std::string& key : reader->keys()) any |= reader->read(key).ok();
    return any;
}

}  // namespace diopi::fuzz
