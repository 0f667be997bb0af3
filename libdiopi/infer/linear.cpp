#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// Shape of left (*, m, k) times right (*, k, n), whose leading dims broadcast. A vector is a row on the left and a
/// column on the right, and its extra dim is not in the result. Source: torch.matmul.
Result<Shape> product_shape(const Call& call, const Tensor& left, const Tensor& right) {
    const int64_t rank = call.row->rank;
    for (const Tensor* factor : {&left, &right}) {
        if (factor->rank() >= 1 && (rank == 0 || factor->rank() == rank)) continue;
        return contradiction(call, "a factor " + to_string(factor->shape) + " must have " +
                                       (rank == 0 ? "1 dim or more" : std::to_string(rank) + " dims"));
    }
    const auto lead = [](const Tensor& x) {
        return ShapeView(x.shape).first(x.shape.size() < 2 ? 0 : x.shape.size() - 2);
    };
    const int64_t rows = right.shape[right.shape.size() < 2 ? 0 : right.shape.size() - 2];
    std::optional<Shape> shape = broadcast_shapes(lead(left), lead(right));
    // Only matmul repeats a factor for the whole batch of the other.
    const bool fits = rank == 0 || (rank == 3 && left.shape[0] == right.shape[0]) || rank == 2;
    if (rows != left.shape.back() || !shape || !fits) {
        return contradiction(call, "the factors " + to_string(left.shape) + " and " + to_string(right.shape) +
                                       " do not fit: they must be (*, m, k) and (*, k, n) with the same *");
    }
    if (left.rank() > 1) shape->push_back(left.shape[left.shape.size() - 2]);
    if (right.rank() > 1) shape->push_back(right.shape.back());
    return std::move(*shape);
}

}  // namespace

/// Source: torch.mm, torch.bmm, torch.matmul.
Specs matmul(Call& call, const ResultHints&) {
    const auto [left, right] = factors_of(call);
    auto shape = product_shape(call, left, right);
    if (!shape.ok()) return shape.error();
    return one(call, "out", {std::move(*shape), left.dtype, {}});
}

/// beta * input + alpha * product: input broadcasts to the product's shape; in place it must have that shape.
Specs add_product(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const auto [left, right] = factors_of(call);
    auto shape = product_shape(call, left, right);
    if (!shape.ok()) return shape.error();
    const bool in_place = call.row->variant == Variant::inplace;
    if (in_place ? input.shape != *shape : broadcast_shapes(*shape, input.shape) != *shape) {
        return contradiction(call, "input " + to_string(input.shape) +
                                       (in_place ? " must have" : " does not broadcast to") + " the product's shape " +
                                       to_string(*shape));
    }
    if (in_place) return std::vector<OutputSpec>{};
    return one(call, "out", {std::move(*shape), left.dtype, {}});
}

/// out (*, K) from input (*, C) and weight (K, C).
Specs linear(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    if (weight.rank() != 2 || input.rank() < 1 || input.shape.back() != weight.shape[1]) {
        return contradiction(call, "input " + to_string(input.shape) + " must end in the last size of weight " +
                                       to_string(weight.shape) + ", which is (out_features, in_features)");
    }
    Shape shape = input.shape;
    shape.back() = weight.shape[0];
    if (const Tensor* bias = call.tensor("bias"); bias != nullptr && broadcast_shapes(shape, bias->shape) != shape) {
        return contradiction(call, "bias " + to_string(bias->shape) + " does not broadcast to " + to_string(shape));
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
