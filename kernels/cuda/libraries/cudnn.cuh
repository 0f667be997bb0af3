/// cuDNN as a table of functions. Only for sources that are built with CUDA and cuDNN's headers.
#pragma once

#include <cudnn.h>

#include "kernels/cuda/libraries/handle.cuh"

namespace diopi::cuda {

/// The functions of its graph interface: descriptors with attributes make a graph of operations, heuristics propose
/// engines for it, and an engine becomes a plan that runs.
struct Cudnn {
    using Handle = cudnnHandle_t;
    static constexpr const char* kSoname = "libcudnn.so." DIOPI_TEXT(CUDNN_MAJOR);
    static constexpr const char* kCreate = "cudnnCreate";

    decltype(&cudnnCreate) create;
    decltype(&cudnnDestroy) destroy;
    decltype(&cudnnSetStream) set_stream;
    decltype(&cudnnGetErrorString) status_text;
    decltype(&cudnnBackendCreateDescriptor) descriptor_create;
    decltype(&cudnnBackendDestroyDescriptor) descriptor_destroy;
    decltype(&cudnnBackendSetAttribute) attribute_set;
    decltype(&cudnnBackendGetAttribute) attribute_get;
    decltype(&cudnnBackendFinalize) finalize;
    decltype(&cudnnBackendExecute) execute;

    void find_all(FunctionFinder& finder);
};

}  // namespace diopi::cuda
