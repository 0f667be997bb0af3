/// Shapes of feed-forward layers and of the product whose parts are on several devices.
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// inoutput changes in place. Source: SiLU feed-forward layer of lmdeploy/turbomind.
Specs gated_ffn(Call& call, const ResultHints&) {
    const Shape& shape = call.tensor("inoutput")->shape;
    const Shape& weight = call.tensor("weight1")->shape;
    if (shape.size() != 2) return contradiction(call, "inoutput " + to_string(shape) + " must be (tokens, hidden)");
    if (weight.size() != 2 || weight[0] != shape[1]) {
        return contradiction(call, "weight1 " + to_string(weight) +
                                       " must be (hidden, inter) with the hidden size of " + "inoutput, " +
                                       std::to_string(shape[1]));
    }
    auto wrong = wrong_shape(call, {"weight3"}, "the shape of weight1", weight);
    if (!wrong) wrong = wrong_shape(call, {"weight2"}, "the shape (inter, hidden),", {weight[1], weight[0]});
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

/// Source: matmul all-reduce of Ascend CANN.
Specs matmul_all_reduce(Call& call, const ResultHints&) {
    const Tensor& x1 = *call.tensor("x1");
    const Tensor& x2 = *call.tensor("x2");
    if (x1.rank() != 2 || x2.rank() != 2 || x1.shape[1] != x2.shape[0]) {
        return contradiction(call, "the factors " + to_string(x1.shape) + " and " + to_string(x2.shape) +
                                       " do not fit: they must be (m, k) and (k, n)");
    }
    if (const auto wrong = wrong_shape(call, {"bias"}, "the columns of x2,", {x2.shape[1]})) {
        return contradiction(call, *wrong);
    }
    const auto& reduce_op = std::get<std::string>(call["reduce_op"]);
    if (reduce_op != "sum") return contradiction(call, "reduce_op is '" + reduce_op + "', wanted 'sum'");
    return one(call, "out", {{x1.shape[0], x2.shape[1]}, x1.dtype, {}});
}

}  // namespace diopi::infer_rules
