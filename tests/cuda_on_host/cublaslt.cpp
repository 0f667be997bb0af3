/// The part of cuBLASLt that the backend uses, on the host. An algorithm refuses products and alignments other than
/// those for which it was proposed.
#include "tests/cuda_on_host/library.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cuda/libraries/handle.cuh"

namespace {

using cuda_on_host::read_element;
using cuda_on_host::refuse;
using cuda_on_host::write_element;

struct Layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t pitch;
    int32_t batch = 1;
    int64_t batch_stride = 0;
};

struct Desc {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
    uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    int32_t bias_type = -1;  ///< -1: the type of D
};

struct Preference {
    uint64_t workspace = 0;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    uint32_t alignments[4] = {256, 256, 256, 256};
};

/// The contents of a cublasLtMatmulAlgo_t.
struct Algorithm {
    uint64_t magic, m, n, k;
    uint32_t alignments[4];
    uint32_t operations;
    int32_t batch;
    uint64_t workspace;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr uint64_t kMagic = 0x676f6c61;
/// The library may refuse a batch that needs more than 16 bits.
constexpr int32_t kMostBatch = 65535;
/// Sums of this length, which a library might split, need this workspace.
constexpr uint64_t kLongSum = 64, kSplitBytes = 4096;

const Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Layout*>(layout); }
const Desc& of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<const Desc*>(desc); }

/// Copies an attribute of exactly that size.
template <class T>
bool take(T& to, const void* buffer, size_t bytes) {
    if (buffer == nullptr || bytes != sizeof to) return false;
    std::memcpy(&to, buffer, bytes);
    return true;
}

struct Problem {
    uint64_t m, n, k;
    const char* error = nullptr;
};

bool are_supported(const Desc& d, const Layout& a, const Layout& b, const Layout& c) {
    if (a.type != b.type) return false;
    if (d.compute == CUBLAS_COMPUTE_64F) return d.scale == CUDA_R_64F && a.type == CUDA_R_64F && c.type == CUDA_R_64F;
    if (d.scale != CUDA_R_32F) return false;
    if (a.type == CUDA_R_32F) {
        return c.type == CUDA_R_32F && (d.compute == CUBLAS_COMPUTE_32F || d.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
    }
    const bool is_half = a.type == CUDA_R_16F || a.type == CUDA_R_16BF;
    return is_half && (c.type == a.type || c.type == CUDA_R_32F) && d.compute == CUBLAS_COMPUTE_32F;
}

Problem check(const Desc& d, const Layout& a, const Layout& b, const Layout& c, const Layout& result) {
    const bool ta = d.transa == CUBLAS_OP_T, tb = d.transb == CUBLAS_OP_T;
    Problem p{result.rows, result.columns, ta ? a.rows : a.columns};
    for (const Layout* x : {&a, &b, &c, &result}) {
        if (x->rows == 0 || x->columns == 0) p.error = "a matrix is empty";
        if (x->pitch < static_cast<int64_t>(x->rows)) p.error = "a leading dimension is below the rows";
        if (x->batch != result.batch || x->batch < 1) p.error = "batch counts differ";
        if (x->batch > kMostBatch) p.error = "more than 65535 matrices in a batch";
        if (x->batch_stride < 0) p.error = "the batch stride is negative";
    }
    if ((ta ? a.columns : a.rows) != p.m || (tb ? b.rows : b.columns) != p.n || (tb ? b.columns : b.rows) != p.k) {
        p.error = "sizes do not fit";
    }
    if (c.type != result.type || c.rows != result.rows || c.columns != result.columns) p.error = "C and D differ";
    if (result.batch > 1 && result.batch_stride < result.pitch * static_cast<int64_t>(result.columns - 1) + 1 &&
        result.pitch < result.batch_stride * result.batch) {
        p.error = "matrices of the batch of D overlap";
    }
    if (!are_supported(d, a, b, result)) p.error = "types do not fit";
    if (d.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        if (d.epilogue != CUBLASLT_EPILOGUE_BIAS) p.error = "unknown epilogue";
        if (d.compute == CUBLAS_COMPUTE_64F) p.error = "no epilogue in 64F";
        if (d.bias == nullptr || reinterpret_cast<uintptr_t>(d.bias) % 16 != 0) p.error = "bias is null or not aligned";
        if (d.bias_type >= 0 && d.bias_type != result.type) p.error = "bias is of another type than D";
    }
    return p;
}

uint32_t operations_of(const Desc& d, const Layout& a, const Layout& c) {
    return static_cast<uint32_t>(d.transa) | static_cast<uint32_t>(d.transb) << 2 | d.epilogue << 4 |
           static_cast<uint32_t>(a.type) << 12 | static_cast<uint32_t>(c.type) << 20;
}

/// op(X) of one matrix, row-major.
template <class C>
std::vector<C> dense(const void* data, const Layout& x, int64_t matrix, bool transposed, bool is_tf32) {
    const auto rows = static_cast<int64_t>(transposed ? x.columns : x.rows);
    const auto columns = static_cast<int64_t>(transposed ? x.rows : x.columns);
    std::vector<C> values(static_cast<size_t>(rows * columns));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const int64_t place = matrix * x.batch_stride + (transposed ? j + i * x.pitch : i + j * x.pitch);
            C value = static_cast<C>(read_element(data, place, x.type));
            if (is_tf32) value = static_cast<C>(cuda_on_host::to_tf32(static_cast<float>(value)));
            values[static_cast<size_t>(i * columns + j)] = value;
        }
    }
    return values;
}

