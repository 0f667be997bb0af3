#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// `shape` reduced over `dims` (empty: all); reduced dims stay as 1 with keepdim.
Result<Shape> reduced(const Call& call, const Shape& shape, const IntList& dims, bool keepdim) {
    const auto rank = static_cast<int64_t>(shape.size());
    std::vector<bool> gone(shape.size(), dims.empty());
    for (const int64_t dim : dims) {
        const std::optional<int64_t> at = wrap_dim(dim, rank);
        if (!at) {
            return contradiction(call, "dim " + std::to_string(dim) + " is out of range for input " + to_string(shape));
        }
        if (rank == 0) continue;
        if (gone[static_cast<size_t>(*at)]) return contradiction(call, "dim " + std::to_string(dim) + " stands twice");
        gone[static_cast<size_t>(*at)] = true;
    }
    Shape out;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (!gone[i])
            out.push_back(shape[i]);
        else if (keepdim)
            out.push_back(1);
    }
    return out;
}

}  // namespace

Specs reduce_mean(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = reduced(call, input.shape, *call.ints("dim"), hints.keepdim);
    if (!shape.ok()) return shape.error();
    const Dtype dtype = hints.dtype.value_or(input.dtype);
    if (!is_floating(dtype) && !is_complex(dtype)) {
        return contradiction(call,
                             "the mean of " + std::string(name(dtype)) + " is not defined; give a floating dtype");
    }
    return one(call, "out", {std::move(*shape), dtype, {}});
}

Specs reduce_sum(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = reduced(call, input.shape, *call.ints("dim"), hints.keepdim);
    if (!shape.ok()) return shape.error();
    const bool whole = is_integer(input.dtype) || input.dtype == Dtype::boolean;
    return one(call, "out", {std::move(*shape), hints.dtype.value_or(whole ? Dtype::int64 : input.dtype), {}});
}

Specs reduce_index(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    IntList dims;
    if (const auto* dim = std::get_if<int64_t>(&call["dim"])) dims.push_back(*dim);
    auto shape = reduced(call, input.shape, dims, call.flag("keepdim"));
    if (!shape.ok()) return shape.error();
    if (input.numel() == 0 && numel(*shape) > 0) {
        return contradiction(
            call, "the position of the extreme of no elements is not defined: input " + to_string(input.shape));
    }
    return one(call, "out", {std::move(*shape), Dtype::int64, {}});
}

}  // namespace diopi::infer_rules
