/// Products of bfloat16 matrices on AMX, the units of some x86-64 processors that multiply tiles of matrices.
#pragma once

#include <cstdint>

#include "core/half.hpp"
#include "kernels/cpu/gemm.hpp"

namespace diopi::cpu {

/// Whether there are such units, this build has code for them, the system lets the process use them, and oneDNN does,
/// too, whose limit DNNL_MAX_CPU_ISA holds for both.
[[nodiscard]] bool has_amx_products();

/// The units form so many products in the time that parallel_for calls the work of one element.
constexpr int64_t kAmxProductsPerWork = 64;

/// A product is scaled and added to other numbers: c = alpha * product + beta * addend. The addend has the shape and
/// the order of c, and may be c itself. If it is null, nothing is added.
template <class T>
struct ScaledSum {
    const T* addend = nullptr;
    float alpha = 1, beta = 1;
};

/// c (m, n) = a * b + bias (n numbers; null: none), scaled and added as `sum` says. m, n and k are not 0; one stride of
/// a and of b is 1; c is dense and row-major. The sums are formed in float32 in the order of k, as the units do it (see
/// bfloat16_units.hpp), and rounded once. T is float or Bfloat16. Needs has_amx_products().
template <class T>
void amx_product(int64_t m, int64_t n, int64_t k, MatrixView<Bfloat16> a, MatrixView<Bfloat16> b, const T* bias, T* c,
                 const ScaledSum<T>& sum = {});

}  // namespace diopi::cpu