/// sums (n, m) = the transpose of a (m, k) * b (k, n): a column of D is a run.
template <class C>
void multiply(const Problem& p, const std::vector<C>& a_columns, const std::vector<C>& b, std::vector<C>& sums) {
    std::ranges::fill(sums, C{0});
    for (uint64_t j = 0; j < p.n; ++j) {
        C* __restrict sum = sums.data() + j * p.m;
        for (uint64_t k = 0; k < p.k; ++k) {
            const C factor = b[k * p.n + j];
            const C* __restrict column = a_columns.data() + k * p.m;
            for (uint64_t i = 0; i < p.m; ++i) sum[i] += column[i] * factor;
        }
    }
}

template <class C>
void compute(const Desc& d, const Problem& p, C alpha, const void* a, const Layout& of_a, const void* b,
             const Layout& of_b, C beta, const void* c, const Layout& of_c, void* result, const Layout& of_d) {
    const bool is_tf32 = d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    std::vector<C> sums(p.m * p.n), columns, rows;
    for (int64_t matrix = 0; matrix < of_d.batch; ++matrix) {
        if (alpha != 0) {  // otherwise a and b are not read
            if (matrix == 0 || of_a.batch_stride != 0)
                columns = dense<C>(a, of_a, matrix, d.transa != CUBLAS_OP_T, is_tf32);
            if (matrix == 0 || of_b.batch_stride != 0)
                rows = dense<C>(b, of_b, matrix, d.transb == CUBLAS_OP_T, is_tf32);
            multiply(p, columns, rows, sums);
        }
        for (uint64_t j = 0; j < p.n; ++j) {
            for (uint64_t i = 0; i < p.m; ++i) {
                const auto row = static_cast<int64_t>(i), column = static_cast<int64_t>(j);
                const int64_t from = matrix * of_c.batch_stride + row + column * of_c.pitch;
                C value = alpha * sums[j * p.m + i];
                if (beta != 0) value += beta * static_cast<C>(read_element(c, from, of_c.type));
                if (d.epilogue == CUBLASLT_EPILOGUE_BIAS) value += static_cast<C>(read_element(d.bias, row, of_d.type));
                write_element(result, matrix * of_d.batch_stride + row + column * of_d.pitch, of_d.type, value);
            }
        }
    }
}

