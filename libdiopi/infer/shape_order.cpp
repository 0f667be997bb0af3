#include <algorithm>
#include <limits>
#include <string_view>

#include "core/strided.hpp"
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// Source: torch.stack. The tensors have one shape; dtypes are promoted.
Specs stack(Call& call, const ResultHints&) {
    const auto* tensors = std::get_if<TensorList>(&call["tensors"]);
    if (tensors == nullptr || tensors->empty()) return contradiction(call, "tensors must not be empty");
    for (const TensorPtr& tensor : *tensors) {
        if (tensor == nullptr) return contradiction(call, "tensors must not have an absent element");
        if (tensor->shape == tensors->front()->shape) continue;
        return contradiction(
            call, "tensors " + to_string(tensors->front()->shape) + " and " + to_string(tensor->shape) + " differ");
    }
    Dtype dtype = tensors->front()->dtype;
    for (const TensorPtr& tensor : *tensors) dtype = promote(dtype, tensor->dtype);
    Shape shape = tensors->front()->shape;
    const auto dim = position_of_dim(call, call.integer("dim"), tensors->front()->rank() + 1);
    if (!dim.ok()) return dim.error();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*dim), static_cast<int64_t>(tensors->size()));
    return one(call, "out", {std::move(shape), dtype, {}});
}

namespace {

constexpr int64_t kMostParts = 1 << 16;

/// The sizes of the parts: those of the list, or parts of one size, the last of which may be smaller.
std::optional<IntList> part_sizes(const IntList& sizes, int64_t length) {
    if (std::ranges::any_of(sizes, [&](int64_t size) { return size < 0 || size > INT64_MAX / kMostParts; })) return {};
    if (sizes.size() == 1 && sizes[0] != length) {
        const int64_t size = sizes[0];
        if (length == 0) return IntList{0};
        if (size == 0 || (length - 1) / size >= kMostParts) return {};
        IntList parts(static_cast<size_t>(length / size), size);
        if (length % size != 0) parts.push_back(length % size);
        return parts;
    }
    int64_t total = 0;
    for (const int64_t size : sizes) total += size;
    return total == length && !sizes.empty() ? std::optional(sizes) : std::nullopt;
}

}  // namespace

/// Source: torch.split. One number of a case is the size of all parts; the C function takes a size for each.
Specs split(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() == 0) return contradiction(call, "input must have a dimension");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    const IntList& given = *call.ints("splitSizes");
    const auto sizes = part_sizes(given, input.shape[*dim]);
    if (!sizes) {
        return contradiction(call, "parts of sizes " + to_string(given) + " do not make up dim " +
                                       std::to_string(*dim) + " of " + to_string(input.shape));
    }
    std::vector<OutputSpec> specs;
    for (const int64_t size : *sizes) {
        Shape shape = input.shape;
        shape[*dim] = size;
        specs.push_back({static_cast<size_t>(call.row->find("outs")), {shape, input.dtype, {}}, true, specs.size()});
    }
    call["num_outs"] = static_cast<int64_t>(sizes->size());
    call["splitSizes"] = *sizes;
    return specs;
}

/// Source: torch.meshgrid with indexing "ij".
Specs meshgrid(Call& call, const ResultHints&) {
    const auto* inputs = std::get_if<TensorList>(&call["inputs"]);
    if (inputs == nullptr || inputs->empty()) return contradiction(call, "inputs must not be empty");
    Shape shape;
    for (const TensorPtr& input : *inputs) {
        if (input == nullptr || input->rank() > 1 || input->dtype != inputs->front()->dtype) {
            return contradiction(call, "inputs must be vectors or single elements of one dtype");
        }
        shape.push_back(input->numel());
    }
    std::vector<OutputSpec> specs;
    for (size_t i = 0; i < inputs->size(); ++i) {
        specs.push_back({static_cast<size_t>(call.row->find("outs")), {shape, inputs->front()->dtype, {}}, true, i});
    }
    return specs;
}

