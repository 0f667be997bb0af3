#include "store/profile_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "runtime/device.hpp"
#include "store/hdf5_file.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kProfileFormat = 1;
constexpr const char* kFormatAttribute = "diopi_profile";

/// The columns of /samples, besides `pass`.
constexpr std::array<std::pair<const char*, double TimedRun::*>, 4> kColumns = {
    {{"start", &TimedRun::start},
     {"cpu", &TimedRun::cpu},
     {"device_start", &TimedRun::device_start},
     {"device", &TimedRun::device}}};

Json to_json(const Roofs& roofs) {
    Json copies = Json::array(), matmul = Json::array();
    for (const Roofs::Copy& copy : roofs.copies) copies.push_back({{"bytes", copy.bytes}, {"rate", copy.rate}});
    for (const Roofs::Matmul& roof : roofs.matmul)
        matmul.push_back({{"dtype", name(roof.dtype)}, {"flops", roof.flops}});
    return {
        {"copies", copies}, {"matmul", matmul}, {"empty_call", roofs.empty_call}, {"cache_bytes", roofs.cache_bytes}};
}

Json to_json(const ProfiledCall& call, size_t first) {
    return {{"name", call.name},           {"function", call.function},
            {"overload", call.overload},   {"case", call.case_id},
            {"number", call.number},       {"phase", call.phase},
            {"layer", call.layer},         {"forward_id", call.forward_id ? Json(*call.forward_id) : Json()},
            {"parent", call.parent},       {"shapes", call.shapes},
            {"dtype", name(call.dtype)},   {"first", first},
            {"samples", call.runs.size()}, {"batch", call.batch},
            {"warmup", call.warmup},       {"stop", call.stop},
            {"allocated", call.allocated}, {"freed", call.freed},
            {"flops", call.flops},         {"bytes", call.bytes},
            {"trouble", call.trouble}};
}

Dtype dtype_from(const Json& json) {
    const auto dtype = parse_dtype(json.get<std::string>());
    if (!dtype) throw std::runtime_error("there is no dtype '" + json.get<std::string>() + "'");
    return *dtype;
}

Roofs roofs_from(const Json& json) {
    Roofs roofs;
    for (const Json& copy : json.at("copies")) roofs.copies.push_back({copy.at("bytes"), copy.at("rate")});
    for (const Json& roof : json.at("matmul")) roofs.matmul.push_back({dtype_from(roof.at("dtype")), roof.at("flops")});
    json.at("empty_call").get_to(roofs.empty_call);
    json.at("cache_bytes").get_to(roofs.cache_bytes);
    return roofs;
}

/// The call without its samples; `samples` receives where they begin and how many they are.
ProfiledCall call_from(const Json& json, std::pair<size_t, size_t>& samples) {
    ProfiledCall call;
    json.at("name").get_to(call.name);
    json.at("function").get_to(call.function);
    json.at("overload").get_to(call.overload);
    json.at("case").get_to(call.case_id);
    json.at("number").get_to(call.number);
    json.at("phase").get_to(call.phase);
    json.at("layer").get_to(call.layer);
    if (!json.at("forward_id").is_null()) call.forward_id = json.at("forward_id").get<int64_t>();
    json.at("parent").get_to(call.parent);
    json.at("shapes").get_to(call.shapes);
    call.dtype = dtype_from(json.at("dtype"));
    samples = {json.at("first").get<size_t>(), json.at("samples").get<size_t>()};
    json.at("batch").get_to(call.batch);
    json.at("warmup").get_to(call.warmup);
    json.at("stop").get_to(call.stop);
    json.at("allocated").get_to(call.allocated);
    json.at("freed").get_to(call.freed);
    json.at("flops").get_to(call.flops);
    json.at("bytes").get_to(call.bytes);
    json.at("trouble").get_to(call.trouble);
    return call;
}

/// A dataset of one dim.
template <class T>
Status write_column(Hdf5File& file, const std::string& group, const char* name, Dtype dtype,
                    const std::vector<T>& values) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, dtype, {}});
    if (!tensor.ok()) return tensor.status();
    if (!values.empty()) std::memcpy((*tensor)->data(), values.data(), values.size() * sizeof(T));
    return file.write_tensor(group, name, **tensor);
}

template <class T>
Result<std::vector<T>> read_column(const Hdf5File& file, const std::string& group, const char* name, Dtype dtype) {
    auto tensor = file.read_tensor(group, name);
    if (!tensor.ok()) return tensor.error();
    if ((*tensor)->dtype != dtype || (*tensor)->rank() != 1) {
        return bad_input(fmt::format("{}: {}/{} is no column of {}; measure anew with diopi profile", file.path(),
                                     group, name, diopi::name(dtype)));
    }
    const auto* first = (*tensor)->data_as<T>();
    return std::vector<T>(first, first + (*tensor)->numel());
}

