#include "target/checked_backend.hpp"

namespace diopi {

namespace {

/// Blocks that a report lists.
constexpr size_t kMostBlocks = 20;

}  // namespace

Result<CheckedBackend> CheckedBackend::find(const std::string& name, const LibraryOptions& options,
                                            const MemoryCheckOptions& check) {
    auto plain = Implementation::find(name, options);
    if (!plain.ok()) return plain.error();
    CheckedBackend found;
    found.plain_ = std::move(*plain);
    if (check.enabled) {
        found.checker_ = std::make_unique<MemoryChecker>((*found.plain_)->device(), check.backtrace);
        found.watched_ = std::make_unique<Backend>((*found.plain_)->on(*found.checker_));
    }
    return found;
}

std::string CheckedBackend::leaks(std::string_view where) {
    if (checker_ == nullptr) return "";
    std::string report = checker_->leak_report(kMostBlocks, where, reported_);
    reported_ = checker_->last_serial();
    return report;
}

}  // namespace diopi