/// Source: torch.permute; torch.transpose exchanges two dims.
Specs permute(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    std::vector<size_t> order;
    if (const IntList* dims = call.ints("dims"); dims != nullptr) {
        for (const int64_t dim : *dims) {
            const auto at = position_of_dim(call, dim, input.rank());
            if (!at.ok()) return at.error();
            if (std::ranges::find(order, *at) != order.end()) {
                return contradiction(call, "dims " + to_string(*dims) + " names a dim twice");
            }
            order.push_back(*at);
        }
        if (dims->size() != input.shape.size()) {
            return contradiction(call, "dims " + to_string(*dims) + " must name all of " + to_string(input.shape));
        }
    } else {
        for (size_t d = 0; d < input.shape.size(); ++d) order.push_back(d);
        const auto first = position_of_dim(call, call.integer("dim0"), input.rank());
        const auto second = position_of_dim(call, call.integer("dim1"), input.rank());
        if (!first.ok() || !second.ok()) return (first.ok() ? second : first).error();
        if (!order.empty()) std::swap(order[*first], order[*second]);
    }
    Shape shape;
    for (const size_t d : order) shape.push_back(input.shape[d]);
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// Source: torch.roll. Without dims the flattened input moves.
Specs roll(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const IntList &shifts = *call.ints("shifts"), &dims = *call.ints("dims");
    const size_t wanted = dims.empty() ? 1 : dims.size();
    if (shifts.size() != wanted) {
        return contradiction(call, "shifts has " + std::to_string(shifts.size()) + " numbers where " +
                                       std::to_string(wanted) + " are wanted");
    }
    if (input.rank() == 0 && !dims.empty()) return contradiction(call, "a single element has no dims to roll");
    for (const int64_t dim : dims) {
        const auto at = position_of_dim(call, dim, input.rank());
        if (!at.ok()) return at.error();
    }
    return one(call, "out", {input.shape, input.dtype, {}});
}

namespace {

/// Whether a mode of padding finds the elements for `before` and `after` in a dim of that size.
bool has_elements(std::string_view mode, int64_t size, int64_t before, int64_t after) {
    const int64_t most = std::max(before, after);
    if (mode == "reflect") return most < size || most <= 0;
    if (mode == "circular") return most <= size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    return mode == "constant" || (mode == "replicate" && (size > 0 || most <= 0));
}

}  // namespace

/// Source: torch.nn.functional.pad. Pairs for the last dims, the last one first; negative numbers crop.
Specs pad(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const IntList& pad = *call.ints("pad");
    const auto& mode = std::get<std::string>(call["mode"]);
    Shape shape = input.shape;
    if (pad.size() % 2 != 0 || pad.size() / 2 > shape.size()) {
        return contradiction(
            call, "pad " + to_string(pad) + " must have two numbers for each padded dim of " + to_string(input.shape));
    }
    for (size_t i = 0; i < pad.size() / 2; ++i) {
        int64_t& size = shape[shape.size() - 1 - i];
        const int64_t before = pad[2 * i], after = pad[2 * i + 1], old = size;
        const bool beyond = __builtin_add_overflow(size, before, &size) || __builtin_add_overflow(size, after, &size);
        if (beyond || size < 0 || !has_elements(mode, old, before, after)) {
            return contradiction(call, "input " + to_string(input.shape) + " cannot be padded by " + to_string(pad) +
                                           " in mode '" + mode + "'");
        }
    }
    if (!has_elements(mode, 1, 0, 0)) return contradiction(call, "there is no mode '" + mode + "'");
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// Source: torch.Tensor.repeat. More numbers than dims add leading dims.
Specs repeat(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const IntList& repeats = *call.ints("repeats_size");
    const size_t rank = input.shape.size();
    if (repeats.size() < rank || std::ranges::any_of(repeats, [](int64_t n) { return n < 0; })) {
        return contradiction(call, "repeats " + to_string(repeats) +
                                       " must have a number that is not negative for "
                                       "each dim of " +
                                       to_string(input.shape));
    }
    Shape shape = repeats;
    for (size_t d = 0; d < rank; ++d) {
        int64_t& size = shape[shape.size() - rank + d];
        if (!__builtin_mul_overflow(size, input.shape[d], &size)) continue;
        return contradiction(call, "repeats " + to_string(repeats) + " makes more elements than any memory has");
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// Source: torch.nn.functional.one_hot. -1 classes are one more than the largest element.
Specs one_hot(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.dtype != Dtype::int64) return contradiction(call, "input must be int64");
    int64_t classes = call.integer("num_classes", -1), largest = -1;
    const bool is_known = input.data() != nullptr && input.storage.device == diopi_host;
    if (is_known) {
        int64_t least = 0;
        for_each_offset(input.shape, input.strides, [&](int64_t offset) {
            largest = std::max(largest, input.data_as<int64_t>()[offset]);
            least = std::min(least, input.data_as<int64_t>()[offset]);
        });
        if (least < 0) return contradiction(call, "input holds " + std::to_string(least) + ", which is no class");
    }
    if (classes == -1 && input.numel() > 0) classes = is_known ? largest + 1 : 1;
    if (classes < 1 || largest >= classes) {
        return contradiction(call, std::to_string(classes) + " classes do not hold the elements of input");
    }
    Shape shape = input.shape;
    shape.push_back(classes);
    return one(call, "out", {std::move(shape), Dtype::int64, {}});
}

/// Source: torch.Tensor.contiguous. channels_last has 4 dims, channels_last_3d 5, channels_last_1d 3.
Specs contiguous(Call& call, const ResultHints&) {
    const bool is_cast = call.has("in");
    const Tensor& input = *call.tensor(is_cast ? "in" : "input");
    const int64_t format = call.integer(is_cast ? "format" : "memoryFormat");
    const int64_t ranks[] = {-1, 4, 5, -1, 3};
    const bool is_known = format >= 0 && format < static_cast<int64_t>(std::size(ranks));
    if (!is_known || (ranks[format] >= 0 && ranks[format] != input.rank())) {
        return contradiction(
            call, "a tensor of shape " + to_string(input.shape) + " has no memory format " + std::to_string(format));
    }
    return one(call, "out", {input.shape, input.dtype, {}});
}

/// Source: torch.linspace.
Specs linspace(Call& call, const ResultHints& hints) {
    const int64_t steps = call.integer("steps");
    if (steps < 0) return contradiction(call, std::to_string(steps) + " steps: there cannot be less than 0");
    return one(call, "out", {{steps}, hints.dtype.value_or(Dtype::float32), {}});
}

}  // namespace diopi::infer_rules
