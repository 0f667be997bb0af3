#include "runtime/async_device.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/cpu_info.hpp"

namespace diopi {

namespace {

using Clock = std::chrono::steady_clock;

/// Whether this thread runs a stream's tasks: it must not wait for streams.
thread_local bool t_is_worker = false;

/// A point in a stream's queue that an event stands for.
class Point {
 public:
    void reach() {
        const std::lock_guard lock(mutex_);
        time_ = Clock::now();
        reached_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return reached_; });
    }
    /// Null until it is reached.
    [[nodiscard]] const Clock::time_point* time() {
        const std::lock_guard lock(mutex_);
        return reached_ ? &time_ : nullptr;
    }

 private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool reached_ = false;
    Clock::time_point time_;
};

}  // namespace

/// A worker thread and its queue.
class AsyncDevice::Stream {
 public:
    Stream() : worker_([this] { serve(); }) {}
    ~Stream() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// A task with `must_run` runs on a failed stream, too: an event must be reached.
    void push(std::function<void()> task, bool must_run) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back({std::move(task), must_run});
        }
        changed_.notify_all();
    }

    /// Waits for what is enqueued; the error of a task, now or earlier.
    Status drain() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.empty() && !running_; });
        return error_.empty() ? Status() : Status(failed(error_));
    }

 private:
    struct Task {
        std::function<void()> run;
        bool must_run;
    };

    void serve() {
        t_is_worker = true;
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
            if (queue_.empty()) return;
            Task task = std::move(queue_.front());
            queue_.pop_front();
            const bool wanted = task.must_run || error_.empty();
            running_ = true;
            lock.unlock();
            const std::string error = wanted ? run(task) : std::string();
            // The lock is free here, because what the task owns may use the stream when it is released.
            task.run = nullptr;
            lock.lock();
            if (!error.empty()) error_ = error;
            running_ = false;
            changed_.notify_all();
        }
    }

    static std::string run(const Task& task) {
        try {
            task.run();
            return {};
        } catch (const std::exception& e) {
            return std::string("a task on the stream failed: ") + e.what();
        } catch (...) {
            return "a task on the stream failed with an exception of no known type";
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> queue_;
    bool running_ = false;
    bool ending_ = false;
    std::string error_;
    std::thread worker_;  // last: it uses all of the above
};

/// The streams of a device. Memory and events share it, so that they may outlive the device.
class AsyncDevice::Streams {
 public:
    Result<diopiStreamHandle_t> create() {
        auto stream = start();
        if (!stream.ok()) return stream.error();
        const std::lock_guard lock(mutex_);
        streams_.push_back(*stream);
        return static_cast<diopiStreamHandle_t>(stream->get());
    }

    /// The stream of that handle. The thread of the default stream, null, starts at its first use, so that a program
    /// can fork before.
    Result<std::shared_ptr<Stream>> find(diopiStreamHandle_t handle) {
        const std::lock_guard lock(mutex_);
        if (handle == nullptr) {
            if (default_ != nullptr) return default_;
            auto started = start();
            if (started.ok()) default_ = *started;
            return started;
        }
        const auto found = position(handle);
        if (found == streams_.end()) return bad_input("the stream is none of this device, or was destroyed before");
        return *found;
    }

    Status destroy(diopiStreamHandle_t handle) {
        if (handle == nullptr) return bad_input("the default stream cannot be destroyed");
        auto stream = find(handle);
        if (!stream.ok()) return stream.error();
        Status status = (*stream)->drain();
        const std::lock_guard lock(mutex_);
        if (const auto found = position(handle); found != streams_.end()) streams_.erase(found);
        return status;
    }

    void drain_all() {
        if (t_is_worker) return;
        for (const auto& stream : all()) (void)stream->drain();
    }

    void end() {
        drain_all();
        const std::lock_guard lock(mutex_);
        streams_.clear();
        default_.reset();
    }

 private:
    static Result<std::shared_ptr<Stream>> start() {
        try {
            return std::make_shared<Stream>();
        } catch (const std::system_error& e) {
            return failed(std::string("cannot start a thread for a stream: ") + e.what() + "; use fewer streams");
        }
    }

    std::vector<std::shared_ptr<Stream>>::iterator position(diopiStreamHandle_t handle) {
        return std::ranges::find_if(streams_, [&](const auto& stream) { return stream.get() == handle; });
    }

    std::vector<std::shared_ptr<Stream>> all() {
        const std::lock_guard lock(mutex_);
        auto streams = streams_;
        if (default_ != nullptr) streams.push_back(default_);
        return streams;
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<Stream>> streams_;
    std::shared_ptr<Stream> default_;
};

class AsyncDevice::AsyncEvent final : public Event {
 public:
    explicit AsyncEvent(std::shared_ptr<Streams> streams) : streams_(std::move(streams)) {}

    Status record(diopiStreamHandle_t handle) override {
        auto stream = streams_->find(handle);
        if (!stream.ok()) return stream.error();
        point_ = std::make_shared<Point>();
        (*stream)->push([point = point_] { point->reach(); }, true);
        return {};
    }

    Status synchronize() override {
        if (point_ == nullptr) return bad_input("the event was never recorded");
        point_->wait();
        return {};
    }

    Result<double> elapsed_ms_since(const Event& start) const override {
        const auto& other = static_cast<const AsyncEvent&>(start);
        const Clock::time_point* begin = other.point_ == nullptr ? nullptr : other.point_->time();
        const Clock::time_point* end = point_ == nullptr ? nullptr : point_->time();
        if (begin == nullptr || end == nullptr) {
            return bad_input("an event has not been reached; record it and synchronize() before its time is read");
        }
        return std::chrono::duration<double, std::milli>(*end - *begin).count();
    }

 private:
    std::shared_ptr<Streams> streams_;
    std::shared_ptr<Point> point_;
};

AsyncDevice::AsyncDevice() : streams_(std::make_shared<Streams>()) {}
AsyncDevice::~AsyncDevice() { streams_->end(); }

Status AsyncDevice::enqueue(diopiStreamHandle_t stream, std::function<void()> task) {
    auto found = streams_->find(stream);
    if (!found.ok()) return found.error();
    (*found)->push(std::move(task), false);
    return {};
}

Result<DeviceInfo> AsyncDevice::info() {
    auto info = cpu_info();
    if (!info.ok()) return info;
    info->name = "asynchronous test device on " + info->name;
    info->compute_units = 1;
    return info;
}

Result<std::shared_ptr<void>> AsyncDevice::allocate(size_t nbytes) {
    auto memory = cpu_device().allocate(nbytes);
    if (!memory.ok() || *memory == nullptr) return memory;
    void* address = memory->get();
    return std::shared_ptr<void>(address, [block = std::move(*memory), streams = streams_](void*) mutable {
        streams->drain_all();
        block.reset();
    });
}

Status AsyncDevice::copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    const auto* bytes = static_cast<const std::byte*>(src);
    return enqueue(stream, [dst, staged = std::vector<std::byte>(bytes, bytes + nbytes)] {
        if (!staged.empty()) std::memcpy(dst, staged.data(), staged.size());
    });
}

Status AsyncDevice::copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    return enqueue(stream, [dst, src, nbytes] {
        if (nbytes > 0) std::memcpy(dst, src, nbytes);
    });
}

Status AsyncDevice::copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    return copy_to_host(stream, dst, src, nbytes);
}

Result<diopiStreamHandle_t> AsyncDevice::create_stream() { return streams_->create(); }
Status AsyncDevice::destroy_stream(diopiStreamHandle_t stream) { return streams_->destroy(stream); }

Status AsyncDevice::synchronize(diopiStreamHandle_t stream) {
    auto found = streams_->find(stream);
    return found.ok() ? (*found)->drain() : Status(found.error());
}

Result<std::unique_ptr<Event>> AsyncDevice::create_event() {
    return std::unique_ptr<Event>(std::make_unique<AsyncEvent>(streams_));
}

}  // namespace diopi
