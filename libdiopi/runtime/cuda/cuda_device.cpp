#include "runtime/cuda/cuda_device.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include "runtime/caching_allocator.hpp"
#include "runtime/cuda/cuda_check.cuh"
#include "runtime/cuda/cuda_staging.cuh"
#ifdef DIOPI_CUPTI_LIBRARY
#include "runtime/cuda/cupti.hpp"
#endif
#include "runtime/cuda/nvml.hpp"
#include "runtime/stream_copies.hpp"

namespace diopi {

namespace {

/// No code is built for lower versions (DIOPI_CUDA_ARCHITECTURES).
constexpr int kLeastMajor = 8;

cudaStream_t native(diopiStreamHandle_t stream) { return static_cast<cudaStream_t>(stream); }

std::string bytes(size_t nbytes) { return std::to_string(nbytes) + " bytes"; }

/// The text of a CUDA version: "13.0" for 13000.
std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class CudaEvent final : public Event {
 public:
    explicit CudaEvent(cudaEvent_t event) : event_(event) {}
    ~CudaEvent() override { (void)cudaEventDestroy(event_); }
    CudaEvent(const CudaEvent&) = delete;
    CudaEvent& operator=(const CudaEvent&) = delete;

    Status record(diopiStreamHandle_t stream) override {
        recorded_ = true;
        return cuda_status("recording an event", cudaEventRecord(event_, native(stream)));
    }
    Status synchronize() override {
        if (!recorded_) return bad_input("the event was never recorded");
        return cuda_status("waiting for an event", cudaEventSynchronize(event_));
    }
    Result<double> elapsed_ms_since(const Event& start) const override {
        float ms = 0;
        const cudaError_t error = cudaEventElapsedTime(&ms, static_cast<const CudaEvent&>(start).event_, event_);
        if (Status s = cuda_status("reading the time between two events", error); !s.ok()) return s.error();
        return double{ms};
    }

 private:
    cudaEvent_t event_;
    bool recorded_ = false;
};

bool environment_has(const char* name, std::string_view wanted) {
    const char* value = std::getenv(name);
    return value != nullptr && value == wanted;
}

/// DIOPI_CUDA_CACHE=0 is for compute-sanitizer, whose memcheck knows CUDA's blocks and not the cache's.
Caching wanted_caching() { return environment_has("DIOPI_CUDA_CACHE", "0") ? Caching::kOff : Caching::kOn; }

/// Streams and the default stream, null, do not wait for each other.
class CudaDevice final : public Device, public StreamCopies, public AllocatorOwner {
 public:
    CudaDevice() : caching_(wanted_caching()), allocator_({allocate_raw, free_raw, drain}, caching_) {}

    std::string_view name() const override { return "cuda"; }
    bool is_host() const override { return false; }

    Result<DeviceInfo> info() override {
        if (Status s = same_process(); !s.ok()) return s.error();
        cudaDeviceProp properties{};
        size_t free_bytes = 0, total_bytes = 0;
        Status s = cuda_status("getting the device's properties", cudaGetDeviceProperties(&properties, 0));
        if (s.ok()) s = cuda_status("getting the free memory", cudaMemGetInfo(&free_bytes, &total_bytes));
        if (!s.ok()) return s.error();
        DeviceInfo info;
        info.name = properties.name;
        info.vendor = "NVIDIA";
        info.architecture = "sm_" + std::to_string(properties.major * 10 + properties.minor);
        info.total_bytes = static_cast<int64_t>(total_bytes);
        info.free_bytes = static_cast<int64_t>(free_bytes) + allocator_.statistics().cached_bytes;
        info.compute_units = properties.multiProcessorCount;
        info.cache_bytes = properties.l2CacheSize;
        return info;
    }

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (nbytes == 0) return std::shared_ptr<void>();
        if (Status s = same_process(); !s.ok()) return s.error();
        auto memory = allocator_.allocate(nbytes);
        if (!memory.ok()) return memory.error();
        return std::shared_ptr<void>(*memory, [this](void* p) { allocator_.free(p); });
    }
    std::optional<int64_t> allocated_bytes() const override { return allocator_.statistics().used_bytes; }
    AllocatorStatistics allocator_statistics() const override { return allocator_.statistics(); }

    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        if (nbytes == 0) return {};
        if (Status s = same_process(); !s.ok()) return s;
        return cuda_status("copying " + bytes(nbytes) + " to the device",
                           staging_.to_device(native(stream), dst, src, nbytes));
    }
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        if (nbytes == 0) return {};
        if (Status s = same_process(); !s.ok()) return s;
        return cuda_status("copying " + bytes(nbytes) + " to the host",
                           staging_.to_host(native(stream), dst, src, nbytes));
    }

    Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        if (Status s = same_process(); !s.ok()) return s;
        if (Status s = can_be_held(); !s.ok() || nbytes == 0) return s;
        return cuda_status("copying " + bytes(nbytes) + " inside the device's memory",
                           cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDeviceToDevice, native(stream)));
    }
    // Copies would hold the stream, too, but a fast device needs gigabytes of them, or more than its launch queue
    // holds; and processes that share it would wait for each other's copies.
    Status pause(diopiStreamHandle_t stream, double seconds) override {
        if (Status s = same_process(); !s.ok()) return s;
        if (Status s = can_be_held(); !s.ok()) return s;
        auto time = std::make_unique<Seconds>(seconds);
        const cudaError_t error = cudaLaunchHostFunc(native(stream), sleep_on_stream, time.get());
        if (error == cudaSuccess) (void)time.release();  // the function owns it; a ruined device leaks it
        return cuda_status("pausing a stream", error);
    }

    Result<diopiStreamHandle_t> create_stream() override {
        if (Status s = same_process(); !s.ok()) return s.error();
        cudaStream_t stream = nullptr;
        // The stream is not ordered with the default stream, or work wrongly enqueued there would look right.
        const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (Status s = cuda_status("creating a stream", error); !s.ok()) return s.error();
        allocator_.stream_created(stream);
        return static_cast<diopiStreamHandle_t>(stream);
    }
    Status destroy_stream(diopiStreamHandle_t stream) override {
        if (stream == nullptr) return bad_input("the default stream cannot be destroyed");
        Status waited = synchronize(stream);
        Status destroyed = cuda_status("destroying a stream", cudaStreamDestroy(native(stream)));
        allocator_.stream_destroyed(stream);
        return waited.ok() ? destroyed : waited;
    }
    Status synchronize(diopiStreamHandle_t stream) override {
        if (Status s = same_process(); !s.ok()) return s;
        Status s = cuda_status("waiting for a stream", cudaStreamSynchronize(native(stream)));
        if (s.ok()) allocator_.stream_drained(stream);
        return s;
    }
    Result<std::unique_ptr<Event>> create_event() override {
        if (Status s = same_process(); !s.ok()) return s.error();
        cudaEvent_t event = nullptr;
        if (Status s = cuda_status("creating an event", cudaEventCreate(&event)); !s.ok()) return s.error();
        return std::unique_ptr<Event>(std::make_unique<CudaEvent>(event));
    }

    std::string slowdown() override {
        char bus_id[32] = "";
        if (!same_process().ok() || cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0) != cudaSuccess) return {};
        return nvml_slowdown(bus_id);
    }
