#include "bundle_origin.hpp"

#include <filesystem>

#include "environment.hpp"
#include "store/checksum.hpp"

namespace diopi {

namespace {

constexpr const char* kVersion = "diopi 1.0.0";

}  // namespace

Result<BundleOrigin> bundle_origin(const Backend& backend) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return failed("cannot tell where this program is: /proc/self/exe: " + error.message());
    auto hash = checksum_of_file("/proc/self/exe");
    if (!hash.ok()) return hash.error();
    return BundleOrigin{std::string(backend.name()), program.string(), *hash, kVersion, machine_facts()};
}

}  // namespace diopi
