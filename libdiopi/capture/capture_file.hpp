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

/// Reads the JSON file; a message names the file, the JSON pointer and what to try.
[[nodiscard]] Result<Capture> read_capture(const std::string& path);
/// Nothing appears under the name before the file is complete.
Status write_capture(const std::string& path, const Capture& capture);

/// The values that were kept of a capture.
class CaptureValues {
 public:
    /// The HDF5 file that the capture names, beside `path`, the JSON file; no values where it names none. A file that
    /// is not there, or belongs to another capture, is an error.
    [[nodiscard]] static Result<CaptureValues> open(const std::string& path, const Capture& capture);

    /// What storage `id` held at the beginning, one dim; null when it was not kept. Values that are not all of the
    /// storage, or not in the dtype of its recipe, are an error.
    [[nodiscard]] Result<TensorPtr> storage(const std::string& id) const;
    /// The result of call number `call` at `place` ("out", "tensors.2"; the tensor's id where the call has no
    /// function); null when it was not kept. Values of another shape or dtype than the tensor's are an error.
    [[nodiscard]] Result<TensorPtr> result(size_t call, std::string_view place) const;
    [[nodiscard]] bool any() const { return file_.has_value(); }

 private:
    [[nodiscard]] Error refused(const std::string& object, const std::string& what) const;

    std::optional<Hdf5File> file_;
    Capture capture_;                                             ///< with its structure only
    std::unordered_map<std::string, size_t> storages_, tensors_;  ///< where each id stands
};

/// Writes the values of a capture while it is recorded. Nothing appears under the name before `finish`.
class CaptureValuesWriter {
 public:
    /// `path` is the HDF5 file's.
    [[nodiscard]] static Result<CaptureValuesWriter> create(const std::string& path);
    /// All elements of a storage, one dim.
    Status storage(const std::string& id, const Tensor& values);
    /// The result of call number `call` at `place`; host memory, any strides.
    Status result(size_t call, std::string_view place, const Tensor& values);
    /// The capture must name this file as its values.
    Status finish(const Capture& capture);

 private:
    explicit CaptureValuesWriter(Hdf5File file) : file_(std::move(file)) {}
    Hdf5File file_;
};

}  // namespace diopi
