#include "run/stored_baselines.hpp"

#include <filesystem>

namespace diopi {

Result<const BaselineReader*> StoredBaselines::open(const std::string& path) {
    if (const auto found = files_.find(path); found != files_.end()) {
        return found->second ? &*found->second : nullptr;
    }
    std::optional<BaselineReader>& slot = files_[path];
    if (!std::filesystem::exists(path)) return nullptr;
    const std::string folder = data_ + "/baselines";
    auto manifest = Manifest::load(folder);
    if (!manifest.ok()) return manifest.error();
    if (Status s = manifest->verify(std::filesystem::relative(path, folder).string()); !s.ok()) return s.error();
    auto reader = BaselineReader::open(path);
    if (!reader.ok()) return reader.error();
    const bool ours = reader->provenance().starts_with("diopi");
    if (ours && reader->seed() != seed_) return nullptr;
    slot = std::move(*reader);
    return &*slot;
}

Result<const CaseBaseline*> StoredBaselines::find(const Case& c) {
    auto file = open(baseline_path(data_, c.suite, c.op));
    if (!file.ok()) return file.error();
    const std::string key = case_key(c.id());
    if (*file == nullptr || !(*file)->has(key)) return nullptr;
    auto baseline = (*file)->read(key);
    if (!baseline.ok()) return baseline.error();
    current_ = std::move(*baseline);
    return &current_;
}

}  // namespace diopi
