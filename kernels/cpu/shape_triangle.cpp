/// Upper and lower triangles of matrices.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

namespace {

/// The columns of a row that are kept: from column row + diagonal on (upper), or up to it.
struct Triangle {
    bool upper;
    int64_t diagonal;

    struct Range {
        int64_t first, last;
    };
    [[nodiscard]] Range kept(int64_t row, int64_t columns) const {
        int64_t edge = 0;  // saturates, so that no diagonal is too far
        if (__builtin_add_overflow(row, diagonal, &edge)) edge = diagonal > 0 ? INT64_MAX : INT64_MIN;
        if (upper) return {std::clamp<int64_t>(edge, 0, columns), columns};
        return {0, edge >= columns ? columns : std::max<int64_t>(edge + 1, 0)};
    }
};

/// Dense matrices of one dtype, one below the other; out may be input.
void copy_triangle(const View& out, const View& input, const Triangle& triangle) {
    const int64_t columns = out.shape.back(), height = out.shape[out.shape.size() - 2], item = out.item_size();
    parallel_for(out.numel / columns, columns, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
            const auto [begin, end] = triangle.kept(row % height, columns);
            std::byte* to = out.data + row * columns * item;
            const std::byte* from = input.data + row * columns * item;
            std::memset(to, 0, static_cast<size_t>(begin * item));
            std::memset(to + end * item, 0, static_cast<size_t>((columns - end) * item));
            if (to == from) continue;
            std::memcpy(to + begin * item, from + begin * item, static_cast<size_t>((end - begin) * item));
        }
    });
}

template <bool kUpper>
diopiError_t triangle(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, int64_t diagonal) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_triangle(op, y, x); error != diopiSuccess) return error;
    if (x.numel == 0) return diopiSuccess;
    View from, to;
    diopiError_t error = contiguous(ctx, x, from);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess) return error;
    copy_triangle(to, from, {kUpper, diagonal});
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/shape_triangle.inc"

}  // namespace diopi::cpu
