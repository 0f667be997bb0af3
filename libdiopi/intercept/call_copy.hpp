/// A call with copies of its tensors, so that another backend can answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/backend.hpp"
#include "call/chain.hpp"
#include "core/status.hpp"
#include "runtime/generator.hpp"

namespace diopi {

/// A backend with a stream and a context of its own. The reference takes and gives wide dtypes only.
class Side {
 public:
    [[nodiscard]] static Result<std::unique_ptr<Side>> create(const Backend& backend);
    ~Side();
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    [[nodiscard]] const Backend& backend() const { return *backend_; }
    [[nodiscard]] Context& context() { return context_; }
    [[nodiscard]] bool is_wide() const { return backend_ == &reference_backend(); }

 private:
    Side(const Backend& backend, diopiStreamHandle_t stream) : backend_(&backend), context_(backend.device(), stream) {}

    const Backend* backend_;
    Context context_;
};

/// Copies between devices.
struct Transfers {
    int64_t copies = 0;
    int64_t nbytes = 0;
    double seconds = 0;
};

/// What a call reads is copied; its outputs get memory of their own, dense. A tensor that stands twice in the call
/// stands twice in the copy. Sparse tensors are not implemented.
class CallCopy {
 public:
    /// Waits for the stream of `from`. The copy's tensors are on `to`'s device.
    [[nodiscard]] static Result<CallCopy> create(const Call& call, Context& from, Side& to);

    /// Calls the backend; returns when it is done.
    [[nodiscard]] Outcome run();
    [[nodiscard]] const Call& call() const { return call_; }
    /// A tensor of the copy in host memory, contiguous, in the dtype of the tensor that it is a copy of.
    [[nodiscard]] Result<TensorPtr> host_tensor(const Tensor& tensor);
    /// The same as the backend gave it: in a wide dtype where the side is wide.
    [[nodiscard]] Result<TensorPtr> wide_tensor(const Tensor& tensor);
    /// Copies what the call wrote into `original`, the call that this is a copy of: tensors, numbers, generators.
    Status write_back(Call& original, Context& context);

    [[nodiscard]] const Transfers& in() const { return in_; }
    [[nodiscard]] const Transfers& out() const { return out_; }
    /// Of the backend's call alone.
    [[nodiscard]] double seconds() const { return seconds_; }

 private:
    CallCopy(const Call& call, Side& side) : call_(call), side_(&side) {}
    void find_inputs();
    Status copy_arguments(Context& from);
    Status copy(TensorPtr& tensor, const Arg& arg, Context& from);
    Status write_back(const TensorPtr& copy, TensorPtr& original, Context& context);

    Call call_;
    Side* side_;
    std::unordered_set<const Tensor*> inputs_;  ///< of the original call
    std::unordered_map<const Tensor*, TensorPtr> copies_;
    std::unordered_map<const Tensor*, Dtype> dtypes_;  ///< by copy, of a wide side: those of the originals
    std::vector<std::unique_ptr<Generator>> generators_;
    Transfers in_, out_;
    double seconds_ = 0;
};

}  // namespace diopi
