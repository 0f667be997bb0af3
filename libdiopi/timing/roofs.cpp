#include "timing/roofs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "call/chain.hpp"
#include "core/convert.hpp"
#include "infer/work.hpp"
#include "runtime/stream_copies.hpp"
#include "timing/timing.hpp"

namespace diopi {

namespace {

/// Bytes read and written: from the first-level cache to beyond the last one.
constexpr int64_t kCopySizes[] = {16 << 10, 128 << 10, 1 << 20, 8 << 20, 48 << 20};
/// The largest copy, in last-level caches of the host; a device with memory of its own gets the largest possible.
constexpr int64_t kBeyondCache = 3;
constexpr int64_t kMostCopyBytes = int64_t{512} << 20;
/// The largest share of a device's memory that a copy uses, as 1 / this number.
constexpr int64_t kMemoryShare = 8;
/// Sides of square products: larger ones as long as a smaller one is a short call.
constexpr int64_t kMatrix = 1024, kLargestMatrix = 4096;
constexpr double kShortProduct = 1e-3;
constexpr int64_t kUnknownCache = 32 << 20;

struct Effort {
    int least, most;
    double seconds;
};
/// The best of this many counts: only a disturbance makes a copy slower than the roof.
constexpr Effort kCopyEffort = {4, 200, 0.03};
constexpr Effort kMatmulEffort = {3, 40, 0.1};
constexpr Effort kEmptyEffort = {50, 2000, 0.01};

/// Replaces a call: the device copies one tensor's memory to another's.
class DeviceCopy final : public Interceptor {
 public:
    DeviceCopy(Device& device, const Tensor& to, const Tensor& from)
        : copies_(dynamic_cast<StreamCopies*>(&device)), to_(to), from_(from) {}

    [[nodiscard]] bool is_possible() const { return copies_ != nullptr; }
    Outcome around(Call&, Context& context, const Next&) override {
        const Status s = copies_->copy_on_device(context.stream, to_.data(), from_.data(), to_.nbytes());
        return s.ok() ? Outcome() : Outcome{diopiErrorOccurred, s.message()};
    }

 private:
    StreamCopies* copies_;
    const Tensor &to_, &from_;
};

/// Calls on tensors of the device, for the roofs.
class Probe {
 public:
    static Result<std::unique_ptr<Probe>> create(const Backend& backend) {
        auto stream = backend.device().create_stream();
        if (!stream.ok()) return stream.error();
        std::unique_ptr<Probe> probe(new Probe(backend, *stream));
        auto clock = ProfileClock::start(probe->context_);
        if (!clock.ok()) return clock.error();
        probe->clock_ = std::move(*clock);
        return probe;
    }
    ~Probe() { static_cast<void>(context_.device->destroy_stream(context_.stream)); }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

    [[nodiscard]] bool has(std::string_view function) const {
        const Row* row = find_row(function);
        return row != nullptr && backend_.implements(*row);
    }

    /// Numbers between -1 and 1, which repeat after kPeriod elements, in a dtype that a wide one converts to.
    Result<TensorPtr> tensor(const Shape& shape, Dtype dtype) {
        auto period = period_of(dtype);
        if (!period.ok()) return period;
        auto host = make_tensor(cpu_device(), {shape, dtype, {}});
        if (!host.ok()) return host;
        const auto* from = static_cast<const std::byte*>((*period)->data());
        auto* to = static_cast<std::byte*>((*host)->data());
        for (size_t left = (*host)->nbytes(), size = 0; left > 0; left -= size, to += size) {
            size = std::min(left, (*period)->nbytes());
            std::memcpy(to, from, size);
        }
        return context_.device == &cpu_device() ? host : to_device(*context_.device, context_.stream, **host);
    }

    /// The least seconds of a copy inside the device's memory; infinite if it has no such copy.
    double best_copy(const Tensor& to, const Tensor& from, const Effort& effort, int64_t batch) {
        DeviceCopy copy(*context_.device, to, from);
        return copy.is_possible() ? best(Call(*find_row("diopiCopyInp")), effort, batch, &copy)
                                  : std::numeric_limits<double>::infinity();
    }

