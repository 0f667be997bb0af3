#include "kernels/torch/device.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <diopi/device_functions.h>
#include <diopi/functions.h>
#include <dlfcn.h>
#include <link.h>
#include <torch/version.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/torch/argument.hpp"
#include "kernels/torch/plan.hpp"
#include "runtime/context.hpp"

namespace diopi::torch_impl {

namespace {

/// The value of an environment variable; empty where it is not set.
std::string setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

c10::Device& chosen() {
    static c10::Device device(c10::DeviceType::CPU);
    return device;
}

bool is_host() { return chosen().is_cpu(); }

/// Loads the library of a device. Its symbols are global, as Python loads PyTorch's.
void load(const std::string& path) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
    const char* why = dlerror();
    TORCH_CHECK(false, "cannot load ", why == nullptr ? path : why);
}

/// PyTorch makes a device ready in the first factory function that names it; its allocator alone does not.
void make_ready(c10::Device device) { at::empty({0}, at::TensorOptions(at::kByte).device(device)); }

/// Loads DIOPI_TORCH_LIBRARIES, and chooses DIOPI_TORCH_DEVICE if PyTorch has it.
void choose() {
    std::string paths = setting("DIOPI_TORCH_LIBRARIES");
    for (size_t at = 0; at < paths.size();) {
        const size_t end = std::min(paths.find(':', at), paths.size());
        if (end > at) load(paths.substr(at, end - at));
        at = end + 1;
    }
    const std::string text = setting("DIOPI_TORCH_DEVICE");
    if (text.empty()) return;
    c10::Device device(text);
    if (device.is_cuda() && !c10::impl::hasDeviceGuardImpl(device.type())) load("libtorch_cuda.so");
    if (!device.is_cpu()) {
        TORCH_CHECK(c10::impl::hasDeviceGuardImpl(device.type()), "DIOPI_TORCH_DEVICE=", text,
                    ": this PyTorch has no such device; name the libraries that bring it in DIOPI_TORCH_LIBRARIES");
        const int count = c10::impl::VirtualGuardImpl(device.type()).deviceCount();
        if (!device.has_index()) device.set_index(0);
        TORCH_CHECK(device.index() < count, "DIOPI_TORCH_DEVICE=", text, ": there are ", count,
                    " devices of this kind");
        make_ready(device);
    }
    chosen() = device;
}

/// Checks each row that the library has an entry for: the PyTorch at hand may be another one than at the build.
void check_table() {
    std::string lacks;
    int count = 0;
    for (const size_t index : entries()) {
        const Row& row = rows()[index];
        const Plans& plans = plans_of(row);
        if (!plans.plans.empty()) continue;
        if (++count > 5) continue;
        lacks += (lacks.empty() ? "" : "; ") + std::string(row.function) + " (" + plans.drift + ")";
    }
    TORCH_CHECK(count == 0, "it was built for another PyTorch (" TORCH_VERSION "): ", count,
                " functions have no overload in this one, such as ", lacks, "; build it again (docs/torch.md)");
}

/// The OpenMP runtimes of the process, by their files.
std::vector<std::string> openmp_runtimes() {
    std::vector<std::string> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* list) {
            const std::string path = info->dlpi_name;
            const std::string name = path.substr(path.rfind('/') + 1);
            const bool is_runtime =
                name.starts_with("libgomp") || name.starts_with("libiomp") || name.starts_with("libomp.");
            if (is_runtime) static_cast<std::vector<std::string>*>(list)->push_back(path);
            return 0;
        },
        &found);
    return found;
}

/// Each runtime has threads of its own, which compete for the same cores: figures of such a process mean little.
void check_openmp() {
    const std::vector<std::string> runtimes = openmp_runtimes();
    if (runtimes.size() < 2) return;
    std::fprintf(stderr, "libdiopi_torch.so: %zu OpenMP runtimes in one process, each with its own threads: %s, %s\n",
                 runtimes.size(), runtimes[0].c_str(), runtimes[1].c_str());
}

