/// Matrix products in float64: OpenBLAS if it is installed (opened at the first use), else plain blocked loops.
#pragma once

#include <cstdint>
#include <string>

namespace diopi::reference {

/// A row-major matrix, or its transpose: element (i, j) is at i * pitch + j, or, transposed, at j * pitch + i.
struct Matrix {
    const double* data;
    int64_t pitch;
    bool transposed = false;
};

/// c = a * b + (accumulate ? c : 0) with a (m,k), b (k,n) and c (m,n) row-major with `pitch`. Any of m, n, k may be 0.
void multiply(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch,
              bool accumulate);

/// c += a * b by plain blocked loops, which `multiply` uses without the library.
void multiply_plain(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch);

/// The name of the library in use, in one line for a debug message. Opens it if necessary.
[[nodiscard]] std::string blas_description();

}  // namespace diopi::reference
