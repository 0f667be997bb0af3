#include "kernels/cuda/operands.hpp"

#include <algorithm>

namespace diopi::cuda {

int category(Dtype dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

Dtype result_dtype(const View& a, const View& b) {
    if (a.shape.empty() == b.shape.empty()) return promote(a.dtype, b.dtype);
    const Dtype tensor = a.shape.empty() ? b.dtype : a.dtype;
    const Dtype zero_dim = a.shape.empty() ? a.dtype : b.dtype;
    return category(zero_dim) <= category(tensor) ? tensor : promote(tensor, zero_dim);
}

Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    Operands x{view(out), view(input), view(other)};
    x.result = result_dtype(x.input, x.other);
    return x;
}

Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, const diopiScalar_t* other) {
    Operands x{view(out), view(input), {}};
    x.other_is_number = true;
    x.number = *other;
    x.result = promote_with_number(x.input.dtype, from_c(other->stype));
    x.other = number_view(x.result);
    return x;
}

diopiError_t check_operands(std::string_view op, const Operands& x) {
    // A complex result in a real out is refused below.
    if (is_complex(x.out.dtype)) {
        return unsupported(op, "out", x.out.dtype, "a real dtype: the cuda backend has no complex ones");
    }
    const auto shape = broadcast_shapes(x.input.shape, x.other.shape);
    if (!shape) {
        return wrong_shape(op, "other", x.other.shape, "one that broadcasts with input's " + to_string(x.input.shape));
    }
    if (!std::ranges::equal(*shape, x.out.shape)) return wrong_shape(op, "out", x.out.shape, to_string(*shape));
    if (category(x.out.dtype) >= category(x.result)) return diopiSuccess;
    return unsupported(op, "out", x.out.dtype,
                       "a dtype that the result's " + std::string(name(x.result)) + " casts to");
}

diopiError_t check_unary(std::string_view op, const View& out, const View& input, bool wants_number) {
    if (is_complex(input.dtype) || (wants_number && input.dtype == Dtype::boolean)) {
        return unsupported(op, "input", input.dtype, "a real dtype");
    }
    if (is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a real dtype");
    if (!std::ranges::equal(out.shape, input.shape)) return wrong_shape(op, "out", out.shape, to_string(input.shape));
    return diopiSuccess;
}

}  // namespace diopi::cuda
