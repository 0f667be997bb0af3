/// Backend: a device and a table of functions, index = schema row, null = not implemented.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/status.hpp"
#include "runtime/device.hpp"
#include "schema/schema.hpp"

namespace diopi {

class Backend {
 public:
    using LastError = const char* (*)();

    Backend(std::string_view name, Device& device, std::span<const AnyFunction> table, LastError last_error = nullptr)
        : name_(name), device_(&device), table_(table), last_error_(last_error) {}

    /// The same functions on another device: one that decorates this one's.
    [[nodiscard]] Backend on(Device& device) const { return {name_, device, table_, last_error_}; }

    [[nodiscard]] std::string_view name() const { return name_; }
    [[nodiscard]] Device& device() const { return *device_; }
    [[nodiscard]] AnyFunction function(const Row& row) const { return table_[row.index()]; }
    [[nodiscard]] bool implements(const Row& row) const { return function(row) != nullptr; }
    /// Whether it implements a forward or inplace function of the operator.
    [[nodiscard]] bool implements(std::string_view op) const;
    /// What the library says about its last failure, with the code's name.
    [[nodiscard]] std::string error_text(diopiError_t error) const;

 private:
    std::string_view name_;
    Device* device_;
    std::span<const AnyFunction> table_;
    LastError last_error_;
};

/// "cpu does not implement diopiSort": of a function or an operator.
[[nodiscard]] Error lacks(const Backend& backend, std::string_view what);

/// The name of an error code: "diopiDtypeNotSupported".
[[nodiscard]] std::string_view name(diopiError_t error);

/// The backends that are linked in, "cpu" first.
[[nodiscard]] std::span<const Backend* const> backends();
/// The backend of that name, or an error that names the others.
[[nodiscard]] Result<const Backend*> find_backend(std::string_view name);
/// The float64 oracle.
[[nodiscard]] const Backend& reference_backend();

}  // namespace diopi
