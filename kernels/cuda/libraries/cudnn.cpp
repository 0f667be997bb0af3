#include "kernels/cuda/libraries/cudnn.cuh"

#include <memory>
#include <unordered_map>

#include "kernels/cuda/libraries/device.cuh"

namespace diopi::cuda {

namespace {

constexpr const char* kSoname = "libcudnn.so." DIOPI_TEXT(CUDNN_MAJOR);

const OpenedLibrary<Cudnn>& library() {
    static const OpenedLibrary<Cudnn> opened(kSoname);
    return opened;
}

struct DestroyHandle {
    void operator()(cudnnHandle_t handle) const { (void)library().functions.destroy(handle); }
};
using Handle = std::unique_ptr<cudnnContext, DestroyHandle>;

}  // namespace

void Cudnn::find_all(FunctionFinder& finder) {
    finder.find(create, "cudnnCreate");
    finder.find(destroy, "cudnnDestroy");
    finder.find(set_stream, "cudnnSetStream");
    finder.find(error_string, "cudnnGetErrorString");
    finder.find(tensor_create, "cudnnCreateTensorDescriptor");
    finder.find(tensor_destroy, "cudnnDestroyTensorDescriptor");
    finder.find(tensor_set, "cudnnSetTensor4dDescriptorEx");
    finder.find(filter_create, "cudnnCreateFilterDescriptor");
    finder.find(filter_destroy, "cudnnDestroyFilterDescriptor");
    finder.find(filter_set, "cudnnSetFilter4dDescriptor");
    finder.find(convolution_create, "cudnnCreateConvolutionDescriptor");
    finder.find(convolution_destroy, "cudnnDestroyConvolutionDescriptor");
    finder.find(convolution_set, "cudnnSetConvolution2dDescriptor");
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

const Cudnn* cudnn(std::string_view op, cudnnHandle_t& handle, diopiError_t& error) {
    const OpenedLibrary<Cudnn>& opened = library();
    if (!opened.is_usable) {
        error = fail(diopiNoImplement, cannot_use(op, kSoname, opened.why));
        return nullptr;
    }
    thread_local std::unordered_map<int, Handle> handles;
    Handle& own = handles[current_device()];
    if (own == nullptr) {
        cudnnHandle_t made = nullptr;
        const cudnnStatus_t status = opened.functions.create(&made);
        if (status != CUDNN_STATUS_SUCCESS) {
            error =
                fail(diopiErrorOccurred, std::string(op) + ": cudnnCreate: " + opened.functions.error_string(status));
            return nullptr;
        }
        own.reset(made);
    }
    handle = own.get();
    return &opened.functions;
}

}  // namespace diopi::cuda