cublasStatus_t invalid(const char* function, const char* why) {
    return refuse(CUBLAS_STATUS_INVALID_VALUE, function, why);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete reinterpret_cast<int*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
    return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_NOT_SUPPORTED";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
    *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc{compute, scale});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
    delete reinterpret_cast<Desc*>(desc);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* buffer, size_t bytes) {
    Desc& d = *reinterpret_cast<Desc*>(desc);
    bool is_taken = false;
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) is_taken = take(d.transa, buffer, bytes);
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) is_taken = take(d.transb, buffer, bytes);
    if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) is_taken = take(d.epilogue, buffer, bytes);
    if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER) is_taken = take(d.bias, buffer, bytes);
    if (attribute == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) is_taken = take(d.bias_type, buffer, bytes);
    if (is_taken && (d.transa | d.transb) <= CUBLAS_OP_T) return CUBLAS_STATUS_SUCCESS;
    return invalid("cublasLtMatmulDescSetAttribute", "an unknown attribute, or one of another size");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t pitch) {
    *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, pitch});
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete reinterpret_cast<Layout*>(layout);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* buffer,
                                                size_t bytes) {
    Layout& x = *reinterpret_cast<Layout*>(layout);
    bool is_taken = false;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) is_taken = take(x.batch, buffer, bytes);
    if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) is_taken = take(x.batch_stride, buffer, bytes);
    if (is_taken) return CUBLAS_STATUS_SUCCESS;
    return invalid("cublasLtMatrixLayoutSetAttribute", "an unknown attribute, or one of another size");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete reinterpret_cast<Preference*>(preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* buffer,
                                                    size_t bytes) {
    Preference& p = *reinterpret_cast<Preference*>(preference);
    const int matrix = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    bool is_taken = false;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) is_taken = take(p.workspace, buffer, bytes);
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) is_taken = take(p.reductions, buffer, bytes);
    if (matrix >= 0 && matrix < 4) is_taken = take(p.alignments[matrix], buffer, bytes);
    if (is_taken) return CUBLAS_STATUS_SUCCESS;
    return invalid("cublasLtMatmulPreferenceSetAttribute", "an unknown attribute, or one of another size");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t result,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
    constexpr const char* kName = "cublasLtMatmulAlgoGetHeuristic";
    *found = 0;
    if (handle == nullptr || preference == nullptr || wanted < 1) return invalid(kName, "an argument is missing");
    const Problem problem = check(of(desc), of(a), of(b), of(c), of(result));
    if (problem.error != nullptr) return invalid(kName, problem.error);
    const auto& preferences = *reinterpret_cast<const Preference*>(preference);
    if ((preferences.reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE) != 0) return invalid(kName, "sums in any order");
    const bool splits = problem.k >= kLongSum && preferences.workspace >= kSplitBytes;
    Algorithm algorithm{kMagic,
                        problem.m,
                        problem.n,
                        problem.k,
                        {},
                        operations_of(of(desc), of(a), of(result)),
                        of(result).batch,
                        splits ? kSplitBytes : 0};
    std::ranges::copy(preferences.alignments, algorithm.alignments);
    results[0] = {};
    std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
    results[0].workspaceSize = algorithm.workspace;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t of_a, const void* b, cublasLtMatrixLayout_t of_b, const void* beta,
                              const void* c, cublasLtMatrixLayout_t of_c, void* result, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t bytes, cudaStream_t) {
    constexpr const char* kName = "cublasLtMatmul";
    if (handle == nullptr || alpha == nullptr || beta == nullptr || algo == nullptr) return invalid(kName, "a null");
    if (a == nullptr || b == nullptr || c == nullptr || result == nullptr) return invalid(kName, "a null matrix");
    const Desc& d = of(desc);
    const Problem problem = check(d, of(of_a), of(of_b), of(of_c), of(of_d));
    if (problem.error != nullptr) return invalid(kName, problem.error);
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof algorithm);
    if (algorithm.magic != kMagic || algorithm.m != problem.m || algorithm.n != problem.n || algorithm.k != problem.k ||
        algorithm.batch != of(of_d).batch || algorithm.operations != operations_of(d, of(of_a), of(of_d))) {
        return invalid(kName, "the algorithm was chosen for another product");
    }
    const void* const matrices[] = {a, b, c, result};
    for (int i = 0; i < 4; ++i) {
        if (reinterpret_cast<uintptr_t>(matrices[i]) % algorithm.alignments[i] != 0) {
            return invalid(kName, "a matrix is less aligned than the algorithm was promised");
        }
    }
    if (algorithm.workspace > bytes || (algorithm.workspace > 0 && workspace == nullptr)) {
        return invalid(kName, "too little workspace");
    }
    if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return invalid(kName, "the workspace is not aligned");
    if (algorithm.workspace > 0) std::memset(workspace, 0xa5, algorithm.workspace);
    if (d.compute == CUBLAS_COMPUTE_64F) {
        compute(d, problem, *static_cast<const double*>(alpha), a, of(of_a), b, of(of_b),
                *static_cast<const double*>(beta), c, of(of_c), result, of(of_d));
    } else {
        compute(d, problem, *static_cast<const float*>(alpha), a, of(of_a), b, of(of_b),
                *static_cast<const float*>(beta), c, of(of_c), result, of(of_d));
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

namespace cuda_on_host {

const Library& cublaslt_library() {
#define ENTRY(name) \
    { #name, reinterpret_cast < void*>(&name) }
    static const LibraryFunction functions[] = {
        ENTRY(cublasLtCreate),
        ENTRY(cublasLtDestroy),
        ENTRY(cublasLtGetStatusName),
        ENTRY(cublasLtMatmulDescCreate),
        ENTRY(cublasLtMatmulDescDestroy),
        ENTRY(cublasLtMatmulDescSetAttribute),
        ENTRY(cublasLtMatrixLayoutCreate),
        ENTRY(cublasLtMatrixLayoutDestroy),
        ENTRY(cublasLtMatrixLayoutSetAttribute),
        ENTRY(cublasLtMatmulPreferenceCreate),
        ENTRY(cublasLtMatmulPreferenceDestroy),
        ENTRY(cublasLtMatmulPreferenceSetAttribute),
        ENTRY(cublasLtMatmulAlgoGetHeuristic),
        ENTRY(cublasLtMatmul),
    };
#undef ENTRY
    static const Library library{"libcublasLt.so." DIOPI_TEXT(CUBLAS_VER_MAJOR), functions};
    return library;
}

}  // namespace cuda_on_host
#else

namespace cuda_on_host {

const Library& cublaslt_library() {
    static const Library library;
    return library;
}

}  // namespace cuda_on_host
#endif
