#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "report/profile_rows.hpp"
#include "store/atomic_file.hpp"

namespace diopi {

namespace {

/// Text is handed to the file in pieces of this size.
constexpr size_t kPiece = size_t{1} << 16;
constexpr int kHostProcess = 1, kDeviceProcess = 2, kTrack = 1;

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A stretch of time in whole nanoseconds, so that neighbours never overlap by rounding.
struct Stretch {
    int64_t begin = 0, end = 0;

    Stretch(double start, double seconds)
        : begin(std::llround(start * 1e9)), end(std::llround((start + seconds) * 1e9)) {}
};

std::string microseconds(int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

class TraceWriter {
 public:
    explicit TraceWriter(PendingFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

    Status begin(const Profile& profile) {
        text_ = fmt::format(
            "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"backend\": {}, \"mode\": {}}},\n"
            "\"traceEvents\": [\n",
            quoted(profile.backend), quoted(profile.mode));
        metadata("process_name", kHostProcess, "host");
        metadata("thread_name", kHostProcess, "calls on " + profile.backend);
        if (!profile.has_device_time) return {};
        metadata("process_name", kDeviceProcess, profile.device_kind.empty() ? "device" : profile.device_kind);
        metadata("thread_name", kDeviceProcess, "stream");
        return {};
    }

    Status call(const ProfiledCall& call, bool has_device_time) {
        const std::string name = quoted(call.name);
        const std::string args = arguments(call);
        for (const TimedRun& run : call.runs) {
            const auto batch = static_cast<double>(call.batch);
            const Stretch host(run.start, run.cpu * batch);
            slice(name, kHostProcess, host, args, run.pass);
            if (has_device_time) {
                const Stretch device(run.device_start, run.device * batch);
                slice(name, kDeviceProcess, device, args, run.pass);
                flow("s", kHostProcess, host.begin);
                flow("f", kDeviceProcess, device.begin);
                ++flows_;
            }
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
    static std::string arguments(const ProfiledCall& call) {
        std::string text =
            fmt::format("\"function\": {}, \"shapes\": {}, \"dtype\": {}, \"batch\": {}", quoted(call.function),
                        quoted(shapes_text(call)), quoted(std::string(diopi::name(call.dtype))), call.batch);
        const std::pair<const char*, const std::string*> more[] = {
            {"case", &call.case_id}, {"phase", &call.phase}, {"layer", &call.layer}, {"overload", &call.overload}};
        for (const auto& [key, value] : more) {
            if (!value->empty()) text += fmt::format(", \"{}\": {}", key, quoted(*value));
        }
        return text;
    }

    void separate() {
        if (!is_first_) text_ += ",\n";
        is_first_ = false;
    }

    void metadata(const char* what, int process, const std::string& name) {
        separate();
        fmt::format_to(std::back_inserter(text_),
                       R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", what, process,
                       kTrack, quoted(name));
    }

    void slice(const std::string& name, int process, const Stretch& stretch, const std::string& args, int64_t pass) {
        separate();
        fmt::format_to(std::back_inserter(text_), R"({{"ph": "X", "name": {}, "cat": "call", "pid": {}, "tid": {}, )",
                       name, process, kTrack);
        fmt::format_to(std::back_inserter(text_), R"("ts": {}, "dur": {}, "args": {{{}, "pass": {}}}}})",
                       microseconds(stretch.begin), microseconds(stretch.end - stretch.begin), args, pass);
    }

    /// Ends bind to the slice that encloses them.
    void flow(const char* phase, int process, int64_t nanoseconds) {
        separate();
        const char* binding = *phase == 'f' ? R"(, "bp": "e")" : "";
        fmt::format_to(
            std::back_inserter(text_),
            R"({{"ph": "{}", "name": "launch", "cat": "launch", "id": {}, "pid": {}, "tid": {}, "ts": {}{}}})", phase,
            flows_, process, kTrack, microseconds(nanoseconds), binding);
    }

    Status flush() {
        Status s = write_all(file_.fd(), text_, path_);
        text_.clear();
        return s;
    }

    PendingFile file_;
    std::string path_;
    std::string text_;
    bool is_first_ = true;
    int64_t flows_ = 0;
};

}  // namespace

Status write_chrome_trace(const std::string& path, const Profile& profile) {
    if (Status s = make_parent_folder(path); !s.ok()) return s;
    auto file = PendingFile::create(path);
    if (!file.ok()) return file.status();
    TraceWriter writer(std::move(*file), path);
    if (Status s = writer.begin(profile); !s.ok()) return s;
    for (const ProfiledCall& call : profile.calls) {
        if (Status s = writer.call(call, profile.has_device_time); !s.ok()) return s;
    }
    return writer.finish();
}

}  // namespace diopi
