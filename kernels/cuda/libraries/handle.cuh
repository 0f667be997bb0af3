/// The function table and the handle that calls of CUDA's libraries need. Only for sources that are built with CUDA.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "kernels/cuda/libraries/device.cuh"
#include "kernels/cuda/view.hpp"
#include "runtime/opened_library.hpp"

/// A macro's number as text.
#define DIOPI_TEXT_OF(x) #x
#define DIOPI_TEXT(x) DIOPI_TEXT_OF(x)

namespace diopi::cuda {

/// The library's functions and the calling thread's handle for the current device. Without them it is null, with the
/// last error set and its code in `error`. `Table` has the library's name kSoname, the functions create, destroy and
/// status_text, create's name kCreate, and what OpenedLibrary needs; success is status 0.
template <class Table>
[[nodiscard]] const Table* use_library(std::string_view op, typename Table::Handle& handle, diopiError_t& error) {
    static const OpenedLibrary<Table> opened(Table::kSoname);
    if (!opened.is_usable) {
        error = fail(diopiNoImplement, std::string(op) + ": " + Table::kSoname + " cannot be used (" + opened.why +
                                           "): put the folder of a library of that version on LD_LIBRARY_PATH");
        return nullptr;
    }
    struct Destroy {
        void operator()(typename Table::Handle made) const { (void)opened.functions.destroy(made); }
    };
    thread_local std::unordered_map<int, std::unique_ptr<std::remove_pointer_t<typename Table::Handle>, Destroy>> own;
    auto& mine = own[current_device()];
    if (mine == nullptr) {
        typename Table::Handle made = nullptr;
        const auto status = opened.functions.create(&made);
        if (static_cast<int>(status) != 0) {
            error = fail(diopiErrorOccurred,
                         std::string(op) + ": " + Table::kCreate + ": " + opened.functions.status_text(status));
            return nullptr;
        }
        mine.reset(made);
    }
    handle = mine.get();
    return &opened.functions;
}

}  // namespace diopi::cuda
