/// The first NVIDIA GPU that CUDA shows (CUDA_VISIBLE_DEVICES chooses another). In a build without CUDA it is a device
/// that fails at everything, with the reason.
#pragma once

#include "runtime/device.hpp"

namespace diopi {

/// Nothing of CUDA is touched before the first use, for a process that has started CUDA cannot hand it on to its
/// children: only workers use the device.
[[nodiscard]] Device& cuda_device();

/// Why the device cannot be used here, with what to try; ok where it can. To be asked in a worker: it starts CUDA.
[[nodiscard]] Status probe_cuda();

}  // namespace diopi
