/// Laws of the factors of A = Q R, which are not unique: the signs of R's rows are free, and more where A has not full
/// rank. In place of one result each valid one is accepted: Q has orthonormal columns, R is upper triangular, R^T R is
/// A^T A, and Q R is A.
///
/// The equations are checked on vectors of random signs, which needs n^2 operations instead of n^3: an element that is
/// wrong by d changes a component of the product by d. Each component may be off by 16 sqrt(m + n) u times the norms of
/// its row and column, where u is the roundoff of the dtype: Householder's reflections are backward stable, by some u
/// for each column. Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 19.3; R. Freivalds,
/// Probabilistic machines can use less running time.
#pragma once

#include <string>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// Checks what one factor alone tells: an error where it cannot be one. `expected`, which has its shape, becomes its
/// copy. Nothing happens where A or the factor has numbers that are not finite, which the comparison judges.
[[nodiscard]] Status settle_factor(const Call& call, size_t arg, const Tensor& actual, TensorPtr& expected);

/// Where Q R is not A, as a message; empty if it is, or if the mode gives no Q.
[[nodiscard]] std::string wrong_factors(const Call& call, const Tensor& q, const Tensor& r);

}  // namespace diopi
