/// Rows of elements as rows of larger units, which are copied 16 bytes at a time if their alignment allows it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diopi::cuda {

/// 16 bytes that are only copied.
struct alignas(16) Bits128 {
    uint64_t halves[2];
};

/// The largest power of two, up to 16, that divides all given sizes and addresses.
class UnitSize {
 public:
    UnitSize& divides(int64_t nbytes) {
        bits_ |= static_cast<uint64_t>(nbytes);
        return *this;
    }
    UnitSize& divides(const void* address) {
        bits_ |= reinterpret_cast<uintptr_t>(address);
        return *this;
    }
    [[nodiscard]] int64_t nbytes() const { return static_cast<int64_t>(bits_ & (0 - bits_)); }

 private:
    uint64_t bits_ = 16;
};

/// Calls f<T>() with an unsigned type of 1, 2, 4, 8 or 16 bytes.
template <class F>
auto with_bits(int64_t nbytes, F&& f) {
    switch (nbytes) {
        case 1:
            return f.template operator()<uint8_t>();
        case 2:
            return f.template operator()<uint16_t>();
        case 4:
            return f.template operator()<uint32_t>();
        case 8:
            return f.template operator()<uint64_t>();
        default:
            return f.template operator()<Bits128>();
    }
}

}  // namespace diopi::cuda
