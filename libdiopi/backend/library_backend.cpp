#include "backend/library_backend.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>

namespace diopi {

namespace {

constexpr std::string_view kHostMemory = "cpu";

/// dlopen looks for a name without a slash in folders of its own.
std::string absolute(const std::string& path) {
    std::error_code error;
    const auto found = std::filesystem::absolute(path, error);
    return error ? path : found.lexically_normal().string();
}

template <class Function>
void find(void* handle, const char* name, Function*& function) {
    if (function == nullptr) function = reinterpret_cast<Function*>(dlsym(handle, name));
}

/// Discards standard output while it lives.
class SilentOutput {
 public:
    explicit SilentOutput(bool wanted) {
        if (!wanted) return;
        std::fflush(stdout);
        before_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (before_ >= 0 && null >= 0) dup2(null, STDOUT_FILENO);
        if (null >= 0) close(null);
    }
    ~SilentOutput() {
        if (before_ < 0) return;
        std::fflush(stdout);
        dup2(before_, STDOUT_FILENO);
        close(before_);
    }
    SilentOutput(const SilentOutput&) = delete;
    SilentOutput& operator=(const SilentOutput&) = delete;

 private:
    int before_ = -1;
};

/// Is in the table for each function of a library that is not open yet.
void not_open() {}

/// The file's symbols, if this program could load it.
Result<LibrarySymbols> usable_symbols(const std::string& path) {
    auto file = read_elf_file(path);
    if (!file.ok()) return file.error();
    if (!file->is_ours) {
        return bad_input(fmt::format("{} is built for {}, which this machine cannot run; build it for this one", path,
                                     file->machine));
    }
    if (!file->is_shared) return bad_input(path + " is an object file; link it with -shared");
    if (!file->interpreter.empty()) return bad_input(path + " is a program; name a shared library");
    return symbols_of(*file);
}

Status check_operators(const std::string& path, const LibrarySymbols& symbols) {
    if (!symbols.implemented.empty()) return {};
    std::string why;
    if (!symbols.mangled.empty()) {
        why = fmt::format("; {} has C++ linkage: include diopi/functions.h where it is defined, or write extern \"C\"",
                          symbols.mangled.front().signature);
    }
    return bad_input(fmt::format("{} has no function of the standard{} (diopi report --audit {})", path, why, path));
}

}  // namespace

Result<std::unique_ptr<LibraryBackend>> LibraryBackend::create(const std::string& path, const std::string& runtime) {
    auto symbols = usable_symbols(path);
    if (!symbols.ok()) return symbols.error();
    if (Status s = check_operators(path, *symbols); !s.ok()) return s.error();
    std::string device;
    if (runtime.empty()) {
        device = absolute(path);
        if (!symbols->missing_device.empty()) return bad_input(path + ": " + missing_device_text(*symbols));
    } else if (runtime != kHostMemory) {
        device = absolute(runtime);
        auto other = usable_symbols(runtime);
        if (!other.ok()) return bad_input("--impl-runtime: " + other.error().message);
        if (!other->missing_device.empty()) {
            return bad_input(
                fmt::format("--impl-runtime: {} has no {}", runtime, fmt::join(other->missing_device, ", ")));
        }
    }
    return std::unique_ptr<LibraryBackend>(
        new LibraryBackend(path, absolute(path), std::move(device), std::move(*symbols)));
}

LibraryBackend::LibraryBackend(std::string name, std::string file, std::string runtime, LibrarySymbols symbols)
    : name_(std::move(name)),
      file_(std::move(file)),
      runtime_(std::move(runtime)),
      symbols_(std::move(symbols)),
      table_(rows().size()),
      device_(name_,
              [this](DeviceFunctions& functions) {
                  Status s = open();
                  functions = functions_;
                  return s;
              }),
      backend_(name_, runtime_.empty() ? cpu_device() : device_, table_, *this) {
    for (const std::string& name : symbols_.implemented) table_[find_row(name)->index()] = &not_open;
}

void LibraryBackend::say(const std::string& stage) const {
    if (on_stage) on_stage(stage);
}

Result<void*> LibraryBackend::load(const std::string& path) const {
    say("the initialisers of " + path);
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* why = dlerror();
    return bad_input(fmt::format("cannot load {} (diopi report --audit {} lists all that it lacks)",
                                 why == nullptr ? path : why, path));
}

void LibraryBackend::find_device_functions(void* handle, DeviceFunctions& functions) {
    find(handle, "device_malloc", functions.allocate);
    find(handle, "device_free", functions.free);
    find(handle, "device_memcpy_h2d_async", functions.copy_in);
    find(handle, "device_memcpy_d2h_async", functions.copy_out);
    find(handle, "device_memcpy_d2d_async", functions.copy_on_device);
    find(handle, "device_make_stream", functions.make_stream);
    find(handle, "device_destroy_stream", functions.destroy_stream);
    find(handle, "device_synchronize_stream", functions.synchronize);
    find(handle, "diopiGetLastErrorString", functions.last_error);
}

Status LibraryBackend::start(void* handle, const std::string& path, diopiError_t (*function)()) const {
    if (function == nullptr) return {};
    say("initLibrary of " + path);
    const diopiError_t error = function();
    if (error == diopiSuccess) return {};
    const char* (*last_error)() = nullptr;
    find(handle, "diopiGetLastErrorString", last_error);
    const char* words = last_error == nullptr ? nullptr : last_error();
    const std::string why = words == nullptr || *words == '\0' ? "" : std::string(": ") + words;
    return bad_input(fmt::format("initLibrary of {} answers {}{}", path, diopi::name(error), why));
}

Status LibraryBackend::open() {
    if (is_open_) return {};
    const SilentOutput silent(hides_output);
    // The device's library comes first: the operators' initLibrary may need the device.
    std::vector<std::string> paths = {file_};
    if (!runtime_.empty() && runtime_ != file_) paths.insert(paths.begin(), runtime_);
    void* handle = nullptr;
    for (const std::string& path : paths) {
        auto loaded = load(path);
        if (!loaded.ok()) return loaded.status();
        handle = *loaded;
        if (path == runtime_) find_device_functions(handle, functions_);
        diopiError_t (*begin)() = nullptr;
        diopiError_t (*end)() = nullptr;
        find(handle, "initLibrary", begin);
        find(handle, "finalizeLibrary", end);
        if (Status s = start(handle, path, begin); !s.ok()) return s;
        if (end != nullptr) finishers_.emplace(finishers_.begin(), path, end);
    }
    for (const std::string& name : symbols_.implemented) {
        table_[find_row(name)->index()] = reinterpret_cast<AnyFunction>(dlsym(handle, name.c_str()));
    }
    find(handle, "diopiGetLastErrorString", last_error_);
    is_open_ = true;
    return {};
}

const char* LibraryBackend::last_error() const { return last_error_ == nullptr ? nullptr : last_error_(); }

Status LibraryBackend::finish() {
    for (const auto& [path, end] : std::exchange(finishers_, {})) {
        say("finalizeLibrary of " + path);
        const diopiError_t error = end();
        if (error != diopiSuccess) {
            return failed(fmt::format("finalizeLibrary of {} answers {}", path, diopi::name(error)));
        }
    }
    return {};
}

}  // namespace diopi
