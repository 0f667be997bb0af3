#include "capture/capture_spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "call/tensors.hpp"
#include "capture/capture_json.hpp"
#include "json/json_reader.hpp"
#include "json/json_text.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr int64_t kMagic = 0x6c6f'6f70'6f69'6427;
/// The offset for writes of others that mistake the descriptor for their own: a hole behind all records.
constexpr int64_t kStrayWrites = int64_t{1} << 40;

struct FileHead {
    int64_t magic = kMagic;
    int64_t end = sizeof(FileHead);  ///< end of the complete records
    int64_t error = 0;               ///< errno of the first failed write of any process
};

/// Precedes each record.
struct RecordHead {
    int64_t magic = kMagic, is_part = 0, item = 0, size = 0;
};

/// Excludes other processes. The lock of a process that dies is released.
class Lock {
 public:
    explicit Lock(int fd) : fd_(fd) { set(F_WRLCK); }
    ~Lock() { set(F_UNLCK); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

 private:
    void set(short type) const {
        struct flock lock = {};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        while (::fcntl(fd_, F_SETLKW, &lock) < 0 && errno == EINTR) {
        }
    }
    int fd_;
};

/// Returns errno, or 0.
int write_at(int fd, int64_t at, const void* bytes, size_t size) {
    const auto* from = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::pwrite(fd, from, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        from += n;
        at += n;
        size -= static_cast<size_t>(n);
    }
    return 0;
}

Error not_written(const std::string& path, int code) {
    return failed(fmt::format("cannot record to {}: {}; free some space, choose another folder, or record fewer calls",
                              path, std::strerror(code)));
}

Error overwritten(const std::string& path) {
    return failed(
        fmt::format("cannot record to {}: the library under test wrote into the recording; repeat the run "
                    "without the case that does so",
                    path));
}

/// Adds the storages, tensors and calls of a part with ids of the whole. Forward ids continue from `forward`.
void append(Capture& whole, Capture part, int64_t& forward) {
    const size_t storages = whole.storages.size(), tensors = whole.tensors.size();
    const int64_t first = forward;
    for (const CapturedStorage& storage : part.storages) {
        whole.storages.push_back({fmt::format("s{}", whole.storages.size()), storage.nbytes, storage.fill});
    }
    for (const CapturedTensor& captured : part.tensors) {
        const Tensor& tensor = *captured.tensor;
        whole.add_tensor(fmt::format("t{}", whole.tensors.size()), storages + captured.storage,
                         {tensor.shape, tensor.dtype, tensor.strides}, tensor.offset);
    }
    const auto replace = [&](const Place&, TensorPtr& tensor) {
        tensor = whole.tensors[tensors + part.position(*tensor)].tensor;
    };
    for (CapturedCall& call : part.calls) {
        if (call.forward_id) forward = std::max(forward, (*call.forward_id += first) + 1);
        for (size_t& tensor : call.reads) tensor += tensors;
        for (auto& [tensor, recipe] : call.writes) tensor += tensors;
        if (call.call) for_each_tensor(*call.call, replace);
        whole.calls.push_back(std::move(call));
    }
    std::ranges::move(part.generators, std::back_inserter(whole.generators));
}

Status check_size(const Capture& capture, const std::string& path) {
    const size_t most = std::max({capture.storages.size(), capture.tensors.size(), capture.calls.size()});
    if (most <= kMostJsonItems) return {};
    return bad_input(
        fmt::format("{}: a capture holds up to {} calls, tensors and storages, and these are more; record "
                    "fewer calls: one operator, or one model",
                    path, kMostJsonItems));
}

std::vector<std::string> calls_without_function(const Capture& capture) {
    std::vector<std::string> names;
    for (const CapturedCall& call : capture.calls) {
        if (!call.call && std::ranges::find(names, call.overload) == names.end()) names.push_back(call.overload);
    }
    return names;
}

}  // namespace

Result<CaptureSpool> CaptureSpool::create(const std::string& path) {
    if (Status s = make_parent_folder(path); !s.ok()) return s.error();
    auto file = PendingFile::create(path + ".calls");
    if (!file.ok()) return file.error();
    // Workers close descriptors that are private to their parent.
    ::fcntl(file->fd(), F_SETFD, 0);
    ::lseek(file->fd(), kStrayWrites, SEEK_SET);
    const FileHead head;
    if (const int code = write_at(file->fd(), 0, &head, sizeof head); code != 0) return not_written(path, code);
    return CaptureSpool(path, std::move(*file));
}

Result<int64_t> CaptureSpool::append(bool is_part, size_t item, std::string_view bytes) {
    const Lock lock(file_.fd());
    FileHead file;
    if (Status s = read(0, &file, sizeof file); !s.ok()) return s.error();
    if (file.magic != kMagic) return overwritten(path_);
    if (file.error != 0) return not_written(path_, static_cast<int>(file.error));
    const RecordHead head{kMagic, is_part ? 1 : 0, static_cast<int64_t>(item), static_cast<int64_t>(bytes.size())};
    const auto at = file.end + static_cast<int64_t>(sizeof head);
    int code = write_at(file_.fd(), file.end, &head, sizeof head);
    if (code == 0) code = write_at(file_.fd(), at, bytes.data(), bytes.size());
    if (code == 0) file.end = at + head.size;
    file.error = code;
    const int noted = write_at(file_.fd(), 0, &file, sizeof file);
    if (code != 0 || noted != 0) return not_written(path_, code != 0 ? code : noted);
    return at;
}

