#include "conformance/stored_baselines.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "step/steps.hpp"
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

/// Whether the case can be judged by the expected values in the baseline.
Status check_fit(const Case& c, const CaseBaseline& baseline, uint64_t seed) {
    auto steps = CaseSteps::create(c, seed, &baseline);
    if (!steps.ok()) return steps.status();
    for (const std::string& name : (*steps)->names()) {
        if (!baseline.expected.contains(name)) continue;
        auto step = (*steps)->plan(name);
        if (!step.ok()) return step.status();
        if (auto expected = (*steps)->expected(*step); !expected.ok()) return expected.status();
    }
    return {};
}

/// Reads the baselines of these cases, in worker processes. An error names the file and the dataset or the case.
Status read_in_workers(const std::vector<size_t>& items, const std::vector<Case>& cases, const std::string& data,
                       uint64_t seed, const PoolOptions& pool) {
    if (items.empty()) return {};
    // Each worker opens the files in its own copy.
    StoredBaselines baselines(data, seed);
    const auto work = [&](size_t item) -> WorkAnswer {
        const Case& c = cases[item];
        auto baseline = baselines.find(c);
        if (!baseline.ok()) return {.status = baseline.status()};
        if (*baseline == nullptr) return {};
        const Status s = check_fit(c, **baseline, seed);
        const bool is_judged = s.ok() || s.error().code == Errc::kNotImplemented;
        if (is_judged || s.message().starts_with((*baseline)->file)) return {.status = is_judged ? Status() : s};
        return {.status = bad_input(fmt::format("{}: the baseline of {}: {}", (*baseline)->file, c.id(), s.message()))};
    };
    const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
        if (outcome.status.ok()) return {};
        if (outcome.finished()) return bad_input(outcome.status.message());
        return bad_input(fmt::format("the baseline of {} cannot be read: {}", cases[item].id(), outcome.reason));
    };
    return run_in_workers(items, pool, work, done);
}

}  // namespace

Status StoredBaselines::check(const std::string& data, const std::vector<Case>& cases, uint64_t seed,
                              const PoolOptions& pool) {
    const std::string folder = data + "/baselines";
    if (!std::filesystem::exists(folder)) return {};
    auto manifest = Manifest::load(folder);
    if (!manifest.ok()) return manifest.status();
    std::set<std::string> paths;
    for (const Case& c : cases) paths.insert(baseline_path(data, c.suite, c.op));
    std::vector<std::string> stored;
    std::set<std::string> foreign;
    for (const std::string& path : paths) {
        const std::string file = std::filesystem::path(path).lexically_relative(folder).string();
        if (manifest->find(file) == nullptr && !std::filesystem::exists(path)) continue;
        if (Status s = manifest->verify(file); !s.ok()) return bad_input(s.message());
        stored.push_back(path);
        if (manifest->find(file) == nullptr) foreign.insert(path);
    }
    if (Status s = open_in_workers(stored); !s.ok()) return s;
    std::vector<size_t> items;
    for (size_t i = 0; i < cases.size(); ++i) {
        if (foreign.contains(baseline_path(data, cases[i].suite, cases[i].op))) items.push_back(i);
    }
    return read_in_workers(items, cases, data, seed, pool);
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
