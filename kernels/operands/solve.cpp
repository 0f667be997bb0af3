#include "kernels/operands/solve.hpp"

#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

ShapeView batch_of(const View& v) { return v.shape.first(v.shape.size() - 2); }

Shape matrices(ShapeView batch, int64_t rows, int64_t columns) {
    Shape shape(batch.begin(), batch.end());
    shape.insert(shape.end(), {rows, columns});
    return shape;
}

int64_t size_from_back(const View& v, size_t behind) { return v.shape[v.shape.size() - 1 - behind]; }

diopiError_t check_matrices(std::string_view op, std::initializer_list<std::pair<std::string_view, View>> tensors) {
    const Dtype dtype = tensors.begin()->second.dtype;
    for (const auto& [argument, v] : tensors) {
        if (const diopiError_t error = check_computable(op, argument, v); error != diopiSuccess) return error;
        if (const diopiError_t error = check_rank(op, argument, v); error != diopiSuccess) return error;
        if (v.rank() < 2) return wrong_shape(op, argument, v.shape, "a matrix, or a batch of them");
        if (v.dtype != dtype) return unsupported(op, argument, v.dtype, name(dtype));
    }
    return diopiSuccess;
}

diopiError_t check_square(std::string_view op, std::string_view argument, const View& v) {
    if (const diopiError_t error = check_matrices(op, {{argument, v}}); error != diopiSuccess) return error;
    return check_shape(op, argument, v, matrices(batch_of(v), v.shape.back(), v.shape.back()));
}

diopiError_t pair_matrices(std::string_view op, const View& a, const View& b, MatrixPairs& pairs) {
    const auto both = broadcast_shapes(batch_of(a), batch_of(b));
    if (!both)
        return refuse(op,
                      "the batches " + to_string(batch_of(a)) + " and " + to_string(batch_of(b)) + " do not broadcast");
    pairs.batch = *both;
    const int64_t count = numel(pairs.batch);
    for (auto [numbers, v] : {std::pair(&pairs.first, &a), std::pair(&pairs.second, &b)}) {
        const ShapeView own = batch_of(*v);
        const Shape dense = contiguous_strides(own);
        numbers->resize(static_cast<size_t>(count));
        for (int64_t k = 0; k < count; ++k) {
            int64_t rest = k, number = 0;
            for (size_t d = pairs.batch.size(); d-- > 0; rest /= pairs.batch[d]) {
                const size_t missing = pairs.batch.size() - own.size();
                if (d >= missing && own[d - missing] != 1) number += rest % pairs.batch[d] * dense[d - missing];
            }
            (*numbers)[static_cast<size_t>(k)] = number;
        }
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
