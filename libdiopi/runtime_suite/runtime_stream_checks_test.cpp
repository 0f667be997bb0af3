/// Each check of streams fails on a device with the fault that it looks for.
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <mutex>

#include "runtime/caching_allocator.hpp"
#include "runtime_suite/runtime_testing.hpp"

namespace diopi {

using testing::any;
using testing::expect_failure;
using testing::run_check;
using testing::TestBackend;

namespace {

/// Copies to the host at once, before the work that is enqueued on the stream.
class EarlyCopies : public AsyncDevice {
 public:
    Status copy_to_host(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        std::memcpy(dst, src, nbytes);
        return {};
    }
};

/// Copies on the default stream instead of the requested one.
class OneCopyStream : public AsyncDevice {
 public:
    Status copy_to_host(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        return AsyncDevice::copy_to_host(nullptr, dst, src, nbytes);
    }
    Status synchronize(diopiStreamHandle_t stream) override {
        const Status s = AsyncDevice::synchronize(stream);
        return s.ok() ? AsyncDevice::synchronize(nullptr) : s;
    }
};

/// Returns one stream twice.
class SameStream : public AsyncDevice {
 public:
    Result<diopiStreamHandle_t> create_stream() override {
        if (stream_ == nullptr) stream_ = *AsyncDevice::create_stream();
        return stream_;
    }

 private:
    diopiStreamHandle_t stream_ = nullptr;
};

/// Events that scale time by a factor, or do not wait for the stream.
class WrongEvents : public AsyncDevice {
 public:
    explicit WrongEvents(double factor, bool waits = true) : factor_(factor), waits_(waits) {}

    Result<std::unique_ptr<Event>> create_event() override {
        auto event = AsyncDevice::create_event();
        if (!event.ok()) return event;
        return std::unique_ptr<Event>(new Wrong(std::move(*event), factor_, waits_));
    }

 private:
    class Wrong : public Event {
     public:
        Wrong(std::unique_ptr<Event> right, double factor, bool waits)
            : right_(std::move(right)), factor_(factor), waits_(waits) {}
        Status record(diopiStreamHandle_t stream) override { return right_->record(waits_ ? stream : nullptr); }
        Status synchronize() override { return right_->synchronize(); }
        Result<double> elapsed_ms_since(const Event& start) const override {
            auto right = right_->elapsed_ms_since(*static_cast<const Wrong&>(start).right_);
            return right.ok() ? Result<double>(*right * factor_) : right;
        }

     private:
        std::unique_ptr<Event> right_;
        double factor_;
        bool waits_;
    };

    double factor_;
    bool waits_;
};

/// A device that runs one task at a time.
class OneAtATime : public AsyncDevice {
 public:
    Status enqueue(diopiStreamHandle_t stream, std::function<void()> task) override {
        return AsyncDevice::enqueue(stream, [this, task = std::move(task)] {
            const std::lock_guard lock(mutex_);
            task();
        });
    }

 private:
    std::mutex mutex_;
};

class EarlyReturning : public AsyncDevice {
 public:
    Status enqueue(diopiStreamHandle_t, std::function<void()>) override { return {}; }
};

class Impatient : public AsyncDevice {
 public:
    Status synchronize(diopiStreamHandle_t) override { return {}; }
};

/// Pauses streams, each alone or all together.
class Pausing : public AsyncDevice {
 public:
    explicit Pausing(bool together) : together_(together) {}
    Status enqueue(diopiStreamHandle_t stream, std::function<void()> task) override {
        if (!together_) return AsyncDevice::enqueue(stream, std::move(task));
        return AsyncDevice::enqueue(stream, [this, task = std::move(task)] {
            const std::lock_guard lock(mutex_);
            task();
        });
    }
    Status pause(diopiStreamHandle_t stream, double seconds) override {
        const auto begun = std::make_shared<std::promise<void>>();
        const Status s = enqueue(stream, [seconds, begun] {
            begun->set_value();
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        });
        if (s.ok()) begun->get_future().wait();
        return s;
    }

 private:
    bool together_;
    std::mutex mutex_;
};

class Counting : public AsyncDevice, public AllocatorOwner {
 public:
    AllocatorStatistics allocator_statistics() const override { return {0, 2048, 3 << 20, 7, 5}; }
};

class NoStreams : public AsyncDevice {
 public:
    Result<diopiStreamHandle_t> create_stream() override { return failed("no stream is left"); }
};

diopiError_t no_stream(diopiContextHandle_t, diopiStreamHandle_t* stream) {
    *stream = stream;  // any stream but the context's
    return diopiSuccess;
}

/// A sum whose first operand is copied to a global that every thread shares.
diopiError_t add_through_globals(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t other, const diopiScalar_t*) {
    static std::array<std::atomic<float>, 1 << 16> shared;
    const auto n = std::min(static_cast<size_t>(out->numel()), shared.size());
    for (size_t i = 0; i < n; ++i) shared[i] = input->data_as<float>()[i];
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (size_t i = 0; i < n; ++i) out->data_as<float>()[i] = shared[i] + other->data_as<float>()[i];
    return diopiSuccess;
}

/// A sum that omits its last element.
diopiError_t short_add(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiConstTensorHandle_t other, const diopiScalar_t*) {
    for (int64_t i = 0; i + 1 < out->numel(); ++i) {
        out->data_as<float>()[i] = input->data_as<float>()[i] + other->data_as<float>()[i];
    }
    return diopiSuccess;
}

diopiError_t failing_add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                         const diopiScalar_t*) {
    set_last_error("no kernel");
    return diopiErrorOccurred;
}

template <class Broken>
RuntimeSubject with_async_device() {
    static const TestBackend backend;
    RuntimeSubject subject = backend.subject();
    subject.async_device = [] { return std::make_unique<Broken>(); };
    return subject;
}

}  // namespace

