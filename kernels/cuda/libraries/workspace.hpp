/// Memory that CUDA's libraries compute in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// The alignment of cudaMalloc. On sm_90 cuBLASLt refuses a workspace with less, which a context's memory may have.
constexpr size_t kWorkspaceAlignment = 256;

/// Null for no bytes. The memory lives until the context's next operator, like all that `require` makes.
[[nodiscard]] inline diopiError_t require_workspace(diopiContextHandle_t ctx, size_t bytes, void*& memory) {
    memory = nullptr;
    if (bytes == 0) return diopiSuccess;
    const int64_t size[] = {static_cast<int64_t>(bytes + kWorkspaceAlignment - 1)};
    View made;
    const diopiError_t error = require(ctx, size, Dtype::uint8, made);
    const auto place = reinterpret_cast<uintptr_t>(made.data);
    memory = made.data + (kWorkspaceAlignment - place % kWorkspaceAlignment) % kWorkspaceAlignment;
    return error;
}

}  // namespace diopi::cuda
