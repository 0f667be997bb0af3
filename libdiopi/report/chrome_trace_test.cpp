#include "report/chrome_trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "file/atomic_file.hpp"
#include "file/test_folder.hpp"

using namespace diopi;

namespace {

using Json = nlohmann::json;
using Track = std::pair<int64_t, int64_t>;

struct Slice {
    double begin, end;
};

/// Checks the rules of the format: complete events with times, known metadata, flows with two ends that lie in slices,
/// and slices of a track that are disjoint or nested. Empty, or the error.
std::string faults_of(const Json& trace) {
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
        return "no traceEvents";
    std::map<Track, std::vector<Slice>> tracks;
    std::map<int64_t, std::pair<double, double>> flows;
    std::vector<std::pair<Track, double>> ends;
    std::set<std::string> metadata;
    for (const Json& event : trace["traceEvents"]) {
        for (const char* key : {"ph", "name", "pid", "tid"}) {
            if (!event.contains(key)) return std::string("an event without ") + key + ": " + event.dump();
        }
        const std::string phase = event["ph"];
        if (!event["pid"].is_number_integer() || !event["tid"].is_number_integer()) return "a track that is no number";
        const Track track{event["pid"], event["tid"]};
        if (phase == "M") {
            const bool is_order = event["name"] == "process_sort_index";
            if (!is_order && !event["args"]["name"].is_string()) return "metadata without a name";
            if (is_order && !event["args"]["sort_index"].is_number()) return "metadata without an order";
            metadata.insert(event["name"]);
            continue;
        }
        if (!event.contains("ts") || !event["ts"].is_number() || event["ts"] < 0) return "no time: " + event.dump();
        const double time = event["ts"];
        if (phase == "X") {
            if (!event.contains("dur") || event["dur"] < 0) return "no duration: " + event.dump();
            tracks[track].push_back({time, time + event["dur"].get<double>()});
        } else if (phase == "s" || phase == "f") {
            auto& [start, finish] = flows.try_emplace(event["id"].get<int64_t>(), -1.0, -1.0).first->second;
            (phase == "s" ? start : finish) = time;
            if (phase == "f" && event["bp"] != "e") return "a flow that binds to the next slice";
            ends.emplace_back(track, time);
        } else {
            return "an event of a kind that is not expected: " + phase;
        }
    }
    for (const auto& [id, times] : flows) {
        if (times.first < 0 || times.second < times.first) return "a flow without a beginning before its end";
    }
    for (const auto& [track, time] : ends) {
        const auto holds = [time = time](const Slice& s) { return s.begin <= time && time <= s.end; };
        if (std::ranges::none_of(tracks[track], holds)) return "a flow outside every slice";
    }
    for (auto& [track, slices] : tracks) {
        std::ranges::stable_sort(slices, {}, &Slice::begin);
        std::vector<double> open;
        for (const Slice& slice : slices) {
            while (!open.empty() && open.back() <= slice.begin + 1e-6) open.pop_back();
            if (!open.empty() && slice.end > open.back() + 1e-6) return "slices that overlap";
            open.push_back(slice.end);
        }
    }
    return metadata == std::set<std::string>{"process_name", "process_sort_index", "thread_name"}
               ? ""
               : "no names of processes and threads";
}

Profile two_calls() {
    Profile profile;
    profile.backend = "cpu";
    ProfiledCall& outer = profile.calls.emplace_back();
    outer.name = "layer \"1\"\n";
    outer.runs = {{0.001, 0.002, 0.0005, 0, 0.0015}, {0.1, 0.002, 0.0005, 1, 0.1002}};
    ProfiledCall& inner = profile.calls.emplace_back();
    inner.name = "add";
    inner.parent = 0;
    inner.batch = 4;
    inner.runs = {{0.0011, 0.0002, 0.0001, 0, 0.00151}};
    return profile;
}

/// Two steps of a capture: a call without a layer, two in a.b, one of the backward pass in a.
Profile two_steps() {
    Profile profile;
    profile.backend = "cpu";
    profile.calls.resize(5);
    profile.calls[0].name = "model step";
    const char* layers[] = {"", "", "a.b", "a.b", "a"};
    for (size_t i = 1; i < 5; ++i) {
        ProfiledCall& call = profile.calls[i];
        call.name = "call " + std::to_string(i);
        call.function = "diopiAdd";
        call.layer = layers[i];
        call.phase = i == 4 ? "backward" : "forward";
        call.parent = 0;
    }
    profile.calls[2].forward_id = profile.calls[4].forward_id = 7;
    for (int pass = 0; pass < 2; ++pass) {
        const double start = pass;
        profile.calls[0].runs.push_back({start, 0.5, 0, pass, 0});
        for (size_t i = 1; i < 5; ++i) {
            const double begin = start + 0.1 * static_cast<double>(i);
            profile.calls[i].runs.push_back({begin, 0.1, 0.05, pass, begin + 0.02});
        }
    }
    return profile;
}

std::vector<std::string> names_of(const Json& trace, const char* phase) {
    std::vector<std::string> names;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == phase) names.push_back(event["name"]);
    }
    return names;
}

