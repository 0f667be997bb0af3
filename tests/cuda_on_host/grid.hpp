/// The threads of a launch, run on one thread of the host. Each thread of a block runs until it waits for others, then
/// the next one, first to last and last to first in turns, so that a missing barrier gives a wrong result. Undefined
/// behaviour of a GPU (a barrier that some threads never reach, a lane that ended before a shuffle that names it) ends
/// the process with a message.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

/// The indices of the running thread.
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace cuda_on_host {

/// Calls `kernel` once for each thread of the launch. Refuses the same launches as a GPU. Only one launch runs at a
/// time.
[[nodiscard]] cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& kernel);

void wait_for_block();
void wait_for_warp(unsigned mask);

[[nodiscard]] int lane_of_warp();

constexpr size_t kSlotBytes = 16;
/// Waits until all lanes in `mask` have given a value of at most kSlotBytes; then lane k's is at k * kSlotBytes until
/// this thread gives its next one.
[[nodiscard]] const std::byte* gather_lanes(unsigned mask, const void* value, size_t nbytes);

}  // namespace cuda_on_host
