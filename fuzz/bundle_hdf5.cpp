#include "capture/bundle.hpp"
#include "file/hdf5_types.hpp"
#include "fuzz/hdf5_text.hpp"
#include "fuzz/scratch_file.hpp"
#include "fuzz/targets.hpp"

namespace diopi::fuzz {

/// A replay bundle with wrong objects; a bundle that could be read is written and read again.
bool bundle_hdf5(std::string_view bytes) {
    const hdf5::Session session;
    const ScratchFile file("");
    build_hdf5(file.path(), bytes);
    const auto bundle = read_bundle(file.path());
    if (!bundle.ok()) return false;
    const ScratchFile copy("");
    if (!write_bundle(copy.path(), *bundle).ok() || !read_bundle(copy.path()).ok()) __builtin_trap();
    return true;
}

}  // namespace diopi::fuzz
