#include <algorithm>
#include <cmath>

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

/// A new tensor of the given sizes; float32 unless the case states another dtype.
Specs sized(Call& call, const ResultHints& hints) {
    const IntList& size = *call.ints("size");
    if (std::ranges::any_of(size, [](int64_t n) { return n < 0; })) {
        return contradiction(call, "size " + to_string(size) + " must not be negative");
    }
    return one(call, "out", {size, hints.dtype.value_or(Dtype::float32), {}});
}

/// Source: torch.Tensor.expand. -1 keeps the size of input.
Specs expand(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    Shape shape = hints.size.value_or(input.shape);
    const size_t rank = input.shape.size();
    for (size_t i = 0; i < std::min(rank, shape.size()); ++i) {
        int64_t& size = shape[shape.size() - 1 - i];
        if (size == -1) size = input.shape[rank - 1 - i];
    }
    const bool is_valid = std::ranges::none_of(shape, [](int64_t n) { return n < 0; });
    if (!is_valid || broadcast_shapes(input.shape, shape) != shape) {
        return contradiction(call, "input " + to_string(input.shape) + " cannot be expanded to " + to_string(shape));
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

namespace {

/// The number without its fraction.
int64_t whole(const Scalar& number) {
    return is_floating(number.dtype) ? static_cast<int64_t>(std::clamp(number.real, -0x1p62, 0x1p62)) : number.integer;
}

/// ceil((end - start) / step) for whole numbers; nullopt when step leads away from end or the count is too large for
/// any tensor.
std::optional<int64_t> whole_steps(int64_t start, int64_t end, int64_t step) {
    int64_t span = 0;
    if (step == 0 || step == INT64_MIN || __builtin_sub_overflow(end, start, &span) || span == INT64_MIN) return {};
    if (span != 0 && (span < 0) != (step < 0)) return {};
    return span / step + (span % step != 0 ? 1 : 0);
}

std::optional<int64_t> steps(double start, double end, double step) {
    const double count = std::ceil((end - start) / step);
    if (!(count >= 0 && count < 0x1p62)) return {};
    return static_cast<int64_t>(count);
}

}  // namespace

/// The elements from start to end. Source: torch.arange; one floating number makes the result float32 unless the case
/// states another dtype; for an integer result the numbers first lose their fractions.
Specs arange(Call& call, const ResultHints& hints) {
    const auto& start = std::get<Scalar>(call["start"]);
    const auto& end = std::get<Scalar>(call["end"]);
    const auto& step = std::get<Scalar>(call["step"]);
    const bool floating = is_floating(start.dtype) || is_floating(end.dtype) || is_floating(step.dtype);
    const Dtype dtype = hints.dtype.value_or(floating ? Dtype::float32 : Dtype::int64);
    const auto count = is_floating(dtype) ? steps(start.as_double(), end.as_double(), step.as_double())
                                          : whole_steps(whole(start), whole(end), whole(step));
    if (!count) {
        return contradiction(call, "step " + std::to_string(step.as_double()) + " does not lead from start " +
                                       std::to_string(start.as_double()) + " to end " +
                                       std::to_string(end.as_double()));
    }
    return one(call, "out", {{*count}, dtype, {}});
}

/// In place, the source broadcasts to the tensor that it is written into; a cast has the shape of its result.
Specs copy(Call& call, const ResultHints&) {
    const auto args = call.row->args();
    const bool writes_first = args[0].is_inout;
    const Tensor& from = *call.tensor(args[writes_first ? 1 : 0].name);
    const Tensor& to = *call.tensor(args[writes_first ? 0 : 1].name);
    const bool is_inplace = call.row->variant == Variant::inplace;
    if (is_inplace ? broadcast_shapes(from.shape, to.shape) != to.shape : from.shape != to.shape) {
        return contradiction(call, "a tensor of shape " + to_string(from.shape) + " cannot be copied into one of " +
                                       to_string(to.shape));
    }
    return std::vector<OutputSpec>{};
}

}  // namespace diopi::infer_rules
