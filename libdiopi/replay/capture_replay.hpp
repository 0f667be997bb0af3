/// Replays a capture: its storages have their original lifetimes, its calls run through a chain in their order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "capture/capture_file.hpp"

namespace diopi {

/// One call of a replay, after it ran.
struct ReplayedCall {
    size_t index = 0;  ///< in Capture::calls
    const CapturedCall& captured;
    /// Has tensors on the device; null where the capture has no function for it.
    const Call* call = nullptr;
    /// diopiNoImplement where there is no function, or nobody implements it: its outputs were drawn.
    Outcome outcome;
};

class CaptureReplay {
 public:
    /// Draws the storages that are read before they are written, or takes the values that were kept. Refers to both.
    [[nodiscard]] static Result<CaptureReplay> create(const Capture& capture, const CaptureValues& values,
                                                      uint64_t seed);

    /// Puts the initial values of the storages on the context's device; needed before every run.
    Status begin(Context& context);
    /// An error of `visit` ends the iteration.
    using Visit = std::function<Status(const ReplayedCall&)>;
    /// One iteration. A call that fails ends it, with its number and name in the message; outputs of a call that no
    /// library implements are kept values or drawn. Storages with results stay until the next begin().
    Status run(const Chain& chain, Context& context, const Visit& visit = {});

    /// Positions of the tensors that were written and not read afterwards: the results of the capture.
    [[nodiscard]] const std::vector<size_t>& results() const { return results_; }
    /// The tensors of a call, and the use that the call makes of them.
    [[nodiscard]] const std::vector<TensorUse>& uses(size_t call) const { return uses_[call]; }
    /// Bytes of the storages that are allocated for a call, and of those that are freed after it.
    [[nodiscard]] int64_t allocated(size_t call) const { return bytes_of(begins_[call]); }
    [[nodiscard]] int64_t freed(size_t call) const { return bytes_of(ends_[call]); }
    /// A tensor of the capture in its current memory, which is null if its storage is not allocated.
    [[nodiscard]] const Tensor& placed(size_t tensor) const { return *placed_[tensor]; }

 private:
    /// The lifetime of a storage.
    struct Lifetime {
        size_t first = SIZE_MAX, last = 0;  ///< calls that use it
        bool kept = false;                  ///< it holds a result
        TensorPtr beginning;                ///< initial values on the host, one dim; null for none
    };
    CaptureReplay(const Capture& capture, const CaptureValues& values, uint64_t seed);
    [[nodiscard]] int64_t bytes_of(const std::vector<size_t>& storages) const;
    void find_lives();
    void find_results();
    Status take_beginnings();
    void place_tensors();
    /// The call with the placed tensors and this replay's generators.
    [[nodiscard]] Call own(const Call& call);
    Status begin_storage(size_t storage, Context& context);
    void end_storage(size_t storage);
    Status run_call(size_t index, const Chain& chain, Context& context, const Visit& visit);
    /// Fills a tensor that no function wrote with kept or drawn values.
    Status fill_unwritten(size_t call, size_t tensor, const std::string& place, const Recipe& recipe, Context& context);
    Status fill_unwritten_outputs(size_t index, Context& context);

    const Capture* capture_;
    const CaptureValues* values_;
    uint64_t seed_;
    std::vector<std::vector<TensorUse>> uses_;  ///< by call
    std::vector<Lifetime> lifetimes_;
    std::vector<std::vector<size_t>> begins_, ends_;  ///< storages, by call
    std::vector<std::vector<size_t>> views_;          ///< tensors, by storage
    std::vector<TensorPtr> placed_;
    std::vector<std::optional<Call>> calls_;
    std::vector<std::string> titles_;  ///< titles of the calls, for messages
    /// The generators of the calls, with the recorded states.
    std::vector<std::pair<std::unique_ptr<Generator>, Generator>> generators_;
    std::vector<size_t> results_;
};

}  // namespace diopi