Json written(const Profile& profile) {
    const testing::TestFolder folder;
    const std::string path = folder / "deep/trace.json";
    REQUIRE(write_chrome_trace(path, profile).ok());
    const auto text = read_text_file(path);
    REQUIRE(text.ok());
    const Json json = Json::parse(*text, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    return json;
}

}  // namespace

TEST_CASE("a trace follows the format's rules, also with names that need quoting") {
    Profile profile = two_calls();
    const Json host = written(profile);
    CHECK(faults_of(host) == "");
    CHECK(host["traceEvents"].size() == 3 + 3);
    profile.has_device_time = true;
    profile.device_kind = "CUDA";
    const Json both = written(profile);
    CHECK(faults_of(both) == "");
    CHECK(both["traceEvents"].size() == 6 + 3 * 4);
}

TEST_CASE("a device's kernels are on its streams, each with an arrow from its launch") {
    Profile profile = two_calls();
    profile.activities = {{{"add_kernel<float>(float*, \"n\")", 7, 0.2, 2e-6, 0.20001, 3e-6}, "add"},
                          {{"copy to host", 13, 0.20002, 0, 0.20003, 1e-6}, ""}};
    const Json trace = written(profile);
    CHECK(faults_of(trace) == "");
    Json kernel, launch, copy;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        if (event["cat"] == "activity") (event["tid"] == 7 ? kernel : copy) = event;
        if (event["cat"] == "launch" && launch.is_null()) launch = event;
    }
    CHECK(kernel["name"] == "add_kernel<float>(float*, \"n\")");
    CHECK(kernel["dur"] == 3);
    CHECK(kernel["args"]["call"] == "add");
    CHECK(launch["ts"] == 200000);
    CHECK(launch["dur"] == 2);
    CHECK(copy["tid"] == 13);
    CHECK_FALSE(copy["args"].contains("call"));
    std::vector<std::string> tracks;
    for (const Json& event : trace["traceEvents"]) {
        if (event["name"] == "thread_name") tracks.push_back(event["args"]["name"]);
    }
    CHECK(tracks == std::vector<std::string>{"calls on cpu", "launches", "stream 7", "stream 13"});
    CHECK(names_of(trace, "s") == std::vector<std::string>{"launch", "launch"});
}

TEST_CASE("a trace's events have start, duration and name") {
    const Json events = written(two_calls())["traceEvents"];
    const Json& inner = events[4];
    CHECK(inner["name"] == "add");
    CHECK(inner["ts"] == 1100);
    CHECK(inner["dur"] == 800);
    CHECK(inner["args"]["batch"] == 4);
    CHECK(events[3]["name"] == "layer \"1\"\n");
    CHECK(events[5]["ts"] == 100000);
}

