/// Truth values of comparisons and of logic. Operands are converted to the dtype to which they promote, and then
/// compared. A NaN is unequal to everything, and true.
#include <algorithm>
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

template <class T>
concept HasOrder = !std::is_same_v<T, Complex>;

constexpr auto Same = []<class T>(T a, T b) { return a == b; };
constexpr auto Different = []<class T>(T a, T b) { return a != b; };
constexpr auto NotLess = []<HasOrder T>(T a, T b) { return a >= b; };
constexpr auto Greater = []<HasOrder T>(T a, T b) { return a > b; };
constexpr auto NotGreater = []<HasOrder T>(T a, T b) { return a <= b; };
constexpr auto Less = []<HasOrder T>(T a, T b) { return a < b; };
constexpr auto Both = []<class T>(T a, T b) { return a != T(0) && b != T(0); };
constexpr auto Either = []<class T>(T a, T b) { return a != T(0) || b != T(0); };
constexpr auto IsZero = []<class T>(T a) { return int64_t{a == T(0)}; };
/// Whether a part of the number is NaN.
constexpr auto IsNan = []<class T>(T a) { return int64_t{a != a}; };

/// out = kRelation(input, other), or its number in place. Source: torch.eq, torch.logical_and.
template <auto kRelation>
diopiError_t compare(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     const Other& other) {
    return kernel([&] {
        const Dtype dtype = result_dtype(input, other);
        in_kind(dtype, [&]<class T>(T) {
            if constexpr (std::is_invocable_v<decltype(kRelation), T, T>) {
                const Promoted<T> a(input, "input", dtype), b(other, "other", dtype);
                Output<int64_t> y(out, "out");
                require_broadcast(y.shape(), a.shape(), b.shape());
                broadcast(y, a.data(), a.shape(), b.data(), b.shape(), kRelation);
                y.store();
            } else {
                refuse_dtype("input", dtype, "a real dtype: complex numbers have no order");
            }
        });
    });
}

/// *out = whether both have one shape and equal elements. Source: torch.equal.
diopiError_t equal(diopiContextHandle_t, std::string_view, bool* out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t other) {
    return kernel([&] {
        const Dtype dtype = result_dtype(input, other);
        *out = same_shape(view_of(input).shape, view_of(other).shape);
        if (!*out) return;
        in_kind(dtype, [&]<class T>(T) {
            const Promoted<T> a(input, "input", dtype), b(other, "other", dtype);
            *out = std::equal(a.data(), a.data() + view_of(input).numel, b.data());
        });
    });
}

template <auto kFormula>
constexpr auto truth = map_same<kFormula>;

}  // namespace

#include "kernels/entries/elementwise_compare.inc"

}  // namespace diopi::reference
