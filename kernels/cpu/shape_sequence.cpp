/// Numbers at a regular distance.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

namespace {

/// Fills tiles of T and converts each to the dtype of `to`, which is dense.
template <class T>
void fill_steps(const View& to, Dtype compute, T start, T step) {
    const Convert convert = to.dtype == compute ? nullptr : converter(compute, to.dtype);
    alignas(64) T values[kTile];
    for (int64_t first = 0; first < to.numel; first += kTile) {
        const int64_t n = std::min(kTile, to.numel - first);
        std::byte* target = to.data + first * to.item_size();
        T* numbers = convert == nullptr ? reinterpret_cast<T*>(target) : values;
        for (int64_t i = 0; i < n; ++i) numbers[i] = start + static_cast<T>(first + i) * step;
        if (convert != nullptr) convert(values, target, n);
    }
}

diopiError_t arange(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, const diopiScalar_t* start,
                    const diopiScalar_t* end, const diopiScalar_t* step) {
    const View y = view(out);
    View to;
    diopiError_t error = check_steps(op, y, *start, *end, *step);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess) return error;
    if (is_floating(y.dtype)) {
        fill_steps(to, Dtype::float64, number<double>(*start), number<double>(*step));
    } else {
        fill_steps(to, Dtype::int64, number<uint64_t>(*start), number<uint64_t>(*step));
    }
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/shape_sequence.inc"

}  // namespace diopi::cpu
