#include "run/stored_baselines.hpp"

#include <filesystem>
#include <set>

namespace diopi {

Status StoredBaselines::check(const std::string& data, const std::vector<Case>& cases) {
    const std::string folder = data + "/baselines";
    if (!std::filesystem::exists(folder)) return {};
    auto manifest = Manifest::load(folder);
    if (!manifest.ok()) return manifest.status();
    std::set<std::string> paths;
    for (const Case& c : cases) paths.insert(baseline_path(data, c.suite, c.op));
    for (const std::string& path : paths) {
        const std::string file = std::filesystem::path(path).lexically_relative(folder).string();
        if (manifest->find(file) == nullptr && !std::filesystem::exists(path)) continue;
        if (Status s = manifest->verify(file); !s.ok()) return bad_input(s.message());
        if (auto reader = BaselineReader::open(path); !reader.ok()) return bad_input(reader.error().message);
    }
    return {};
}

Result<const BaselineReader*> StoredBaselines::open(const std::string& path) {
    if (const auto found = files_.find(path); found != files_.end()) {
        return found->second ? &*found->second : nullptr;
    }
    std::optional<BaselineReader>& slot = files_[path];
    if (!std::filesystem::exists(path)) return nullptr;
    auto reader = BaselineReader::open(path);
    if (!reader.ok()) return reader.error();
    const bool ours = reader->provenance().starts_with("diopi");
    if (ours && reader->seed() != seed_) return nullptr;
    slot = std::move(*reader);
    return &*slot;
}

Result<const CaseBaseline*> StoredBaselines::find(const Case& c) {
    if (c.varied) return nullptr;
    const std::string path = baseline_path(data_, c.suite, c.op);
    auto file = open(path);
    if (!file.ok()) return file.error();
    const std::string key = case_key(c.id());
    if (*file == nullptr || !(*file)->has(key)) return nullptr;
    auto baseline = (*file)->read(key);
    if (!baseline.ok()) return baseline.error();
    current_ = std::move(*baseline);
    current_.file = path;
    return &current_;
}

}  // namespace diopi
