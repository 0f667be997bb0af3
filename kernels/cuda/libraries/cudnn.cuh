/// cuDNN as a table of functions. Only for sources that are built with CUDA and cuDNN's headers.
#pragma once

#include <cudnn.h>

#include "kernels/cuda/libraries/handle.cuh"

namespace diopi::cuda {

/// The functions of its older interface, in which the caller chooses algorithms by name.
struct Cudnn {
    using Handle = cudnnHandle_t;
    static constexpr const char* kSoname = "libcudnn.so." DIOPI_TEXT(CUDNN_MAJOR);
    static constexpr const char* kCreate = "cudnnCreate";

    decltype(&cudnnCreate) create;
    decltype(&cudnnDestroy) destroy;
    decltype(&cudnnSetStream) set_stream;
    decltype(&cudnnGetErrorString) status_text;
    decltype(&cudnnCreateTensorDescriptor) tensor_create;
    decltype(&cudnnDestroyTensorDescriptor) tensor_destroy;
    decltype(&cudnnSetTensorNdDescriptor) tensor_set;
    decltype(&cudnnCreateFilterDescriptor) filter_create;
    decltype(&cudnnDestroyFilterDescriptor) filter_destroy;
    decltype(&cudnnSetFilterNdDescriptor) filter_set;
    decltype(&cudnnCreateConvolutionDescriptor) convolution_create;
    decltype(&cudnnDestroyConvolutionDescriptor) convolution_destroy;
    decltype(&cudnnSetConvolutionNdDescriptor) convolution_set;
    decltype(&cudnnSetConvolutionGroupCount) convolution_set_groups;
    decltype(&cudnnSetConvolutionMathType) convolution_set_math;
    decltype(&cudnnGetConvolutionForwardAlgorithm_v7) forward_algorithms;
    decltype(&cudnnGetConvolutionForwardWorkspaceSize) forward_workspace;
    decltype(&cudnnConvolutionForward) forward;
    decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) data_algorithms;
    decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize) data_workspace;
    decltype(&cudnnConvolutionBackwardData) backward_data;
    decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) filter_algorithms;
    decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize) filter_workspace;
    decltype(&cudnnConvolutionBackwardFilter) backward_filter;

    void find_all(FunctionFinder& finder);
};

}  // namespace diopi::cuda
