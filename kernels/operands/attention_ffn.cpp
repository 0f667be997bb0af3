#include "kernels/operands/attention_ffn.hpp"

#include <string>
#include <utility>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_silu_ffn(std::string_view op, const SiluFfn& a) {
    const View &x = a.inoutput, &gate = a.weight1;
    for (const auto& [tensor, argument] :
         {std::pair{&x, "inoutput"}, {&gate, "weight1"}, {&a.weight2, "weight2"}, {&a.weight3, "weight3"}}) {
        if (const diopiError_t error = check_computable(op, argument, *tensor); error != diopiSuccess) return error;
    }
    if (x.rank() != 2) return wrong_shape(op, "inoutput", x.shape, "(tokens, hidden)");
    if (gate.rank() != 2 || gate.shape[0] != a.hidden()) {
        return wrong_shape(op, "weight1", gate.shape, "(" + std::to_string(a.hidden()) + ", inter)");
    }
    const diopiError_t error = check_shape(op, "weight3", a.weight3, gate.shape);
    return error == diopiSuccess ? check_shape(op, "weight2", a.weight2, Shape{a.inter(), a.hidden()}) : error;
}

diopiError_t check_matmul_all_reduce(std::string_view op, const View& out, const View& x1, const View& x2,
                                     diopiConstTensorHandle_t bias, const char* reduce_op) {
    const std::string_view word = reduce_op == nullptr ? "null" : reduce_op;
    if (word != "sum") return refuse(op, "reduce_op is '" + std::string(word) + "', wanted 'sum'");
    for (const auto& [tensor, argument] : {std::pair{&x1, "x1"}, {&x2, "x2"}, {&out, "out"}}) {
        if (const diopiError_t error = check_computable(op, argument, *tensor); error != diopiSuccess) return error;
    }
    if (x1.rank() != 2) return wrong_shape(op, "x1", x1.shape, "(m, k)");
    if (x2.rank() != 2 || x2.shape[0] != x1.shape[1]) {
        return wrong_shape(op, "x2", x2.shape, "(" + std::to_string(x1.shape[1]) + ", n)");
    }
    const diopiError_t error = check_shape(op, "out", out, Shape{x1.shape[0], x2.shape[1]});
    return error == diopiSuccess ? check_shape_or_null(op, "bias", bias, x2.shape.last(1)) : error;
}

}  // namespace diopi::operands
