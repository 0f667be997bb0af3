#include "core/strided.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace diopi {

namespace {

struct Wide {
    uint64_t words[2];
};

constexpr int64_t kCacheLine = 64;
/// Rows and columns that are copied together, where neighbours of one side are far from each other on the other side.
constexpr int64_t kSquare = 32;

/// The dim of more than one index, but for the last one, along which the strides are least; 0 if there is none.
size_t nearest_dim(ShapeView shape, ShapeView strides) {
    size_t nearest = 0;
    for (size_t d = 1; d + 1 < shape.size(); ++d) {
        if (shape[nearest] == 1 || (shape[d] > 1 && std::abs(strides[d]) < std::abs(strides[nearest]))) nearest = d;
    }
    return nearest;
}

/// The rows and columns of one plane: their number, and the steps from one to the next.
struct Side {
    int64_t n = 1, from = 0, to = 0;
};

template <class T>
void copy_plane(const T* from, const Side& rows, const Side& columns, T* to) {
    const int64_t height = std::min(rows.n, kSquare), width = rows.n == 1 ? columns.n : kSquare;
    for (int64_t top = 0; top < rows.n; top += height) {
        for (int64_t left = 0; left < columns.n; left += width) {
            const int64_t bottom = std::min(top + height, rows.n), right = std::min(left + width, columns.n);
            for (int64_t r = top; r < bottom; ++r) {
                const T* in = from + r * rows.from;
                T* out = to + r * rows.to;
                for (int64_t c = left; c < right; ++c) out[c * columns.to] = in[c * columns.from];
            }
        }
    }
}

template <class T>
void copy_elements(const Tensor& from, const Tensor& to) {
    Shape outer = from.shape;
    Side rows, columns;
    if (!outer.empty()) {
        columns = {outer.back(), from.strides.back(), to.strides.back()};
        outer.back() = 1;
        const Shape& wide = std::abs(columns.from) > std::abs(columns.to) ? from.strides : to.strides;
        if (std::abs(wide.back()) * static_cast<int64_t>(sizeof(T)) >= kCacheLine) {
            const size_t d = nearest_dim(from.shape, wide);
            rows = {outer[d], from.strides[d], to.strides[d]};
            outer[d] = 1;
        }
    }
    for_each_offset_pair(outer, from.strides, to.strides, [&](int64_t source, int64_t target) {
        copy_plane(from.data_as<T>() + source, rows, columns, to.data_as<T>() + target);
    });
}

}  // namespace

void copy_strided(const Tensor& from, const Tensor& to) {
    if (from.numel() == 0) return;
    if (from.is_contiguous() && to.is_contiguous()) {
        std::memcpy(to.data(), from.data(), from.nbytes());
        return;
    }
    switch (size_of(from.dtype)) {
        case 1:
            return copy_elements<uint8_t>(from, to);
        case 2:
            return copy_elements<uint16_t>(from, to);
        case 4:
            return copy_elements<uint32_t>(from, to);
        case 8:
            return copy_elements<uint64_t>(from, to);
        default:
            return copy_elements<Wide>(from, to);
    }
}

}  // namespace diopi
