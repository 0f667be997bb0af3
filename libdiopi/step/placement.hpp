/// Places the tensors of a case on a device: inputs are copied unless the device can read them where they are, outputs
/// get memory with a visible pattern.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "call/tensors.hpp"
#include "cases/layout.hpp"
#include "check/verdict.hpp"
#include "core/status.hpp"
#include "file/checksum.hpp"
#include "runtime/context.hpp"
#include "runtime/guarded_device.hpp"

namespace diopi {

/// The contents of an output's memory before a call. Two runs with different patterns show an element that was never
/// written, whatever its correct value. The first pattern is NaN in floating tensors.
enum class Poison { kFirst, kSecond };

/// One byte of that pattern; every byte of the memory has this value.
[[nodiscard]] int poison_byte(Dtype dtype, Poison poison);

/// While it lives, memory that a library requires of the context has the pattern of floating tensors.
class PoisonedWorkspace {
 public:
    PoisonedWorkspace(Context& context, Poison poison);
    ~PoisonedWorkspace() { context_->fresh.reset(); }
    PoisonedWorkspace(const PoisonedWorkspace&) = delete;
    PoisonedWorkspace& operator=(const PoisonedWorkspace&) = delete;

 private:
    Context* context_;
};

/// The layout of a tensor in the device's memory; empty: its own.
using LayoutRule = std::function<Layout(const Place&, const TensorSpec&)>;

/// Whether the gaps between a tensor's elements are so large that only the elements are touched.
[[nodiscard]] bool is_spread(const Tensor& tensor);
/// Whether there are gaps between the elements, and not such large ones.
[[nodiscard]] bool has_gaps(const Tensor& tensor);

/// Whether a call gets const inputs that were made in Placement::input_memory() as they are, or copies of them.
enum class Inputs { kShared, kCopied };

/// Places the tensors of one case on the context's device. Const inputs are placed once and shared by the calls of a
/// step.
class Placement {
 public:
    /// With `guards`, which must then be the context's device, every tensor lies between guards; only inputs that are
    /// watched may be shared then. Without them all const inputs that the host can read may. Watched inputs are hashed.
    Placement(Context& context, GuardedDevice* guards, bool watch_inputs, LayoutRule layout = {},
              Inputs inputs = Inputs::kShared)
        : context_(&context),
          guards_(guards),
          watch_inputs_(watch_inputs),
          layout_(std::move(layout)),
          sharing_(inputs) {}

    /// Another one, with memory of its own for const inputs.
    [[nodiscard]] Placement fresh() const { return {*context_, guards_, watch_inputs_, layout_, Inputs::kCopied}; }

    /// The memory in which inputs are best made.
    [[nodiscard]] Device& input_memory() const;
    /// A const input, shared or copied. The parts of a CSR tensor keep their layouts.
    [[nodiscard]] Result<TensorPtr> input(const TensorPtr& host, const Place& place);
    /// A copy that the call may change.
    [[nodiscard]] Result<TensorPtr> inout(const Tensor& host, const Place& place);
    /// Memory for an output, filled with the pattern.
    [[nodiscard]] Result<TensorPtr> output(const TensorSpec& spec, const Place& place, Poison poison);
    /// Whether a watched input is unchanged. A changed one is placed again for the next call.
    [[nodiscard]] Failure check_input(const TensorPtr& host);
    /// A call begins, after which the inputs are no longer known to be unchanged.
    void note_call();
    /// Whether the watched inputs that are shared are unchanged, where a call came after their last check.
    [[nodiscard]] Failure find_lost_inputs();
    /// Whether a change of an input that was shared was found: its values are lost.
    [[nodiscard]] bool has_lost_inputs() const { return has_lost_inputs_; }
    /// The writes past the edges of any tensor; see GuardedDevice::damage.
    [[nodiscard]] Result<std::vector<std::string>> damage();
    /// The first of them, as a failure.
    [[nodiscard]] Failure check_guards();
    /// Where tensors lie between protected pages: whether const inputs may only be read, so that a write ends the
    /// process.
    void set_read_only(bool is_read_only);
    /// Releases the const inputs, which the next step may not need.
    void release_inputs();
    [[nodiscard]] Context& context() const { return *context_; }

 private:
    struct Input {
        TensorPtr host, placed;
        std::string name;
        uint64_t checksum = 0;
        bool is_checked = true;  ///< since the last call
    };
    /// Whether calls can get const inputs as they are, if these are in the right memory.
    [[nodiscard]] bool may_share() const;
    /// A tensor in the layout that the rule gives.
    [[nodiscard]] Result<TensorPtr> made(const TensorSpec& spec, const Place& place) const;
    void name_memory(const Tensor& tensor, const std::string& name);
    [[nodiscard]] Result<TensorPtr> copy_of(const Tensor& host, const std::string& name);
    [[nodiscard]] Result<TensorPtr> copy_of_csr(const Tensor& host, const Place& place);
    /// Copies a storage that was filled on the host; returns when the host may reuse its memory.
    [[nodiscard]] Status send(const Tensor& staged, const Tensor& tensor);
    /// Adds the tensor's whole storage, gaps included unless it is spread; for a CSR tensor, its parts.
    [[nodiscard]] Status add_to(Checksum& checksum, const Tensor& tensor);
    [[nodiscard]] Result<uint64_t> checksum_of(const Tensor& tensor);

    Context* context_;
    GuardedDevice* guards_;
    bool watch_inputs_;
    LayoutRule layout_;
    Inputs sharing_;
    bool has_lost_inputs_ = false;
    std::unordered_map<const Tensor*, Input> inputs_;
};

}  // namespace diopi
