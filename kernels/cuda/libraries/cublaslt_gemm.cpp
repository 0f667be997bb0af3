#include "kernels/cuda/product/gemm.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/libraries/cublaslt.cuh"
#include "kernels/cuda/libraries/device.cuh"
#include "kernels/cuda/libraries/plans.hpp"
#include "kernels/cuda/libraries/workspace.hpp"
#include "kernels/cuda/product/tf32.hpp"

namespace diopi::cuda {

namespace {

/// The size that NVIDIA recommends for sm_90; an algorithm uses the part that it needs.
constexpr uint64_t kMostWorkspace = 32 << 20;
constexpr size_t kAlignment = 16;
/// The library may refuse 65536 and more. A power of 2, so that every part of a batch is aligned like the first one.
constexpr int64_t kMostBatch = 32768;

template <auto kDestroy>
using Destroy = DestroyWith<CublasLt, kDestroy>;
using Desc = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&CublasLt::desc_destroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&CublasLt::layout_destroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&CublasLt::preference_destroy>>;

/// A product of one shape. The descriptors are of the library's column-major matrices: its first factor is our b.
struct GemmPlan {
    Desc desc;
    Layout first, second, result;
    cublasLtMatmulAlgo_t algorithm{};
    size_t workspace_bytes = 0;
};

/// Makes the library's calls for one plan, none after the first error.
class Maker {
 public:
    explicit Maker(const CublasLt& lt) : lt_(lt) {}

    void check(cublasStatus_t status, const char* call) {
        if (status_ == CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_SUCCESS) status_ = status, call_ = call;
    }
    [[nodiscard]] bool ok() const { return status_ == CUBLAS_STATUS_SUCCESS; }
    /// "cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE".
    [[nodiscard]] std::string text() const { return std::string(call_) + ": " + lt_.status_text(status_); }

    Desc desc(cublasComputeType_t compute, cudaDataType_t scale) {
        cublasLtMatmulDesc_t made = nullptr;
        check(lt_.desc_create(&made, compute, scale), "cublasLtMatmulDescCreate");
        return Desc(made, {&lt_});
    }
    Layout layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t pitch, int64_t batch, int64_t stride) {
        cublasLtMatrixLayout_t made = nullptr;
        check(lt_.layout_create(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), pitch),
              "cublasLtMatrixLayoutCreate");
        Layout layout(made, {&lt_});
        if (batch > 1) {
            set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
            set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
        }
        return layout;
    }
    Preference preference() {
        cublasLtMatmulPreference_t made = nullptr;
        check(lt_.preference_create(&made), "cublasLtMatmulPreferenceCreate");
        return Preference(made, {&lt_});
    }

    template <class T>
    void set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, T value) {
        if (ok()) check(lt_.desc_set(desc.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
    }
    template <class T>
    void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
        if (!ok()) return;
        check(lt_.layout_set(layout.get(), attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
    }
    template <class T>
    void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
        if (!ok()) return;
        check(lt_.preference_set(preference.get(), attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    }

 private:
    const CublasLt& lt_;
    cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
    const char* call_ = "";
};

cudaDataType_t type_of(Dtype dtype) {
    if (dtype == Dtype::float16) return CUDA_R_16F;
    if (dtype == Dtype::bfloat16) return CUDA_R_16BF;
    return dtype == Dtype::float64 ? CUDA_R_64F : CUDA_R_32F;
}

/// The alignment of data as the library counts it: at most 256 bytes.
uint32_t alignment_of(const void* data) {
    uint32_t alignment = 256;
    while (!is_aligned(data, alignment)) alignment /= 2;
    return alignment;
}

Layout layout_of(Maker& maker, const Gemm& g, const GemmMatrix& x, Dtype dtype, int64_t rows, int64_t columns) {
    if (!x.transposed) std::swap(rows, columns);
    return maker.layout(type_of(dtype), rows, columns, x.pitch, g.batch, x.batch_stride);
}

void describe(Maker& maker, const Gemm& g, GemmPlan& plan) {
    const bool is_wide = g.factors == Dtype::float64;
    const cublasComputeType_t narrow = is_in_tf32(g.factors) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    plan.desc = maker.desc(is_wide ? CUBLAS_COMPUTE_64F : narrow, is_wide ? CUDA_R_64F : CUDA_R_32F);
    const auto operation = [](const GemmMatrix& x) {
        return static_cast<int32_t>(x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    };
    maker.set(plan.desc, CUBLASLT_MATMUL_DESC_TRANSA, operation(g.b));
    maker.set(plan.desc, CUBLASLT_MATMUL_DESC_TRANSB, operation(g.a));
    if (g.bias != nullptr) {
        maker.set(plan.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS));
        maker.set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(type_of(g.result)));
        maker.set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);
    }
    plan.first = layout_of(maker, g, g.b, g.factors, g.k, g.n);
    plan.second = layout_of(maker, g, g.a, g.factors, g.m, g.k);
    plan.result = layout_of(maker, g, g.c, g.result, g.m, g.n);
}

/// The parts of a split sum are added in the type of the accumulator, in a fixed order.
constexpr uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

/// False if the library has no algorithm.
bool choose(Maker& maker, const CublasLt& lt, cublasLtHandle_t handle, const Gemm& g, GemmPlan& plan) {
    const Preference preference = maker.preference();
    maker.set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    maker.set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
    maker.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(g.b.data));
    maker.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(g.a.data));
    maker.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(g.c.data));
    maker.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(g.c.data));
    if (!maker.ok()) return true;
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        lt.heuristic(handle, plan.desc.get(), plan.first.get(), plan.second.get(), plan.result.get(), plan.result.get(),
                     preference.get(), 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) return false;
    maker.check(status, "cublasLtMatmulAlgoGetHeuristic");
    plan.algorithm = best.algo;
    plan.workspace_bytes = best.workspaceSize;
    return true;
}

