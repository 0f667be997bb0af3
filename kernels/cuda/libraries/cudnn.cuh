/// cuDNN as a table of functions. Only for sources that are built with CUDA and cuDNN's headers.
#pragma once

#include <cudnn.h>

#include "kernels/cuda/libraries/open.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// The functions of its older interface, which names algorithms: what is chosen can be read and reasoned about.
struct Cudnn {
    decltype(&cudnnCreate) create;
    decltype(&cudnnDestroy) destroy;
    decltype(&cudnnSetStream) set_stream;
    decltype(&cudnnGetErrorString) error_string;
    decltype(&cudnnCreateTensorDescriptor) tensor_create;
    decltype(&cudnnDestroyTensorDescriptor) tensor_destroy;
    decltype(&cudnnSetTensor4dDescriptorEx) tensor_set;
    decltype(&cudnnCreateFilterDescriptor) filter_create;
    decltype(&cudnnDestroyFilterDescriptor) filter_destroy;
    decltype(&cudnnSetFilter4dDescriptor) filter_set;
    decltype(&cudnnCreateConvolutionDescriptor) convolution_create;
    decltype(&cudnnDestroyConvolutionDescriptor) convolution_destroy;
    decltype(&cudnnSetConvolution2dDescriptor) convolution_set;
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

/// The library's functions and the calling thread's handle for the current device. Null, with the last error set and
/// its code in `error`, where there is none.
[[nodiscard]] const Cudnn* cudnn(std::string_view op, cudnnHandle_t& handle, diopiError_t& error);

}  // namespace diopi::cuda