/// Memory of PyTorch's allocator by its address.
class Memory {
 public:
    void* allocate(uint64_t bytes) {
        c10::DataPtr block = c10::GetAllocator(chosen().type())->allocate(bytes);
        void* address = block.get();
        const std::lock_guard lock(mutex_);
        if (address != nullptr) blocks_.emplace(address, std::move(block));
        return address;
    }
    void free(void* address) {
        const std::lock_guard lock(mutex_);
        blocks_.erase(address);
    }

 private:
    std::mutex mutex_;
    std::unordered_map<void*, c10::DataPtr> blocks_;
};

Memory& memory() {
    // Blocks that are left at the end of the process stay: their device may be gone before.
    static auto* memory = new Memory;
    return *memory;
}

at::Tensor bytes_at(const void* memory, uint64_t count, c10::Device where) {
    return at::for_blob(const_cast<void*>(memory), {static_cast<int64_t>(count)})
        .options(at::TensorOptions(at::kByte).device(where))
        .target_device(where)
        .make_tensor();
}

/// Runs what may throw; its words are the last error.
template <class Work>
diopiError_t guarded(const Work& work) noexcept try {
    work();
    return diopiSuccess;
} catch (const c10::Error& e) {
    set_last_error(e.what_without_backtrace());
    return diopiErrorOccurred;
} catch (const std::exception& e) {
    set_last_error(e.what());
    return diopiErrorOccurred;
}

diopiError_t copy(diopiStreamHandle_t stream, void* dst, c10::Device to, const void* src, c10::Device from,
                  uint64_t bytes) {
    if (bytes == 0) return diopiSuccess;
    if (is_host()) {
        std::memmove(dst, src, bytes);
        return diopiSuccess;
    }
    return guarded([&] {
        const OnStream on(stream);
        bytes_at(dst, bytes, to).copy_(bytes_at(src, bytes, from), true);
    });
}

/// A stream of the device's own where it has several.
c10::Stream new_stream() {
    if (is_host()) return c10::Stream(c10::Stream::DEFAULT, chosen());
    const c10::impl::VirtualGuardImpl guard(chosen().type());
    try {
        return guard.getStreamFromGlobalPool(chosen());
    } catch (const c10::Error&) {
        return guard.getStream(chosen());
    }
}

}  // namespace

c10::Device device() { return chosen(); }

OnStream::OnStream(diopiContextHandle_t ctx) {
    if (is_host()) return;
    diopiStreamHandle_t stream = nullptr;
    TORCH_CHECK(diopiGetStream(ctx, &stream) == diopiSuccess, "the context has no stream");
    enter(stream);
}

OnStream::OnStream(diopiStreamHandle_t stream) {
    if (!is_host()) enter(stream);
}

void OnStream::enter(diopiStreamHandle_t stream) {
    guard_.emplace(chosen().type());
    device_before_ = guard_->exchangeDevice(chosen());
    if (stream != nullptr) before_ = guard_->exchangeStream(*static_cast<const c10::Stream*>(stream));
}

OnStream::~OnStream() {
    if (before_) guard_->exchangeStream(*before_);
    if (device_before_) guard_->uncheckedSetDevice(*device_before_);
}

}  // namespace diopi::torch_impl

using namespace diopi::torch_impl;

extern "C" {

diopiError_t initLibrary() {
    return guarded([] {
        choose();
        check_openmp();
        check_table();
    });
}
diopiError_t finalizeLibrary() { return diopiSuccess; }

void* device_malloc(uint64_t bytes) {
    void* address = nullptr;
    guarded([&] { address = memory().allocate(bytes); });
    return address;
}

void device_free(void* address) {
    guarded([&] { memory().free(address); });
}

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, device(), src, c10::Device(c10::DeviceType::CPU), bytes);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, c10::Device(c10::DeviceType::CPU), src, device(), bytes);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, device(), src, device(), bytes);
}

/// On the processor a stream is only an identity.
diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    return guarded([&] { *stream = new c10::Stream(new_stream()); });
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    delete static_cast<c10::Stream*>(stream);
    return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) {
    if (is_host()) return diopiSuccess;
    return guarded([&] {
        const c10::impl::VirtualGuardImpl guard(device().type());
        guard.synchronizeStream(*static_cast<const c10::Stream*>(stream));
    });
}

}  // extern "C"
