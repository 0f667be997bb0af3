#include "kernels/cpu/operands.hpp"

#include <algorithm>

namespace diopi::cpu {

int category(Dtype dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

Dtype result_dtype(const View& a, const View& b) {
    if ((a.rank() == 0) == (b.rank() == 0)) return promote(a.dtype, b.dtype);
    const Dtype tensor = a.rank() == 0 ? b.dtype : a.dtype;
    const Dtype zero_dim = a.rank() == 0 ? a.dtype : b.dtype;
    if (category(zero_dim) <= category(tensor)) return tensor;
    if (is_complex(zero_dim) && is_floating(tensor)) return promote_with_number(tensor, Dtype::complex64);
    return promote(tensor, zero_dim);
}

namespace {

diopiError_t check_shapes(std::string_view op, const Operands& x) {
    const auto shape = broadcast_shapes(x.input.shape, x.other.shape);
    if (!shape) {
        return wrong_shape(op, "other", x.other.shape, "one that broadcasts with input's " + to_string(x.input.shape));
    }
    if (!std::ranges::equal(*shape, x.out.shape)) return wrong_shape(op, "out", x.out.shape, to_string(*shape));
    return diopiSuccess;
}

/// Whether a result may be stored in out (torch.can_cast).
diopiError_t check_out(std::string_view op, const Operands& x) {
    if (category(x.out.dtype) >= category(x.result)) return diopiSuccess;
    return unsupported(op, "out", x.out.dtype,
                       "a dtype that the result's " + std::string(name(x.result)) + " casts to");
}

}  // namespace

Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    Operands x{view(out), view(input), view(other)};
    x.result = result_dtype(x.input, x.other);
    return x;
}

Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, const diopiScalar_t* other) {
    Operands x{view(out), view(input), {}};
    x.other_is_number = true;
    x.other_number = *other;
    x.result = promote_with_number(x.input.dtype, from_c(other->stype));
    x.other.dtype = x.result;
    x.other.numel = 1;
    return x;
}

diopiError_t check_operands(std::string_view op, const Operands& x) {
    const diopiError_t error = check_shapes(op, x);
    return error != diopiSuccess ? error : check_out(op, x);
}

}  // namespace diopi::cpu
