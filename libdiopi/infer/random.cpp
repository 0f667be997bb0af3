#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// The mask has one flag for each element, or for each channel, dim 1 (dropout2d), or for all of some dims. Nothing is
/// drawn and the mask need not be written unless the call trains. Source: torch.nn.functional.dropout,
/// torch.nn.functional.dropout2d.
Specs dropout(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    if (hints.whole_channels && input.rank() < 2) {
        return contradiction(call, "input " + to_string(input.shape) + " has no channels: it must be (N, C, *)");
    }
    Shape drawn = input.shape;
    for (size_t d = 0; d < drawn.size(); ++d) {
        if ((hints.whole_channels && d >= 2) || (hints.shared_dims >> d & 1) != 0) drawn[d] = 1;
    }
    std::vector<OutputSpec> specs;
    if (call.has("out")) specs = one(call, "out", {input.shape, input.dtype, {}});
    specs.push_back(one(call, "mask", {std::move(drawn), Dtype::boolean, {}}).front());
    specs.back().has_meaning = call.flag("train");
    return specs;
}

/// A row of numbers for each row of weights. Source: torch.multinomial.
Specs multinomial(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t samples = call.integer("num_samples");
    if (input.rank() != 1 && input.rank() != 2) {
        return contradiction(call, "input " + to_string(input.shape) + " must have one or two dims");
    }
    if (samples < 1 || (!call.flag("replacement") && samples > input.shape.back())) {
        return contradiction(call, "num_samples " + std::to_string(samples) + " is not between 1 and " +
                                       std::to_string(input.shape.back()) + ", the number of categories");
    }
    Shape shape = input.shape;
    shape.back() = samples;
    return one(call, "out", {std::move(shape), Dtype::int64, {}});
}

/// Source: torch.randperm.
Specs permutation(Call& call, const ResultHints& hints) {
    const int64_t n = call.integer("n");
    if (n < 0) return contradiction(call, "n is " + std::to_string(n) + ", wanted 0 or more");
    return one(call, "out", {{n}, hints.dtype.value_or(Dtype::int64), {}});
}

/// Shape and dtype of the parameters that are tensors, broadcast; the first of them gives the dtype. Two numbers draw
/// the size that the framework's call states. Source: torch.normal.
Specs drawn(Call& call, const ResultHints& hints) {
    std::optional<TensorSpec> spec;
    for (const std::string_view arg : {"mean", "std"}) {
        const auto* given = std::get_if<TensorPtr>(&call[arg]);
        if (given == nullptr || *given == nullptr) continue;
        const Tensor& tensor = **given;
        if (!spec) {
            spec = TensorSpec{tensor.shape, tensor.dtype, {}};
            continue;
        }
        auto shape = broadcast_shapes(spec->shape, tensor.shape);
        if (!shape) {
            return contradiction(
                call, "mean " + to_string(spec->shape) + " and std " + to_string(tensor.shape) + " do not broadcast");
        }
        spec->shape = std::move(*shape);
    }
    if (!spec && !hints.size) return contradiction(call, "numbers as mean and std need a size");
    if (!spec) spec = TensorSpec{*hints.size, hints.dtype.value_or(Dtype::float32), {}};
    return one(call, "out", std::move(*spec));
}

}  // namespace diopi::infer_rules
