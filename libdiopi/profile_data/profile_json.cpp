#include "profile_data/profile_json.hpp"

#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "json/json_text.hpp"

namespace diopi {

namespace {

/// The first bytes of packed profiles.
constexpr std::string_view kMark = "profile ";

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
            {"parallel", call.parallel},   {"error", call.error}};
}

Json to_json(const TracedActivity& traced) {
    const DeviceActivity& a = traced.activity;
    return {a.name, a.stream, a.launched, a.launch_time, a.start, a.duration, traced.call};
}

TracedActivity activity_from(const Json& json) {
    return {{json.at(0), json.at(1), json.at(2), json.at(3), json.at(4), json.at(5)}, json.at(6)};
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

/// The call without its samples; `samples` receives their position and number.
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
    call.parallel = json.value("parallel", false);
    // Profiles of older programs call it "trouble".
    json.at(json.contains("error") ? "error" : "trouble").get_to(call.error);
    return call;
}

}  // namespace

std::string profile_text(const Profile& profile) {
    Json calls = Json::array();
    size_t first = 0;
    for (const ProfiledCall& call : profile.calls) {
        calls.push_back(to_json(call, first));
        first += call.runs.size();
    }
    Json activities = Json::array();
    for (const TracedActivity& traced : profile.activities) activities.push_back(to_json(traced));
    const Json json = {{"backend", profile.backend},
                       {"mode", profile.mode},
                       {"has_device_time", profile.has_device_time},
                       {"device_kind", profile.device_kind},
                       {"seed", profile.seed},
                       {"roofs", to_json(profile.roofs)},
                       {"pace", profile.pace},
                       {"quietest", profile.quietest},
                       {"slowdowns", profile.slowdowns},
                       {"activities", activities},
                       {"unrecorded", profile.unrecorded},
                       {"calls", calls}};
    return one_line(json);
}

Profile profile_from_text(std::string_view text, SamplePlaces& places) {
    const Json json = parse_own(text);
    Profile profile;
    json.at("backend").get_to(profile.backend);
    json.at("mode").get_to(profile.mode);
    json.at("has_device_time").get_to(profile.has_device_time);
    json.at("device_kind").get_to(profile.device_kind);
    json.at("seed").get_to(profile.seed);
    profile.roofs = roofs_from(json.at("roofs"));
    json.at("pace").get_to(profile.pace);
    profile.quietest = json.value("quietest", 0.0);
    profile.slowdowns = json.value("slowdowns", std::vector<std::string>());
    profile.unrecorded = json.value("unrecorded", "");
    for (const Json& traced : json.value("activities", Json::array())) {
        profile.activities.push_back(activity_from(traced));
    }
    for (const Json& call : json.at("calls")) profile.calls.push_back(call_from(call, places.emplace_back()));
    return profile;
}

/// Packs the mark, the length of the text, the text, the samples.
std::string pack_profile(const Profile& profile) {
    static_assert(std::is_trivially_copyable_v<TimedRun>);
    const std::string text = profile_text(profile);
    const uint64_t length = text.size();
    std::string bytes(kMark);
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
    for (const ProfiledCall& call : profile.calls) {
        bytes.append(reinterpret_cast<const char*>(call.runs.data()), call.runs.size() * sizeof(TimedRun));
    }
    return bytes;
}

Result<Profile> unpack_profile(std::string_view bytes) {
    uint64_t length = 0;
    const auto cut = [] { return internal_error("a message with a profile was cut short"); };
    if (bytes.size() < kMark.size() + sizeof length || !bytes.starts_with(kMark)) return cut();
    bytes.remove_prefix(kMark.size());
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (bytes.size() < length) return cut();
    const std::string_view samples = bytes.substr(length);
    try {
        SamplePlaces places;
        Profile profile = profile_from_text(bytes.substr(0, length), places);
        for (size_t i = 0; i < places.size(); ++i) {
            const size_t first = places[i].first * sizeof(TimedRun), size = places[i].second * sizeof(TimedRun);
            if (first > samples.size() || size > samples.size() - first) return cut();
            profile.calls[i].runs.resize(places[i].second);
            if (size > 0) std::memcpy(profile.calls[i].runs.data(), samples.data() + first, size);
        }
        return profile;
    } catch (const std::exception& e) {
        return internal_error(std::string("a message with a profile is damaged: ") + e.what());
    }
}

}  // namespace diopi
