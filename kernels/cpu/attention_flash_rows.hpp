/// Loops over rows of scores of attention, in the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <tuple>

namespace diopi::cpu {

/// T is float or double.
template <class T>
struct AttentionRowKernels {
    /// s_j = scale * s_j - slope * |j - p|; gives the largest, which may miss a NaN.
    T (*score)(T* s, int64_t n, T scale, T slope, T p);
    /// s_j = exp(s_j - base); gives their sum. No s_j is far above the base.
    double (*powers)(T* s, int64_t n, T base);
    /// s_j = exp(s_j - base), of any base.
    void (*shares)(T* s, int64_t n, T base);
    /// g_j = p_j * (g_j - mean) * scale
    void (*slopes)(const T* p, T* g, int64_t n, T mean, T scale);
};

using AttentionRowTable = std::tuple<AttentionRowKernels<float>, AttentionRowKernels<double>>;
[[nodiscard]] const AttentionRowTable& attention_row_table();

}  // namespace diopi::cpu
