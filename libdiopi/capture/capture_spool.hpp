/// Collects recorded calls for a capture's files: parts from several processes, merged at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture_file.hpp"
#include "core/status.hpp"
#include "file/atomic_file.hpp"

namespace diopi {

/// The output of publish().
struct SpooledCapture {
    size_t parts = 0, calls = 0;
    /// The overloads of calls that have no function, each once.
    std::vector<std::string> without_function;
};

/// A file without a name in the capture's folder (`path`.calls.part where the file system does not support that).
/// Workers forked from the process that made it share it. However they end, only complete parts count. If one of them
/// cannot write, because the disk is full, publish() reports it.
class CaptureSpool {
 public:
    /// `path` is the JSON file that publish() writes; its folders are created.
    [[nodiscard]] static Result<CaptureSpool> create(const std::string& path);

    /// Values for the part that this process adds next: all elements of a storage in one dim, and the result of a call
    /// at a place; host memory, contiguous. Storage and call are positions in that part.
    Status storage(size_t storage, const Tensor& values);
    Status result(size_t call, std::string_view place, const Tensor& values);
    /// Adds a part with the values since the last one. Parts are ordered by `item`, then by the order of their
    /// addition.
    Status add(size_t item, const Capture& part);
    /// Discards the values since the last part.
    void drop() { values_.clear(); }

    /// Whether a write of some process failed, which publish() will report.
    [[nodiscard]] bool is_broken() const;

    /// Writes all parts as one capture with the name and texts of `head`. With `values`, the HDF5 file of the same name
    /// comes first; neither file gets its name before both are complete.
    [[nodiscard]] Result<SpooledCapture> publish(const Capture& head, bool values) const;

 private:
    struct Value {
        bool is_result = false;
        size_t position = 0;  ///< position of the storage or the call
        std::string place;
        TensorSpec spec;
        int64_t at = 0;  ///< position of its bytes in the file
    };
    struct Part {
        int64_t item = 0, at = 0, size = 0;
    };
    CaptureSpool(std::string path, PendingFile file) : path_(std::move(path)), file_(std::move(file)) {}
    /// Appends a record; returns the position of its bytes.
    [[nodiscard]] Result<int64_t> append(bool is_part, size_t item, std::string_view bytes);
    Status keep(Value value, const Tensor& values);
    [[nodiscard]] Result<std::vector<Part>> parts() const;
    Status read(int64_t at, void* bytes, size_t size) const;
    [[nodiscard]] Result<Capture> part(const Part& part, std::vector<Value>& values) const;
    [[nodiscard]] Result<TensorPtr> tensor(const Value& value) const;
    Status merge(const Part& each, Capture& whole, int64_t& forward, CaptureValuesWriter* writer) const;

    std::string path_;
    PendingFile file_;
    std::vector<Value> values_;  ///< values of the next part
};

}  // namespace diopi
