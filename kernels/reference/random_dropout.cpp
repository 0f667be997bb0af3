/// Dropout.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/random_sequence.hpp"

namespace diopi::reference {

namespace {

/// mask[i] = u_i < 1 - p, with u_i the i-th uniform float of the generator; out = input * mask / (1 - p), 0 where
/// p is 1. Without train out = input, and neither the mask nor the generator changes.
diopiError_t dropout(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiTensorHandle_t mask,
                     diopiConstTensorHandle_t input, double p, bool train, diopiGeneratorHandle_t generator) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        if (kind_of(dtype) != Kind::kFloating) refuse_dtype("input", dtype, "a floating dtype");
        if (!(p >= 0 && p <= 1)) refuse("p is " + std::to_string(p) + ", wanted 0 to 1");
        const Operand<double> x(input, "input");
        Output<double> y(out, "out", Output<double>::Start::kOldValues);
        require_shape("out", y.shape(), x.shape());
        if (!train) {
            for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i];
            return y.store();
        }
        Output<int64_t> flags(mask, "mask");
        const Sequence from(generator);
        const std::vector<double> drawn = from.uniform<float>(flags.numel());
        for (int64_t i = 0; i < flags.numel(); ++i) flags[i] = drawn[static_cast<size_t>(i)] < 1 - p ? 1 : 0;
        const Shape steps = broadcast_strides("mask", flags.shape(), x.shape());
        const Shape dense = contiguous_strides(x.shape());
        const Rows<2> rows(x.shape(), {ShapeView(dense), ShapeView(steps)});
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                const int64_t to = at[0] + i * rows.step()[0];
                const auto flag = static_cast<double>(flags[at[1] + i * rows.step()[1]]);
                y[to] = p == 1 ? x[to] * 0 : x[to] * flag / (1 - p);
            }
        });
        y.store();
        flags.store();
        from.advance(flags.numel());
    });
}

}  // namespace

#include "kernels/entries/random_dropout.inc"

}  // namespace diopi::reference