    /// The least seconds of one call, in batches of `batch` calls or more; infinite if the backend refuses
    /// it. `instead`: a function that replaces the call.
    double best(Call call, const Effort& effort, int64_t batch = 1, Interceptor* instead = nullptr) {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        Call* const only[] = {&call};
        Chain chain(backend_);
        if (instead != nullptr) chain.add(*instead);
        EventTimer watch(chain, only, context_, clock_);
        if (!watch.create().ok() || !watch.keep_busy(std::exchange(ramp_seconds_, 0)).ok()) return kNever;
        const auto fitting = watch.fitting_batch(batch);
        if (!fitting.ok()) return kNever;
        double best = kNever, spent = 0;
        for (int i = 0; i < effort.most && (i < effort.least || spent < effort.seconds); ++i) {
            const auto run = watch.measure(*fitting);
            if (!run.ok()) return kNever;
            const double seconds = seconds_of(*run, clock_.has_device_time());
            spent += seconds * static_cast<double>(*fitting);
            if (i > 0) best = std::min(best, seconds);
        }
        return best;
    }

 private:
    Probe(const Backend& backend, diopiStreamHandle_t stream) : backend_(backend), context_(backend.device(), stream) {}

    static Result<TensorPtr> period_of(Dtype dtype) {
        auto wide = make_tensor(cpu_device(), {{kPeriod}, Dtype::float64, {}});
        if (!wide.ok()) return wide;
        uint32_t state = 1;
        for (double& x : std::span((*wide)->data_as<double>(), kPeriod)) {
            state = state * 1664525 + 1013904223;
            x = static_cast<double>(static_cast<int32_t>(state)) * 0x1p-31;
        }
        auto narrowed = make_tensor(cpu_device(), {{kPeriod}, dtype, {}});
        if (narrowed.ok()) narrow(**wide, **narrowed);
        return narrowed;
    }

    static constexpr size_t kPeriod = size_t{1} << 16;

