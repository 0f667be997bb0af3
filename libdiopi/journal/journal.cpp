#include "journal/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "file/atomic_file.hpp"
#include "json/json_text.hpp"

namespace diopi {

namespace {

constexpr int64_t kJournalFormat = 1;
constexpr std::array kVerdicts = {Verdict::kPassed,  Verdict::kFailed,         Verdict::kCrashed, Verdict::kTimeout,
                                  Verdict::kSkipped, Verdict::kNotImplemented, Verdict::kAdvice};

Json encode(const TensorInfo& tensor) { return {tensor.name, tensor.dtype, tensor.shape}; }

Json encode(const Deviation& d) {
    Json json = {{"output", d.output},
                 {"class", std::string(1, d.accuracy_class)},
                 {"numel", d.numel},
                 {"mismatches", d.mismatches},
                 {"max_ulp", json_number(d.max_ulp)},
                 {"p99_ulp", json_number(d.p99_ulp)},
                 {"max_abs", json_number(d.max_abs)},
                 {"max_rel", json_number(d.max_rel)},
                 {"cosine", json_number(d.cosine)},
                 {"budget_used", json_number(d.budget_used)},
                 {"worst_index", d.worst_index},
                 {"worst_actual", json_number(d.worst_actual)},
                 {"worst_expected", json_number(d.worst_expected)},
                 {"where", d.where}};
    if (!d.picture.empty()) json["picture"] = d.picture;
    if (!d.ulp_counts.empty()) json["ulp"] = d.ulp_counts;
    return json;
}

Json encode(const AdaptedCalls& adapted) {
    return {{"conversions", adapted.conversions},
            {"by_host", adapted.by_host},
            {"bytes", adapted.nbytes},
            {"seconds", json_number(adapted.seconds)},
            {"casts", adapted.casts}};
}

Json encode(const StepResult& step) {
    Json deviations = Json::array();
    for (const Deviation& d : step.deviations) deviations.push_back(encode(d));
    Json json = {{"function", step.function},
                 {"step", step.step},
                 {"verdict", name(step.verdict)},
                 {"reason", step.reason},
                 {"warning", step.warning},
                 {"seconds", json_number(step.seconds)},
                 {"deviations", std::move(deviations)}};
    if (!step.bundle.empty()) json["bundle"] = step.bundle;
    if (!step.absent.empty()) json["absent"] = step.absent;
    if (step.declined) json["declined"] = true;
    if (!step.symbol.empty()) json["symbol"] = step.symbol;
    if (step.histories > 0) json["histories"] = step.histories;
    if (step.kind != FailureKind::kNone) json["kind"] = name(step.kind);
    if (step.adapted.calls > 0) json["adapted"] = encode(step.adapted);
    return json;
}

Json encode(const RunHeader& header) {
    return {{"diopi_journal", kJournalFormat},
            {"command", header.command},
            {"repeat", header.repeat},
            {"backend", header.backend},
            {"seed", header.seed},
            {"started", header.started},
            {"cases", header.cases},
            {"shard", header.shard},
            {"selection_cases", header.selection_cases},
            {"selection", header.selection},
            {"device_config", header.device_config},
            {"environment", header.environment}};
}

// The decoders throw nlohmann's exception on a missing or mistyped member; from_json_line and read_header catch it.

Verdict decode_verdict(const Json& json) {
    const auto& text = json.get_ref<const std::string&>();
    for (const Verdict verdict : kVerdicts) {
        if (text == name(verdict)) return verdict;
    }
    throw Json::other_error::create(501, "unknown verdict " + text, &json);
}

Deviation decode_deviation(const Json& json) {
    Deviation d;
    json.at("output").get_to(d.output);
    const auto letter = json.at("class").get<std::string>();
    d.accuracy_class = letter.empty() ? 'E' : letter[0];
    json.at("numel").get_to(d.numel);
    json.at("mismatches").get_to(d.mismatches);
    d.max_ulp = number_of(json.at("max_ulp"));
    d.p99_ulp = number_of(json.at("p99_ulp"));
    d.max_abs = number_of(json.at("max_abs"));
    d.max_rel = number_of(json.at("max_rel"));
    d.cosine = number_of(json.at("cosine"));
    d.budget_used = number_of(json.at("budget_used"));
    json.at("worst_index").get_to(d.worst_index);
    d.worst_actual = number_of(json.at("worst_actual"));
    d.worst_expected = number_of(json.at("worst_expected"));
    json.at("where").get_to(d.where);
    d.picture = json.value("picture", d.picture);  // absent if nothing is wrong, and in journals of older programs
    d.ulp_counts = json.value("ulp", d.ulp_counts);
    return d;
}

AdaptedCalls decode_adapted(const Json& json) {
    AdaptedCalls adapted{1};
    json.at("conversions").get_to(adapted.conversions);
    json.at("by_host").get_to(adapted.by_host);
    json.at("bytes").get_to(adapted.nbytes);
    adapted.seconds = number_of(json.at("seconds"));
    json.at("casts").get_to(adapted.casts);
    return adapted;
}

StepResult decode_step(const Json& json) {
    StepResult step;
    json.at("function").get_to(step.function);
    json.at("step").get_to(step.step);
    step.verdict = decode_verdict(json.at("verdict"));
    json.at("reason").get_to(step.reason);
    json.at("warning").get_to(step.warning);
    step.seconds = number_of(json.at("seconds"));
    for (const Json& d : json.at("deviations")) step.deviations.push_back(decode_deviation(d));
    step.bundle = json.value("bundle", "");
    step.absent = json.value("absent", "");
    step.declined = json.value("declined", false);
    step.symbol = json.value("symbol", "");  // not in journals of older programs
    step.histories = json.value("histories", 0);
    step.kind = failure_kind(json.value("kind", ""));
    if (json.contains("adapted")) step.adapted = decode_adapted(json.at("adapted"));
    return step;
}

CaseResult decode_result(const Json& json) {
    CaseResult result;
    json.at("case").get_to(result.case_id);
    json.at("suite").get_to(result.suite);
    json.at("op").get_to(result.op);
    json.at("dtype").get_to(result.dtype);
    result.verdict = decode_verdict(json.at("verdict"));
    json.at("reason").get_to(result.reason);
    result.seconds = number_of(json.at("seconds"));
    result.notes = json.value("notes", "");  // present only if there are any
    for (const Json& t : json.at("tensors")) {
        result.tensors.push_back(
            {t.at(0).get<std::string>(), t.at(1).get<std::string>(), t.at(2).get<std::vector<int64_t>>()});
    }
    for (const Json& step : json.at("steps")) result.steps.push_back(decode_step(step));
    result.hash = json.value("hash", uint64_t{0});
    result.passes_alone = json.value("passes_alone", false);
    if (json.contains("choices")) json.at("choices").get_to(result.choices);
    result.bundle = json.value("bundle", "");
    result.kind = failure_kind(json.value("kind", ""));
    return result;
}

Result<RunHeader> read_header(std::string_view line, const std::string& path) {
    try {
        const Json json = parse_own(line);
        const auto format = json.at("diopi_journal").get<int64_t>();
        if (format > kJournalFormat) {
            return bad_input(fmt::format("{} has format {}, this program reads up to {}; use a newer diopi", path,
                                         format, kJournalFormat));
        }
        RunHeader header;
        json.at("command").get_to(header.command);
        json.at("repeat").get_to(header.repeat);
        json.at("backend").get_to(header.backend);
        json.at("seed").get_to(header.seed);
        json.at("started").get_to(header.started);
        json.at("cases").get_to(header.cases);
        header.shard = json.value("shard", header.shard);
        header.selection_cases = json.value("selection_cases", header.selection_cases);
        header.selection = json.value("selection", header.selection);
        header.device_config = json.value("device_config", "");  // absent in journals of the first version
        header.environment = json.value("environment", "");      // absent in older journals
        return header;
    } catch (const Json::exception&) {
        return bad_input(fmt::format("{} is not a run journal of diopi: its first line is no header", path));
    }
}

/// Opens for appending and takes the journal's lock. A record lock ends with this process; a flock would last while a
/// hanging worker still has a copy of the descriptor.
Result<int> open_locked(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) return bad_input(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool busy = ::fcntl(fd, F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
    if (!busy) return fd;
    ::close(fd);
    return bad_input(fmt::format("another run is writing to {}; choose another folder for this one", path));
}

}  // namespace

std::string present_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    localtime_r(&now, &parts);
    char text[40];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts)};
}

