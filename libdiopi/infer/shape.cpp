#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// torch.cat skips empty 1-dim tensors, whatever the others' rank.
bool is_skipped(const Tensor& tensor) { return tensor.rank() == 1 && tensor.shape[0] == 0; }

}  // namespace

Specs cat(Call& call, const ResultHints&) {
    const auto& tensors = std::get<TensorList>(call["tensors"]);
    if (tensors.empty()) return contradiction(call, "tensors must not be empty");
    Dtype dtype = tensors[0] == nullptr ? Dtype::unsupported : tensors[0]->dtype;
    const Tensor* first = nullptr;
    for (const TensorPtr& tensor : tensors) {
        if (tensor == nullptr) return contradiction(call, "tensors must not have an absent element");
        dtype = promote(dtype, tensor->dtype);
        if (first == nullptr && !is_skipped(*tensor)) first = tensor.get();
    }
    if (first == nullptr) return one(call, "out", {{0}, dtype, {}});
    const std::optional<int64_t> dim = wrap_dim(call.integer("dim"), first->rank());
    if (!dim || first->rank() == 0) {
        return contradiction(call, "dim " + std::to_string(call.integer("dim")) + " is out of range for tensors of " +
                                       to_string(first->shape));
    }
    Shape shape = first->shape;
    shape[static_cast<size_t>(*dim)] = 0;
    for (const TensorPtr& tensor : tensors) {
        if (is_skipped(*tensor)) continue;
        Shape rest = tensor->shape;
        if (tensor->rank() == first->rank()) {
            int64_t& length = shape[static_cast<size_t>(*dim)];
            if (__builtin_add_overflow(length, rest[static_cast<size_t>(*dim)], &length)) {
                return contradiction(call, "the tensors together have more elements than any memory");
            }
            rest[static_cast<size_t>(*dim)] = first->shape[static_cast<size_t>(*dim)];
        }
        if (rest != first->shape) {
            return contradiction(call, "tensors " + to_string(first->shape) + " and " + to_string(tensor->shape) +
                                           " differ in more than dim " + std::to_string(*dim));
        }
    }
    return one(call, "out", {std::move(shape), dtype, {}});
}

}  // namespace diopi::infer_rules
