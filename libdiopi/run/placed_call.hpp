/// A step's call on a device: inputs copied there, outputs given memory with a visible pattern, inputs guarded by a
/// checksum.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/status.hpp"
#include "run/steps.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Checksums of the host inputs of a case, which its steps share.
using InputChecksums = std::unordered_map<const Tensor*, uint64_t>;

class PlacedCall {
 public:
    /// Memory that the host can read is shared for inputs; in-out arguments are always copies. Each call has its own
    /// copy of the generator, in the state that the step gives it.
    [[nodiscard]] static Result<PlacedCall> create(const Step& step, Context& context, InputChecksums& checksums);

    [[nodiscard]] Call& call() { return call_; }
    /// The tensor at an argument in host memory, after the call.
    [[nodiscard]] Result<TensorPtr> host_tensor(size_t arg, Context& context);
    /// Whether every const tensor still holds what it held before the call.
    [[nodiscard]] Status inputs_unchanged(Context& context);

 private:
    struct Guarded {
        std::string name;
        TensorPtr tensor;
        uint64_t checksum = 0;
    };

    explicit PlacedCall(const Call& call) : call_(call), generator_(std::make_unique<Generator>()) {}
    Status place_inputs(Context& context, InputChecksums& checksums);
    Status place_outputs(const Step& step, Context& context);
    [[nodiscard]] Result<TensorPtr> placed(const TensorPtr& tensor, bool is_const, const std::string& name,
                                           Context& context, InputChecksums& checksums);

    Call call_;
    std::unique_ptr<Generator> generator_;
    std::vector<Guarded> guarded_;
};

}  // namespace diopi
