#include <algorithm>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// The result is a row of weight for each index; backward, it is the gradient of the whole table.
Specs embedding(Call& call, const ResultHints&) {
    const Tensor& indices = *call.tensor("indices");
    const bool back = call.row->variant == Variant::backward;
    const Tensor& rows = *call.tensor(back ? "grad" : "weight");
    if (rows.rank() < 1 || (!back && rows.rank() != 2)) {
        return contradiction(call, std::string(back ? "grad " : "weight ") + to_string(rows.shape) +
                                       (back ? " must end in the size of a row" : " must be (rows, size)"));
    }
    Shape shape = back ? Shape{call.integer("num_weights")} : indices.shape;
    shape.push_back(rows.shape.back());
    return one(call, "out", {std::move(shape), rows.dtype, {}});
}

/// Rows of a table are scaled in place.
Specs embedding_renorm(Call& call, const ResultHints&) {
    const Tensor &table = *call.tensor("inout"), &indices = *call.tensor("indices");
    const bool is_index = indices.dtype == Dtype::int64 || indices.dtype == Dtype::int32;
    if (table.rank() != 2 || !is_floating(table.dtype) || !is_index) {
        return contradiction(
            call, "weight " + to_string(table.shape) + " must be floating (rows, size), and indices int32 or int64");
    }
    return std::vector<OutputSpec>{};
}

namespace {

/// Refuses a tensor that takes the place of a part of input, of another shape or dtype.
Status check_part(const Call& call, const Tensor& input, const Shape& part) {
    const Tensor& src = *call.tensor("src");
    if (src.shape == part && src.dtype == input.dtype) return {};
    return contradiction(call, "src " + std::string(name(src.dtype)) + " " + to_string(src.shape) + " must be " +
                                   std::string(name(input.dtype)) + " " + to_string(part));
}

}  // namespace

/// Source: torch.select, torch.select_scatter.
Specs select(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() == 0) return contradiction(call, "input must have a dimension");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    const int64_t index = call.integer("index"), size = input.shape[*dim];
    if (index < -size || index >= size) {
        return contradiction(call, "index " + std::to_string(index) + " is out of range for dim " +
                                       std::to_string(*dim) + " of " + to_string(input.shape));
    }
    Shape shape = input.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*dim));
    if (!call.has("src")) return one(call, "out", {std::move(shape), input.dtype, {}});
    if (Status s = check_part(call, input, shape); !s.ok()) return s.error();
    return one(call, "out", {input.shape, input.dtype, {}});
}

/// Source: torch.Tensor indexing, torch.slice_scatter.
Specs slice(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() == 0) return contradiction(call, "input must have a dimension");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    const int64_t size = input.shape[*dim], step = call.integer("step", 1);
    if (step < 1) return contradiction(call, "step " + std::to_string(step) + " must be above 0");
    const auto from_front = [&](int64_t at) { return at < 0 ? at + size : at; };
    const int64_t start = std::clamp(from_front(call.integer("start")), int64_t{0}, size);
    const int64_t end = std::clamp(from_front(call.integer("end")), start, size);
    Shape shape = input.shape;
    shape[*dim] = end == start ? 0 : (end - start - 1) / step + 1;
    if (!call.has("src")) return one(call, call.row->args()[0].name, {std::move(shape), input.dtype, {}});
    if (Status s = check_part(call, input, shape); !s.ok()) return s.error();
    return one(call, "out", {input.shape, input.dtype, {}});
}

/// Source: torch.index_select.
Specs index_select(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &index = *call.tensor("index");
    if (input.rank() == 0) return contradiction(call, "input must have a dimension");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    if (index.rank() > 1 || (index.dtype != Dtype::int64 && index.dtype != Dtype::int32)) {
        return contradiction(call, "index " + to_string(index.shape) + " must be int32 or int64 of 1 dimension");
    }
    Shape shape = input.shape;
    shape[*dim] = index.numel();
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// Source: torch.index_fill.
Specs index_fill(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &index = *call.tensor("index");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    const Tensor* value = call.tensor("value");
    if (index.rank() > 1 || index.dtype != Dtype::int64 || (value != nullptr && value->rank() > 0)) {
        return contradiction(call, "index must be int64 of 1 dimension, and value one number");
    }
    if (value != nullptr && is_complex(value->dtype) && !is_complex(input.dtype)) {
        return contradiction(call, "a complex value does not fit input");
    }
    return written(call, {input.shape, input.dtype, {}});
}

namespace {

/// Whether `index` is nowhere larger than `other`, but along dim `except`. A 0-dim tensor is like one of size 1.
bool fits(const Tensor& index, const Tensor& other, size_t except) {
    if (std::max<size_t>(index.shape.size(), 1) != std::max<size_t>(other.shape.size(), 1)) return false;
    const auto size = [](const Tensor& tensor, size_t d) { return tensor.shape.empty() ? 1 : tensor.shape[d]; };
    for (size_t d = 0; d < std::max<size_t>(index.shape.size(), 1); ++d) {
        if (d != except && size(index, d) > size(other, d)) return false;
    }
    return true;
}

/// Refuses an index that is no index tensor for places along a dim of input.
Status check_index(const Call& call, const Tensor& input) {
    const Tensor& index = *call.tensor("index");
    const auto dim = position_of_dim(call, call.integer("dim"), input.rank());
    if (!dim.ok()) return dim.error();
    if (index.dtype != Dtype::int64) return contradiction(call, "index must be int64");
    if (index.numel() == 0 || fits(index, input, *dim)) return {};
    return contradiction(call, "index " + to_string(index.shape) + " must be nowhere larger than input " +
                                   to_string(input.shape) + " but along dim " + std::to_string(*dim));
}

}  // namespace

/// Source: torch.gather.
Specs gather(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (Status s = check_index(call, input); !s.ok()) return s.error();
    return one(call, "out", {call.tensor("index")->shape, input.dtype, {}});
}

/// Source: torch.scatter. An empty index changes nothing, whatever its shape.
Specs scatter(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &index = *call.tensor("index");
    if (Status s = check_index(call, input); !s.ok()) return s.error();
    const Tensor* src = call.tensor("src");
    constexpr auto kNoDim = static_cast<size_t>(-1);
    if (src != nullptr && (src->dtype != input.dtype || (index.numel() > 0 && !fits(index, *src, kNoDim)))) {
        return contradiction(call, "src " + std::string(name(src->dtype)) + " " + to_string(src->shape) + " must be " +
                                       std::string(name(input.dtype)) + " and nowhere smaller than index " +
                                       to_string(index.shape));
    }
    const auto* reduce = std::get_if<std::string>(&call["reduce"]);
    if (reduce != nullptr && !reduce->empty() && *reduce != "add" && *reduce != "multiply") {
        return contradiction(call, "reduce is '" + *reduce + "', wanted 'add', 'multiply' or nothing");
    }
    return written(call, {input.shape, input.dtype, {}});
}

}  // namespace diopi::infer_rules
