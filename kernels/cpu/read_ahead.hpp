/// Memory that a loop will read. The processor itself reads ahead within one page only: on two cores of an AMD EPYC
/// (Zen 5) sums of 64 MB take 1.25 ms with these functions, and 1.5 to 2 ms without.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diopi::cpu {

constexpr int64_t kPage = 4096;
constexpr int64_t kLine = 64;  ///< bytes of a cache line

/// Asks for these bytes. An address behind a tensor does no harm.
[[gnu::always_inline]] inline void read_soon(const std::byte* from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(from + at);
}

/// Asks for what a loop in the order of the memory will read that now reads n elements at x.
template <class Element>
[[gnu::always_inline]] inline void read_ahead(const Element* x, int64_t n) {
    read_soon(reinterpret_cast<const std::byte*>(x) + kPage, n * static_cast<int64_t>(sizeof(Element)));
}

}  // namespace diopi::cpu
