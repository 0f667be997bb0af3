/// The first NVIDIA GPU that CUDA shows (CUDA_VISIBLE_DEVICES chooses another). In a build without CUDA it is a device
/// that fails at everything, with the reason.
#pragma once

#include "runtime/device.hpp"

namespace diopi {

/// CUDA is not started before the first use, because a process that has started CUDA cannot pass it on to
/// its children: only workers use the device.
[[nodiscard]] Device& cuda_device();

/// Why the device cannot be used here, with what to try; ok where it can. Call it in a worker: it starts CUDA.
[[nodiscard]] Status probe_cuda();

}  // namespace diopi
