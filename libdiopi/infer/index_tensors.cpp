/// Index tensors and masks: results whose size depends on values.
#include <algorithm>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

bool is_mask(const Tensor& index) { return index.dtype == Dtype::boolean || index.dtype == Dtype::uint8; }

/// The index tensors of a call, read from the left: each names as many dims of input as it has, or one.
class IndexTensors {
 public:
    explicit IndexTensors(const Call& call)
        : call_(call), input_(*call.tensor("input")), list_(std::get_if<TensorList>(&call["indices"])) {}

    Result<Indexed> read() {
        if (list_ == nullptr) return contradiction(call_, "indices is missing");
        const auto present = std::ranges::count_if(*list_, [](const TensorPtr& index) { return index != nullptr; });
        for (const TensorPtr& index : *list_) {
            if (Status s = take(index.get(), present > 1); !s.ok()) return s.error();
        }
        if (!first_) return contradiction(call_, "indices must have a tensor");
        Shape shape = kept_;
        shape.insert(shape.end(), input_.shape.begin() + static_cast<std::ptrdiff_t>(dim_), input_.shape.end());
        const size_t at = is_adjacent_ ? *first_ : 0;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), places_.begin(), places_.end());
        return Indexed{std::move(shape), places_, at, is_known_};
    }

 private:
    /// A mask of unknown values stands for one place where other index tensors must broadcast with it.
    Status take(const Tensor* index, bool is_one_of_several) {
        const size_t dims = index != nullptr && is_mask(*index) ? index->shape.size() : 1;
        if (dim_ + dims > input_.shape.size()) {
            return contradiction(call_, "indices name more dims than input " + to_string(input_.shape) + " has");
        }
        if (index == nullptr) {
            kept_.push_back(input_.shape[dim_++]);
            ended_ = ended_ || first_.has_value();
            return {};
        }
        Shape shape = index->shape;
        if (is_mask(*index)) {
            const ShapeView masked = ShapeView(input_.shape).subspan(dim_, dims);
            if (!std::ranges::equal(index->shape, masked)) return no_index(*index);
            const auto count = count_true(*index);
            is_known_ = is_known_ && count.has_value();
            shape = {count ? *count : is_one_of_several ? 1 : index->numel()};
        } else if (!is_index(index->dtype)) {
            return no_index(*index);
        }
        auto broadcast = broadcast_shapes(places_, shape);
        if (!broadcast) return no_index(*index);
        places_ = std::move(*broadcast);
        is_adjacent_ = is_adjacent_ && !ended_;
        if (!first_) first_ = kept_.size();
        dim_ += dims;
        return {};
    }

    [[nodiscard]] Error no_index(const Tensor& index) const {
        return contradiction(call_, "an index " + std::string(name(index.dtype)) + " " + to_string(index.shape) +
                                        " does not fit input " + to_string(input_.shape) + " or the indices before it");
    }

    const Call& call_;
    const Tensor& input_;
    const TensorList* list_;
    Shape kept_, places_;
    size_t dim_ = 0;               ///< the next dim of input
    std::optional<size_t> first_;  ///< the kept dims before the first index
    bool ended_ = false;           ///< a kept dim follows an index
    bool is_adjacent_ = true, is_known_ = true;
};

}  // namespace

Result<Indexed> indexed_shape(const Call& call) { return IndexTensors(call).read(); }

/// Source: torch.Tensor indexing.
Specs index(Call& call, const ResultHints&) {
    const auto indexed = indexed_shape(call);
    if (!indexed.ok()) return indexed.error();
    return one(call, "out", {indexed->shape, call.tensor("input")->dtype, {}});
}

namespace {

/// Whether values broadcast to what is indexed. Where the number of places is not known, the other dims tell.
bool values_fit(const Tensor& values, const Indexed& indexed) {
    if (indexed.is_known) return broadcast_shapes(values.shape, indexed.shape) == indexed.shape;
    const size_t rank = values.shape.size(), wide = indexed.shape.size();
    if (rank == 1) return true;
    for (size_t i = 0; i < rank && rank <= wide; ++i) {
        const size_t d = wide - rank + i;
        const bool is_place = d >= indexed.at && d < indexed.at + indexed.places.size();
        if (!is_place && values.shape[i] != 1 && values.shape[i] != indexed.shape[d]) return false;
    }
    return rank <= wide;
}

}  // namespace

/// Source: torch.index_put. The values broadcast to what the indices name. Cases also have as many values in one row,
/// as PyTorch takes them on GPUs: the C function gets them in the shape that they stand for.
Specs index_put(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    auto& values = std::get<TensorPtr>(call["values"]);
    const auto indexed = indexed_shape(call);
    if (!indexed.ok()) return indexed.error();
    bool fits = values_fit(*values, *indexed);
    if (!fits && values->rank() == 1 && values->numel() == numel(indexed->shape) && values->is_contiguous()) {
        values = std::make_shared<Tensor>(*values);
        values->shape = indexed->shape;
        values->strides = contiguous_strides(values->shape);
        fits = true;
    }
    if (!fits || values->dtype != input.dtype) {
        return contradiction(call, "values " + std::string(name(values->dtype)) + " " + to_string(values->shape) +
                                       " must be " + std::string(name(input.dtype)) + " and broadcast to " +
                                       to_string(indexed->shape));
    }
    return written(call, {input.shape, input.dtype, {}});
}

/// Source: torch.Tensor.masked_scatter.
Specs masked_scatter(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &mask = *call.tensor("mask"), &source = *call.tensor("source");
    if (mask.dtype != Dtype::boolean || source.dtype != input.dtype ||
        broadcast_shapes(mask.shape, input.shape) != input.shape) {
        return contradiction(call, "mask must be bool and broadcast to input " + to_string(input.shape) +
                                       ", and source must have its dtype");
    }
    const int64_t repeats = mask.numel() == 0 ? 0 : input.numel() / mask.numel();
    const int64_t wanted = count_true(mask).value_or(0) * repeats;
    if (wanted > source.numel()) {
        return contradiction(call, "source has " + std::to_string(source.numel()) + " elements where " +
                                       std::to_string(wanted) + " are wanted");
    }
    return one(call, "out", {input.shape, input.dtype, {}});
}

/// Source: torch.masked_select. Where the mask's values are not at hand, all elements may be selected.
Specs masked_select(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &mask = *call.tensor("mask");
    const auto shape = broadcast_shapes(input.shape, mask.shape);
    if (!shape || mask.dtype != Dtype::boolean) {
        return contradiction(
            call, "mask " + to_string(mask.shape) + " must be bool and broadcast with input " + to_string(input.shape));
    }
    const int64_t all = numel(*shape), repeats = mask.numel() == 0 ? 0 : all / mask.numel();
    const auto count = count_true(mask);
    return one(call, "out", {{count ? *count * repeats : all}, input.dtype, {}});
}

/// Source: torch.nonzero.
Specs nonzero(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    return one(call, "out", {{count_true(input).value_or(input.numel()), input.rank()}, Dtype::int64, {}});
}

}  // namespace diopi::infer_rules
