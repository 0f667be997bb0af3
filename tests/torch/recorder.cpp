/// Loaded with libdiopi_torch.so (DIOPI_TORCH_LIBRARIES), it writes the names of ATen's operators as they run, each
/// once per process, to the file DIOPI_TORCH_RECORD.
#include <ATen/record_function.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace {

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
    static std::mutex mutex;
    static std::set<std::string> noted;
    const std::lock_guard lock(mutex);
    if (!noted.insert(function.name()).second) return nullptr;
    if (std::FILE* file = std::fopen(std::getenv("DIOPI_TORCH_RECORD"), "a")) {
        std::fprintf(file, "%s\n", function.name());
        std::fclose(file);
    }
    return nullptr;
}

const at::CallbackHandle kHandle =
    at::addGlobalCallback(at::RecordFunctionCallback(&note).scopes({at::RecordScope::FUNCTION}));

}  // namespace
