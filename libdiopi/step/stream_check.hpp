/// A run of a call behind work that holds its stream: whether the call waits for it, and whether it works in its order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "call/chain.hpp"
#include "runtime/held_stream.hpp"
#include "step/placed_call.hpp"

namespace diopi {

/// The result of a held run; the tensors of `placed` that the call writes have the values in the stream's order.
struct HeldRun {
    PlacedCall placed;
    Outcome outcome;
    double call_s = 0;  ///< duration of the call itself, in which a library only has to enqueue
    double held_s = 0;  ///< from the begin of the call to the end of all the stream's work
};

class StreamCheck {
 public:
    StreamCheck(const Backend& backend, Placement& placement) : backend_(&backend), placement_(&placement) {}

    /// Holds the stream for about `hold_s`. After that, and in the stream's order alone, the inputs get their values (0
    /// until then, a valid index everywhere), the call works, and its outputs are copied. Nullopt if the stream cannot
    /// be held, or with sparse or large tensors.
    [[nodiscard]] Result<std::optional<HeldRun>> run(const Step& step, double hold_s);

 private:
    /// The storage of one or more tensors of the call.
    struct Block {
        Storage storage;
        std::shared_ptr<void> before, after;  ///< its bytes, if the call reads them and if it writes them
    };
    [[nodiscard]] Status make_stream();
    /// The blocks of the call; none if it is not checked.
    [[nodiscard]] Result<std::vector<Block>> blocks_of(Call& call);
    [[nodiscard]] Status save_and_clear(std::vector<Block>& blocks);
    [[nodiscard]] Result<std::optional<HeldRun>> try_once(const Step& step, double hold_s);
    [[nodiscard]] Status call(HeldRun& run, std::vector<Block>& blocks, double hold_s);
    /// Puts the copies made after the call into the places of its outputs.
    void show_copies(HeldRun& run, const std::vector<Block>& blocks);

    const Backend* backend_;
    Placement* placement_;
    std::unique_ptr<HeldStream> held_;
    bool is_made_ = false;
    /// The outputs of the last call, which may still write them on another stream.
    std::vector<TensorPtr> written_;
};

}  // namespace diopi
