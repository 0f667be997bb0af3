/// The greatest and the least elements, their places, and whether any or all elements are true. NaN is greater and less
/// than every number, and it is true.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction_choice.hpp"

namespace diopi::reference {

namespace {

constexpr bool Greatest = true, Least = false;
constexpr bool Any = true, All = false;

template <bool kGreatest>
diopiError_t extreme_along(diopiContextHandle_t, std::string_view, diopiTensorHandle_t values,
                           diopiTensorHandle_t indices, diopiConstTensorHandle_t input, int64_t dim) {
    return kernel([&] { choose<kGreatest>(values, indices, input, {&dim, 1}); });
}

template <bool kGreatest>
diopiError_t extreme_of_all(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
    return kernel([&] { choose<kGreatest>(out, nullptr, input, {}); });
}

template <bool kGreatest>
diopiError_t extreme_over(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t dim, bool) {
    return kernel([&] { choose<kGreatest>(out, nullptr, input, list_of(dim)); });
}

/// dim null: over all elements, counted in row-major order.
template <bool kGreatest>
diopiError_t place_along(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const int64_t* dim, bool) {
    return kernel([&] { choose<kGreatest>(nullptr, out, input, dim == nullptr ? ShapeView() : ShapeView(dim, 1)); });
}

/// Over no elements: false for any, true for all.
template <bool kAny>
diopiError_t truth(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   const int64_t* dim) {
    return kernel([&] {
        const View view = view_of(input);
        const std::vector<bool> reduced = reduced_dims(view.shape, dim == nullptr ? ShapeView() : ShapeView(dim, 1));
        const Groups groups(view.shape, reduced);
        Output<int64_t> y(out, "out");
        require_reduced_shape(y.shape(), view.shape, reduced);
        in_kind(view.dtype, [&](auto zero) {
            const Operand<decltype(zero)> x(input, "input");
            for (int64_t r = 0; r < groups.results(); ++r) {
                bool found = false;  // an element that decides
                for (int64_t k = 0; k < groups.size() && !found; ++k) {
                    found = (x[groups.place(r, k)] != decltype(zero)()) == kAny;
                }
                y[r] = found == kAny ? 1 : 0;
            }
        });
        y.store();
    });
}

}  // namespace

#include "kernels/entries/reduction_extreme.inc"

}  // namespace diopi::reference