PlanKey key_of(const Gemm& g) {
    return {current_device(),
            static_cast<int64_t>(g.factors),
            static_cast<int64_t>(g.result),
            is_in_tf32(g.factors) ? 1 : 0,
            g.m,
            g.n,
            g.k,
            g.batch,
            g.a.pitch,
            g.a.transposed ? 1 : 0,
            g.a.batch_stride,
            g.b.pitch,
            g.b.transposed ? 1 : 0,
            g.b.batch_stride,
            g.c.pitch,
            g.c.batch_stride,
            alignment_of(g.a.data),
            alignment_of(g.b.data),
            alignment_of(g.c.data),
            g.bias != nullptr ? alignment_of(g.bias) : 0};
}

diopiError_t no_algorithm(std::string_view op, const Gemm& g) {
    return fail(diopiNoImplement, std::string(op) + ": cuBLASLt has no algorithm for (" + std::to_string(g.m) + ", " +
                                      std::to_string(g.k) + ") * (" + std::to_string(g.k) + ", " + std::to_string(g.n) +
                                      ") of " + std::string(name(g.factors)) +
                                      ": contiguous tensors, or another dtype, may have one");
}

GemmMatrix moved(GemmMatrix x, int64_t matrices, Dtype dtype) {
    x.data = static_cast<std::byte*>(x.data) + matrices * x.batch_stride * static_cast<int64_t>(size_of(dtype));
    return x;
}

/// Computes a batch in parts that the library accepts.
diopiError_t gemm_in_parts(diopiContextHandle_t ctx, std::string_view op, const Gemm& g) {
    for (int64_t first = 0; first < g.batch; first += kMostBatch) {
        Gemm part = g;
        part.batch = std::min(kMostBatch, g.batch - first);
        part.a = moved(g.a, first, g.factors);
        part.b = moved(g.b, first, g.factors);
        part.c = moved(g.c, first, g.result);
        if (const diopiError_t error = gemm(ctx, op, part); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

}  // namespace

bool takes_bias(const Gemm& g, const void* bias) {
    if (g.result == Dtype::float64 || !is_aligned(bias, kAlignment)) return false;
    const auto has_aligned_rows = [](const GemmMatrix& x) {
        constexpr int64_t kHalves = kAlignment / 2;
        return is_aligned(x.data, kAlignment) && x.pitch % kHalves == 0 && x.batch_stride % kHalves == 0;
    };
    return !is_half(g.result) || (has_aligned_rows(g.a) && has_aligned_rows(g.b) && has_aligned_rows(g.c));
}

diopiError_t gemm(diopiContextHandle_t ctx, std::string_view op, const Gemm& g) {
    if (g.batch > kMostBatch) return gemm_in_parts(ctx, op, g);
    cublasLtHandle_t handle = nullptr;
    diopiError_t error = diopiSuccess;
    const CublasLt* lt = use_library<CublasLt>(op, handle, error);
    if (lt == nullptr) return error;

    thread_local Plans<GemmPlan> plans;
    Maker maker(*lt);
    PlanKey key = key_of(g);
    GemmPlan* plan = plans.find(key);
    if (plan == nullptr) {
        GemmPlan made;
        describe(maker, g, made);
        if (maker.ok() && !choose(maker, *lt, handle, g, made)) return no_algorithm(op, g);
        if (!maker.ok()) return fail(diopiErrorOccurred, std::string(op) + ": " + maker.text());
        plan = &plans.add(std::move(key), std::move(made));
    }
    if (g.bias != nullptr) maker.set(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);

    void* workspace = nullptr;
    error = require_workspace(ctx, plan->workspace_bytes, workspace);
    if (error != diopiSuccess) return error;
    const float narrow[] = {static_cast<float>(g.alpha), static_cast<float>(g.beta)};
    const double wide[] = {g.alpha, g.beta};
    const bool is_wide = g.factors == Dtype::float64;
    const void* alpha = is_wide ? static_cast<const void*>(&wide[0]) : &narrow[0];
    const void* beta = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
    if (maker.ok()) {
        maker.check(lt->matmul(handle, plan->desc.get(), alpha, g.b.data, plan->first.get(), g.a.data,
                               plan->second.get(), beta, g.c.data, plan->result.get(), g.c.data, plan->result.get(),
                               &plan->algorithm, workspace, plan->workspace_bytes, stream_of(ctx)),
                    "cublasLtMatmul");
    }
    return maker.ok() ? diopiSuccess : fail(diopiErrorOccurred, std::string(op) + ": " + maker.text());
}

}  // namespace diopi::cuda
