/// cuBLASLt as a table of functions. Only for sources that are built with CUDA.
#pragma once

#include <cublasLt.h>

#include "kernels/cuda/libraries/handle.cuh"

namespace diopi::cuda {

struct CublasLt {
    using Handle = cublasLtHandle_t;
    static constexpr const char* kSoname = "libcublasLt.so." DIOPI_TEXT(CUBLAS_VER_MAJOR);
    static constexpr const char* kCreate = "cublasLtCreate";

    decltype(&cublasLtCreate) create;
    decltype(&cublasLtDestroy) destroy;
    decltype(&cublasLtGetStatusName) status_text;
    decltype(&cublasLtMatmulDescCreate) desc_create;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set;
    decltype(&cublasLtMatrixLayoutCreate) layout_create;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
    decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmul) matmul;

    void find_all(FunctionFinder& finder);
};

}  // namespace diopi::cuda