std::string text_of(const Profile& profile) {
    Json calls = Json::array();
    size_t first = 0;
    for (const ProfiledCall& call : profile.calls) {
        calls.push_back(to_json(call, first));
        first += call.runs.size();
    }
    const Json json = {{"backend", profile.backend},
                       {"mode", profile.mode},
                       {"has_device_time", profile.has_device_time},
                       {"device_kind", profile.device_kind},
                       {"seed", profile.seed},
                       {"roofs", to_json(profile.roofs)},
                       {"pace", profile.pace},
                       {"calls", calls}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status write_samples(Hdf5File& file, const Profile& profile) {
    std::vector<int64_t> passes;
    std::array<std::vector<double>, kColumns.size()> columns;
    for (const ProfiledCall& call : profile.calls) {
        for (const TimedRun& run : call.runs) {
            passes.push_back(run.pass);
            for (size_t c = 0; c < kColumns.size(); ++c) columns[c].push_back(run.*kColumns[c].second);
        }
    }
    for (size_t c = 0; c < kColumns.size(); ++c) {
        Status s = write_column(file, "/samples", kColumns[c].first, Dtype::float64, columns[c]);
        if (!s.ok()) return s;
    }
    return write_column(file, "/samples", "pass", Dtype::int64, passes);
}

/// Throws nlohmann's exception on a missing or mistyped member.
Profile profile_from(const Json& json, std::vector<std::pair<size_t, size_t>>& samples) {
    Profile profile;
    json.at("backend").get_to(profile.backend);
    json.at("mode").get_to(profile.mode);
    json.at("has_device_time").get_to(profile.has_device_time);
    json.at("device_kind").get_to(profile.device_kind);
    json.at("seed").get_to(profile.seed);
    profile.roofs = roofs_from(json.at("roofs"));
    json.at("pace").get_to(profile.pace);
    for (const Json& call : json.at("calls")) profile.calls.push_back(call_from(call, samples.emplace_back()));
    return profile;
}

Error damaged(const std::string& path, const std::string& what) {
    return bad_input(fmt::format("{} is damaged: {}; measure anew with diopi profile", path, what));
}

Status read_samples(const Hdf5File& file, const std::vector<std::pair<size_t, size_t>>& places, Profile& profile) {
    const auto passes = read_column<int64_t>(file, "/samples", "pass", Dtype::int64);
    if (!passes.ok()) return passes.status();
    std::array<std::vector<double>, kColumns.size()> columns;
    for (size_t c = 0; c < kColumns.size(); ++c) {
        auto column = read_column<double>(file, "/samples", kColumns[c].first, Dtype::float64);
        if (!column.ok()) return column.status();
        if (column->size() != passes->size()) return damaged(file.path(), "its columns differ in length");
        columns[c] = std::move(*column);
    }
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const auto [first, count] = places[i];
        if (first > passes->size() || count > passes->size() - first) {
            return damaged(file.path(), "a call has more samples than there are");
        }
        for (size_t k = first; k < first + count; ++k) {
            TimedRun& run = profile.calls[i].runs.emplace_back();
            run.pass = (*passes)[k];
            for (size_t c = 0; c < kColumns.size(); ++c) run.*kColumns[c].second = columns[c][k];
        }
    }
    return {};
}

}  // namespace

std::string profile_path(const std::string& folder) { return folder + "/profile.h5"; }

Status write_profile(const std::string& path, const Profile& profile) {
    auto file = Hdf5File::create(path);
    if (!file.ok()) return file.status();
    if (Status s = file->write_attribute("/", kFormatAttribute, kProfileFormat); !s.ok()) return s;
    const std::string text = text_of(profile);
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    if (Status s = write_column(*file, "/", "profile", Dtype::uint8, bytes); !s.ok()) return s;
    if (Status s = write_samples(*file, profile); !s.ok()) return s;
    return file->finish();
}

Result<Profile> read_profile(const std::string& path) {
    auto file = Hdf5File::open(path);
    if (!file.ok()) return file.error();
    if (!file->has_attribute("/", kFormatAttribute)) {
        return bad_input(path +
                         " is no profile: its root has no attribute diopi_profile; name the folder of a run of "
                         "diopi profile");
    }
    const auto format = file->read_int("/", kFormatAttribute);
    if (!format.ok()) return format.error();
    if (*format > kProfileFormat) {
        return bad_input(fmt::format("{} is a profile of format {}, this program reads up to {}; use a newer diopi",
                                     path, *format, kProfileFormat));
    }
    const auto bytes = read_column<uint8_t>(*file, "/", "profile", Dtype::uint8);
    if (!bytes.ok()) return bytes.error();
    try {
        std::vector<std::pair<size_t, size_t>> places;
        Profile profile = profile_from(Json::parse(bytes->begin(), bytes->end()), places);
        if (Status s = read_samples(*file, places, profile); !s.ok()) return s.error();
        return profile;
    } catch (const std::exception& e) {
        return damaged(path, e.what());
    }
}

}  // namespace diopi
