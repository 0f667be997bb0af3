/// The checks of the runtime suite, and their common parts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "call/chain.hpp"
#include "runtime_suite/runtime_subject.hpp"

namespace diopi::runtime_check {

using Findings = Result<std::string>;

/// Name, memory and compute units exist and agree.
Findings device_info(const RuntimeSubject& subject);
/// The text of a failure is available, only in its own thread, and the next success clears it.
Findings last_error(const RuntimeSubject& subject);
/// Work and copies of one stream take place in their order; events measure its time.
Findings one_stream(const RuntimeSubject& subject);
/// Streams that work at the same time do not change each other's data.
Findings many_streams(const RuntimeSubject& subject);
/// Threads with several streams each do not change each other's data either.
Findings threads_and_streams(const RuntimeSubject& subject);
/// Streams of the asynchronous test device run at the same time. For the backend's device it is only reported
/// whether a stream's copies pass another's work: a device may have one queue.
Findings overlap(const RuntimeSubject& subject);
/// Tensors of every dtype and kind of shape: each getter of diopirt.h returns the correct value, and each tensor has
/// its own memory.
Findings tensor_construction(const RuntimeSubject& subject);
/// A generator's state can be saved and set; equal states draw equal numbers, advanced ones others.
Findings generator_state(const RuntimeSubject& subject);
/// A leak is found, with its size and name; freed memory is not reported.
Findings memory_checker(const RuntimeSubject& subject);
/// Copies of any size and address are complete and change nothing beside them.
Findings copies(const RuntimeSubject& subject);

/// One stream with its own data and a check's work: sums by the backend's diopiAdd.
class Lane {
 public:
    /// Results of different lanes differ. Not implemented when the backend has no diopiAdd.
    [[nodiscard]] static Result<std::unique_ptr<Lane>> create(const Backend& backend, int number, int64_t numel);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Enqueues a round: new inputs to the device, their sums, the result to the host. It does not wait.
    Status start_round();
    /// Compares the results of all rounds, element by element. The stream must have been waited for.
    [[nodiscard]] Status compare() const;
    /// Waits for the stream, compares and destroys the stream.
    Status finish();

    [[nodiscard]] diopiStreamHandle_t stream() const { return context_.stream; }

 private:
    Lane(const Backend& backend, diopiStreamHandle_t stream, int number, int64_t numel)
        : backend_(&backend), context_(backend.device(), stream), number_(number), numel_(numel) {}
    [[nodiscard]] float input_at(int round, int64_t i) const;
    [[nodiscard]] float other_at(int64_t i) const;
    Status add(const TensorPtr& out, const TensorPtr& input);

    const Backend* backend_;
    Context context_;
    int number_;
    int64_t numel_;
    TensorPtr sums_[2], other_;
    std::vector<std::unique_ptr<float[]>> results_;
    bool open_ = true;
};

}  // namespace diopi::runtime_check
