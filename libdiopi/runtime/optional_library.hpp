/// A shared library that the program can do without: opened at its first use.
#pragma once

#include <string>

#include "core/status.hpp"

namespace diopi {

class OptionalLibrary {
 public:
    /// It stays open until the process ends. `advice` is added to the error where there is none: what to install.
    [[nodiscard]] static Result<OptionalLibrary> open(const std::string& name, const std::string& advice);

    /// Sets `function` to the library's function of that name.
    template <class F>
    Status find(const char* name, F*& function) const {
        auto address = this->address(name);
        if (address.ok()) function = reinterpret_cast<F*>(*address);
        return address.status();
    }

 private:
    OptionalLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
    [[nodiscard]] Result<void*> address(const char* name) const;

    void* handle_;
    std::string name_;
};

}  // namespace diopi
