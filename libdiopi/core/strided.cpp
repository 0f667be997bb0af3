#include "core/strided.hpp"

#include <cstdint>
#include <cstring>

namespace diopi {

namespace {

struct Wide {
    uint64_t words[2];
};

template <class T>
void copy_rows(const Tensor& from, const Tensor& to) {
    const T* source = from.data_as<T>();
    T* target = to.data_as<T>();
    if (from.shape.empty()) {
        *target = *source;
        return;
    }
    const int64_t n = from.shape.back();
    const int64_t step_from = from.strides.back();
    const int64_t step_to = to.strides.back();
    const ShapeView outer(from.shape.data(), from.shape.size() - 1);
    // The offsets of the rows of `to` are collected first; that costs little, because rows are long.
    std::vector<int64_t> rows;
    rows.reserve(static_cast<size_t>(numel(outer)));
    for_each_offset(outer, {to.strides.data(), outer.size()}, [&](int64_t offset) { rows.push_back(offset); });
    size_t row = 0;
    for_each_offset(outer, {from.strides.data(), outer.size()}, [&](int64_t offset) {
        const T* in = source + offset;
        T* out = target + rows[row++];
        for (int64_t i = 0; i < n; ++i) out[i * step_to] = in[i * step_from];
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
            return copy_rows<uint8_t>(from, to);
        case 2:
            return copy_rows<uint16_t>(from, to);
        case 4:
            return copy_rows<uint32_t>(from, to);
        case 8:
            return copy_rows<uint64_t>(from, to);
        default:
            return copy_rows<Wide>(from, to);
    }
}

}  // namespace diopi
