#include "kernels/operands/attention_rotary.hpp"

#include <string>
#include <utility>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

diopiError_t check_angles(std::string_view op, const View& cos, const View& sin) {
    if (const diopiError_t error = check_computable(op, "cos", cos); error != diopiSuccess) return error;
    if (const diopiError_t error = check_computable(op, "sin", sin); error != diopiSuccess) return error;
    return check_shape(op, "sin", sin, cos.shape);
}

diopiError_t check_heads(std::string_view op, std::string_view argument, const View& x, int64_t tokens, int64_t dim) {
    if (const diopiError_t error = check_computable(op, argument, x); error != diopiSuccess) return error;
    const bool has_heads = x.rank() == 2 ? x.shape[1] % dim == 0 : x.rank() == 3 && x.shape[2] == dim;
    if (has_heads && x.shape[0] == tokens) return diopiSuccess;
    const std::string t = std::to_string(tokens), d = std::to_string(dim);
    return wrong_shape(op, argument, x.shape, "(" + t + ", heads * " + d + ") or (" + t + ", heads, " + d + ")");
}

}  // namespace

diopiError_t check_rotary(std::string_view op, const View& out, const View& x, const View& cos, const View& sin) {
    diopiError_t error = check_computable(op, "x", x);
    if (error == diopiSuccess) error = check_computable(op, "out", out);
    if (error == diopiSuccess) error = check_rank(op, "x", x);
    if (error != diopiSuccess) return error;
    if (x.rank() == 0 || x.shape.back() % 2 != 0) return wrong_shape(op, "x", x.shape, "an even last size, of pairs");
    error = check_shape(op, "out", out, x.shape);
    if (error == diopiSuccess) error = check_angles(op, cos, sin);
    if (error != diopiSuccess) return error;
    Shape pairs(x.shape.begin(), x.shape.end());
    pairs.back() /= 2;
    if (cos.rank() > 0 && cos.shape.back() == pairs.back() && broadcasts_to(cos.shape, pairs)) return diopiSuccess;
    return wrong_shape(op, "cos", cos.shape,
                       "one that ends in " + std::to_string(pairs.back()) + " and broadcasts to " + to_string(pairs));
}

diopiError_t check_rotary_heads(std::string_view op, const View& query, const View& key, const View& cos,
                                const View& sin, int64_t dim) {
    if (dim < 2 || dim % 2 != 0) return refuse(op, "dim is " + std::to_string(dim) + ", wanted an even number above 0");
    diopiError_t error = check_angles(op, cos, sin);
    if (error != diopiSuccess) return error;
    if (cos.rank() != 3) return wrong_shape(op, "cos", cos.shape, "(tokens, 1, dim)");
    const int64_t tokens = cos.shape[0];
    error = check_shape(op, "cos", cos, Shape{tokens, 1, dim});
    if (error == diopiSuccess) error = check_heads(op, "query", query, tokens, dim);
    return error == diopiSuccess ? check_heads(op, "key", key, tokens, dim) : error;
}

}  // namespace diopi::operands
