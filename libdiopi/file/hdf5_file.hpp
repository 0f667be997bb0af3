/// HDF5 files by h5py's conventions, behind Status and Result. docs/hdf5.md describes what is in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "file/atomic_file.hpp"

namespace diopi {

/// Version of the layouts that this program writes; the root attribute `diopi_format` of every file of ours.
inline constexpr int64_t kHdf5Format = 1;

/// One HDF5 file, being written or open for reading. Paths inside it are absolute: "/case/forward".
/// A file under construction has no name until finish() (or is `path`.part, on a file system that cannot do that);
/// without finish() it is removed. Several threads may call the functions, which then take turns.
class Hdf5File {
 public:
    /// Starts a new file, with its folders and the attribute `diopi_format`.
    [[nodiscard]] static Result<Hdf5File> create(const std::string& path);
    /// Opens a file for reading. The message distinguishes a missing, an empty, a foreign, a truncated and a non-HDF5
    /// file.
    [[nodiscard]] static Result<Hdf5File> open(const std::string& path);
    ~Hdf5File();
    Hdf5File(Hdf5File&& other) noexcept;
    Hdf5File& operator=(Hdf5File&& other) noexcept;
    Hdf5File(const Hdf5File&) = delete;
    Hdf5File& operator=(const Hdf5File&) = delete;

    /// The name that the file has, or will have.
    [[nodiscard]] const std::string& path() const { return path_; }

    /// Creates the group with all its parents; an existing one is fine.
    Status create_group(const std::string& group);
    /// Writes a host tensor of any strides as dataset `group`/`name`, creating the group.
    /// bfloat16, tfloat32 and complex32, which h5py does not know, get an attribute `dtype`.
    Status write_tensor(const std::string& group, const std::string& name, const Tensor& tensor);
    /// The tensor that write_tensor wrote, in host memory, contiguous; float32 with the attribute `dtype` = "bfloat16",
    /// as numpy must store it, becomes bfloat16. Shapes that overflow, and shapes without the bytes to back them, are
    /// refused before memory is allocated.
    [[nodiscard]] Result<TensorPtr> read_tensor(const std::string& group, const std::string& name) const;
    /// Reads the same in the dtype that the values are stored in, whatever the attribute `dtype` says.
    [[nodiscard]] Result<TensorPtr> read_stored(const std::string& group, const std::string& name) const;

    /// Attributes of a group or dataset; an existing one is replaced.
    Status write_attribute(const std::string& object, const std::string& name, std::string_view value);
    Status write_attribute(const std::string& object, const std::string& name, int64_t value);
    Status write_attribute(const std::string& object, const std::string& name, double value);
    [[nodiscard]] Result<std::string> read_string(const std::string& object, const std::string& name) const;
    [[nodiscard]] Result<int64_t> read_int(const std::string& object, const std::string& name) const;
    [[nodiscard]] Result<double> read_double(const std::string& object, const std::string& name) const;

    /// Whether a group or dataset of that path exists.
    [[nodiscard]] bool has(const std::string& object) const;
    [[nodiscard]] bool has_attribute(const std::string& object, const std::string& name) const;
    /// Names in a group, sorted; empty when there is no such group.
    [[nodiscard]] std::vector<std::string> children(const std::string& group) const;
    /// Names of an object's attributes, sorted.
    [[nodiscard]] std::vector<std::string> attributes(const std::string& object) const;

    /// Writes what is still in memory, syncs, and gives the file its name. On an error (a full disk) nothing is left
    /// and a former file of that name stays.
    Status finish();

 private:
    Hdf5File(std::string path, int64_t id, std::optional<PendingFile> pending)
        : path_(std::move(path)), id_(id), pending_(std::move(pending)) {}
    void abandon();
    Status write_failed(const std::string& what, size_t nbytes, const std::string& message) const;

    std::string path_;
    int64_t id_ = -1;
    std::optional<PendingFile> pending_;  ///< set while the file is written
};

}  // namespace diopi
