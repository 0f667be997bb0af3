/// CUDA's libraries on the host: plain implementations of the functions that our kernels call, with the types of the
/// real headers. A call that a real library refuses is refused with its status, and a line on stderr with the reason.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace cuda_on_host {

struct LibraryFunction {
    std::string_view name;
    void* address;
};
/// A library for open_library.
struct Library {
    std::string_view soname;
    std::span<const LibraryFunction> functions;
};
[[nodiscard]] const Library& cublaslt_library();
[[nodiscard]] const Library& cudnn_library();

/// Prints "cuda on host: cublasLtMatmul: why" and returns the status.
template <class StatusCode>
[[nodiscard]] StatusCode refuse(StatusCode status, const char* function, const char* why) {
    std::fprintf(stderr, "cuda on host: %s: %s\n", function, why);
    return status;
}

/// The precision of a factor on tensor cores: 10 bits of mantissa, ties away from zero.
inline float to_tf32(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7f800000U) == 0x7f800000U) return x;
    return std::bit_cast<float>((bits + 0x1000U) & ~0x1fffU);
}

/// Elements of half types become float, and back.
inline double read_element(const void* data, int64_t place, cudaDataType_t type) {
    if (type == CUDA_R_64F) return static_cast<const double*>(data)[place];
    if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[place]);
    if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[place]);
    return static_cast<const float*>(data)[place];
}
/// Converts from the compute type, float or double: rounds once.
template <class C>
void write_element(void* data, int64_t place, cudaDataType_t type, C value) {
    if (type == CUDA_R_64F) {
        static_cast<double*>(data)[place] = static_cast<double>(value);
    } else if (type == CUDA_R_16F) {
        static_cast<__half*>(data)[place] = __float2half_rn(static_cast<float>(value));
    } else if (type == CUDA_R_16BF) {
        static_cast<__nv_bfloat16*>(data)[place] = __float2bfloat16_rn(static_cast<float>(value));
    } else {
        static_cast<float*>(data)[place] = static_cast<float>(value);
    }
}

}  // namespace cuda_on_host
