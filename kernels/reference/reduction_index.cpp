/// Places of elements along a dimension.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction.hpp"

namespace diopi::reference {

namespace {

bool is_nan(double x) { return x != x; }
bool is_nan(int64_t) { return false; }

/// y = the index of the first element along n that no other one exceeds; the first NaN if there is one. The input is
/// read as (outer, n, inner).
template <class T>
void first_maxima(Output<int64_t>& y, diopiConstTensorHandle_t input, int64_t outer, int64_t n, int64_t inner) {
    const Operand<T> x(input, "input");
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            const T* column = x.data() + o * n * inner + i;
            int64_t best = 0;
            for (int64_t k = 1; k < n && !is_nan(column[best * inner]); ++k) {
                const T value = column[k * inner];
                if (value > column[best * inner] || is_nan(value)) best = k;
            }
            y[o * inner + i] = best;
        }
    }
}

/// dim null: over all elements, counted in row-major order. A 0-dim input has one element.
diopiError_t argmax(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    const int64_t* dim, bool) {
    return kernel([&] {
        const View view = view_of(input);
        Output<int64_t> y(out, "out");
        int64_t outer = 1;
        int64_t n = view.numel;
        int64_t inner = 1;
        std::vector<bool> reduced(view.shape.size(), true);
        if (dim != nullptr && !view.shape.empty()) {
            const auto d = static_cast<size_t>(require_dim(*dim, static_cast<int64_t>(view.shape.size())));
            reduced.assign(reduced.size(), false);
            reduced[d] = true;
            outer = numel(view.shape.first(d));
            n = view.shape[d];
            inner = numel(view.shape.subspan(d + 1));
        }
        require_reduced_shape(y.shape(), view.shape, reduced);
        if (n == 0 && y.numel() > 0) refuse("input has shape " + to_string(view.shape) + ", wanted elements along dim");
        switch (kind_of(view.dtype)) {
            case Kind::kComplex:
                refuse_dtype("input", view.dtype, "a real dtype");
            case Kind::kFloating:
                first_maxima<double>(y, input, outer, n, inner);
                break;
            case Kind::kInteger:
            case Kind::kBool:
                first_maxima<int64_t>(y, input, outer, n, inner);
                break;
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/reduction_index.inc"

}  // namespace diopi::reference
