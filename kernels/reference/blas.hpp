/// Matrix products in float64: OpenBLAS if it is there (opened at run time on first use), else plain blocked loops.
#pragma once

#include <cstdint>
#include <string>

namespace diopi::reference {

/// A row-major matrix, or its transpose: element (i, j) is at i * pitch + j, transposed at j * pitch + i.
struct Matrix {
    const double* data;
    int64_t pitch;
    bool transposed = false;
};

/// c = a * b + (accumulate ? c : 0) with a (m,k), b (k,n) and c (m,n) row-major with `pitch`. Any of m, n, k may be 0.
void multiply(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch,
              bool accumulate);

/// c += a * b by plain blocked loops: what `multiply` does where there is no library.
void multiply_plain(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch);

/// Which library does the products, in one line for a debug message. Opens it if that has not happened.
[[nodiscard]] std::string blas_description();

}  // namespace diopi::reference
