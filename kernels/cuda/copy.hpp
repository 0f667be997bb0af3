/// Copies and constants, for the host code of all kernels.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// to = from, which broadcasts to it. Any dtypes, strides and overlap; equal dtypes keep every bit.
[[nodiscard]] diopiError_t copy_into(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to);
/// A contiguous copy of `view`, owned by the context for the rest of the call.
[[nodiscard]] diopiError_t copy_of(diopiContextHandle_t ctx, std::string_view op, const View& view, View& made);
/// `from` itself if it is contiguous and of that dtype, else such a copy.
[[nodiscard]] diopiError_t contiguous_as(diopiContextHandle_t ctx, std::string_view op, const View& from, Dtype dtype,
                                         View& made);
/// Sets every element to the number.
[[nodiscard]] diopiError_t fill(diopiContextHandle_t ctx, std::string_view op, const View& to,
                                const diopiScalar_t& value);
/// The same for several tensors; null is allowed.
[[nodiscard]] diopiError_t fill_all(diopiContextHandle_t ctx, std::string_view op,
                                    std::initializer_list<diopiTensorHandle_t> tensors, double value);

/// The contiguous target of a kernel: `out` itself, or a temporary that `finish` copies to it.
class DenseOut {
 public:
    [[nodiscard]] diopiError_t begin(diopiContextHandle_t ctx, const View& out);
    [[nodiscard]] diopiError_t finish(diopiContextHandle_t ctx, std::string_view op) const;
    [[nodiscard]] const View& view() const { return dense_; }

 private:
    View out_, dense_;
};

}  // namespace diopi::cuda
