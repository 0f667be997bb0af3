#include "kernels/operands/promotion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/half.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiScalar_t whole_number(int64_t value) {
    diopiScalar_t scalar{};
    scalar.stype = diopi_dtype_int64;
    scalar.ival = value;
    return scalar;
}

diopiScalar_t real_number(double value) {
    diopiScalar_t scalar{};
    scalar.stype = diopi_dtype_float64;
    scalar.fval = value;
    return scalar;
}

bool is_whole(const diopiScalar_t& x) {
    return !is_floating(from_c(x.stype)) || (x.fval == std::trunc(x.fval) && std::fabs(x.fval) < 0x1p63);
}

diopiScalar_t as_element(const diopiScalar_t& x, Dtype dtype) {
    if (dtype == Dtype::boolean) return whole_number(number<bool>(x) ? 1 : 0);
    if (is_half(dtype)) {
        const auto wide = number<double>(x);
        return real_number(dtype == Dtype::float16 ? to_float(to_half(wide)) : to_float(to_bfloat16(wide)));
    }
    if (is_integer(dtype) && is_floating(from_c(x.stype))) {
        // A number that does not fit 32 bits becomes the least one, as on the device.
        const bool is_narrow = dtype == Dtype::int8 || dtype == Dtype::int16 || dtype == Dtype::int32;
        const double end = is_narrow ? 0x1p31 : 0x1p63;
        const int64_t least = is_narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
        return whole_number(x.fval >= -end && x.fval < end ? static_cast<int64_t>(x.fval) : least);
    }
    return x;
}

diopiScalar_t bound_as_element(const diopiScalar_t& bound, Dtype dtype) {
    if (!is_integer(dtype)) return as_element(bound, dtype);
    return whole_number(saturate_integer(number<int64_t>(bound), dtype));
}

int category(Dtype dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

Dtype result_dtype(const View& a, const View& b) {
    if (a.shape.empty() == b.shape.empty()) return promote(a.dtype, b.dtype);
    const Dtype tensor = a.shape.empty() ? b.dtype : a.dtype;
    const Dtype zero_dim = a.shape.empty() ? a.dtype : b.dtype;
    if (category(zero_dim) <= category(tensor)) return tensor;
    if (is_complex(zero_dim) && is_floating(tensor)) return promote_with_number(tensor, Dtype::complex64);
    return promote(tensor, zero_dim);
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

diopiError_t check_broadcast(std::string_view op, const Operands& x) {
    const auto shape = broadcast_shapes(x.input.shape, x.other.shape);
    if (shape) return check_shape(op, "out", x.out, *shape);
    return wrong_shape(op, "other", x.other.shape, "one that broadcasts with input's " + to_string(x.input.shape));
}

diopiError_t check_any_operands(std::string_view op, const Operands& x) {
    if (const diopiError_t error = check_broadcast(op, x); error != diopiSuccess) return error;
    if (category(x.out.dtype) >= category(x.result)) return diopiSuccess;
    return unsupported(op, "out", x.out.dtype,
                       "a dtype that the result's " + std::string(name(x.result)) + " casts to");
}

diopiError_t check_unary(std::string_view op, const View& out, const View& input, bool wants_number) {
    if (is_complex(input.dtype) || (wants_number && input.dtype == Dtype::boolean)) {
        return unsupported(op, "input", input.dtype, "a real dtype");
    }
    if (is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a real dtype");
    return check_shape(op, "out", out, input.shape);
}

}  // namespace diopi::operands
