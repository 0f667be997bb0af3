#include "kernels/cpu/half_values.hpp"

#include <cstring>
#include <iterator>
#include <numeric>

#include "kernels/cpu/read_ahead.hpp"

namespace diopi::cpu {

namespace {

/// Four results are stored at once: single ones would wait for the memory, as a processor holds few stores back. Each
/// element takes so long that the processor itself reads ahead too late. 16 million numbers in two threads of an AMD
/// EPYC (Zen 4): 2.4 ms, 2.9 ms without the requests for memory, 3.7 ms with single stores, too.
void look_up(void* const* out, const void* const* in, int64_t n, const void* state) {
    const auto* values = static_cast<const uint16_t*>(state);
    const auto* x = static_cast<const uint16_t*>(in[0]);
    auto* y = static_cast<uint16_t*>(out[0]);
    constexpr int64_t kWord = 4, kGroup = 32;
    int64_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        read_soon(reinterpret_cast<const std::byte*>(x + i) + kPage, kLine);
#pragma GCC unroll 8
        for (int64_t k = i; k < i + kGroup; k += kWord) {
            const uint16_t four[kWord] = {values[x[k]], values[x[k + 1]], values[x[k + 2]], values[x[k + 3]]};
            std::memcpy(y + k, four, sizeof four);
        }
    }
    for (; i < n; ++i) y[i] = values[x[i]];
}

}  // namespace

void HalfValues::fill(const TileOp& given, Dtype dtype) {
    std::iota(std::begin(values_), std::end(values_), 0);
    View memory;
    memory.data = reinterpret_cast<std::byte*>(values_);
    memory.dtype = dtype;
    const DensePart part(std::ssize(values_));
    const View all = part.of(memory, 0);
    // In place and contiguous: it needs no memory, and nothing to refuse.
    (void)for_each_tile(nullptr, {}, {&all, 1}, {&all, 1}, given);
}

TileOp HalfValues::instead_of(const TileOp& given, Dtype dtype, int64_t n) {
    if (n < kLookUpElements) return given;
    if (computed_.load(std::memory_order_relaxed) < kFillElements &&
        computed_.fetch_add(n, std::memory_order_relaxed) + n < kFillElements)
        return given;
    std::call_once(filled_, [&] { fill(given, dtype); });
    return {dtype, look_up, values_};
}

}  // namespace diopi::cpu
