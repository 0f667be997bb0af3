#include "kernels/reference/blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "kernels/reference/threads.hpp"

namespace diopi::reference {

namespace {

/// Values of the CBLAS interface.
enum CblasOrder { kRowMajor = 101 };
enum CblasTranspose { kNoTranspose = 111, kTranspose = 112 };

using Dgemm = void (*)(CblasOrder, CblasTranspose, CblasTranspose, int, int, int, double, const double*, int,
                       const double*, int, double, double*, int);

struct Blas {
    Dgemm dgemm = nullptr;
    std::string description;
};

/// The core type that OpenBLAS must assume, null if it detects the processor itself. Release 0.3.21 knows processors by
/// model number and assumes a Prescott with only SSE3, a quarter of the speed, for newer Intel ones and under a
/// hypervisor. For AMD processors with AVX-512 it assumes a Cooperlake, which is right.
const char* core_type() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw")) {
        return __builtin_cpu_is("intel") ? "SkylakeX" : nullptr;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
    }
#endif
    return nullptr;
}

/// The library reads both variables when it is loaded; values that the user has set stay.
Blas open_blas() {
    constexpr int kKeep = 0;
    setenv("OPENBLAS_NUM_THREADS", "1", kKeep);
    if (const char* core = core_type()) setenv("OPENBLAS_CORETYPE", core, kKeep);
    Blas blas;
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) blas.dgemm = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
    if (blas.dgemm == nullptr) {
        blas.description = "reference: plain loops for float64 matrix products; libopenblas.so.0 was not found";
        return blas;
    }
    using Text = char* (*)();
    const auto core = reinterpret_cast<Text>(dlsym(library, "openblas_get_corename"));
    const auto config = reinterpret_cast<Text>(dlsym(library, "openblas_get_config"));
    blas.description = "reference: libopenblas.so.0 for float64 matrix products, core type ";
    blas.description += core != nullptr ? core() : "unknown";
    if (config != nullptr) blas.description += std::string(" (") + config() + ")";
    return blas;
}

const Blas& blas() {
    static const Blas opened = open_blas();
    return opened;
}

double at(const Matrix& x, int64_t i, int64_t j) {
    return x.transposed ? x.data[j * x.pitch + i] : x.data[i * x.pitch + j];
}

/// A large product is cut into parts of so many rows or columns, for the threads.
constexpr int64_t kPart = 1024;

bool fits_int(int64_t x) { return x <= std::numeric_limits<int>::max(); }

}  // namespace

/// Blocks of b stay in the cache while a row of c is built; the inner loop runs along both rows.
void multiply_plain(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch) {
    constexpr int64_t kDepth = 64;
    constexpr int64_t kWidth = 256;
    double block[kDepth * kWidth];
    for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - p0);
        for (int64_t j0 = 0; j0 < n; j0 += kWidth) {
            const int64_t width = std::min(kWidth, n - j0);
            for (int64_t p = 0; p < depth; ++p) {
                for (int64_t j = 0; j < width; ++j) block[p * kWidth + j] = at(b, p0 + p, j0 + j);
            }
            for (int64_t i = 0; i < m; ++i) {
                double* __restrict row = c + i * pitch + j0;
                for (int64_t p = 0; p < depth; ++p) {
                    const double factor = at(a, i, p0 + p);
                    for (int64_t j = 0; j < width; ++j) row[j] += factor * block[p * kWidth + j];
                }
            }
        }
    }
}

void multiply(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, double* c, int64_t pitch,
              bool accumulate) {
    if (m == 0 || n == 0) return;
    if (k == 0 || blas().dgemm == nullptr || !fits_int(std::max({m, n, k, a.pitch, b.pitch, pitch}))) {
        if (!accumulate) {
            for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * pitch, n, 0.0);
        }
        return multiply_plain(m, n, k, a, b, c, pitch);
    }
    const auto narrow = [](int64_t x) { return static_cast<int>(std::max<int64_t>(x, 1)); };
    const auto part = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
        blas().dgemm(kRowMajor, a.transposed ? kTranspose : kNoTranspose, b.transposed ? kTranspose : kNoTranspose,
                     narrow(rows), narrow(columns), narrow(k), 1.0, a.data + (a.transposed ? i : i * a.pitch),
                     narrow(a.pitch), b.data + (b.transposed ? j * b.pitch : j), narrow(b.pitch),
                     accumulate ? 1.0 : 0.0, c + i * pitch + j, narrow(pitch));
    };
    const double terms = static_cast<double>(m * n) * static_cast<double>(k);
    if (std::max(m, n) <= kPart || terms < kLeastTermsOfThreads) return part(0, m, 0, n);
    for_each_in_threads((std::max(m, n) + kPart - 1) / kPart, terms, [&](int64_t i, std::vector<double>&) {
        const int64_t begin = i * kPart;
        if (m > n) {
            part(begin, std::min(kPart, m - begin), 0, n);
        } else {
            part(0, m, begin, std::min(kPart, n - begin));
        }
    });
}

std::string blas_description() { return blas().description; }

}  // namespace diopi::reference
