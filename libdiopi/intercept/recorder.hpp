/// Recorder: records the calls as a capture (docs/capture.md).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "capture/capture_spool.hpp"
#include "core/status.hpp"

namespace diopi {

/// A recipe for values similar to these, contiguous and on the host: one value everywhere, whole numbers from the least
/// to the greatest, numbers between them where none is negative, else normal ones. NaN and infinity are ignored unless
/// there is nothing else; for a complex tensor the real parts count.
[[nodiscard]] Recipe recipe_like(const Tensor& host);

/// Storages are identified by their memory, tensors by their place in it. A storage that is read before a recorded call
/// wrote it gets a recipe from its elements. A call with a sparse tensor is recorded by the tensors that it reads and
/// writes.
class Recorder final : public Interceptor {
 public:
    /// Values go to `values`; null: they are not kept.
    explicit Recorder(CaptureSpool* values = nullptr) : values_(values) {}

    /// Returns the call's own outcome: take() reports an error of the recording, which ends it.
    Outcome around(Call& call, Context& context, const Next& next) override;

    /// The calls since the last take(); a new recording begins.
    [[nodiscard]] Result<Capture> take();

 private:
    /// A known storage.
    struct Block {
        std::weak_ptr<void> memory;  ///< a new storage at the same address does not share it
        size_t storage = 0;
    };
    /// A tensor of the call, or a part of a sparse one.
    struct Use {
        TensorPtr tensor;
        std::string place;
        bool reads = false, writes = false;
    };
    using View = std::tuple<size_t, Dtype, Shape, Shape, int64_t>;

    Status record(const Call& call, Context& context, const std::vector<Use>& uses);
    /// Records the results of a call that ran.
    Status record_results(const Call& call, Context& context, const std::vector<Use>& uses);
    [[nodiscard]] CapturedCall described(const Call& call);
    [[nodiscard]] Call copy_of(const Call& call);
    Status record_beginning(const Tensor& tensor, size_t storage, Context& context);
    [[nodiscard]] size_t storage_of(const TensorPtr& tensor);
    [[nodiscard]] size_t tensor_of(const TensorPtr& tensor);
    [[nodiscard]] static std::vector<Use> uses_of(const Call& call);

    CaptureSpool* values_;
    Capture capture_;
    Status status_;
    std::unordered_map<const void*, Block> blocks_;
    std::map<View, size_t> views_;
    std::vector<bool> is_known_;  ///< by storage: its initial values are recorded, or a call wrote it
    std::map<std::string_view, int64_t> forward_ids_;  ///< id of the last forward call, by operator
    int64_t next_forward_id_ = 0;
};

}  // namespace diopi
