#include "core/extent.hpp"

#include <algorithm>

namespace diopi {

bool is_addressable(ShapeView shape) {
    int64_t bytes = 16;
    return std::ranges::all_of(shape, [&](int64_t size) {
        return size >= 0 && !__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes);
    });
}

}  // namespace diopi
