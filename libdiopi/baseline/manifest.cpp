#include "baseline/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "file/atomic_file.hpp"
#include "file/checksum.hpp"
#include "json/json_text.hpp"

namespace diopi {

namespace {

constexpr int64_t kManifestFormat = 1;

Json entry_to_json(const ManifestEntry& entry) {
    return {{"file", entry.file},           {"bytes", entry.bytes}, {"cases", entry.cases},      {"seed", entry.seed},
            {"generator", entry.generator}, {"plan", entry.plan},   {"checksum", entry.checksum}};
}

/// Throws nlohmann's exception on a missing or mistyped member.
ManifestEntry entry_from_json(const Json& json) {
    ManifestEntry entry;
    json.at("file").get_to(entry.file);
    json.at("bytes").get_to(entry.bytes);
    json.at("cases").get_to(entry.cases);
    json.at("seed").get_to(entry.seed);
    json.at("generator").get_to(entry.generator);
    json.at("plan").get_to(entry.plan);
    json.at("checksum").get_to(entry.checksum);
    return entry;
}

bool before(const ManifestEntry& entry, const std::string& file) { return entry.file < file; }

}  // namespace

Result<Manifest> Manifest::load(const std::string& folder) {
    Manifest manifest(folder);
    std::error_code code;
    if (!std::filesystem::exists(manifest.path(), code)) return manifest;
    const Result<std::string> text = read_text_file(manifest.path());
    if (!text.ok()) return text.error();
    try {
        const Json json = parse_own(*text);
        const int64_t format = json.at("diopi_format").get<int64_t>();
        if (format > kManifestFormat) {
            return bad_input(fmt::format("{} has format {}, this program reads up to {}; use a newer diopi",
                                         manifest.path(), format, kManifestFormat));
        }
        for (const Json& item : json.at("files")) manifest.entries_.push_back(entry_from_json(item));
    } catch (const nlohmann::json::exception& e) {
        return bad_input(fmt::format("{} is damaged: {}; delete it and run diopi gen", manifest.path(), e.what()));
    }
    std::ranges::sort(manifest.entries_, {}, &ManifestEntry::file);
    return manifest;
}

const ManifestEntry* Manifest::find(const std::string& file) const {
    const auto at = std::ranges::find(entries_, file, &ManifestEntry::file);
    return at == entries_.end() ? nullptr : &*at;
}

Status Manifest::record(ManifestEntry entry) {
    const std::string path = folder_ + "/" + entry.file;
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path, code);
    if (code) return failed(fmt::format("cannot read {}: {}", path, code.message()));
    Result<std::string> checksum = checksum_of_file(path);
    if (!checksum.ok()) return checksum.status();
    entry.bytes = static_cast<int64_t>(bytes);
    entry.checksum = std::move(*checksum);
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), entry.file, before);
    if (at != entries_.end() && at->file == entry.file) {
        *at = std::move(entry);
    } else {
        entries_.insert(at, std::move(entry));
    }
    return {};
}

Status Manifest::verify(const std::string& file) const {
    const ManifestEntry* entry = find(file);
    if (entry == nullptr) return {};
    const std::string path = folder_ + "/" + file;
    constexpr const char* kAdvice = "generate it again with diopi gen --force, or take it out of the manifest";
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path, code);
    if (code)
        return failed(
            fmt::format("{} is listed in {} but cannot be read: {}; {}", path, this->path(), code.message(), kAdvice));
    if (static_cast<int64_t>(bytes) != entry->bytes) {
        return failed(fmt::format("{} has changed since it was generated: {} bytes, were {}; {}", path, bytes,
                                  entry->bytes, kAdvice));
    }
    const Result<std::string> checksum = checksum_of_file(path);
    if (!checksum.ok()) return checksum.status();
    if (*checksum == entry->checksum) return {};
    return failed(fmt::format("{} has changed since it was generated: checksum {}, was {}; {}", path, *checksum,
                              entry->checksum, kAdvice));
}

Status Manifest::save() const {
    Json files = Json::array();
    for (const ManifestEntry& entry : entries_) files.push_back(entry_to_json(entry));
    const Json json = {{"diopi_format", kManifestFormat}, {"files", files}};
    return write_file_atomically(path(), indented(json) + "\n");
}

}  // namespace diopi
