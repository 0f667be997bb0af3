/// cuBLASLt as a table of functions. Only for sources that are built with CUDA.
#pragma once

#include <cublasLt.h>

#include "kernels/cuda/libraries/open.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

struct CublasLt {
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtDestroy) destroy;
    decltype(&cublasLtGetStatusName) status_name;
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

/// The library's functions and the calling thread's handle for the current device. Null, with the last error set and
/// its code in `error`, where there is none.
[[nodiscard]] const CublasLt* cublaslt(std::string_view op, cublasLtHandle_t& handle, diopiError_t& error);

}  // namespace diopi::cuda
