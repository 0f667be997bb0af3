/// Loaded with libdiopi_torch.so (DIOPI_TORCH_LIBRARIES), it writes "function operator" to the file DIOPI_TORCH_RECORD
/// for each operator of ATen that runs within a function of the library, each pair once per process. It ends a process
/// in which an operator returns a tensor that was freed: a count of references that nobody has (MALLOC_PERTURB_ makes
/// sure that freed memory has none that is possible).
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace {

/// Whether the address is in the library of the standard's functions. dladdr is slow in PyTorch's own libraries.
bool is_in_library(void* address) {
    dl_find_object found{};
    if (_dl_find_object(address, &found) != 0 || found.dlfo_link_map == nullptr) return false;
    return std::string_view(found.dlfo_link_map->l_name).ends_with("libdiopi_torch.so");
}

/// The innermost function of the standard on this thread's stack, by its exported symbol; "-" if there is none.
std::string standard_function() {
    std::array<void*, 256> frames{};
    const int count = backtrace(frames.data(), frames.size());
    for (int i = 0; i < count; ++i) {
        Dl_info info{};
        if (!is_in_library(frames[i]) || dladdr(frames[i], &info) == 0 || info.dli_sname == nullptr) continue;
        const std::string symbol = info.dli_sname;
        if (symbol.starts_with("diopi")) return symbol;
    }
    return "-";
}

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
    static std::mutex mutex;
    static std::set<std::string> noted;
    std::ostringstream text;
    text << standard_function() << ' ';
    if (const auto name = function.operator_name()) {
        text << *name;
    } else {
        text << function.name();
    }
    const std::lock_guard lock(mutex);
    if (!noted.insert(text.str()).second) return nullptr;
    if (std::FILE* file = std::fopen(std::getenv("DIOPI_TORCH_RECORD"), "a")) {
        std::fprintf(file, "%s\n", text.str().c_str());
        std::fclose(file);
    }
    return nullptr;
}

void check_results(const at::RecordFunction& function, at::ObserverContext*) {
    constexpr size_t kMostOwners = 1 << 20;
    for (const c10::IValue& result : function.outputs()) {
        if (!result.isTensor() || !result.toTensor().defined() || result.toTensor().use_count() < kMostOwners) continue;
        std::fprintf(stderr, "%s returns a tensor that was freed\n", function.name());
        std::abort();
    }
}

const at::CallbackHandle kHandle = at::addGlobalCallback(
    at::RecordFunctionCallback(&note, &check_results).scopes({at::RecordScope::FUNCTION}).needsOutputs(true));

}  // namespace
