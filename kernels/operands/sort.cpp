#include "kernels/operands/sort.hpp"

#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t plan_along(std::string_view op, const View& input, std::initializer_list<const View*> results, int64_t dim,
                        int64_t count, AlongDim& plan) {
    if (const diopiError_t error = check_rank(op, "input", input); error != diopiSuccess) return error;
    const auto wrapped = wrap_dim(dim, input.rank());
    if (!wrapped) {
        return refuse(op, "dim is " + std::to_string(dim) + ", but input has shape " + to_string(input.shape));
    }
    const auto along = static_cast<size_t>(*wrapped);
    plan.n = input.shape.empty() ? 1 : input.shape[along];
    if (count > plan.n || count < -1) {
        return refuse(op, "k is " + std::to_string(count) + ", wanted 0 to " + std::to_string(plan.n));
    }
    Shape wanted(input.shape.begin(), input.shape.end());
    if (!wanted.empty() && count >= 0) wanted[along] = count;
    size_t tensor = 1;
    for (const View* result : results) {
        if (result == nullptr) continue;
        if (const diopiError_t error = check_shape(op, "out", *result, wanted); error != diopiSuccess) return error;
    }
    const auto take = [&](const View& view, size_t k) {
        size_t next = 0;
        for (size_t d = 0; d < view.shape.size(); ++d) {
            if (d == along)
                plan.strides[k] = view.strides[d];
            else
                plan.outer[k][next++] = view.strides[d];
        }
    };
    take(input, 0);
    for (const View* result : results) {
        if (result != nullptr) take(*result, tensor);
        ++tensor;
    }
    for (size_t d = 0; d < input.shape.size(); ++d) {
        if (d == along) continue;
        plan.sizes[plan.rank++] = input.shape[d];
        plan.rows *= input.shape[d];
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
