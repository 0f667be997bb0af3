/// A run of a call behind work that holds its stream: whether the call waits for it, and whether it works in its order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "call/chain.hpp"
#include "runtime/held_stream.hpp"
#include "step/placed_call.hpp"

namespace diopi {

/// What became of it; the tensors of `placed` that the call writes hold what the stream's order put there.
struct HeldRun {
    PlacedCall placed;
    Outcome outcome;
    double call_s = 0;  ///< from the call to its return, in which a library only has to enqueue
    double held_s = 0;  ///< from the call to the end of all the stream's work
};

class StreamCheck {
 public:
    StreamCheck(const Backend& backend, Placement& placement) : backend_(&backend), placement_(&placement) {}

    /// Holds the stream for about `hold_s`. Behind that, and in the stream's order alone, the inputs get their values
    /// (0 until then, which is an index of anything), the call works, and its outputs are copied. Nothing where the
    /// stream cannot be held, or with sparse tensors or large ones.
    [[nodiscard]] Result<std::optional<HeldRun>> run(const Step& step, double hold_s);

 private:
    /// The storage of one or more tensors of the call.
    struct Block {
        Storage storage;
        std::shared_ptr<void> before, after;  ///< its bytes before the call, if it reads them; behind what it writes
    };
    [[nodiscard]] Status make_stream();
    /// The blocks of the call, none where it is not looked at.
    [[nodiscard]] Result<std::vector<Block>> blocks_of(Call& call);
    [[nodiscard]] Status save_and_clear(std::vector<Block>& blocks);
    [[nodiscard]] Result<std::optional<HeldRun>> try_once(const Step& step, double hold_s);
    [[nodiscard]] Status call(HeldRun& run, std::vector<Block>& blocks, double hold_s);
    /// Puts what was copied behind the call in the place of what it wrote.
    void show_copies(HeldRun& run, const std::vector<Block>& blocks);

    const Backend* backend_;
    Placement* placement_;
    std::unique_ptr<HeldStream> held_;
    bool is_made_ = false;
    /// What the last call wrote: it may still do so, where it is on another stream.
    std::vector<TensorPtr> written_;
};

}  // namespace diopi
