#include "step/slices.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "call/tensors.hpp"
#include "core/strided.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

/// Elements of a slice: its tensors of float64 take half a megabyte each.
constexpr int64_t kSlice = int64_t{1} << 16;
/// Neighbours that a slice has at least, where its rows are longer: whole cache lines of the narrowest dtype.
constexpr int64_t kLeastInner = 64;

/// Whether the functions of the row work along a dim.
bool has_rows(const Row& row) { return row.family == Family::activation && row.find("dim") >= 0; }

/// The dim along which the call works, counted from the first one; nullopt for one that the shape lacks.
std::optional<size_t> dim_of(const Call& call, const Shape& shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t given = call.integer("dim"), dim = given < 0 ? given + rank : given;
    return dim >= 0 && dim < rank ? std::optional(static_cast<size_t>(dim)) : std::nullopt;
}

/// Whether they work on each element alone, or on each row of elements along their dim, as softmax does.
bool has_slices(const Row& row) {
    const bool is_elementwise = row.family == Family::elementwise && row.find("dim") < 0;
    return (is_elementwise || row.family == Family::activation) && row.law.output < 0;
}

}  // namespace

std::optional<SlicedCall> SlicedCall::create(const Call& call, const std::vector<OutputSpec>& outputs, int64_t least) {
    if (!has_slices(*call.row)) return std::nullopt;
    const Shape* shape = nullptr;
    bool is_plain = true;
    const auto look = [&](const Shape& each) {
        if (numel(each) == 1) return;
        is_plain = is_plain && (shape == nullptr || *shape == each);
        shape = &each;
    };
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read()) return;
        is_plain = is_plain && !place.arg.is_tensor_list() && !tensor->is_sparse() && tensor->is_contiguous();
        look(tensor->shape);
    });
    for (const OutputSpec& output : outputs) {
        is_plain = is_plain && !call.row->args()[output.arg].is_made && numel(output.spec.shape) != 1;
        look(output.spec.shape);
    }
    if (!is_plain || shape == nullptr || numel(*shape) <= least) return std::nullopt;
    if (has_rows(*call.row) && !dim_of(call, *shape)) return std::nullopt;
    return SlicedCall(call, outputs, *shape);
}

SlicedCall::SlicedCall(const Call& call, const std::vector<OutputSpec>& outputs, const Shape& shape)
    : call_(&call), outputs_(&outputs), shape_(shape), inner_(numel(shape)) {
    if (has_rows(*call.row)) {
        const ShapeView sizes(shape);
        const size_t d = *dim_of(call, shape);
        outer_ = numel(sizes.first(d));
        row_ = sizes[d];
        inner_ = numel(sizes.subspan(d + 1));
    }
    inner_step_ = std::clamp(kSlice / row_, std::min(kLeastInner, inner_), inner_);
    outer_step_ = std::clamp<int64_t>(kSlice / (row_ * inner_), 1, outer_);
}

SlicedCall::Range SlicedCall::range(int64_t slice) const {
    const int64_t outer = slice / inner_slices() * outer_step_, inner = slice % inner_slices() * inner_step_;
    return {outer, inner, {std::min(outer_step_, outer_ - outer), row_, std::min(inner_step_, inner_ - inner)}};
}

Tensor SlicedCall::part(int64_t slice, const Tensor& whole) const {
    const Range range = this->range(slice);
    Tensor view = whole;
    view.shape = range.shape;
    view.strides = {row_ * inner_, inner_, 1};
    view.offset += range.outer * row_ * inner_ + range.inner;
    return view;
}

Call SlicedCall::call(int64_t slice) const {
    Call part = *call_;
    for_each_tensor(part, [&](const Place& place, TensorPtr& tensor) {
        if (!place.is_read() || tensor->rank() == 0) return;
        if (tensor->numel() > 1) {
            tensor = std::make_shared<Tensor>(this->part(slice, *tensor));
            return;
        }
        auto one = std::make_shared<Tensor>(*tensor);
        one->shape = one->strides = {1};
        tensor = std::move(one);
    });
    if (has_rows(*part.row)) part["dim"] = int64_t{1};
    return part;
}

std::vector<OutputSpec> SlicedCall::outputs(int64_t slice) const {
    std::vector<OutputSpec> parts = *outputs_;
    for (OutputSpec& part : parts) {
        part.spec.shape = range(slice).shape;
        part.spec.strides = {};
    }
    return parts;
}

Status SlicedCall::store(int64_t slice, const std::vector<ArgTensor>& results, std::vector<ArgTensor>& all) const {
    const bool is_first = all.empty();
    for (size_t i = 0; i < results.size(); ++i) {
        const Tensor& part = *results[i].tensor;
        if (is_first) {
            auto made = make_tensor(cpu_device(), {shape_, part.dtype, {}});
            if (!made.ok()) return made.status();
            all.push_back({results[i].arg, *made, results[i].position});
        }
        copy_strided(part, this->part(slice, *all[i].tensor));
    }
    return {};
}

}  // namespace diopi
