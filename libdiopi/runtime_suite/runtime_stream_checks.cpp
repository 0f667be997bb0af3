/// Checks of streams: order, independence, threads, overlap.
#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "core/stopwatch.hpp"
#include "runtime/caching_allocator.hpp"
#include "runtime/held_stream.hpp"
#include "runtime_suite/runtime_checks.hpp"
#include "worker/memory_limit.hpp"

namespace diopi::runtime_check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 4;
/// Sums per round. Inputs are small integers, so that every sum is exact in float32.
constexpr int kSums = 4;
constexpr int64_t kLargeLane = int64_t{1} << 18;
constexpr int64_t kSmallLane = 4099;
constexpr int kStreams = 8;
constexpr int kThreads = 8;
constexpr int kStreamsPerThread = 4;

/// The largest factor between the time of two points of a stream and the host's time around them: a larger one means
/// another unit than milliseconds. It is wide, because the host may be delayed between a point and its own clock.
constexpr double kUnitFactor = 500;

constexpr int kSleepers = 4;
constexpr auto kSleepTime = std::chrono::milliseconds(60);
/// The time for which the first sleeper waits for the others: tasks that run one after the other never meet.
constexpr auto kMeetingTimeout = std::chrono::seconds(3);
/// The time for which a stream is held while another one copies.
constexpr double kHold_s = 0.1;

/// Tasks that wait for each other. They meet only if they run at the same time, however busy the machine is.
class Meeting {
 public:
    explicit Meeting(int wanted) : wanted_(wanted) {}

    void attend() {
        std::unique_lock lock(mutex_);
        ++present_;
        changed_.notify_all();
        const bool over = changed_.wait_for(lock, kMeetingTimeout, [this] { return given_up_ || present_ == wanted_; });
        given_up_ = given_up_ || !over;
        changed_.notify_all();
    }
    [[nodiscard]] bool took_place() {
        const std::lock_guard lock(mutex_);
        return !given_up_ && present_ == wanted_;
    }

 private:
    const int wanted_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int present_ = 0;
    bool given_up_ = false;
};

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<TensorPtr> floats(Device& device, int64_t numel) { return make_tensor(device, {{numel}, Dtype::float32, {}}); }

Result<std::vector<std::unique_ptr<Event>>> make_events(Device& device, int count) {
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i < count; ++i) {
        auto event = device.create_event();
        if (!event.ok()) return event.error();
        events.push_back(std::move(*event));
    }
    return events;
}

/// Milliseconds from the first event to the last; none may be reached before its predecessor.
Result<double> time_between(const std::vector<std::unique_ptr<Event>>& events, double host_ms) {
    for (const auto& event : events) {
        if (Status s = event->synchronize(); !s.ok()) return s.error();
    }
    for (size_t i = 1; i < events.size(); ++i) {
        const auto step = events[i]->elapsed_ms_since(*events[i - 1]);
        if (!step.ok()) return step.error();
        if (!(*step >= 0)) return failed(fmt::format("event {} comes {:.3g} ms before its predecessor", i, -*step));
    }
    const auto all = events.back()->elapsed_ms_since(*events.front());
    if (!all.ok()) return all;
    if (*all > host_ms + 1 || *all * kUnitFactor < host_ms) {
        return failed(
            fmt::format("events say that {:.4g} ms passed, the host's clock says {:.4g}; are they in "
                        "milliseconds, and recorded after the stream's work?",
                        *all, host_ms));
    }
    return all;
}

Status work_of_thread(const RuntimeSubject& subject, int thread) {
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int i = 0; i < kStreamsPerThread; ++i) {
        const int number = thread * kStreamsPerThread + i;
        auto lane = Lane::create(*subject.backend, number, kSmallLane + number);
        if (!lane.ok()) return lane.error();
        lanes.push_back(std::move(*lane));
    }
    for (int round = 0; round < kRounds; ++round) {
        for (const auto& lane : lanes) {
            if (Status s = lane->start_round(); !s.ok()) return s;
        }
    }
    for (const auto& lane : lanes) {
        if (Status s = lane->finish(); !s.ok()) return s;
    }
    return {};
}

/// Copies a few bytes to the device and back.
Status round_trip(Device& device, diopiStreamHandle_t stream, const std::shared_ptr<void>& memory) {
    int number = 7;
    Status s = device.copy_to_device(stream, memory.get(), &number, sizeof number);
    if (s.ok()) s = device.copy_to_host(stream, &number, memory.get(), sizeof number);
    const Status waited = device.synchronize(stream);
    return s.ok() ? waited : s;
}

