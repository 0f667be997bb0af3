#include "kernels/cuda/libraries/cublaslt.cuh"

namespace diopi::cuda {

void CublasLt::find_all(FunctionFinder& finder) {
    finder.find(create, "cublasLtCreate");
    finder.find(destroy, "cublasLtDestroy");
    finder.find(status_text, "cublasLtGetStatusName");
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

}  // namespace diopi::cuda
