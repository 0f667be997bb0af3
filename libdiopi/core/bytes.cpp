#include "core/bytes.hpp"

#include <algorithm>

namespace diopi {

namespace {

/// The numbers of so many bytes are counted in bytes, of which a vector has the most.
constexpr size_t kBlock = 240;

/// How many numbers below `size` fulfil the condition.
template <class Condition>
int64_t count_numbers(size_t size, Condition&& condition) {
    int64_t all = 0;
    for (size_t begin = 0; begin < size; begin += kBlock) {
        uint8_t of_block = 0;
        const size_t end = std::min(begin + kBlock, size);
        for (size_t i = begin; i < end; ++i) of_block = static_cast<uint8_t>(of_block + (condition(i) ? 1 : 0));
        all += of_block;
    }
    return all;
}

}  // namespace

int64_t count_others(std::span<const uint8_t> bytes, int pattern) {
    const auto byte = static_cast<uint8_t>(pattern);  // compared as an int each byte would be widened
    return count_numbers(bytes.size(), [=](size_t i) { return bytes[i] != byte; });
}

int64_t count_different(std::span<const uint8_t> bytes, std::span<const uint8_t> others) {
    return count_numbers(bytes.size(), [=](size_t i) { return bytes[i] != others[i]; });
}

}  // namespace diopi
