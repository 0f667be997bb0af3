#include "bundle_origin.hpp"

#include <filesystem>

#include "environment.hpp"
#include "file/checksum.hpp"

namespace diopi {

namespace {

constexpr const char* kVersion = "diopi 1.0.0";

}  // namespace

Result<BundleOrigin> bundle_origin(const Backend& backend) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return failed("cannot tell where this program is: /proc/self/exe: " + error.message());
    const Plugin* plugin = backend.plugin();
    const std::string file = plugin == nullptr ? program.string() : plugin->file();
    auto hash = checksum_of_file(plugin == nullptr ? "/proc/self/exe" : file);
    if (!hash.ok()) return hash.error();
    return BundleOrigin{std::string(backend.name()), file, *hash, kVersion, machine_facts()};
}

}  // namespace diopi
