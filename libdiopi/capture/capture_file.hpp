/// Captures on the disk: the JSON file, and the HDF5 file with the values beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "capture/capture.hpp"
#include "core/status.hpp"
#include "file/hdf5_file.hpp"

namespace diopi {

/// Reads the JSON file; a message names the file, the JSON pointer and a remedy.
[[nodiscard]] Result<Capture> read_capture(const std::string& path);

/// The stored values of a capture.
class CaptureValues {
 public:
    /// Opens the HDF5 file that the capture names, beside the JSON file `path`; there are no values if it names none. A
    /// missing file, or one of another capture, is an error.
    [[nodiscard]] static Result<CaptureValues> open(const std::string& path, const Capture& capture);

    /// The initial values of storage `id`, one dim; null when they were not kept. An incomplete storage, or another
    /// dtype than that of its recipe, is an error.
    [[nodiscard]] Result<TensorPtr> storage(const std::string& id) const;
    /// The result of call number `call` at `place` ("out", "tensors.2"; the tensor's id if the call has no function);
    /// null when it was not kept. Another shape or dtype than the tensor's is an error.
    [[nodiscard]] Result<TensorPtr> result(size_t call, std::string_view place) const;
    [[nodiscard]] bool any() const { return file_.has_value(); }

 private:
    [[nodiscard]] Error refused(const std::string& object, const std::string& what) const;

    std::optional<Hdf5File> file_;
    Capture capture_;                                             ///< with its structure only
    std::unordered_map<std::string, size_t> storages_, tensors_;  ///< positions by id
};

/// Writes the values of a capture while it is recorded. The file gets its name only by `finish`.
class CaptureValuesWriter {
 public:
    /// `path` is that of the HDF5 file.
    [[nodiscard]] static Result<CaptureValuesWriter> create(const std::string& path);
    /// All elements of a storage, one dim.
    Status storage(const std::string& id, const Tensor& values);
    /// The result of call number `call` at `place`; host memory, any strides.
    Status result(size_t call, std::string_view place, const Tensor& values);
    /// The capture must name this file for its values.
    Status finish(const Capture& capture);

 private:
    explicit CaptureValuesWriter(Hdf5File file) : file_(std::move(file)) {}
    Hdf5File file_;
};

}  // namespace diopi
