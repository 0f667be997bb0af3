/// Bits of integers and of bool.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

constexpr auto And = [](int64_t a, int64_t b) { return a & b; };
constexpr auto Or = [](int64_t a, int64_t b) { return a | b; };

void require_bits(Dtype dtype) {
    if (kind_of(dtype) >= Kind::kFloating) refuse_dtype("input", dtype, "an integer dtype or bool");
}

/// out = kBits(input, other).
template <auto kBits>
diopiError_t bitwise(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     const Other& other) {
    return kernel([&] {
        require_bits(result_dtype(input, other));
        apply<int64_t>(out, input, other, kBits);
    });
}

/// out = every bit of input inverted; bool has one.
diopiError_t bitwise_not(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        require_bits(dtype);
        if (dtype == Dtype::boolean) return map_kind<int64_t>(out, input, [](int64_t x) { return int64_t{x == 0}; });
        map_kind<int64_t>(out, input, [](int64_t x) { return ~x; });
    });
}

}  // namespace

#include "kernels/entries/elementwise_bitwise.inc"

}  // namespace diopi::reference