TEST_CASE("the check of a trace finds violations of the format") {
    const Json sound = written(two_calls());
    Json late = sound;
    late["traceEvents"][4]["dur"] = 1e7;
    CHECK(faults_of(late) == "slices that overlap");
    Json timeless = sound;
    timeless["traceEvents"].back().erase("ts");
    CHECK(faults_of(timeless).starts_with("no time"));
    Json halved = sound;
    halved["traceEvents"].push_back({{"ph", "s"}, {"name", "x"}, {"pid", 1}, {"tid", 1}, {"id", 1}, {"ts", 1100}});
    CHECK(faults_of(halved) == "a flow without a beginning before its end");
    CHECK(faults_of(Json::array()) == "no traceEvents");
}

TEST_CASE("a profile of many samples is written in pieces") {
    Profile profile = two_calls();
    profile.calls.pop_back();
    for (int i = 2; i < 5000; ++i) profile.calls[0].runs.push_back({0.1 * i, 0.001, 0, i, 0});
    const Json trace = written(profile);
    CHECK(faults_of(trace) == "");
    CHECK(trace["traceEvents"].size() == 5003);
    const testing::TestFolder folder;
    CHECK_FALSE(write_chrome_trace(folder.path(), profile).ok());
}

TEST_CASE("phases and layers of a step are slices around its calls") {
    const Json trace = written(two_steps());
    CHECK(faults_of(trace) == "");
    const std::vector<std::string> step = {"model step", "forward", "call 1",   "a", "b",
                                           "call 2",     "call 3",  "backward", "a", "call 4"};
    std::vector<std::string> both = step;
    both.insert(both.end(), step.begin(), step.end());
    CHECK(names_of(trace, "X") == both);
    const Json& layer = trace["traceEvents"][3 + 4];
    CHECK(layer["args"]["layer"] == "a.b");
    CHECK(layer["cat"] == "layer");
    CHECK(layer["ts"] == 200000);
    CHECK(layer["dur"] == 200000);
    CHECK(trace["traceEvents"][3 + 7]["dur"] == 100000);
    CHECK(trace["traceEvents"][3 + 9]["cat"] == "call,backward");
}

TEST_CASE("a flow leads from a call to its backward pass, in each step") {
    const Json trace = written(two_steps());
    CHECK(names_of(trace, "s") == std::vector<std::string>{"forward to backward", "forward to backward"});
    const Json& events = trace["traceEvents"];
    const Json &from = events[3 + 20], &to = events[3 + 21];
    CHECK(from["id"] == to["id"]);
    CHECK(from["ts"] == 250000);
    CHECK(to["ts"] == 450000);
    CHECK(events[3 + 22]["ts"] == 1250000);
}

TEST_CASE("the first of several calls of one backward pass has the arrow") {
    Profile profile = two_steps();
    profile.calls[3].phase = "backward";
    profile.calls[3].forward_id = 7;
    const Json trace = written(profile);
    CHECK(names_of(trace, "s").size() == 2);
    CHECK(trace["traceEvents"].back()["ts"] == 1350000);
}

TEST_CASE("the device's track has only the calls, and no arrow back in time") {
    Profile profile = two_steps();
    profile.has_device_time = true;
    profile.device_kind = "CUDA";
    const Json trace = written(profile);
    CHECK(faults_of(trace) == "");
    CHECK(std::ranges::count(names_of(trace, "s"), "launch") == 8);
    const auto on_device = [](const Json& event) { return event["ph"] == "X" && event["pid"] == 2; };
    CHECK(std::ranges::count_if(trace["traceEvents"], on_device) == 8);
    for (ProfiledCall& call : profile.calls) {
        for (TimedRun& run : call.runs) run.device_start -= 0.06;
    }
    const Json early = written(profile);
    CHECK(faults_of(early) == "");
    CHECK(std::ranges::count(names_of(early, "s"), "launch") == 0);
}
