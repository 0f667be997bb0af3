/// Numbers between two ends, and the rows of a unit matrix.
#include <algorithm>
#include <cstring>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

/// Numbers from `first` on by steps.
void count_up(double* values, int64_t n, double start, double step, int64_t first) {
    for (int64_t i = 0; i < n; ++i) values[i] = start + step * static_cast<double>(first + i);
}

/// Fills tiles from both ends and converts each to the dtype of `to`, which is dense.
void fill_between(const View& to, double start, double end) {
    const int64_t steps = to.numel;
    const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
    const auto count = best<count_up>();
    const Convert convert = to.dtype == Dtype::float64 ? nullptr : converter(Dtype::float64, to.dtype);
    parallel_for(steps, 1, [&](int64_t first, int64_t last) {
        alignas(64) double values[kTile];
        for (int64_t tile = first; tile < last; tile += kTile) {
            const int64_t n = std::min(kTile, last - tile), half = steps == 1 ? 1 : steps / 2;
            const int64_t front = std::clamp(half - tile, int64_t{0}, n);
            count(values, front, start, step, tile);
            count(values + front, n - front, end, step, tile + front - (steps - 1));
            std::byte* target = to.data + tile * to.item_size();
            if (convert != nullptr)
                convert(values, target, n);
            else
                std::memcpy(target, values, static_cast<size_t>(n) * sizeof(double));
        }
    });
}

diopiError_t linspace(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      const diopiScalar_t* start, const diopiScalar_t* end, int64_t steps) {
    const View y = view(out);
    if (steps < 0) return refuse(op, "steps is " + std::to_string(steps) + ", wanted 0 or more");
    if (is_complex(y.dtype) || y.dtype == Dtype::boolean) return unsupported(op, "out", y.dtype, "integers or reals");
    View to;
    diopiError_t error = check_shape(op, "out", y, Shape{steps});
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess || steps == 0) return error;
    const auto as_end = [&](const diopiScalar_t& x) {
        return is_floating(y.dtype) ? number<double>(x) : static_cast<double>(number<int64_t>(x));
    };
    fill_between(to, as_end(*start), as_end(*end));
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

diopiError_t one_hot(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, int64_t num_classes) {
    const View y = view(out);
    View x = view(input), to;
    if (x.dtype != Dtype::int64) return unsupported(op, "input", x.dtype, "int64");
    diopiError_t error = contiguous(ctx, x, x);
    if (error != diopiSuccess) return error;
    const auto* numbers = x.as<const int64_t>();
    const auto [least, most] = x.numel == 0 ? std::pair<int64_t, int64_t>{0, -1} : [&] {
        auto p = std::minmax_element(numbers, numbers + x.numel);
        return std::pair{*p.first, *p.second};
    }();
    const int64_t classes = num_classes == -1 && x.numel > 0 ? most + 1 : num_classes;
    if (least < 0 || classes < 1 || most >= classes) {
        return refuse(op, "input holds " + std::to_string(least) + " to " + std::to_string(most) + " for " +
                              std::to_string(classes) + " classes");
    }
    Shape shape(x.shape.begin(), x.shape.end());
    shape.push_back(classes);
    error = check_like(op, "out", y, shape, Dtype::int64);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess || y.numel == 0) return error;
    parallel_for(x.numel, classes, Loop::copy, [&](int64_t first, int64_t last) {
        auto* rows = to.as<int64_t>();
        std::fill(rows + first * classes, rows + last * classes, int64_t{0});
        for (int64_t i = first; i < last; ++i) rows[i * classes + numbers[i]] = 1;
    });
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/shape_linspace.inc"

}  // namespace diopi::cpu
