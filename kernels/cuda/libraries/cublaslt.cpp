#include "kernels/cuda/libraries/cublaslt.cuh"

#include <memory>
#include <unordered_map>

#include "kernels/cuda/libraries/device.cuh"

namespace diopi::cuda {

namespace {

constexpr const char* kSoname = "libcublasLt.so." DIOPI_TEXT(CUBLAS_VER_MAJOR);

const OpenedLibrary<CublasLt>& library() {
    static const OpenedLibrary<CublasLt> opened(kSoname);
    return opened;
}

struct DestroyHandle {
    void operator()(cublasLtHandle_t handle) const { (void)library().functions.destroy(handle); }
};
using Handle = std::unique_ptr<cublasLtContext, DestroyHandle>;

}  // namespace

void CublasLt::find_all(FunctionFinder& finder) {
    finder.find(create, "cublasLtCreate");
    finder.find(destroy, "cublasLtDestroy");
    finder.find(status_name, "cublasLtGetStatusName");
    finder.find(desc_create, "cublasLtMatmulDescCreate");
    finder.find(desc_destroy, "cublasLtMatmulDescDestroy");
    finder.find(desc_set, "cublasLtMatmulDescSetAttribute");
    finder.find(layout_create, "cublasLtMatrixLayoutCreate");
    finder.find(layout_destroy, "cublasLtMatrixLayoutDestroy");
    finder.find(layout_set, "cublasLtMatrixLayoutSetAttribute");
    finder.find(preference_create, "cublasLtMatmulPreferenceCreate");
    finder.find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    finder.find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    finder.find(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    finder.find(matmul, "cublasLtMatmul");
}

const CublasLt* cublaslt(std::string_view op, cublasLtHandle_t& handle, diopiError_t& error) {
    const OpenedLibrary<CublasLt>& opened = library();
    if (!opened.is_usable) {
        error = fail(diopiNoImplement, cannot_use(op, kSoname, opened.why));
        return nullptr;
    }
    thread_local std::unordered_map<int, Handle> handles;
    Handle& own = handles[current_device()];
    if (own == nullptr) {
        cublasLtHandle_t made = nullptr;
        const cublasStatus_t status = opened.functions.create(&made);
        if (status != CUBLAS_STATUS_SUCCESS) {
            error =
                fail(diopiErrorOccurred, std::string(op) + ": cublasLtCreate: " + opened.functions.status_name(status));
            return nullptr;
        }
        own.reset(made);
    }
    handle = own.get();
    return &opened.functions;
}

}  // namespace diopi::cuda
