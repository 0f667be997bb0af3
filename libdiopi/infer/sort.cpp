#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// Values have the input's dtype, places are int64; both have size k along dim where the function takes k. Source:
/// torch.sort, torch.topk.
Specs ordered(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t dim = call.integer("dim", -1);
    const std::optional<int64_t> at = wrap_dim(dim, input.rank());
    if (!at) {
        return contradiction(call,
                             "dim " + std::to_string(dim) + " is out of range for input " + to_string(input.shape));
    }
    Shape shape = input.shape;
    if (call.has("k")) {
        const int64_t k = call.integer("k"), n = shape.empty() ? 1 : shape[static_cast<size_t>(*at)];
        if (k < 0 || k > n) {
            return contradiction(call, "k " + std::to_string(k) + " is not between 0 and " + std::to_string(n) +
                                           ", the size of input " + to_string(input.shape) + " along dim");
        }
        if (!shape.empty()) shape[static_cast<size_t>(*at)] = k;
    }
    std::vector<OutputSpec> specs;
    const auto args = call.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        if (!args[i].is_output) continue;
        specs.push_back({i, {shape, args[i].place_in >= 0 ? Dtype::int64 : input.dtype, {}}});
    }
    return specs;
}

/// Sums of integers and bool are int64. Source: torch.cumsum.
Specs cumulative(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    const int64_t dim = call.integer("dim");
    if (!wrap_dim(dim, input.rank())) {
        return contradiction(call,
                             "dim " + std::to_string(dim) + " is out of range for input " + to_string(input.shape));
    }
    const bool whole = is_integer(input.dtype) || input.dtype == Dtype::boolean;
    return one(call, "out", {input.shape, hints.dtype.value_or(whole ? Dtype::int64 : input.dtype), {}});
}

}  // namespace diopi::infer_rules
