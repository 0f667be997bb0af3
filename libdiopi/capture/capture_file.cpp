#include "capture/capture_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "call/tensors.hpp"
#include "capture/capture_json.hpp"
#include "file/atomic_file.hpp"

namespace diopi {

namespace {

constexpr int64_t kValuesFormat = 1;
constexpr const char* kStorages = "/storages";

std::string group_of(size_t call) { return fmt::format("/calls/{}", call); }

std::string described(const Tensor& tensor) {
    return fmt::format("{} {}", name(tensor.dtype), to_string(tensor.shape));
}

/// Checks that the file's values belong to the capture.
Status check_identity(const Hdf5File& file, const Capture& capture) {
    if (!file.has_attribute("/", "diopi_capture")) {
        return bad_input(file.path() +
                         " holds no values of a capture: its root has no attribute `diopi_capture`; name "
                         "the right file as `values` of the capture, or record it again");
    }
    const Result<int64_t> format = file.read_int("/", "diopi_capture");
    if (!format.ok()) return format.status();
    if (*format != kValuesFormat) {
        return bad_input(
            fmt::format("{} holds values of capture format {}, this program reads {}; use a newer diopi or "
                        "record the capture again",
                        file.path(), *format, kValuesFormat));
    }
    const Result<std::string> name = file.read_string("/", "name");
    if (!name.ok()) return name.status();
    const Result<int64_t> calls = file.read_int("/", "calls");
    if (!calls.ok()) return calls.status();
    if (*name == capture.name && *calls == static_cast<int64_t>(capture.calls.size())) return {};
    return bad_input(
        fmt::format("{} belongs to another capture, '{}' with {} calls instead of '{}' with {}; copy the "
                    "two files of one recording, or record it again",
                    file.path(), *name, *calls, capture.name, capture.calls.size()));
}

/// The tensor in a list at "tensors.2", or the argument "tensors"; null if the call has none there.
const Tensor* tensor_at(const Call& call, std::string_view place) {
    const Tensor* found = nullptr;
    for_each_tensor(call, [&](const Place& each, const TensorPtr& tensor) {
        if (each.name() == place) found = tensor.get();
    });
    return found;
}

}  // namespace

Result<Capture> read_capture(const std::string& path) {
    auto text = read_text_file(path);
    if (!text.ok()) return bad_input(text.error().message + "; name the JSON file of a capture");
    return capture_from_json(*text, path);
}

Result<CaptureValues> CaptureValues::open(const std::string& path, const Capture& capture) {
    CaptureValues values;
    if (capture.values.empty()) return values;
    const std::string beside = (std::filesystem::path(path).parent_path() / capture.values).string();
    std::error_code ignored;
    if (!std::filesystem::exists(beside, ignored)) {
        return bad_input(
            fmt::format("{} is not there, which {} names as its values; copy it there, or take the member "
                        "`values` out and they are drawn",
                        beside, path));
    }
    auto file = Hdf5File::open(beside);
    if (!file.ok()) return file.error();
    if (Status s = check_identity(*file, capture); !s.ok()) return s.error();
    values.file_ = std::move(*file);
    values.capture_ = capture;
    for (size_t i = 0; i < capture.storages.size(); ++i) values.storages_.emplace(capture.storages[i].id, i);
    for (size_t i = 0; i < capture.tensors.size(); ++i) values.tensors_.emplace(capture.tensors[i].id, i);
    return values;
}

Error CaptureValues::refused(const std::string& object, const std::string& what) const {
    return bad_input(fmt::format("{}: {} {}; record the capture again", file_->path(), object, what));
}

Result<TensorPtr> CaptureValues::storage(const std::string& id) const {
    const std::string object = fmt::format("{}/{}", kStorages, id);
    const auto known = storages_.find(id);
    if (known == storages_.end() || !file_->has(object)) return TensorPtr();
    auto values = file_->read_tensor(kStorages, id);
    if (!values.ok()) return values;
    const CapturedStorage& storage = capture_.storages[known->second];
    const Tensor& tensor = **values;
    if (tensor.rank() != 1 || tensor.nbytes() != static_cast<size_t>(storage.nbytes)) {
        return refused(object, fmt::format("holds {}, {} bytes, and the storage has {} in one dim", described(tensor),
                                           tensor.nbytes(), storage.nbytes));
    }
    if (storage.fill && storage.fill->dtype != tensor.dtype) {
        return refused(object, fmt::format("holds {}, and the storage's recipe says {}", name(tensor.dtype),
                                           name(storage.fill->dtype)));
    }
    return values;
}

Result<TensorPtr> CaptureValues::result(size_t call, std::string_view place) const {
    if (call >= capture_.calls.size()) return TensorPtr();
    const CapturedCall& captured = capture_.calls[call];
    const std::string name(place), group = group_of(call);
    const auto known = tensors_.find(name);
    const Tensor* wanted = captured.call             ? tensor_at(*captured.call, place)
                           : known == tensors_.end() ? nullptr
                                                     : capture_.tensors[known->second].tensor.get();
    if (wanted == nullptr || !file_->has(group + "/" + name)) return TensorPtr();
    auto values = file_->read_tensor(group, name);
    if (!values.ok()) return values;
    if ((*values)->dtype == wanted->dtype && (*values)->shape == wanted->shape) return values;
    return refused(group + "/" + name,
                   fmt::format("holds {}, and the tensor is {}", described(**values), described(*wanted)));
}

Result<CaptureValuesWriter> CaptureValuesWriter::create(const std::string& path) {
    auto file = Hdf5File::create(path);
    if (!file.ok()) return file.error();
    return CaptureValuesWriter(std::move(*file));
}

Status CaptureValuesWriter::storage(const std::string& id, const Tensor& values) {
    if (values.rank() != 1) {
        return internal_error(fmt::format("storage {} is written as {}, not in one dim", id, described(values)));
    }
    return file_.write_tensor(kStorages, id, values);
}

Status CaptureValuesWriter::result(size_t call, std::string_view place, const Tensor& values) {
    return file_.write_tensor(group_of(call), std::string(place), values);
}

Status CaptureValuesWriter::finish(const Capture& capture) {
    const std::string own = std::filesystem::path(file_.path()).filename().string();
    if (capture.values != own) {
        return internal_error(fmt::format("capture '{}' names its values '{}', and they are written to '{}'",
                                          capture.name, capture.values, own));
    }
    Status status = file_.write_attribute("/", "diopi_capture", kValuesFormat);
    if (status.ok()) status = file_.write_attribute("/", "name", std::string_view(capture.name));
    if (status.ok()) status = file_.write_attribute("/", "calls", static_cast<int64_t>(capture.calls.size()));
    return status.ok() ? file_.finish() : status;
}

}  // namespace diopi