TEST_CASE("one_stream finds a copy that does not wait for the work before it") {
    EarlyCopies device;
    expect_failure("one_stream", TestBackend(device).subject(), "element 0 of the sums is");
}

TEST_CASE("one_stream finds events that do not wait, run backwards, stand still or count in another unit") {
    WrongEvents early(1, false), backwards(-1), still(0), seconds(1e-3), microseconds(1e3);
    expect_failure("one_stream", TestBackend(early).subject(), "behind the last event");
    expect_failure("one_stream", TestBackend(backwards).subject(), "ms before its predecessor");
    for (WrongEvents* device : {&still, &seconds, &microseconds}) {
        expect_failure("one_stream", TestBackend(*device).subject(), "are they in milliseconds");
    }
}

TEST_CASE("one_stream finds a wrong sum, a call that fails and a context that hides its stream") {
    TestBackend backend;
    expect_failure("one_stream", backend.replace("diopiAdd", any(short_add)).subject(), "element 262143 of the sums");
    expect_failure("one_stream", backend.replace("diopiAdd", any(failing_add)).subject(), "no kernel");
    RuntimeSubject subject = TestBackend().subject();
    subject.functions.get_stream = no_stream;
    const TestBackend sound;
    subject.backend = sound.subject().backend;
    expect_failure("one_stream", subject, "diopiGetStream");
}

TEST_CASE("many_streams finds streams that are exchanged, the same, or missing") {
    OneCopyStream mixed;
    SameStream same;
    NoStreams none;
    expect_failure("many_streams", TestBackend(mixed).subject(), "element 0 of the sums is");
    expect_failure("many_streams", TestBackend(same).subject(), "the same handle");
    expect_failure("many_streams", TestBackend(none).subject(), "no stream is left");
}

TEST_CASE("many_streams finds a synchronize that does not wait") {
    Impatient device;
    expect_failure("many_streams", TestBackend(device).subject(), "of the sums is");
}

TEST_CASE("threads_and_streams finds an operator whose threads share a global") {
    TestBackend backend;
    expect_failure("threads_and_streams", backend.replace("diopiAdd", any(add_through_globals)).subject(),
                   "of the sums is");
}

TEST_CASE("threads_and_streams passes on the error of a thread") {
    TestBackend backend;
    expect_failure("threads_and_streams", backend.replace("diopiAdd", any(failing_add)).subject(),
                   "thread 0: diopiAdd failed: diopiErrorOccurred: no kernel");
}

TEST_CASE("overlap finds a device that does one task at a time, none at all, or does not wait for them") {
    expect_failure("overlap", with_async_device<OneAtATime>(), "one stream's work waited for another's to end");
    expect_failure("overlap", with_async_device<EarlyReturning>(), "before the stream's work had ended");
    expect_failure("overlap", with_async_device<Impatient>(), "before the stream's work had ended");
    expect_failure("overlap", with_async_device<NoStreams>(), "no stream is left");
}

TEST_CASE("threads_and_streams reports the counts of the device's allocator") {
    Counting counting;
    AsyncDevice silent;
    const auto told = [](AsyncDevice& device) {
        return run_check("threads_and_streams", TestBackend(device).subject()).reason;
    };
    CHECK_THAT(told(counting), Catch::EndsWith("; its allocator served 7 of 12 requests from cached blocks, 3.0 MiB "
                                               "in use at most, 2.0 KiB cached"));
    CHECK_THAT(told(silent), Catch::EndsWith("all results exact"));
}

TEST_CASE("overlap reports whether copies of a stream run during another's work on the backend's device") {
    Pausing alone(false), together(true);
    const auto told = [](AsyncDevice& device) { return run_check("overlap", TestBackend(device).subject()).reason; };
    CHECK_THAT(told(alone), Catch::Contains("test device; on async a stream's copies passed another's work of"));
    CHECK_THAT(told(together), Catch::Contains("test device; on async a stream's copies waited for another's work of"));
    CHECK_THAT(run_check("overlap", TestBackend().subject()).reason, Catch::EndsWith("asynchronous test device"));
}

}  // namespace diopi
