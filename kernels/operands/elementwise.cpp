#include "kernels/operands/elementwise.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

Operands operands_of(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other) {
    return other.number != nullptr ? with_number(out, input, other.number) : with_tensor(out, input, other.tensor);
}

bool shows_wrapping(Dtype result, Dtype out) {
    if (out == result || result == Dtype::int64 || category(result) > 1) return false;
    const bool takes_low_bits = is_integer(out) && size_of(out) <= size_of(result);
    return result == Dtype::boolean || !takes_low_bits;
}

diopiError_t read_sum(std::string_view op, const Operands& x, const diopiScalar_t* alpha, diopiScalar_t& factor) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    factor = alpha != nullptr ? *alpha : whole_number(1);
    if (is_whole(factor) || category(x.result) >= 2) return diopiSuccess;
    return refuse(op, "alpha is " + std::to_string(factor.fval) + ", wanted an integral number for integral tensors");
}

diopiError_t read_difference(std::string_view op, const Operands& x, const diopiScalar_t* alpha,
                             diopiScalar_t& factor) {
    for (const Dtype dtype : {x.input.dtype, x.other_is_number ? from_c(x.number.stype) : x.other.dtype}) {
        if (dtype == Dtype::boolean) {
            return unsupported(op, "an operand", dtype, "numbers: use logical_xor or logical_not for bool");
        }
    }
    diopiScalar_t minus = alpha != nullptr ? *alpha : whole_number(1);
    if (is_floating(from_c(minus.stype)))
        minus.fval = -minus.fval;
    else
        minus = whole_number(static_cast<int64_t>(0 - static_cast<uint64_t>(minus.ival)));
    return read_sum(op, x, &minus, factor);
}

namespace {

/// A tensor without dimensions is read in the dtype of an integer result.
diopiError_t wrap_operand(std::string_view op, View& operand, Dtype result) {
    if (!operand.shape.empty() || !is_integer(operand.dtype) || operand.dtype == result) return diopiSuccess;
    if (size_of(operand.dtype) < size_of(result)) {
        if (is_unsigned(operand.dtype) || !is_unsigned(result)) return diopiSuccess;
        return unsupported(op, "a tensor without dimensions", operand.dtype, std::string(name(result)));
    }
    operand.dtype = result;
    return diopiSuccess;
}

/// One bound of clamp: its view, and whether there is one. `all` has the shape and the dtype of the operands so far.
bool read_bound(const Other& bound, View& view_of_bound, diopiScalar_t& number, View& all) {
    if (bound.tensor != nullptr) {
        view_of_bound = view(bound.tensor);
        all.dtype = result_dtype(all, view_of_bound);
        if (all.shape.empty()) all.shape = view_of_bound.shape;
    } else if (bound.number != nullptr) {
        number = *bound.number;
        all.dtype = promote_with_number(all.dtype, from_c(number.stype));
    }
    return bound.tensor != nullptr || bound.number != nullptr;
}

}  // namespace

diopiError_t wrap_operands(std::string_view op, Operands& x) {
    if (!is_integer(x.result)) return diopiSuccess;
    for (View* operand : {&x.input, &x.other}) {
        if (const diopiError_t error = wrap_operand(op, *operand, x.result); error != diopiSuccess) return error;
    }
    if (x.other_is_number) x.number.ival = wrap_integer(x.number.ival, x.result);
    return diopiSuccess;
}

diopiError_t read_bounds(std::string_view op, const Other& min, const Other& max, Bounds& x) {
    View all = x.input;
    x.has_min = read_bound(min, x.min, x.least, all);
    x.has_max = read_bound(max, x.max, x.most, all);
    x.result = all.dtype;
    if (!x.has_min && !x.has_max) return refuse(op, "min and max are null, wanted one of them");
    if (is_complex(x.result)) return unsupported(op, "input", x.result, "a real dtype");
    if (category(x.out.dtype) < category(x.result)) {
        return unsupported(op, "out", x.out.dtype,
                           "a dtype that the result's " + std::string(name(x.result)) + " casts to");
    }
    x.least = bound_as_element(x.least, x.result);
    x.most = bound_as_element(x.most, x.result);
    for (View* operand : {&x.input, &x.min, &x.max}) {
        if (operand->data == nullptr || !is_integer(x.result)) continue;
        if (const diopiError_t error = wrap_operand(op, *operand, x.result); error != diopiSuccess) return error;
    }
    Shape shape(x.input.shape.begin(), x.input.shape.end());
    for (const View* bound : {&x.min, &x.max}) {
        const auto wider = broadcast_shapes(shape, bound->shape);
        if (!wider) return wrong_shape(op, "a bound", bound->shape, "one that broadcasts with input's");
        shape = *wider;
    }
    return check_shape(op, "out", x.out, shape);
}

