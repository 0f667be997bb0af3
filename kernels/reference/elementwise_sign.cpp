/// The sign.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// out = -input; integers wrap.
diopiError_t negate(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return map_kind<Complex>(out, input, [](Complex x) { return -x; });
            case Kind::kFloating:
                return map_kind<double>(out, input, [](double x) { return -x; });
            case Kind::kInteger:
                return map_kind<int64_t>(out, input,
                                         [](int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); });
            case Kind::kBool:
                refuse_dtype("input", Dtype::boolean, "a number: bool has no sign");
        }
    });
}

}  // namespace

#include "kernels/entries/elementwise_sign.inc"

}  // namespace diopi::reference
