/// Backend: a device and a table of functions, index = schema row, null = not implemented.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/status.hpp"
#include "runtime/device.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// A library that is opened at run time: in each process that uses it, at its first use there.
class Plugin {
 public:
    virtual ~Plugin() = default;
    /// Opens the library in this process, and puts the addresses of its functions into the backend's table.
    virtual Status open() = 0;
    [[nodiscard]] bool is_open() const { return is_open_; }
    /// The library's message about its last failure; null if there is none.
    [[nodiscard]] virtual const char* last_error() const = 0;
    [[nodiscard]] virtual const std::string& file() const = 0;

 protected:
    bool is_open_ = false;
};

class Backend {
 public:
    using LastError = const char* (*)();
    using Probe = Status (*)();
    /// A function called before each function of the table, for settings that are not in its arguments.
    using Setting = void (*)();
    using Description = std::string (*)();

    Backend(std::string_view name, Device& device, std::span<const AnyFunction> table, LastError last_error = nullptr)
        : name_(name), device_(&device), table_(table), last_error_(last_error) {}
    /// The backend of a library, whose table holds any address for an implemented function until the library is open.
    Backend(std::string_view name, Device& device, std::span<const AnyFunction> table, Plugin& plugin)
        : name_(name), device_(&device), table_(table), plugin_(&plugin) {}

    /// The backend of a device that may be missing. `probe` may start the device, so it is called in a worker.
    Backend(std::string_view name, Device& device, std::span<const AnyFunction> table, Probe probe, Setting setting)
        : name_(name), device_(&device), table_(table), probe_(probe), setting_(setting) {}

    /// The same functions on a device that decorates this one's.
    [[nodiscard]] Backend on(Device& device) const {
        Backend other(*this);
        other.device_ = &device;
        return other;
    }
    /// The same functions, whose float32 products round their factors to TF32: because of `setting`, or because the
    /// library always does so.
    [[nodiscard]] Backend in_tf32(std::string_view name, Setting setting = nullptr) const {
        Backend other(*this);
        other.name_ = name;
        other.setting_ = setting;
        other.is_tf32_ = true;
        return other;
    }

    /// The same backend with a line for debug messages about the libraries behind it.
    [[nodiscard]] Backend described_by(Description description) const {
        Backend other(*this);
        other.description_ = description;
        return other;
    }

    [[nodiscard]] std::string_view name() const { return name_; }
    /// The libraries that its functions call, in one line; may be empty.
    [[nodiscard]] std::string description() const { return description_ == nullptr ? "" : description_(); }
    [[nodiscard]] Device& device() const { return *device_; }
    [[nodiscard]] AnyFunction function(const Row& row) const { return table_[row.index()]; }
    [[nodiscard]] bool implements(const Row& row) const { return function(row) != nullptr; }
    /// Its library, which must be opened before a function is called; null for a linked backend.
    [[nodiscard]] Plugin* plugin() const { return plugin_; }
    /// Reports why the backend cannot run here; null if it always can.
    [[nodiscard]] Probe probe() const { return probe_; }
    /// Null where there is nothing to set.
    [[nodiscard]] Setting setting() const { return setting_; }
    /// Whether float32 products are declared to round their factors to TF32, with 10 fraction bits.
    [[nodiscard]] bool is_tf32() const { return is_tf32_; }
    /// Whether it implements a function of the operator.
    [[nodiscard]] bool implements(std::string_view op) const;
    /// The library's message about its last failure; null if there is none.
    [[nodiscard]] const char* own_last_error() const;
    /// The same with the code's name.
    [[nodiscard]] std::string error_text(diopiError_t error) const;

 private:
    std::string_view name_;
    Device* device_;
    std::span<const AnyFunction> table_;
    LastError last_error_ = nullptr;
    Probe probe_ = nullptr;
    Plugin* plugin_ = nullptr;
    Setting setting_ = nullptr;
    Description description_ = nullptr;
    bool is_tf32_ = false;
};

/// The error for a missing function or operator: "cpu does not implement diopiSort".
[[nodiscard]] Error lacks(const Backend& backend, std::string_view what);

/// The name of an error code: "diopiDtypeNotSupported"; the number of one that the standard does not define.
[[nodiscard]] std::string name(diopiError_t error);

/// The backends that are linked in, "cpu" first.
[[nodiscard]] std::span<const Backend* const> backends();
/// The backend of that name, or an error that names the others.
[[nodiscard]] Result<const Backend*> find_backend(std::string_view name);
/// The float64 oracle.
[[nodiscard]] const Backend& reference_backend();

}  // namespace diopi
