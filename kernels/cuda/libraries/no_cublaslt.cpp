/// For a build that did not find cuBLASLt's header.
#include "kernels/cuda/product/gemm.hpp"

namespace diopi::cuda {

bool takes_bias(const Gemm&, const void*) { return false; }

diopiError_t gemm(diopiContextHandle_t, std::string_view op, const Gemm&) {
    return fail(diopiNoImplement,
                std::string(op) + ": this build has no cuBLASLt: build where cublasLt.h is in the CUDA toolkit");
}

}  // namespace diopi::cuda
