#include "core/shape.hpp"

#include <algorithm>

namespace diopi {

std::optional<int64_t> checked_numel(ShapeView shape) {
    int64_t product = 1;
    for (const int64_t size : shape) {
        if (size < 0) return std::nullopt;
    }
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    for (const int64_t size : shape) {
        if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
    }
    return product;
}

int64_t numel(ShapeView shape) {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
}

Shape contiguous_strides(ShapeView shape) {
    Shape strides(shape.size());
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<int64_t>(shape[i], 1);
    }
    return strides;
}

bool is_contiguous(ShapeView shape, ShapeView strides) {
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) return true;
        if (shape[i] != 1 && strides[i] != step) return false;
        step *= shape[i];
    }
    return true;
}

int64_t storage_extent(ShapeView shape, ShapeView strides) {
    int64_t last = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) return 0;
        last += (shape[i] - 1) * strides[i];
    }
    return last + 1;
}

std::optional<Shape> broadcast_shapes(ShapeView a, ShapeView b) {
    Shape out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i) {
        const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
        const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return std::nullopt;
        out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return out;
}

std::optional<int64_t> wrap_dim(int64_t dim, int64_t rank) {
    const int64_t limit = std::max<int64_t>(rank, 1);
    if (dim < -limit || dim >= limit) return std::nullopt;
    return dim < 0 ? dim + limit : dim;
}

std::string to_string(ShapeView shape) {
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    if (shape.size() == 1) text += ',';
    return text + ")";
}

}  // namespace diopi
