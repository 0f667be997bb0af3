#include <algorithm>
#include <limits>

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

/// The dims that the call names, as a list or as one number; empty: all.
IntList dims_of(const Call& call) {
    if (const IntList* list = call.ints("dim")) return *list;
    const auto* dim = std::get_if<int64_t>(&call["dim"]);
    return dim == nullptr ? IntList{} : IntList{*dim};
}

/// The shape of the result: reduced dims stay as 1 if the call or, where the function sees it in its output only, the
/// framework's call says so.
Result<Shape> result_shape(const Call& call, const Tensor& input, const ResultHints& hints) {
    const bool keepdim = call.has("keepdim") ? call.flag("keepdim") : hints.keepdim;
    return reduced(call, input.shape, call.has("dim") ? dims_of(call) : IntList{}, keepdim);
}

/// A norm of order infinity or below 0 is not defined over no elements.
bool needs_elements(const Call& call) {
    for (const std::string_view order : {"p", "ord"}) {
        const auto* p = call.has(order) ? std::get_if<Scalar>(&call[order]) : nullptr;
        if (p != nullptr) return p->as_double() < 0 || p->as_double() == std::numeric_limits<double>::infinity();
    }
    return false;
}

/// Whether a result has no elements to choose from. Source: torch.amax, which refuses named dims of size 0 even where
/// there is no result.
bool chooses_from_nothing(const Call& call, const Tensor& input) {
    const IntList dims = call.has("dim") ? dims_of(call) : IntList{};
    if (dims.empty() || input.shape.empty()) return input.numel() == 0;
    return std::ranges::any_of(
        dims, [&](int64_t dim) { return input.shape[static_cast<size_t>(*wrap_dim(dim, input.rank()))] == 0; });
}

Error nothing_to_choose(const Call& call, const std::string& what, const Tensor& input) {
    return contradiction(call, "the " + what + " of no elements is not defined: input " + to_string(input.shape));
}

}  // namespace

Specs reduce_mean(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = result_shape(call, input, hints);
    if (!shape.ok()) return shape.error();
    if (input.numel() == 0 && numel(*shape) > 0 && needs_elements(call)) return nothing_to_choose(call, "norm", input);
    const Dtype dtype = hints.dtype.value_or(input.dtype);
    if (!is_floating(dtype) && !is_complex(dtype)) {
        return contradiction(call,
                             "the mean of " + std::string(name(dtype)) + " is not defined; give a floating dtype");
    }
    return one(call, "out", {std::move(*shape), dtype, {}});
}

Specs reduce_sum(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = result_shape(call, input, hints);
    if (!shape.ok()) return shape.error();
    const bool whole = is_integer(input.dtype) || input.dtype == Dtype::boolean;
    return one(call, "out", {std::move(*shape), hints.dtype.value_or(whole ? Dtype::int64 : input.dtype), {}});
}

Specs reduce_index(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = result_shape(call, input, hints);
    if (!shape.ok()) return shape.error();
    if (chooses_from_nothing(call, input)) return nothing_to_choose(call, "position of the extreme", input);
    return one(call, "out", {std::move(*shape), Dtype::int64, {}});
}

/// The extreme has the input's dtype; the function may also give its position. Source: torch.max, torch.amax.
Specs reduce_extreme(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor(call.has("input") ? "input" : "self");
    const auto shape = result_shape(call, input, hints);
    if (!shape.ok()) return shape.error();
    if (chooses_from_nothing(call, input)) return nothing_to_choose(call, "extreme", input);
    std::vector<OutputSpec> specs;
    const auto args = call.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        if (!args[i].is_output) continue;
        specs.push_back({i, {*shape, args[i].place_in >= 0 ? Dtype::int64 : input.dtype, {}}});
    }
    return specs;
}

/// bool; bytes stay bytes. Source: torch.any.
Specs reduce_truth(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    auto shape = result_shape(call, input, hints);
    if (!shape.ok()) return shape.error();
    const Dtype dtype = input.dtype == Dtype::uint8 ? Dtype::uint8 : Dtype::boolean;
    return one(call, "out", {std::move(*shape), dtype, {}});
}

}  // namespace diopi::infer_rules