/// Text that says whether a stream's copies overtake the work of another one; empty if no stream of the device can be
/// held, or not long enough.
Result<std::string> overtaking(Device& device, diopiStreamHandle_t busy, diopiStreamHandle_t other) {
    auto memory = device.allocate(sizeof(int));
    if (!memory.ok()) return memory.error();
    auto held = HeldStream::create(device, busy);
    if (!held.ok()) return held.error();
    if (*held == nullptr) return std::string();
    // The one-time work of a stream's first copy is done here.
    if (Status s = round_trip(device, other, *memory); !s.ok()) return s.error();
    const Stopwatch watch;
    Status s = (*held)->hold(kHold_s);
    if (s.ok()) s = round_trip(device, other, *memory);
    const double passed_s = watch.seconds();
    if (Status waited = device.synchronize(busy); s.ok()) s = waited;
    if (!s.ok()) return s.error();
    const double held_s = watch.seconds();
    if (held_s < kHold_s / 2) return std::string();
    return fmt::format("; on {} a stream's copies {} another's work of {:.0f} ms", device.name(),
                       passed_s < held_s / 2 ? "passed" : "waited for", held_s * 1e3);
}

/// The same with new streams.
Result<std::string> overtaking(Device& device) {
    auto busy = device.create_stream();
    if (!busy.ok()) return busy.error();
    auto other = device.create_stream();
    auto words = other.ok() ? overtaking(device, *busy, *other) : Result<std::string>(other.error());
    Status s = other.ok() ? device.destroy_stream(*other) : Status();
    if (Status destroyed = device.destroy_stream(*busy); s.ok()) s = destroyed;
    return words.ok() && !s.ok() ? Result<std::string>(s.error()) : words;
}

