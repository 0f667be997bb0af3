#include "kernels/cuda/libraries/cudnn.cuh"

namespace diopi::cuda {

void Cudnn::find_all(FunctionFinder& finder) {
    finder.find(create, "cudnnCreate");
    finder.find(destroy, "cudnnDestroy");
    finder.find(set_stream, "cudnnSetStream");
    finder.find(status_text, "cudnnGetErrorString");
    finder.find(descriptor_create, "cudnnBackendCreateDescriptor");
    finder.find(descriptor_destroy, "cudnnBackendDestroyDescriptor");
    finder.find(attribute_set, "cudnnBackendSetAttribute");
    finder.find(attribute_get, "cudnnBackendGetAttribute");
    finder.find(finalize, "cudnnBackendFinalize");
    finder.find(execute, "cudnnBackendExecute");
}

}  // namespace diopi::cuda
