/// The resources of a process whose number must not grow with its calls.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace diopi {

enum class Resource { kThread, kChild, kDescriptor, kMapping, kFile };
inline constexpr size_t kResources = 5;

/// "a thread", "a child process", "an open descriptor", "mapped memory", "a file in a folder for temporary files".
[[nodiscard]] std::string_view name(Resource resource);

/// The resources of the process at one moment, as the kernel counts them; a number that the kernel does not give is 0.
/// Files are counted in the folders for temporary files, where other processes make some, too.
class ResourceUse {
 public:
    [[nodiscard]] static ResourceUse now();

    /// The growth of one resource; mapped memory counts in pages.
    [[nodiscard]] int64_t growth_since(const ResourceUse& before, Resource resource) const {
        return count(resource) - before.count(resource);
    }

 private:
    [[nodiscard]] int64_t count(Resource resource) const { return counts_[static_cast<size_t>(resource)]; }

    std::array<int64_t, kResources> counts_{};
};

}  // namespace diopi