Status CaptureSpool::keep(Value value, const Tensor& values) {
    const auto at = append(false, 0, {static_cast<const char*>(values.data()), values.nbytes()});
    if (!at.ok()) return at.status();
    value.spec = {values.shape, values.dtype};
    value.at = *at;
    values_.push_back(std::move(value));
    return {};
}

Status CaptureSpool::storage(size_t storage, const Tensor& values) { return keep({false, storage, {}, {}, 0}, values); }

Status CaptureSpool::result(size_t call, std::string_view place, const Tensor& values) {
    return keep({true, call, std::string(place), {}, 0}, values);
}

/// Writes a record for each value, then the structure.
Status CaptureSpool::add(size_t item, const Capture& part) {
    const auto text = capture_to_json(part);
    if (!text.ok()) return text.status();
    Json values = Json::array();
    for (const Value& value : values_) {
        values.push_back(
            {value.is_result, value.position, value.place, name(value.spec.dtype), value.spec.shape, value.at});
    }
    values_.clear();
    return append(true, item, one_line(values) + "\n" + *text).status();
}

Status CaptureSpool::read(int64_t at, void* bytes, size_t size) const {
    auto* to = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::pread(file_.fd(), to, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failed(fmt::format("cannot read back what was recorded for {}", path_));
        to += n;
        at += n;
        size -= static_cast<size_t>(n);
    }
    return {};
}

bool CaptureSpool::is_broken() const {
    FileHead file;
    return !read(0, &file, sizeof file).ok() || file.magic != kMagic || file.error != 0;
}

Result<std::vector<CaptureSpool::Part>> CaptureSpool::parts() const {
    FileHead file;
    if (Status s = read(0, &file, sizeof file); !s.ok()) return s.error();
    if (file.magic != kMagic) return overwritten(path_);
    if (file.error != 0) return not_written(path_, static_cast<int>(file.error));
    std::vector<Part> parts;
    RecordHead head;
    for (int64_t at = sizeof file; at < file.end; at += head.size) {
        if (Status s = read(at, &head, sizeof head); !s.ok()) return s.error();
        if (head.magic != kMagic) return overwritten(path_);
        at += static_cast<int64_t>(sizeof head);
        if (head.is_part != 0) parts.push_back({head.item, at, head.size});
    }
    std::ranges::stable_sort(parts, {}, &Part::item);
    return parts;
}

Result<Capture> CaptureSpool::part(const Part& part, std::vector<Value>& values) const {
    std::string text(static_cast<size_t>(part.size), '\0');
    if (Status s = read(part.at, text.data(), text.size()); !s.ok()) return s.error();
    const size_t end = text.find('\n');
    try {
        const Json listed = parse_own(std::string_view(text).substr(0, end));
        for (const Json& value : listed) {
            values.push_back({value[0],
                              value[1],
                              value[2],
                              {value[4].get<Shape>(), parse_dtype(value[3].get<std::string>()).value()},
                              value[5]});
        }
    } catch (const std::exception&) {
        return overwritten(path_);
    }
    return capture_from_json(std::string_view(text).substr(end + 1), path_);
}

Result<TensorPtr> CaptureSpool::tensor(const Value& value) const {
    auto tensor = make_tensor(cpu_device(), value.spec);
    if (!tensor.ok()) return tensor;
    if (Status s = read(value.at, (*tensor)->data(), (*tensor)->nbytes()); !s.ok()) return s.error();
    return tensor;
}

Status CaptureSpool::merge(const Part& each, Capture& whole, int64_t& forward, CaptureValuesWriter* writer) const {
    const size_t storages = whole.storages.size(), calls = whole.calls.size();
    std::vector<Value> kept;
    auto read = part(each, kept);
    if (!read.ok()) return read.status();
    diopi::append(whole, std::move(*read), forward);
    if (Status s = check_size(whole, path_); !s.ok() || writer == nullptr) return s;
    for (const Value& value : kept) {
        const auto host = tensor(value);
        if (!host.ok()) return host.status();
        const Status s = value.is_result ? writer->result(calls + value.position, value.place, **host)
                                         : writer->storage(whole.storages[storages + value.position].id, **host);
        if (!s.ok()) return s;
    }
    return {};
}

Result<SpooledCapture> CaptureSpool::publish(const Capture& head, bool values) const {
    const auto parts = this->parts();
    if (!parts.ok()) return parts.error();
    Capture whole;
    whole.name = head.name;
    whole.model = head.model;
    whole.generator = head.generator;
    std::optional<CaptureValuesWriter> writer;
    if (values) {
        const auto path = std::filesystem::path(path_).replace_extension(".h5");
        whole.values = path.filename().string();
        auto made = CaptureValuesWriter::create(path.string());
        if (!made.ok()) return made.error();
        writer.emplace(std::move(*made));
    }
    int64_t forward = 0;
    for (const Part& each : *parts) {
        if (Status s = merge(each, whole, forward, writer ? &*writer : nullptr); !s.ok()) return s.error();
    }
    const auto text = capture_to_json(whole);
    if (!text.ok()) return text.error();
    if (text->size() > kMostJsonText) return bad_input(path_ + ": the capture is too large; record fewer calls");
    auto file = PendingFile::create(path_);
    if (!file.ok()) return file.error();
    Status s = write_all(file->fd(), *text, path_);
    if (s.ok() && writer) s = writer->finish(whole);
    if (s.ok()) s = file->publish();
    if (!s.ok()) return s.error();
    return SpooledCapture{parts->size(), whole.calls.size(), calls_without_function(whole)};
}

}  // namespace diopi
