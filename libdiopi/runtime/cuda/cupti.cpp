#include "runtime/cuda/cupti.hpp"

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "runtime/cuda/cuda_check.cuh"
#include "runtime/opened_library.hpp"

namespace diopi {

namespace {

#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
using Memcpy = CUpti_ActivityMemcpy6;
#else
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy5;
#endif
using Memset = CUpti_ActivityMemset4;

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 8;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER};

struct Cupti {
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) enable = nullptr;
    decltype(&cuptiActivityDisable) disable = nullptr;
    decltype(&cuptiActivityFlushAll) flush = nullptr;
    decltype(&cuptiActivityGetNextRecord) next = nullptr;
    decltype(&cuptiGetTimestamp) timestamp = nullptr;
    decltype(&cuptiGetResultString) text = nullptr;

    void find_all(FunctionFinder& finder) {
        finder.find(register_callbacks, "cuptiActivityRegisterCallbacks");
        finder.find(enable, "cuptiActivityEnable");
        finder.find(disable, "cuptiActivityDisable");
        finder.find(flush, "cuptiActivityFlushAll");
        finder.find(next, "cuptiActivityGetNextRecord");
        finder.find(timestamp, "cuptiGetTimestamp");
        finder.find(text, "cuptiGetResultString");
    }

    [[nodiscard]] Status checked(const char* doing, CUptiResult result) const {
        if (result == CUPTI_SUCCESS) return {};
        const char* reason = nullptr;
        text(result, &reason);
        return failed(std::string("CUPTI: ") + doing + ": " + (reason == nullptr ? "unknown error" : reason));
    }
};

const OpenedLibrary<Cupti>& library() {
    static const OpenedLibrary<Cupti> opened(DIOPI_CUPTI_LIBRARY);
    return opened;
}

const Cupti& cupti() { return library().functions; }

/// The readable name of a symbol: "ns::kernel<float>(float*)" for "_ZN...".
std::string readable(const char* symbol) {
    if (symbol == nullptr) return "kernel";
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 && text ? text.get() : symbol;
}

std::string copy_name(uint8_t kind) {
    if (kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) return "copy to device";
    return kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "copy to host" : "copy on device";
}

/// The records that CUPTI's own thread delivers, in nanoseconds of CUPTI's clock.
class Records {
 public:
    struct Span {
        uint64_t begin = UINT64_MAX, end = 0;
    };
    struct Work {
        std::string name;
        uint32_t stream = 0, correlation = 0;
        Span span;
    };

    void add(const CUpti_Activity* record) {
        const std::lock_guard lock(mutex_);
        switch (record->kind) {
            case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
                return add_work(readable(reinterpret_cast<const Kernel*>(record)->name),
                                *reinterpret_cast<const Kernel*>(record));
            case CUPTI_ACTIVITY_KIND_MEMCPY:
                return add_work(copy_name(reinterpret_cast<const Memcpy*>(record)->copyKind),
                                *reinterpret_cast<const Memcpy*>(record));
            case CUPTI_ACTIVITY_KIND_MEMSET:
                return add_work("fill", *reinterpret_cast<const Memset*>(record));
            case CUPTI_ACTIVITY_KIND_RUNTIME:
            case CUPTI_ACTIVITY_KIND_DRIVER:
                return add_call(*reinterpret_cast<const CUpti_ActivityAPI*>(record));
            default:
                return;
        }
    }

    /// All records so far, in seconds since `zero`, without the device's work before that.
    [[nodiscard]] std::vector<DeviceActivity> take(uint64_t zero) {
        const std::lock_guard lock(mutex_);
        const auto seconds = [](uint64_t from, uint64_t to) { return 1e-9 * static_cast<double>(to - from); };
        std::vector<DeviceActivity> activities;
        for (Work& work : works_) {
            if (work.span.begin < zero) continue;
            DeviceActivity& made = activities.emplace_back();
            made.name = std::move(work.name);
            made.stream = work.stream;
            made.start = made.launched = seconds(zero, work.span.begin);
            made.duration = seconds(work.span.begin, work.span.end);
            const auto call = calls_.find(work.correlation);
            if (call == calls_.end() || call->second.begin < zero) continue;
            made.launched = seconds(zero, call->second.begin);
            made.launch_time = seconds(call->second.begin, call->second.end);
        }
        works_.clear();
        calls_.clear();
        std::ranges::stable_sort(activities, {}, &DeviceActivity::start);
        return activities;
    }

 private:
    template <class Record>
    void add_work(std::string name, const Record& record) {
        works_.push_back({std::move(name), record.streamId, record.correlationId, {record.start, record.end}});
    }

    /// A runtime call and the driver call inside it become one record.
    void add_call(const CUpti_ActivityAPI& call) {
        Span& span = calls_[call.correlationId];
        span.begin = std::min(span.begin, call.start);
        span.end = std::max(span.end, call.end);
    }

    std::mutex mutex_;
    std::vector<Work> works_;
    std::map<uint32_t, Span> calls_;
};

Records& records() {
    static Records the_records;
    return the_records;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
    *size = *buffer == nullptr ? 0 : kBufferBytes;
    *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t filled) {
    CUpti_Activity* record = nullptr;
    while (filled > 0 && cupti().next(buffer, filled, &record) == CUPTI_SUCCESS) records().add(record);
    std::free(buffer);
}

class CuptiRecording final : public ActivityRecording {
 public:
    ~CuptiRecording() override { stop(); }

    Status begin() {
        Status s = cupti().checked("taking buffers", cupti().register_callbacks(give_buffer, take_buffer));
        for (const CUpti_ActivityKind kind : kKinds) {
            if (s.ok()) s = cupti().checked("recording the device's activity", cupti().enable(kind));
        }
        if (s.ok()) s = cupti().checked("getting the time", cupti().timestamp(&zero_));
        return s;
    }

    Result<std::vector<DeviceActivity>> finish() override {
        Status s = cuda_status("waiting for the device", cudaDeviceSynchronize());
        if (s.ok()) s = cupti().checked("collecting what was recorded", cupti().flush(0));
        stop();
        if (!s.ok()) return s.error();
        return records().take(zero_);
    }

 private:
    static void stop() {
        for (const CUpti_ActivityKind kind : kKinds) (void)cupti().disable(kind);
    }

    uint64_t zero_ = 0;
};

}  // namespace

Result<std::unique_ptr<ActivityRecording>> record_cuda_activities() {
    if (!library().is_usable) {
        return bad_input(std::string(DIOPI_CUPTI_LIBRARY) + " cannot be used (" + library().why +
                         "): put the folder of the CUDA toolkit's CUPTI on LD_LIBRARY_PATH, or leave out --trace");
    }
    auto recording = std::make_unique<CuptiRecording>();
    if (Status s = recording->begin(); !s.ok()) return s.error();
    return std::unique_ptr<ActivityRecording>(std::move(recording));
}

}  // namespace diopi
