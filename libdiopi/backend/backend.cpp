#include "backend/backend.hpp"

#include <algorithm>
#include <vector>

#include "runtime/context.hpp"

namespace diopi {

bool Backend::implements(std::string_view op) const {
    return std::ranges::any_of(rows_of(op), [&](const Row* row) { return implements(*row); });
}

const char* Backend::own_last_error() const {
    if (last_error_ != nullptr) return last_error_();
    return plugin_ == nullptr ? nullptr : plugin_->last_error();
}

std::string Backend::error_text(diopiError_t error) const {
    std::string text = diopi::name(error);
    if (const std::string& ours = last_error(); !ours.empty()) return text + ": " + ours;
    const char* theirs = own_last_error();
    return theirs == nullptr || *theirs == '\0' ? text : text + ": " + theirs;
}

Error lacks(const Backend& backend, std::string_view what) {
    return not_implemented(std::string(backend.name()) + " does not implement " + std::string(what));
}

std::string name(diopiError_t error) {
    switch (error) {
        case diopiSuccess:
            return "diopiSuccess";
        case diopiErrorOccurred:
            return "diopiErrorOccurred";
        case diopiNotInited:
            return "diopiNotInited";
        case diopiNoRegisteredStreamCreateFunction:
            return "diopiNoRegisteredStreamCreateFunction";
        case diopiNoRegisteredStreamDestoryFunction:
            return "diopiNoRegisteredStreamDestoryFunction";
        case diopiNoRegisteredStreamSyncFunction:
            return "diopiNoRegisteredStreamSyncFunction";
        case diopiNoRegisteredDeviceMemoryMallocFunction:
            return "diopiNoRegisteredDeviceMemoryMallocFunction";
        case diopiNoRegisteredDeviceMemoryFreeFunction:
            return "diopiNoRegisteredDeviceMemoryFreeFunction";
        case diopiNoRegisteredDevice2DdeviceMemoryCopyFunction:
            return "diopiNoRegisteredDevice2DdeviceMemoryCopyFunction";
        case diopiNoRegisteredDevice2HostMemoryCopyFunction:
            return "diopiNoRegisteredDevice2HostMemoryCopyFunction";
        case diopiNoRegisteredHost2DeviceMemoryCopyFunction:
            return "diopiNoRegisteredHost2DeviceMemoryCopyFunction";
        case diopiNoRegisteredGetLastErrorFunction:
            return "diopiNoRegisteredGetLastErrorFunction";
        case diopi5DNotSupported:
            return "diopi5DNotSupported";
        case diopiNoImplement:
            return "diopiNoImplement";
        case diopiForceFallbackToCPU:
            return "diopiForceFallbackToCPU";
        case diopiDtypeNotSupported:
            return "diopiDtypeNotSupported";
    }
    return "error code " + std::to_string(static_cast<int>(error)) + ", which the standard does not define";
}

Result<const Backend*> find_backend(std::string_view name) {
    std::vector<std::string> names;
    for (const Backend* backend : backends()) {
        if (backend->name() == name) return backend;
        names.emplace_back(backend->name());
    }
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    return bad_input("no backend is called '" + std::string(name) + "'; there are: " + list);
}

}  // namespace diopi