std::string journal_path(const std::string& folder) { return folder + "/journal.jsonl"; }

std::optional<CaseResult> from_json_line(std::string_view line) {
    try {
        return decode_result(parse_own(line));
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

std::string to_json_line(const CaseResult& result) {
    Json tensors = Json::array();
    for (const TensorInfo& tensor : result.tensors) tensors.push_back(encode(tensor));
    Json steps = Json::array();
    for (const StepResult& step : result.steps) steps.push_back(encode(step));
    Json line = {{"case", result.case_id},
                 {"suite", result.suite},
                 {"op", result.op},
                 {"dtype", result.dtype},
                 {"verdict", name(result.verdict)},
                 {"reason", result.reason},
                 {"seconds", json_number(result.seconds)},
                 {"tensors", std::move(tensors)},
                 {"steps", std::move(steps)}};
    if (!result.choices.empty()) line["choices"] = result.choices;
    if (result.hash != 0) line["hash"] = result.hash;
    if (result.passes_alone) line["passes_alone"] = true;
    if (!result.notes.empty()) line["notes"] = result.notes;
    if (!result.bundle.empty()) line["bundle"] = result.bundle;
    if (result.kind != FailureKind::kNone) line["kind"] = name(result.kind);
    return one_line(line);
}

Result<JournalWriter> JournalWriter::create(const std::string& folder, RunHeader header,
                                            const std::vector<CaseResult>& results) {
    const std::string path = journal_path(folder);
    // The former journal's lock is held until its successor has replaced it.
    int former = -1;
    if (::access(path.c_str(), F_OK) == 0) {
        const Result<int> locked = open_locked(path);
        if (!locked.ok()) return locked.error();
        former = *locked;
    }
    if (header.started.empty()) header.started = present_time();
    std::string text = one_line(encode(header)) + "\n";
    for (const CaseResult& result : results) text += to_json_line(result) + "\n";
    const Status written = write_file_atomically(path, text);
    if (former >= 0) ::close(former);
    if (!written.ok()) return written.error();
    const Result<int> fd = open_locked(path);
    if (!fd.ok()) return fd.error();
    return JournalWriter(path, *fd);
}

Result<JournalWriter> JournalWriter::resume(const std::string& folder) {
    const std::string path = journal_path(folder);
    const Result<std::string> text = read_text_file(path);
    if (!text.ok()) return text.error();
    const size_t header_end = text->find('\n');
    const Result<RunHeader> header = read_header(std::string_view(*text).substr(0, header_end), path);
    if (!header.ok() || header_end == std::string::npos) {
        return header.ok() ? bad_input(path + " ends within its header; start a new run") : header.error();
    }
    const Result<int> fd = open_locked(path);
    if (!fd.ok()) return fd.error();
    JournalWriter writer(path, *fd);
    remove_leftover_of(path);
    const size_t whole = text->rfind('\n') + 1;
    if (whole < text->size() && ::ftruncate(*fd, static_cast<off_t>(whole)) != 0) {
        return failed(fmt::format("cannot remove the incomplete last line of {}: {}", path, std::strerror(errno)));
    }
    return writer;
}

JournalWriter::~JournalWriter() {
    if (fd_ >= 0) ::close(fd_);
}

JournalWriter::JournalWriter(JournalWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

JournalWriter& JournalWriter::operator=(JournalWriter&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
}

Status JournalWriter::append(const CaseResult& result) {
    const std::string line = to_json_line(result) + "\n";
    struct stat before = {};
    const bool known = ::fstat(fd_, &before) == 0 && S_ISREG(before.st_mode);
    Status status = write_all(fd_, line, path_);
    if (!status.ok() && known && ::ftruncate(fd_, before.st_size) != 0) {
        // The incomplete line is then the last one, which readers ignore and resume() removes.
        return failed(status.message() + "; its last line is incomplete");
    }
    return status;
}

Status JournalLines::add(std::string_view line) {
    if (!has_header_) {
        Result<RunHeader> header = read_header(line, path_);
        if (!header.ok()) return header.error();
        journal_.header = std::move(*header);
        has_header_ = true;
        return {};
    }
    std::optional<CaseResult> result = from_json_line(line);
    if (!result) {
        ++damaged_;
        return {};
    }
    const auto [at, is_new] = positions_.try_emplace(result->case_id, journal_.results.size());
    if (is_new) {
        journal_.results.push_back(std::move(*result));
    } else {
        journal_.results[at->second] = std::move(*result);
    }
    return {};
}

Journal JournalLines::take() {
    if (damaged_ > 0) journal_.notes.push_back(fmt::format("{}: {} damaged lines are left out", path_, damaged_));
    return std::move(journal_);
}

Result<Journal> read_journal(const std::string& path) {
    const Result<std::string> text = read_text_file(path);
    if (!text.ok()) return text.error();
    std::string_view rest = *text;
    JournalLines lines(path);
    const size_t header_end = rest.find('\n');
    if (Status s = lines.add(rest.substr(0, header_end)); !s.ok()) return s.error();
    rest.remove_prefix(header_end == std::string_view::npos ? rest.size() : header_end + 1);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        if (Status s = lines.add(rest.substr(0, end)); !s.ok()) return s.error();
        rest.remove_prefix(end + 1);
    }
    const bool is_cut = !rest.empty();
    Journal journal = lines.take();
    if (is_cut) journal.notes.insert(journal.notes.begin(), path + ": its last line is incomplete, and is left out");
    return journal;
}

}  // namespace diopi
