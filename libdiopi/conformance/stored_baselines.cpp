#include "conformance/stored_baselines.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

constexpr double kOpenSeconds = 10;

/// Opens each file in a process of its own: the HDF5 library crashes or loops on some damaged files.
Status open_in_workers(const std::vector<std::string>& paths) {
    if (paths.empty()) return {};
    std::vector<size_t> items(paths.size());
    std::iota(items.begin(), items.end(), size_t{0});
    const auto work = [&](size_t item) { return WorkAnswer{.status = BaselineReader::open(paths[item]).status()}; };
    const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
        if (outcome.finished()) return outcome.status.ok() ? Status() : bad_input(outcome.status.message());
        const bool has_hung = outcome.end == WorkOutcome::End::kTimeout;
        const std::string how = has_hung ? fmt::format("no answer within {:g} s", kOpenSeconds) : outcome.reason;
        return bad_input(fmt::format("{} is damaged: the HDF5 library does not survive it ({}); generate it again",
                                     paths[item], how));
    };
    PoolOptions pool;
    pool.timeout_s = kOpenSeconds;
    pool.memory_limit = 0;
    return run_in_workers(items, pool, work, done);
}

}  // namespace

Status StoredBaselines::check(const std::string& data, const std::vector<Case>& cases) {
    const std::string folder = data + "/baselines";
    if (!std::filesystem::exists(folder)) return {};
    auto manifest = Manifest::load(folder);
    if (!manifest.ok()) return manifest.status();
    std::set<std::string> paths;
    for (const Case& c : cases) paths.insert(baseline_path(data, c.suite, c.op));
    std::vector<std::string> stored;
    for (const std::string& path : paths) {
        const std::string file = std::filesystem::path(path).lexically_relative(folder).string();
        if (manifest->find(file) == nullptr && !std::filesystem::exists(path)) continue;
        if (Status s = manifest->verify(file); !s.ok()) return bad_input(s.message());
        stored.push_back(path);
    }
    return open_in_workers(stored);
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
