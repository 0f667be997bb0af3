/// Converts arguments to the dtypes and layouts for which kernels are compiled.
#pragma once

#include <array>

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// Reads and writes floating tensors, through copies if a kernel does not take them. The first error stays: views made
/// after it have no data.
class Staging {
 public:
    Staging(diopiContextHandle_t ctx, std::string_view op) : ctx_(ctx), op_(op) {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    enum class Strides { any, contiguous };

    /// An input; a view without data for null.
    [[nodiscard]] View in(diopiConstTensorHandle_t tensor, Dtype dtype, Strides strides);
    /// An output, contents undefined; a view without data for null.
    [[nodiscard]] View out(diopiTensorHandle_t tensor, Dtype dtype, Strides strides);
    /// Contiguous memory for `count` elements.
    [[nodiscard]] View buffer(int64_t count, Dtype dtype);

    [[nodiscard]] diopiError_t error() const { return error_; }
    /// Writes back the outputs that are copies.
    [[nodiscard]] diopiError_t finish();

 private:
    struct Pending {
        View made, target;
    };
    static constexpr size_t kMostOutputs = 4;

    [[nodiscard]] View made_like(const View& tensor, Dtype dtype);

    diopiContextHandle_t ctx_;
    std::string_view op_;
    diopiError_t error_ = diopiSuccess;
    std::array<Pending, kMostOutputs> pending_;
    size_t pending_count_ = 0;
};

}  // namespace diopi::cuda
