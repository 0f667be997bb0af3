#include "kernels/operands/activation.hpp"

#include <string>

#include "kernels/operands/promotion.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t read_gelu_form(std::string_view op, const char* approximate, bool& is_tanh) {
    const std::string_view word = approximate == nullptr ? "none" : approximate;
    is_tanh = word == "tanh";
    if (is_tanh || word == "none") return diopiSuccess;
    return refuse(op, "approximate is '" + std::string(word) + "', wanted 'none' or 'tanh'");
}

diopiError_t read_softmax(std::string_view op, const View& x, const View& out, int64_t& dim) {
    if (!is_computable(x.dtype)) return unsupported(op, "input", x.dtype, "a floating dtype");
    if (!is_computable(out.dtype)) return unsupported(op, "out", out.dtype, "a floating dtype");
    if (const diopiError_t error = check_rank(op, "input", x); error != diopiSuccess) return error;
    if (const diopiError_t error = check_shape(op, "out", out, x.shape); error != diopiSuccess) return error;
    const auto wrapped = wrap_dim(dim, x.rank());
    if (!wrapped) {
        return refuse(op, "dim is " + std::to_string(dim) + ", wanted one of the " + std::to_string(x.rank()) +
                              " dimensions of input");
    }
    dim = *wrapped;
    return diopiSuccess;
}

diopiError_t read_softmax_gradient(std::string_view op, const View& grad_output, const View& output,
                                   const View& grad_input, int64_t& dim) {
    if (const diopiError_t error = read_softmax(op, output, grad_input, dim); error != diopiSuccess) return error;
    if (const diopiError_t error = check_shape(op, "grad_output", grad_output, output.shape); error != diopiSuccess) {
        return error;
    }
    if (is_computable(grad_output.dtype)) return diopiSuccess;
    return unsupported(op, "grad_output", grad_output.dtype, "a floating dtype");
}

diopiScalar_t threshold_in(Dtype dtype, const diopiScalar_t& threshold) {
    return is_unsigned(dtype) ? whole_number(wrap_integer(number<int64_t>(threshold), dtype)) : threshold;
}

}  // namespace diopi::operands
