/// HDF5's handles and element types, for the files in this folder that call the C library.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/dtype.hpp"

namespace diopi::hdf5 {

/// hid_t without HDF5's header.
using Id = int64_t;

/// Owns one HDF5 identifier of any kind. Negative ones mean failure, as the C library returns them.
class Handle {
 public:
    Handle() = default;
    explicit Handle(Id id) : id_(id) {}
    ~Handle() { reset(); }
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this != &other) {
            reset();
            id_ = std::exchange(other.id_, -1);
        }
        return *this;
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    [[nodiscard]] bool ok() const { return id_ >= 0; }
    [[nodiscard]] Id get() const { return id_; }
    void reset();

 private:
    Id id_ = -1;
};

/// Held around every use of the C library: one caller at a time, whose errors are not printed.
class Session {
 public:
    Session();

 private:
    std::lock_guard<std::recursive_mutex> lock_;
};

/// The innermost error message of the C library's last failed call, on one short line; "unknown HDF5 error" if none.
[[nodiscard]] std::string last_error_message();

/// The type of an element in this machine's memory, by h5py's conventions.
[[nodiscard]] Handle type_of(Dtype dtype);

/// The dtype that stands for `dtype` in a file: numpy has no complex32, and HDF5 no tfloat32.
[[nodiscard]] Dtype stored_as(Dtype dtype);

/// The dtype of a stored type of either byte order; nullopt for one that no tensor has.
[[nodiscard]] std::optional<Dtype> dtype_of(Id type);

/// "string", "compound", ...: what a message calls a stored type.
[[nodiscard]] const char* class_of(Id type);

}  // namespace diopi::hdf5
