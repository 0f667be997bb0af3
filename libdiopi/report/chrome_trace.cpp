#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "file/atomic_file.hpp"
#include "report/profile_rows.hpp"
#include "report/trace_slices.hpp"

namespace diopi {

namespace {

/// Text is written to the file in pieces of this size.
constexpr size_t kPiece = size_t{1} << 16;
constexpr int kHostProcess = 1, kDeviceProcess = 2, kLaunchProcess = 3, kStreamProcess = 4;
constexpr int64_t kTrack = 1;

std::string quoted(const std::string& text) { return one_line(Json(text)); }

std::string microseconds(int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

class TraceWriter {
 public:
    TraceWriter(PendingFile file, std::string path, const Profile& profile)
        : file_(std::move(file)), path_(std::move(path)), profile_(profile), arguments_(profile.calls.size()) {}

    void begin() {
        text_ = fmt::format(
            "{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"backend\": {}, \"mode\": {}}},\n"
            "\"traceEvents\": [\n",
            quoted(profile_.backend), quoted(profile_.mode));
        name_process(kHostProcess, "host", {{kTrack, "calls on " + profile_.backend}});
        if (profile_.has_device_time) name_process(kDeviceProcess, device_kind(), {{kTrack, "stream"}});
        if (profile_.activities.empty()) return;
        std::map<int64_t, std::string> streams;
        for (const TracedActivity& traced : profile_.activities) {
            streams[traced.activity.stream] = fmt::format("stream {}", traced.activity.stream);
        }
        name_process(kLaunchProcess, "host, recorded", {{kTrack, "launches"}});
        name_process(kStreamProcess, device_kind() + ", recorded", streams);
    }

    Status slices(const std::vector<TraceSlice>& slices) {
        for (const TraceSlice& slice : slices) {
            if (slice.kind == TraceSlice::Kind::kCall)
                call(slice);
            else
                enclosure(slice);
            if (text_.size() < kPiece) continue;
            if (Status s = flush(); !s.ok()) return s;
        }
        return {};
    }

    void flows(const std::vector<std::pair<size_t, size_t>>& flows, const std::vector<TraceSlice>& slices) {
        for (const auto& [from, to] : flows) {
            flow("forward to backward", {kHostProcess}, middle(slices[from].span), {kHostProcess},
                 middle(slices[to].span));
        }
    }

    /// The recorded activities of the device, each with the host's call that started it.
    Status activities() {
        for (const TracedActivity& traced : profile_.activities) {
            const DeviceActivity& a = traced.activity;
            const TimeSpan launch(a.launched, a.launch_time), work(a.start, a.duration);
            const std::string name = quoted(a.name);
            const std::string args =
                traced.call.empty() ? std::string() : fmt::format("\"call\": {}", quoted(traced.call));
            slice(name, "\"launch\"", {kLaunchProcess, kTrack}, launch, args);
            slice(name, "\"activity\"", {kStreamProcess, a.stream}, work, args);
            flow("launch", {kLaunchProcess, kTrack}, launch.begin, {kStreamProcess, a.stream}, work.begin);
            if (text_.size() < kPiece) continue;
            if (Status s = flush(); !s.ok()) return s;
        }
        return {};
    }

    Status finish() {
        text_ += "\n]}\n";
        if (Status s = flush(); !s.ok()) return s;
        return file_.publish();
    }

 private:
    struct Track {
        int process = 0;
        int64_t number = kTrack;
    };

    [[nodiscard]] std::string device_kind() const {
        return profile_.device_kind.empty() ? "device" : profile_.device_kind;
    }

    static std::string arguments(const ProfiledCall& call) {
        std::string text =
            fmt::format("\"function\": {}, \"shapes\": {}, \"dtype\": {}, \"batch\": {}", quoted(call.function),
                        quoted(shapes_text(call)), quoted(std::string(diopi::name(call.dtype))), call.batch);
        const std::pair<const char*, const std::string*> more[] = {
            {"case", &call.case_id}, {"phase", &call.phase}, {"layer", &call.layer}, {"overload", &call.overload}};
        for (const auto& [key, value] : more) {
            if (!value->empty()) text += fmt::format(", \"{}\": {}", key, quoted(*value));
        }
        if (call.forward_id) text += fmt::format(", \"forward_id\": {}", *call.forward_id);
        return text;
    }

    /// A time inside a slice even if another slice begins with it.
    static int64_t middle(const TimeSpan& span) { return span.begin + (span.end - span.begin) / 2; }

    void call(const TraceSlice& slice) {
        const ProfiledCall& call = profile_.calls[slice.call];
        const TimedRun& run = call.runs[slice.run];
        std::string& args = arguments_[slice.call];
        if (args.empty()) args = arguments(call);
        const std::string name = quoted(call.name);
        const std::string category = quoted(call.phase.empty() ? "call" : "call," + call.phase);
        const std::string all = fmt::format("{}, \"pass\": {}", args, slice.pass);
        this->slice(name, category, {kHostProcess}, slice.span, all);
        // A row that only encloses others ran nothing on the device itself.
        if (!profile_.has_device_time || (call.function.empty() && run.device <= 0)) return;
        const TimeSpan device(run.device_start, run.device * static_cast<double>(call.batch));
        this->slice(name, category, {kDeviceProcess}, device, all);
        // The clock of a simulated device stops while nothing runs on it: no arrow points back in time.
        if (device.begin < slice.span.begin) return;
        flow("launch", {kHostProcess}, std::min(middle(slice.span), device.begin), {kDeviceProcess}, device.begin);
    }

    /// A layer is named by the last part of its name, which is legible even in a narrow slice.
    void enclosure(const TraceSlice& slice) {
        const bool is_layer = slice.kind == TraceSlice::Kind::kLayer;
        const std::string name = is_layer ? slice.name.substr(slice.name.rfind('.') + 1) : slice.name;
        this->slice(
            quoted(name), is_layer ? "\"layer\"" : "\"phase\"", {kHostProcess}, slice.span,
            fmt::format("\"{}\": {}, \"pass\": {}", is_layer ? "layer" : "phase", quoted(slice.name), slice.pass));
    }

    void separate() {
        if (!is_first_) text_ += ",\n";
        is_first_ = false;
    }

    /// Processes are shown in the order of their numbers.
    void name_process(int process, const std::string& its_name, const std::map<int64_t, std::string>& tracks) {
        metadata("process_name", {process}, "name", quoted(its_name));
        metadata("process_sort_index", {process}, "sort_index", std::to_string(process));
        for (const auto& [number, name] : tracks) metadata("thread_name", {process, number}, "name", quoted(name));
    }

    void metadata(const char* what, Track track, const char* key, const std::string& value) {
        separate();
        fmt::format_to(std::back_inserter(text_),
                       R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"{}": {}}}}})", what,
                       track.process, track.number, key, value);
    }

    void slice(const std::string& name, const std::string& category, Track track, const TimeSpan& span,
               const std::string& args) {
        separate();
        fmt::format_to(std::back_inserter(text_), R"({{"ph": "X", "name": {}, "cat": {}, "pid": {}, "tid": {}, )", name,
                       category, track.process, track.number);
        fmt::format_to(std::back_inserter(text_), R"("ts": {}, "dur": {}, "args": {{{}}}}})", microseconds(span.begin),
                       microseconds(span.end - span.begin), args);
    }

    /// Ends bind to the slice that encloses them.
    void flow(const char* what, Track from_track, int64_t from, Track to_track, int64_t to) {
        flow_end('s', what, from_track, from);
        flow_end('f', what, to_track, to);
        ++flows_;
    }

    void flow_end(char phase, const char* what, Track track, int64_t nanoseconds) {
        separate();
        fmt::format_to(
            std::back_inserter(text_),
            R"({{"ph": "{0}", "name": "{1}", "cat": "{1}", "id": {2}, "pid": {3}, "tid": {4}, "ts": {5}{6}}})", phase,
            what, flows_, track.process, track.number, microseconds(nanoseconds), phase == 'f' ? R"(, "bp": "e")" : "");
    }

    Status flush() {
        Status s = write_all(file_.fd(), text_, path_);
        text_.clear();
        return s;
    }

    PendingFile file_;
    std::string path_;
    const Profile& profile_;
    std::vector<std::string> arguments_;  ///< by call; empty: not yet made
    std::string text_;
    bool is_first_ = true;
    int64_t flows_ = 0;
};

}  // namespace

Status write_chrome_trace(const std::string& path, const Profile& profile) {
    if (Status s = make_parent_folder(path); !s.ok()) return s;
    auto file = PendingFile::create(path);
    if (!file.ok()) return file.status();
    TraceWriter writer(std::move(*file), path, profile);
    writer.begin();
    const std::vector<TraceSlice> slices = trace_slices(profile);
    if (Status s = writer.slices(slices); !s.ok()) return s;
    writer.flows(backward_flows(profile, slices), slices);
    if (Status s = writer.activities(); !s.ok()) return s;
    return writer.finish();
}

}  // namespace diopi
