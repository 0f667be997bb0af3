#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// The result is a row of weight for each index; backward, it is the gradient of the whole table.
Specs embedding(Call& call, const ResultHints&) {
    const Tensor& indices = *call.tensor("indices");
    const bool back = call.row->variant == Variant::backward;
    const Tensor& rows = *call.tensor(back ? "grad" : "weight");
    if (rows.rank() < 1 || (!back && rows.rank() != 2)) {
        return contradiction(call, std::string(back ? "grad " : "weight ") + to_string(rows.shape) +
                                       (back ? " must end in the size of a row" : " must be (rows, size)"));
    }
    Shape shape = back ? Shape{call.integer("num_weights")} : indices.shape;
    shape.push_back(rows.shape.back());
    return one(call, "out", {std::move(shape), rows.dtype, {}});
}

}  // namespace diopi::infer_rules
