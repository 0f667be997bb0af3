/// Numbers between two ends, and the rows of a unit matrix.
#include <algorithm>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out[i] = start + i * step in the first half, end - (steps - 1 - i) * step in the second one, so that both ends are
/// exact; step = (end - start) / (steps - 1). Whole results lose their fractions. Source: torch.linspace.
template <class T>
void fill_between(diopiTensorHandle_t out, const diopiScalar_t& start, const diopiScalar_t& end, int64_t steps) {
    Output<T> y(out, "out");
    require_shape("out", y.shape(), Shape{steps});
    const auto first = static_cast<double>(scalar_as<T>(start)), last = static_cast<double>(scalar_as<T>(end));
    const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
    for (int64_t i = 0; i < steps; ++i) {
        const bool is_front = i < steps / 2 || steps == 1;
        y[i] = static_cast<T>(is_front ? first + step * static_cast<double>(i)
                                       : last - step * static_cast<double>(steps - 1 - i));
    }
    y.store();
}

diopiError_t linspace(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, const diopiScalar_t* start,
                      const diopiScalar_t* end, int64_t steps) {
    return kernel([&] {
        if (steps < 0) refuse("steps is " + std::to_string(steps) + ", wanted 0 or more");
        const bool is_real = kind_of(view_of(out).dtype) == Kind::kFloating;
        (is_real ? fill_between<double> : fill_between<int64_t>)(out, *start, *end, steps);
    });
}

/// out[.., c] = 1 for c = input[..], else 0.
diopiError_t one_hot(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     int64_t num_classes) {
    return kernel([&] {
        if (view_of(input).dtype != Dtype::int64) refuse_dtype("input", view_of(input).dtype, "int64");
        if (view_of(out).dtype != Dtype::int64) refuse_dtype("out", view_of(out).dtype, "int64");
        const Operand<int64_t> x(input, "input");
        int64_t classes = num_classes;
        if (classes == -1 && x.numel() > 0) classes = *std::max_element(x.data(), x.data() + x.numel()) + 1;
        if (classes < 1) refuse("num_classes is " + std::to_string(classes) + ", wanted 1 or more");
        Shape shape(x.shape().begin(), x.shape().end());
        shape.push_back(classes);
        require_shape("out", view_of(out).shape, shape);
        for (int64_t i = 0; i < x.numel(); ++i) {
            if (x[i] < 0 || x[i] >= classes) refuse("input holds " + std::to_string(x[i]) + ", which is no class");
        }
        Output<int64_t> y(out, "out", Output<int64_t>::Start::kZero);
        for (int64_t i = 0; i < x.numel(); ++i) y[i * classes + x[i]] = 1;
        y.store();
    });
}

}  // namespace

#include "kernels/entries/shape_linspace.inc"

}  // namespace diopi::reference
