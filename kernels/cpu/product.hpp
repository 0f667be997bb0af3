/// Batches of matrix products: oneDNN's in float32 and bfloat16, our own in float64, for a few rows and for small ones.
#pragma once

#include <diopi/diopirt.h>

#include <cstdint>
#include <initializer_list>

#include "core/half.hpp"
#include "kernels/cpu/amx.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// Dense matrices, one after the other in memory.
template <class T>
struct Matrices {
    const T* data = nullptr;
    bool transposed = false;  ///< memory holds the transpose of each, row-major
    bool repeated = false;    ///< the whole batch uses one matrix
};

/// The sizes of a batch of products (m, k) * (k, n); any may be 0.
struct ProductShape {
    int64_t m = 0, n = 0, k = 0;
    int64_t batch = 1;
};

/// Whether products of bfloat16 numbers, of `rows` rows in all, have the right sums: those of a few rows are computed
/// in float32, more need the machine's units and numbers that suit them (see suit_bfloat16_units). All tensors must be
/// bfloat16.
[[nodiscard]] bool takes_bfloat16(int64_t rows, const View& a, const View& b, std::initializer_list<View> addends = {});

/// The use of the old values of c.
enum class Into { kOverwrite, kAdd };

/// c (batch, m, n) = a * b + bias (n numbers; null: none), or c += a * b, which takes no bias. Dense and row-major. The
/// bits of c do not depend on the number of threads. Products of bfloat16 numbers, which takes_bfloat16 must allow, are
/// added up in float32, and rounded once.
[[nodiscard]] diopiError_t product(diopiContextHandle_t ctx, const ProductShape& shape, Matrices<float> a,
                                   Matrices<float> b, const float* bias, float* c, Into into = Into::kOverwrite);
[[nodiscard]] diopiError_t product(diopiContextHandle_t ctx, const ProductShape& shape, Matrices<Bfloat16> a,
                                   Matrices<Bfloat16> b, const Bfloat16* bias, Bfloat16* c,
                                   Into into = Into::kOverwrite);
[[nodiscard]] diopiError_t product(diopiContextHandle_t ctx, const ProductShape& shape, Matrices<Bfloat16> a,
                                   Matrices<Bfloat16> b, const float* bias, float* c, Into into = Into::kOverwrite);
/// This one takes at most kFewRows rows in all (few_rows.hpp).
[[nodiscard]] diopiError_t product(diopiContextHandle_t ctx, const ProductShape& shape, Matrices<float> a,
                                   Matrices<Bfloat16> b, const Bfloat16* bias, Bfloat16* c,
                                   Into into = Into::kOverwrite);
[[nodiscard]] diopiError_t product(diopiContextHandle_t ctx, const ProductShape& shape, Matrices<double> a,
                                   Matrices<double> b, const double* bias, double* c, Into into = Into::kOverwrite);

/// Whether scaled_product computes the product of these tensors.
[[nodiscard]] bool takes_scaled_bfloat16(const ProductShape& shape, const View& a, const View& b);
/// c (batch, m, n) = alpha * a * b + beta * addend, computed in float32 and rounded once. The bits of c do not depend
/// on the number of threads.
[[nodiscard]] diopiError_t scaled_product(const ProductShape& shape, Matrices<Bfloat16> a, Matrices<Bfloat16> b,
                                          const ScaledSum<Bfloat16>& sum, Bfloat16* c);

}  // namespace diopi::cpu
