#include "kernels/operands/index.hpp"

#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

diopiError_t check_indices(std::string_view op, const View& indices) {
    return is_index(indices.dtype) ? diopiSuccess : unsupported(op, "indices", indices.dtype, "int32 or int64");
}

/// Refuses a tensor that is not as large as indices with a row for each.
diopiError_t check_rows(std::string_view op, std::string_view argument, const View& tensor, const View& indices,
                        int64_t size) {
    Shape wanted(indices.shape.begin(), indices.shape.end());
    wanted.push_back(size);
    return check_shape(op, argument, tensor, wanted);
}

}  // namespace

diopiError_t check_embedding(std::string_view op, const View& out, const View& weight, const View& indices) {
    if (weight.rank() != 2) return wrong_shape(op, "weight", weight.shape, "(num, dim)");
    if (out.dtype != weight.dtype) return unsupported(op, "out", out.dtype, name(weight.dtype));
    const diopiError_t error = check_rows(op, "out", out, indices, weight.shape[1]);
    return error != diopiSuccess ? error : check_indices(op, indices);
}

diopiError_t check_embedding_gradient(std::string_view op, const View& out, const View& grad, const View& indices,
                                      int64_t num_weights, bool sparse) {
    if (sparse) return refuse(op, "sparse is true, wanted false: out is dense");
    if (const diopiError_t error = check_computable(op, "grad", grad); error != diopiSuccess) return error;
    if (const diopiError_t error = check_computable(op, "out", out); error != diopiSuccess) return error;
    if (out.rank() != 2 || out.shape[0] != num_weights) {
        return wrong_shape(op, "out", out.shape, std::string("(").append(std::to_string(num_weights)) + ", dim)");
    }
    const diopiError_t error = check_rows(op, "grad", grad, indices, out.shape[1]);
    return error != diopiSuccess ? error : check_indices(op, indices);
}

diopiError_t check_masked(std::string_view op, const View& mask, const View& value) {
    if (mask.dtype != Dtype::boolean) return unsupported(op, "mask", mask.dtype, "bool");
    return value.rank() == 0 ? diopiSuccess : wrong_shape(op, "value", value.shape, "(): one number");
}

}  // namespace diopi::operands