/// The counters of the device's allocator in this process; empty if it has none.
std::string allocator_text(const Device& device) {
    const auto* owner = dynamic_cast<const AllocatorOwner*>(&device);
    if (owner == nullptr) return {};
    const AllocatorStatistics now = owner->allocator_statistics();
    return fmt::format("; its allocator served {} of {} requests from cached blocks, {} in use at most, {} cached",
                       now.from_cache, now.from_cache + now.from_source, memory_text(now.peak_used_bytes),
                       memory_text(now.cached_bytes));
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create(const Backend& backend, int number, int64_t numel) {
    const Row* row = find_row("diopiAdd");
    if (row == nullptr || !backend.implements(*row)) {
        return not_implemented(std::string(backend.name()) + " has no diopiAdd, which the streams would run");
    }
    Device& device = backend.device();
    auto stream = device.create_stream();
    if (!stream.ok()) return stream.error();
    std::unique_ptr<Lane> lane(new Lane(backend, *stream, number, numel));
    for (TensorPtr* tensor : {&lane->sums_[0], &lane->sums_[1], &lane->other_}) {
        auto made = floats(device, numel);
        if (!made.ok()) return made.error();
        *tensor = *made;
    }
    return lane;
}

Lane::~Lane() {
    if (!open_) return;
    (void)context_.device->synchronize(context_.stream);
    (void)context_.device->destroy_stream(context_.stream);
}

float Lane::input_at(int round, int64_t i) const { return static_cast<float>((number_ * 131 + round * 17 + i) % 1009); }
float Lane::other_at(int64_t i) const { return static_cast<float>((number_ * 7 + i) % 97 + 1); }

Status Lane::add(const TensorPtr& out, const TensorPtr& input) {
    Call call(*find_row("diopiAdd"));
    call["out"] = out;
    call["input"] = input;
    call["other"] = other_;
    call["alpha"] = Scalar::of(int64_t{1});
    const Outcome outcome = Chain(*backend_).run(call, context_);
    return outcome.ok() ? Status() : Status(failed("diopiAdd failed: " + outcome.message));
}

Status Lane::start_round() {
    const auto round = static_cast<int>(results_.size());
    const size_t nbytes = sums_[0]->nbytes();
    const auto count = static_cast<size_t>(numel_);
    std::vector<float> input(count), other(count);
    for (int64_t i = 0; i < numel_; ++i) {
        input[static_cast<size_t>(i)] = input_at(round, i);
        other[static_cast<size_t>(i)] = other_at(i);
    }
    Device& device = *context_.device;
    if (Status s = device.copy_to_device(context_.stream, sums_[0]->data(), input.data(), nbytes); !s.ok()) return s;
    if (Status s = device.copy_to_device(context_.stream, other_->data(), other.data(), nbytes); !s.ok()) return s;
    for (int k = 0; k < kSums; ++k) {
        if (Status s = add(sums_[(k + 1) % 2], sums_[k % 2]); !s.ok()) return s;
    }
    results_.push_back(std::make_unique<float[]>(count));
    return device.copy_to_host(context_.stream, results_.back().get(), sums_[kSums % 2]->data(), nbytes);
}

Status Lane::compare() const {
    for (size_t round = 0; round < results_.size(); ++round) {
        for (int64_t i = 0; i < numel_; ++i) {
            const float wanted = input_at(static_cast<int>(round), i) + kSums * other_at(i);
            const float got = results_[round][static_cast<size_t>(i)];
            if (got == wanted) continue;
            return failed(fmt::format(
                "stream {}, round {}: element {} of the sums is {} where {} is wanted; did work or a copy leave the "
                "stream's order, or touch another's data?",
                number_, round, i, got, wanted));
        }
    }
    return {};
}

Status Lane::finish() {
    if (Status s = context_.device->synchronize(context_.stream); !s.ok()) return s;
    if (Status s = compare(); !s.ok()) return s;
    context_.release();
    open_ = false;
    return context_.device->destroy_stream(context_.stream);
}

Findings one_stream(const RuntimeSubject& subject) {
    auto lane = Lane::create(*subject.backend, 0, kLargeLane);
    if (!lane.ok()) return lane.error();
    Context context(subject.backend->device(), (*lane)->stream());
    diopiStreamHandle_t handed_out = nullptr;
    if (subject.functions.get_stream(&context, &handed_out) != diopiSuccess || handed_out != context.stream) {
        return failed("diopiGetStream does not return the context's stream");
    }
    auto events = make_events(subject.backend->device(), kRounds + 1);
    if (!events.ok()) return events.error();
    const auto start = Clock::now();
    if (Status s = events->front()->record((*lane)->stream()); !s.ok()) return s.error();
    for (size_t round = 1; round <= kRounds; ++round) {
        if (Status s = (*lane)->start_round(); !s.ok()) return s.error();
        if (Status s = (*events)[round]->record((*lane)->stream()); !s.ok()) return s.error();
    }
    if (Status s = events->back()->synchronize(); !s.ok()) return s.error();
    const double host_ms = ms_since(start);
    if (Status s = (*lane)->compare(); !s.ok()) return failed("behind the last event, " + s.message());
    const auto elapsed = time_between(*events, host_ms);
    if (!elapsed.ok()) return elapsed.error();
    if (Status s = (*lane)->finish(); !s.ok()) return s.error();
    return fmt::format("{} rounds of copies and {} sums of {} elements, {:.2f} ms by the events", kRounds, kSums,
                       kLargeLane, *elapsed);
}

Findings many_streams(const RuntimeSubject& subject) {
    std::vector<std::unique_ptr<Lane>> lanes;
    std::set<diopiStreamHandle_t> handles;
    for (int i = 0; i < kStreams; ++i) {
        auto lane = Lane::create(*subject.backend, i, kSmallLane + i);
        if (!lane.ok()) return lane.error();
        handles.insert((*lane)->stream());
        lanes.push_back(std::move(*lane));
    }
    if (handles.size() != lanes.size()) return failed("two streams that are open have the same handle");
    for (int round = 0; round < kRounds; ++round) {
        for (const auto& lane : lanes) {
            if (Status s = lane->start_round(); !s.ok()) return s.error();
        }
    }
    for (const auto& lane : lanes) {
        if (Status s = lane->finish(); !s.ok()) return s.error();
    }
    return fmt::format("{} streams, {} rounds of copies and sums each, all results exact", kStreams, kRounds);
}

Findings threads_and_streams(const RuntimeSubject& subject) {
    std::vector<Status> ends(kThreads);
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            together.arrive_and_wait();
            try {
                ends[static_cast<size_t>(t)] = work_of_thread(subject, t);
            } catch (const std::exception& e) {
                ends[static_cast<size_t>(t)] = failed(std::string("the call threw an exception: ") + e.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) {
        const Status& end = ends[static_cast<size_t>(t)];
        if (!end.ok()) return Error{end.error().code, fmt::format("thread {}: {}", t, end.message())};
    }
    return fmt::format("{} threads with {} streams each, {} rounds of copies and sums, all results exact{}", kThreads,
                       kStreamsPerThread, kRounds, allocator_text(subject.backend->device()));
}

Findings overlap(const RuntimeSubject& subject) {
    // This is declared before the device, whose destructor waits for the tasks that use it.
    std::atomic<int> awake = 0;
    Meeting meeting(kSleepers);
    const std::unique_ptr<AsyncDevice> device = subject.async_device();
    std::vector<diopiStreamHandle_t> streams;
    for (int i = 0; i < kSleepers; ++i) {
        auto stream = device->create_stream();
        if (!stream.ok()) return stream.error();
        streams.push_back(*stream);
    }
    const auto start = Clock::now();
    for (diopiStreamHandle_t stream : streams) {
        Status s = device->enqueue(stream, [&] {
            meeting.attend();
            std::this_thread::sleep_for(kSleepTime);
            ++awake;
        });
        if (!s.ok()) return s.error();
    }
    for (diopiStreamHandle_t stream : streams) {
        if (Status s = device->synchronize(stream); !s.ok()) return s.error();
    }
    const double took = ms_since(start);
    if (awake != kSleepers) return failed("synchronize() returned before the stream's work had ended");
    for (diopiStreamHandle_t stream : streams) {
        if (Status s = device->destroy_stream(stream); !s.ok()) return s.error();
    }
    const double sum = kSleepers * std::chrono::duration<double, std::milli>(kSleepTime).count();
    const std::string figures = fmt::format("{} streams with {} ms of work each took {:.0f} ms, {:.2f} of their sum",
                                            kSleepers, kSleepTime.count(), took, took / sum);
    if (!meeting.took_place()) return failed(figures + "; one stream's work waited for another's to end");
    const auto passed = overtaking(subject.backend->device());
    if (!passed.ok()) return passed.error();
    return figures + ", on the built-in asynchronous test device" + *passed;
}

}  // namespace diopi::runtime_check