    const Backend& backend_;
    Context context_;
    ProfileClock clock_;
    double ramp_seconds_ = kRampSeconds;  ///< before the next call; 0 after the first one
};

/// Functions that move float32 tensors with at most an element-wise operation: a library may be faster with
/// one of them. The tensor that is written comes first.
struct CopyingFunction {
    const char* function;
    std::array<const char*, 3> tensors;
    bool is_copy;
};
constexpr CopyingFunction kCopyingFunctions[] = {
    {"diopiCopyInp", {"dest", "src"}, true},
    {"diopiRelu", {"out", "input"}, false},
    {"diopiAdd", {"out", "input", "other"}, false},
};

/// Elements of a part of the memory, so that each part begins where a tensor of its own could.
int64_t pitch_of(int64_t numel) {
    constexpr int64_t kAlignment = 256 / sizeof(float);
    return (numel + kAlignment - 1) / kAlignment * kAlignment;
}

/// `numel` elements of the memory, behind `index` such parts.
TensorPtr part_of(const Tensor& memory, int64_t index, int64_t numel) {
    auto part = std::make_shared<Tensor>(memory);
    part->shape = {numel};
    part->offset = index * pitch_of(numel);
    return part;
}

/// Bytes per second of the fastest way to read and write this many in the memory; 0: there is none.
double copy_rate(Probe& probe, const Tensor& memory, int64_t bytes) {
    const int64_t batch = bytes < (1 << 20) ? 20 : 1;
    double rate = 0;
    for (const auto& copying : kCopyingFunctions) {
        if (!copying.is_copy && !probe.has(copying.function)) continue;
        Call call(*find_row(copying.function));
        std::vector<TensorPtr> tensors;
        const auto count = std::ranges::count_if(copying.tensors, [](const char* name) { return name != nullptr; });
        for (const char* name : std::span(copying.tensors).first(static_cast<size_t>(count))) {
            const auto index = static_cast<int64_t>(tensors.size());
            tensors.push_back(part_of(memory, index, bytes / count / static_cast<int64_t>(sizeof(float))));
            call[name] = tensors.back();
        }
        if (call.has("alpha")) call["alpha"] = Scalar::of(int64_t{1});
        const auto moved = static_cast<double>(tensors.size() * tensors[0]->nbytes());
        if (copying.is_copy) rate = moved / probe.best_copy(*tensors[0], *tensors[1], kCopyEffort, batch);
        if (probe.has(copying.function)) rate = std::max(rate, moved / probe.best(call, kCopyEffort, batch));
    }
    return rate;
}

int64_t largest_copy(Device& device, int64_t cache_bytes) {
    if (device.is_host()) return std::min(kBeyondCache * cache_bytes, kMostCopyBytes);
    const auto info = device.info();
    return info.ok() && info->total_bytes > 0 ? std::min(info->total_bytes / kMemoryShare, kMostCopyBytes)
                                              : kMostCopyBytes;
}

Status measure_copies(Probe& probe, Device& device, Roofs& roofs) {
    std::vector<int64_t> sizes(std::begin(kCopySizes), std::end(kCopySizes));
    const int64_t largest = largest_copy(device, roofs.cache_bytes);
    if (largest > sizes.back()) sizes.push_back(largest);
    // All copies are made in the memory of the largest one: clearing and filling it takes longer than the copies.
    constexpr auto kMostParts = static_cast<int64_t>(std::tuple_size_v<decltype(CopyingFunction::tensors)>);
    const auto memory =
        probe.tensor({sizes.back() / static_cast<int64_t>(sizeof(float)) + pitch_of(1) * kMostParts}, Dtype::float32);
    if (!memory.ok()) return memory.status();
    for (const int64_t bytes : sizes) {
        const double rate = copy_rate(probe, **memory, bytes);
        if (rate > 0) roofs.copies.push_back({bytes, rate});
    }
    return {};
}

/// Measures a square product by the first function that the backend has for it. Seconds; 0: it has none.
Result<double> product_seconds(Probe& probe, Dtype dtype, int64_t side, double& flops) {
    for (const char* function : {"diopiMm", "diopiMatmul", "diopiLinear"}) {
        if (!probe.has(function)) continue;
        Call call(*find_row(function));
        for (const char* arg : {"out", "input", "mat2", "other", "weight"}) {
            if (!call.has(arg)) continue;
            auto made = probe.tensor({side, side}, dtype);
            if (!made.ok()) return made.error();
            call[arg] = *made;
        }
        flops = work_of(call).flops;
        return probe.best(call, kMatmulEffort);
    }
    return 0.0;
}

/// Measures operations per second; 0: not measured.
Result<double> matmul_rate(Probe& probe, Dtype dtype) {
    double rate = 0;
    for (int64_t side = kMatrix; side <= kLargestMatrix; side *= 2) {
        double flops = 0;
        const auto seconds = product_seconds(probe, dtype, side, flops);
        if (!seconds.ok()) return seconds;
        if (*seconds <= 0) break;
        rate = std::max(rate, flops / *seconds);
        if (*seconds > kShortProduct) break;
    }
    return rate;
}

double empty_call(Probe& probe) {
    double best = std::numeric_limits<double>::infinity();
    for (const char* function : {"diopiAdd", "diopiRelu"}) {
        if (!probe.has(function)) continue;
        Call call(*find_row(function));
        for (const char* arg : {"out", "input", "other"}) {
            if (!call.has(arg)) continue;
            const auto made = probe.tensor({1}, Dtype::float32);
            if (!made.ok()) return 0;
            call[arg] = *made;
        }
        if (call.has("alpha")) call["alpha"] = Scalar::of(int64_t{1});
        best = std::min(best, probe.best(call, kEmptyEffort, 50));
    }
    return std::isinf(best) ? 0 : best;
}

}  // namespace

int64_t last_level_cache(Device& device) {
    for (Device* each : {&device, &cpu_device()}) {
        const auto info = each->info();
        if (info.ok() && info->cache_bytes > 0) return info->cache_bytes;
    }
    return kUnknownCache;
}

double machine_pace() {
    constexpr int kRepeats = 5;
    constexpr int kSteps = 400'000;
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        // Each step depends on the last one: no compiler and no cache can shorten it.
        volatile double seed = 0.3;
        double x = seed;
        for (int i = 0; i < kSteps; ++i) x = 3.9 * x * (1 - x);
        seed = x;
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        best = std::min(best, spent.count());
    }
    return best;
}

Result<Roofs> measure_empty_call(const Backend& backend) {
    auto probe = Probe::create(backend);
    if (!probe.ok()) return probe.error();
    Roofs roofs;
    roofs.empty_call = empty_call(**probe);
    return roofs;
}

Result<Roofs> measure_roofs(const Backend& backend, std::span<const Dtype> dtypes) {
    auto probe = Probe::create(backend);
    if (!probe.ok()) return probe.error();
    Roofs roofs;
    roofs.cache_bytes = last_level_cache(backend.device());
    if (Status s = measure_copies(**probe, backend.device(), roofs); !s.ok()) return s.error();
    for (const Dtype dtype : dtypes) {
        if (!is_floating(dtype) || matmul_roof(roofs, dtype) > 0) continue;
        auto rate = matmul_rate(**probe, dtype);
        if (!rate.ok()) return rate.error();
        if (*rate > 0) roofs.matmul.push_back({dtype, *rate});
    }
    roofs.empty_call = empty_call(**probe);
    return roofs;
}

}  // namespace diopi