#ifdef DIOPI_CUPTI_LIBRARY
    Result<std::unique_ptr<ActivityRecording>> record_activities() override {
        if (Status s = same_process(); !s.ok()) return s.error();
        return record_cuda_activities();
    }
#endif

 private:
    using Seconds = std::chrono::duration<double>;

    static void CUDART_CB sleep_on_stream(void* time) {
        const std::unique_ptr<Seconds> seconds(static_cast<Seconds*>(time));
        std::this_thread::sleep_for(*seconds);
    }
    /// A call that allocates its workspace from CUDA may wait for the stream, and so may each launch with
    /// CUDA_LAUNCH_BLOCKING: neither is a fault of the call.
    Status can_be_held() const {
        if (caching_ == Caching::kOn && !launches_wait_) return {};
        return not_implemented("cuda: no stream is held with DIOPI_CUDA_CACHE=0 or CUDA_LAUNCH_BLOCKING=1");
    }

    static Result<void*> allocate_raw(size_t nbytes) {
        void* memory = nullptr;
        const cudaError_t error = cudaMalloc(&memory, nbytes);
        if (error == cudaSuccess) return memory;
        Status s = cuda_status("allocating " + bytes(nbytes), error);
        if (error != cudaErrorMemoryAllocation) return s.error();
        return failed(s.message() + "; run fewer cases at a time (--jobs 1) or free memory of the device");
    }
    static void free_raw(void* memory) { (void)cudaFree(memory); }
    static Status drain() { return cuda_status("waiting for the device", cudaDeviceSynchronize()); }

    /// CUDA does not survive a fork.
    Status same_process() {
        const pid_t self = getpid();
        pid_t first = 0;
        if (process_.compare_exchange_strong(first, self) || first == self) return {};
        return internal_error("cuda: the device was used before this process was forked; only workers may use it");
    }

    std::atomic<pid_t> process_ = 0;  ///< the one that used the device first
    Caching caching_;
    const bool launches_wait_ = environment_has("CUDA_LAUNCH_BLOCKING", "1");
    CachingAllocator allocator_;
    CudaStaging staging_;
};

/// Tells a missing from an old driver: CUDA reports cudaErrorInsufficientDriver for both.
std::string driver_error() {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
        return "there is no NVIDIA driver (libcuda.so.1); install it, run on a machine with a GPU, or use --impl cpu";
    }
    return "the NVIDIA driver knows CUDA " + version_text(driver) + ", this build needs " + version_text(runtime) +
           "; update the driver, build with an older toolkit, or use --impl cpu";
}

}  // namespace

// It is never destroyed: at the end of the process CUDA may be gone before it.
Device& cuda_device() {
    static CudaDevice& device = *new CudaDevice;
    return device;
}

Status probe_cuda() {
    int count = 0, major = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver) return bad_input(driver_error());
    if (error != cudaSuccess || count == 0) {
        const std::string reason = error == cudaSuccess ? "there is no GPU" : cuda_error_text("no GPU", error);
        return bad_input(reason + "; see what nvidia-smi says, and CUDA_VISIBLE_DEVICES, or use --impl cpu");
    }
    Status s =
        cuda_status("getting the architecture", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (!s.ok()) return s;
    if (major < kLeastMajor) {
        return bad_input("the GPU is of compute capability " + std::to_string(major) + ".x, wanted 8.0 or later");
    }
    return check_health(cuda_device());
}

}  // namespace diopi
