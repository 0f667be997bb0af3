/// The sums of normalisation: of rows, and of channels over planes or over rows of channels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/gemm_vector.hpp"
#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

/// Channels that one thread handles together when the channels are last, and rows between two steps in double.
constexpr int64_t kChannelBlock = 64, kRowPart = 128;

/// sums[c] = the sum over the elements of channel c of term(element, c), a Term::Value of T or Vector<T>. Term offers
/// `vector(offset, how many count, c)` for elements of one channel and `scalar(offset, c)`; T is float or double.
template <class T, class Term>
void reduce_channels(const ChannelShape& s, const Term& term, double* sums) {
    if (s.layout == Layout::plain) {
        parallel_for(s.channels, s.per_channel(), [&](int64_t first, int64_t last) {
            for (int64_t c = first; c < last; ++c) {
                double total = 0;
                for (int64_t n = 0; n < s.count; ++n) {
                    const int64_t plane = (n * s.channels + c) * s.inner;
                    total += sum_of<T>(s.inner, [&](int64_t i, int64_t m) { return term.vector(plane + i, m, c); });
                }
                sums[c] = total;
            }
        });
        return;
    }
    const int64_t blocks = (s.channels + kChannelBlock - 1) / kChannelBlock;
    parallel_for(blocks, s.per_channel() * kChannelBlock, [&](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
            const int64_t begin = block * kChannelBlock, size = std::min(kChannelBlock, s.channels - begin);
            std::fill_n(sums + begin, size, 0.0);
            for (int64_t row = 0; row < s.per_channel(); row += kRowPart) {
                std::array<T, kChannelBlock> part{};
                for (int64_t r = row; r < std::min(row + kRowPart, s.per_channel()); ++r) {
                    const int64_t at = r * s.channels + begin;
                    for (int64_t c = 0; c < size; ++c) part[static_cast<size_t>(c)] += term.scalar(at + c, begin + c);
                }
                for (int64_t c = 0; c < size; ++c) sums[begin + c] += static_cast<double>(part[static_cast<size_t>(c)]);
            }
        }
    });
}

/// x
template <class T>
struct SumTerm {
    const T* x;
    Vector<T> vector(int64_t at, int64_t n, int64_t) const { return load_up_to(x + at, n); }
    T scalar(int64_t at, int64_t) const { return x[at]; }
};

/// g * (x - mean)
template <class T>
struct ProductTerm {
    const T* g;
    const T* x;
    const T* mean;
    Vector<T> vector(int64_t at, int64_t n, int64_t c) const {
        return load_up_to(g + at, n) * (load_up_to(x + at, n, mean[c]) - spread(mean[c]));
    }
    T scalar(int64_t at, int64_t c) const { return g[at] * (x[at] - mean[c]); }
};

/// The mean and the biased variance of a row for (x - mean) * scale + shift; `shift` adds the part of the mean that its
/// rounding removed.
template <class T>
struct RowStatistics {
    T mean, scale, shift;
    double exact_mean, invstd;
};

template <class T>
RowStatistics<T> row_statistics(const T* x, int64_t n, double eps) {
    const auto count = static_cast<double>(n);
    const double exact = sum_of<T>(n, [=](int64_t i, int64_t m) { return load_up_to(x + i, m); }) / count;
    const T mean = static_cast<T>(exact);
    const Vector<T> centre = spread(mean);
    const double squares = sum_of<T>(n, [=](int64_t i, int64_t m) {
        const Vector<T> d = load_up_to(x + i, m, mean) - centre;
        return d * d;
    });
    const double invstd = 1 / std::sqrt(squares / count + eps);
    const double rest = (static_cast<double>(mean) - exact) * invstd;
    return {mean, static_cast<T>(invstd), static_cast<T>(std::isfinite(rest) ? rest : 0), exact, invstd};
}

}  // namespace diopi::cpu
