#include "kernels/cuda/libraries/cudnn.cuh"

namespace diopi::cuda {

void Cudnn::find_all(FunctionFinder& finder) {
    finder.find(create, "cudnnCreate");
    finder.find(destroy, "cudnnDestroy");
    finder.find(set_stream, "cudnnSetStream");
    finder.find(status_text, "cudnnGetErrorString");
    finder.find(tensor_create, "cudnnCreateTensorDescriptor");
    finder.find(tensor_destroy, "cudnnDestroyTensorDescriptor");
    finder.find(tensor_set, "cudnnSetTensorNdDescriptor");
    finder.find(filter_create, "cudnnCreateFilterDescriptor");
    finder.find(filter_destroy, "cudnnDestroyFilterDescriptor");
    finder.find(filter_set, "cudnnSetFilterNdDescriptor");
    finder.find(convolution_create, "cudnnCreateConvolutionDescriptor");
    finder.find(convolution_destroy, "cudnnDestroyConvolutionDescriptor");
    finder.find(convolution_set, "cudnnSetConvolutionNdDescriptor");
    finder.find(convolution_set_groups, "cudnnSetConvolutionGroupCount");
    finder.find(convolution_set_math, "cudnnSetConvolutionMathType");
    finder.find(forward_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
    finder.find(forward_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
    finder.find(forward, "cudnnConvolutionForward");
    finder.find(data_algorithms, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    finder.find(data_workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
    finder.find(backward_data, "cudnnConvolutionBackwardData");
    finder.find(filter_algorithms, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    finder.find(filter_workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
    finder.find(backward_filter, "cudnnConvolutionBackwardFilter");
}

}  // namespace diopi::cuda
