#include "runtime/held_stream.hpp"

#include <algorithm>
#include <cmath>

#include "core/stopwatch.hpp"

namespace diopi {

namespace {

/// The number of copies measured together, and their sizes. A few long copies hold a stream, many short ones fill its
/// queue: one copy should take half a millisecond, or have the largest size.
constexpr int64_t kMeasured = 4;
constexpr size_t kFirstBytes = size_t{1} << 20, kMostBytes = size_t{256} << 20;
constexpr double kLongCopy_s = 0.5e-3;
/// The least time that a copy is assumed to take, or there would be too many.
constexpr double kLeastCopy_s = 20e-6;
/// The largest share of the copies' time that enqueueing may take if the copies run asynchronously.
constexpr double kEnqueueingShare = 0.5;
/// A pause that is long compared with enqueueing it, and the size of a copy that waits for it.
constexpr double kPause_s = 5e-3;
constexpr size_t kPausedBytes = 64;
/// Copies that take this long decide whether they run asynchronously, if one of some rounds shows it: the queue's own
/// thread may take the processor from the caller.
constexpr double kDecisive_s = 4e-3;
constexpr int kRounds = 4;

}  // namespace

Result<std::unique_ptr<HeldStream>> HeldStream::create(Device& device, diopiStreamHandle_t stream) {
    auto* copies = dynamic_cast<StreamCopies*>(&device);
    if (copies == nullptr) return std::unique_ptr<HeldStream>();
    std::unique_ptr<HeldStream> held(new HeldStream(*copies, stream));
    if (!copies->pace) {
        auto pace = held->measure(device);
        if (!pace.ok()) return pace.error();
        copies->pace = *pace;
    }
    if (!copies->pace->can_hold()) return std::unique_ptr<HeldStream>();
    if (copies->pace->has_pauses) return held;
    auto scratch = device.allocate(2 * copies->pace->nbytes);
    if (!scratch.ok()) return scratch.error();
    held->scratch_ = std::move(*scratch);
    return held;
}

Status HeldStream::enqueue(int64_t count, size_t nbytes) {
    auto* memory = static_cast<std::byte*>(scratch_.get());
    for (int64_t i = 0; i < count; ++i) {
        if (Status s = copies_->copy_on_device(stream_, memory + nbytes, memory, nbytes); !s.ok()) return s;
    }
    return {};
}

Status HeldStream::hold(double seconds) {
    if (copies_->pace->has_pauses) return copies_->pause(stream_, seconds);
    last_count_ = static_cast<int64_t>(std::ceil(seconds / copies_->pace->seconds));
    return enqueue(last_count_, copies_->pace->nbytes);
}

void HeldStream::lengthen(double seconds) {
    if (copies_->pace->has_pauses) return;
    const double each_s = seconds / static_cast<double>(last_count_);
    copies_->pace->seconds = std::max(std::min(copies_->pace->seconds, each_s), kLeastCopy_s);
}

Result<CopyPace> HeldStream::measure(Device& device) {
    auto paused = measure_pause(device);
    if (!paused.ok()) return paused.error();
    return *paused ? Result<CopyPace>(**paused) : measure_copies(device);
}

Result<std::optional<CopyPace>> HeldStream::measure_pause(Device& device) {
    const Status known = copies_->pause(stream_, 0);
    if (!known.ok() && known.error().code == Errc::kNotImplemented) return std::optional<CopyPace>();
    auto scratch = device.allocate(2 * kPausedBytes);
    if (!scratch.ok()) return scratch.error();
    scratch_ = std::move(*scratch);
    for (int round = 0; round < kRounds; ++round) {
        const Stopwatch watch;
        Status s = copies_->pause(stream_, kPause_s);
        if (s.ok()) s = enqueue(1, kPausedBytes);
        const double enqueueing_s = watch.seconds();
        if (Status waited = device.synchronize(stream_); s.ok()) s = waited;
        if (!s.ok()) return s.error();
        if (enqueueing_s < kEnqueueingShare * kPause_s) return std::optional(CopyPace{0, 0, true});
    }
    return std::optional(CopyPace());
}

Result<CopyPace> HeldStream::measure_copies(Device& device) {
    CopyPace pace;
    for (size_t nbytes = kFirstBytes; nbytes <= kMostBytes; nbytes *= 2) {
        auto scratch = device.allocate(2 * nbytes);
        if (!scratch.ok()) return pace;  // the size before is long enough
        scratch_ = std::move(*scratch);
        double asynchronous_s = HUGE_VAL, fastest_s = HUGE_VAL;
        for (int round = 0; round < kRounds; ++round) {
            const Stopwatch watch;
            Status s = enqueue(kMeasured, nbytes);
            if (!s.ok() && s.error().code == Errc::kNotImplemented) return CopyPace();
            const double enqueueing_s = watch.seconds();
            if (s.ok()) s = device.synchronize(stream_);
            if (!s.ok()) return s.error();
            const double whole_s = watch.seconds();
            fastest_s = std::min(fastest_s, whole_s);
            if (enqueueing_s < kEnqueueingShare * whole_s) asynchronous_s = std::min(asynchronous_s, whole_s);
        }
        const bool is_asynchronous = asynchronous_s < HUGE_VAL;
        if (!is_asynchronous && fastest_s > kDecisive_s) return CopyPace();
        if (is_asynchronous) pace = {nbytes, asynchronous_s / kMeasured};
        if (pace.seconds > kLongCopy_s) return pace;
    }
    return pace;
}

}  // namespace diopi
