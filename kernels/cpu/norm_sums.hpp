/// Two sums for each channel at once, over planes or over rows of channels.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/gemm_vector.hpp"
#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/onednn_threads.hpp"

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

}  // namespace diopi::cpu
