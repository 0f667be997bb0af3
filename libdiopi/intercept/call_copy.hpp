/// A call with copies of its tensors, so that another backend can run it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/backend.hpp"
#include "call/chain.hpp"
#include "core/status.hpp"
#include "journal/fallback_record.hpp"
#include "runtime/generator.hpp"

namespace diopi {

/// A backend with a stream and a context of its own. The reference takes and returns wide dtypes only.
class Side {
 public:
    /// `floating` replaces every other floating dtype of its tensors; nullopt: dtypes are kept.
    [[nodiscard]] static Result<std::unique_ptr<Side>> create(const Backend& backend,
                                                              std::optional<Dtype> floating = std::nullopt);
    ~Side();
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    [[nodiscard]] const Backend& backend() const { return *backend_; }
    [[nodiscard]] Context& context() { return context_; }
    [[nodiscard]] bool is_wide() const { return backend_ == &reference_backend(); }
    [[nodiscard]] bool casts() const { return floating_.has_value(); }
    /// The dtype of its results for a tensor of `dtype`.
    [[nodiscard]] Dtype dtype_for(Dtype dtype) const { return is_floating(dtype) ? floating_.value_or(dtype) : dtype; }
    /// `tensor` is a copy of an opaque one that this side's function made.
    void note_made(const Tensor& tensor);
    [[nodiscard]] bool has_made(const Tensor& tensor) const;

 private:
    Side(const Backend& backend, diopiStreamHandle_t stream, std::optional<Dtype> floating)
        : backend_(&backend), context_(backend.device(), stream), floating_(floating) {}

    const Backend* backend_;
    Context context_;
    std::optional<Dtype> floating_;
    std::vector<std::weak_ptr<void>> opaque_;  ///< the memory of such tensors, as long as somebody keeps them
};

/// `host`, a tensor in host memory, converted to a contiguous one of another dtype; floating values are rounded once.
[[nodiscard]] Result<TensorPtr> cast(const Tensor& host, Dtype dtype);

/// A copy of a call: tensors that it reads are copied, its outputs get memory of their own, dense. A tensor that occurs
/// twice in the call occurs twice in the copy. An opaque tensor is null in the copy unless the same side made it.
/// Sparse tensors are not implemented.
class CallCopy {
 public:
    /// Waits for the stream of `from`. The copy's tensors are on `to`'s device.
    [[nodiscard]] static Result<CallCopy> create(const Call& call, Context& from, Side& to);

    /// Calls the backend; returns when it is done.
    [[nodiscard]] Outcome run();
    [[nodiscard]] const Call& call() const { return call_; }
    /// A tensor of the copy in host memory, contiguous, in the side's dtype for the tensor that it is a copy of.
    [[nodiscard]] Result<TensorPtr> host_tensor(const Tensor& tensor);
    /// The same without the final rounding: in a wide dtype if the side is wide.
    [[nodiscard]] Result<TensorPtr> wide_tensor(const Tensor& tensor);
    /// Copies the results into `original`, the call that this is a copy of: tensors, numbers, generators.
    Status write_back(Call& original, Context& context);

    [[nodiscard]] const Transfers& in() const { return in_; }
    [[nodiscard]] const Transfers& out() const { return out_; }
    /// Time of the backend's call alone.
    [[nodiscard]] double seconds() const { return seconds_; }

 private:
    CallCopy(const Call& call, Side& side) : call_(call), side_(&side) {}
    void find_inputs();
    Status copy_arguments(Context& from);
    Status copy(TensorPtr& tensor, const Arg& arg, Context& from);
    Status write_back(const TensorPtr& copy, TensorPtr& original, Context& context);

    Call call_;
    Side* side_;
    std::unordered_set<const Tensor*> inputs_;  ///< tensors of the original call
    std::unordered_map<const Tensor*, TensorPtr> copies_;
    std::unordered_map<const Tensor*, Dtype> dtypes_;  ///< for a wide side: results are rounded to these; by copy
    std::vector<std::unique_ptr<Generator>> generators_;
    Transfers in_, out_;
    double seconds_ = 0;
};

}  // namespace diopi