diopiError_t read_ordered(std::string_view op, Operands& x) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    if (is_complex(x.result)) return unsupported(op, "input", x.result, "a real dtype");
    return wrap_operands(op, x);
}

diopiError_t read_remainder(std::string_view op, Operands& x) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    if (category(x.result) == 1 || category(x.result) == 2) return wrap_operands(op, x);
    return unsupported(op, "input", x.result, "an integer or floating dtype");
}

diopiError_t check_lerp(std::string_view op, std::span<const View> ins, Dtype& result) {
    result = ins[0].dtype;
    for (const View& in : ins.subspan(1)) result = result_dtype(ins[0], in);
    return category(result) == 2 ? diopiSuccess : unsupported(op, "input", result, "a floating dtype");
}

diopiError_t read_comparison(std::string_view op, Operands& x) {
    const diopiError_t error = check_broadcast(op, x);
    return error != diopiSuccess ? error : wrap_operands(op, x);
}

diopiError_t check_bits(std::string_view op, const Operands& x) {
    const diopiError_t error = check_any_operands(op, x);
    return error != diopiSuccess ? error : check_bits(op, x.result);
}

diopiError_t check_bits(std::string_view op, Dtype result) {
    return category(result) < 2 ? diopiSuccess : unsupported(op, "input", result, "an integer dtype or bool");
}

diopiError_t read_quotient(std::string_view op, diopiRoundMode_t mode, Operands& x) {
    const bool rounds = mode != RoundModeNone;
    if (!rounds && category(x.result) < 2) x.result = Dtype::float32;
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess || !rounds) return error;
    if (is_complex(x.result)) {
        return unsupported(op, "input", x.result, "real numbers when the quotient is rounded");
    }
    if (mode != RoundModeTrunc && mode != RoundModeFloor) {
        return refuse(op, "no such rounding mode: " + std::to_string(mode));
    }
    if (x.result != Dtype::boolean) return wrap_operands(op, x);
    return unsupported(op, "input", x.result, "numbers when the quotient is rounded");
}

diopiError_t read_power(std::string_view op, Operands& x, bool reversed) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    if (category(x.result) != 1 && category(x.result) != 2) {
        return unsupported(op, "input", x.result, "an integer or floating dtype, or a number that is one");
    }
    if (category(x.result) == 2 || !x.other_is_number || reversed || x.number.ival >= 0) return wrap_operands(op, x);
    return refuse(op, "exponent is " + std::to_string(x.number.ival) +
                          ", wanted none below 0 for integers; use a floating exponent");
}

diopiError_t read_scaled_term(std::string_view op, std::span<const View> ins, bool divides, Dtype& result) {
    result = ins[0].dtype;
    for (const View& in : ins.subspan(1)) result = promote(result, in.dtype);
    if (category(result) == 2 || (category(result) == 1 && !divides)) return diopiSuccess;
    return unsupported(op, "input", result, divides ? "a floating dtype" : "an integer or floating dtype");
}

diopiError_t check_negation(std::string_view op, const View& out, const View& input) {
    if (input.dtype == Dtype::boolean) {
        return unsupported(op, "input", input.dtype, "numbers: use logical_not for bool");
    }
    return check_shape(op, "out", out, input.shape);
}

diopiError_t read_real_function(std::string_view op, const View& out, std::span<const View> ins, bool& is_narrow) {
    is_narrow = out.dtype != Dtype::float64;
    for (const View& in : ins) {
        if (is_complex(in.dtype)) return unsupported(op, "input", in.dtype, "a real dtype");
        is_narrow = is_narrow && is_floating(in.dtype) && in.dtype != Dtype::float64;
    }
    return is_floating(out.dtype) ? diopiSuccess : unsupported(op, "the output", out.dtype, "a floating dtype");
}

diopiError_t check_gradient(std::string_view op, const View& grad_input, const View& grad_output, const View& saved) {
    const diopiError_t error = check_shape(op, "grad_input", grad_input, saved.shape);
    return error != diopiSuccess ? error : check_shape(op, "grad_output", grad_output, saved.shape);
}

}  // namespace diopi::operands
