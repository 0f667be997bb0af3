/// A hard case while it is made: the choices of its combination, and the tensors and parameters that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cases/case.hpp"
#include "hard/covering.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// The factors of a hard case; each has some levels, and a rule of shapes reads those that mean something to it.
enum class Factor : size_t {
    kRow,          ///< the function among those of the operator
    kDtype,        ///< the dtype of the first tensor
    kOther,        ///< the dtype of the other tensors: the same, a lower or a higher one, a 0-dim tensor
    kSize,         ///< a size at a boundary, or one beside it
    kForm,         ///< where that size stands: a vector, rows, columns, a square, more dims
    kPattern,      ///< what the rule makes of it: a broadcast, the dims of a reduction, strides of a window
    kLayout,       ///< of the first tensor, or of all: transposed, stepped, in views, not aligned
    kOtherLayout,  ///< of the last tensor: also repeating elements, or the same object as the first
    kValues,
    kNumbers,  ///< the numbers among the arguments: fractions, 0, negative, huge, infinite, NaN
    kAbsent    ///< which of the arguments that may be absent are
};
inline constexpr size_t kFactors = 11;
inline constexpr size_t kDraftForms = 8, kPatterns = 8;
/// The other layout with which the last tensor is the first one.
inline constexpr size_t kOneObject = 4;
/// The most values of a tensor that are written out one by one.
inline constexpr int64_t kMostWritten = 4'096;

class Draft {
 public:
    Draft(const Row& row, Dtype dtype, const Combination& combination, const std::vector<int64_t>& sizes);

    [[nodiscard]] const Row& row() const { return *row_; }
    [[nodiscard]] Dtype dtype() const { return dtype_; }
    [[nodiscard]] size_t level(Factor factor) const { return combination_[static_cast<size_t>(factor)]; }
    [[nodiscard]] size_t pattern() const { return level(Factor::kPattern); }
    /// The size at a boundary, at most `most`.
    [[nodiscard]] int64_t size(int64_t most) const;
    /// A shape in which that size stands as the form says; its rank is at least `least_rank`.
    [[nodiscard]] Shape shape(size_t least_rank = 0) const;

    /// Adds a tensor argument, unless the row does not have it, has a number of that name, or the combination leaves it
    /// out.
    void add(std::string_view arg, Shape shape);
    void add(std::string_view arg, Shape shape, Dtype dtype, FillSpec fill);
    /// Sets a parameter, if the row has it: a number, a bool, a text, or a list of numbers.
    template <class T>
    void set(std::string_view arg, const T& value) {
        if (const Arg* own = arg_named(arg); own != nullptr)
            set_hint(own->alias.empty() ? own->name : own->alias, value);
    }
    /// Sets a parameter that no C argument takes.
    template <class T>
    void set_hint(std::string_view name, const T& value) {
        Param& param = case_.params.emplace_back(name, Param()).second;
        if constexpr (std::is_same_v<T, Shape>) {
            auto& list = param.value.emplace<std::vector<Param>>(value.size());
            for (size_t i = 0; i < value.size(); ++i) list[i].value = value[i];
        } else {
            param.value = value;
        }
    }
    /// Adds an element of a list argument; a null one where the shape is absent.
    void add_element(std::string_view list, std::optional<Shape> shape, Dtype dtype, FillSpec fill);
    /// Adds the elements of a list argument, of the draft's dtype.
    void add_list(std::string_view list, const std::vector<Shape>& shapes);
    /// The argument of a tensor of the case.
    [[nodiscard]] const Arg* arg_of(const CaseTensor& tensor) const;
    /// The finished case.
    [[nodiscard]] Case take() { return std::move(case_); }
    [[nodiscard]] Case& made() { return case_; }
    [[nodiscard]] const Case& made() const { return case_; }

 private:
    [[nodiscard]] const Arg* arg_named(std::string_view arg) const;
    [[nodiscard]] bool is_left_out(const Arg& arg) const;
    /// The dtype of a tensor behind the first one, without a rule of its own.
    [[nodiscard]] Dtype other_dtype() const;

    const Row* row_;
    Dtype dtype_;
    const Combination& combination_;
    const std::vector<int64_t>& sizes_;
    Case case_;
};

/// Sets how fast an optimiser's moments decay.
void set_decay_of_moments(Draft& draft);
/// Whether the states of an optimiser are zeros, as in its first step.
[[nodiscard]] bool begins_with_zeros(const Draft& draft);

/// Fills in the tensors and parameters that the shape rule of the draft's row needs; false if no hard cases are made
/// for the rule, or the combination has no meaning for it.
[[nodiscard]] bool shape_draft(Draft& draft);
/// The same for functions that draw random numbers, and for sorting and sums along a dim.
[[nodiscard]] bool shape_random_draft(Draft& draft);
[[nodiscard]] bool shape_sort_draft(Draft& draft);
/// The same for the rules of neural networks: convolutions, norms, pools, losses.
[[nodiscard]] bool shape_network_draft(Draft& draft);
/// The same for images that are resized, sampled, or pooled in regions, and for boxes.
[[nodiscard]] bool shape_vision_draft(Draft& draft);
/// The same for norms but batch and layer norm.
[[nodiscard]] bool shape_norm_draft(Draft& draft);
/// The same for losses of each element and of sequences.
[[nodiscard]] bool shape_loss_draft(Draft& draft);
/// The same for lists of tensors: optimisers of many parameters, and functions of each tensor.
[[nodiscard]] bool shape_optim_draft(Draft& draft);
/// The same for the rules that join, cut, turn, pad and repeat tensors.
[[nodiscard]] bool shape_order_draft(Draft& draft);
/// The same for the rules of slices, index tensors and masks.
[[nodiscard]] bool shape_index_draft(Draft& draft);
/// The same for attention of whole sequences, as in training.
[[nodiscard]] bool shape_attention_flash_draft(Draft& draft);
/// The same for distances, decompositions and systems of equations.
[[nodiscard]] bool shape_solve_draft(Draft& draft);
/// The same for keys and values in a cache, and attention to them and within prompts.
[[nodiscard]] bool shape_attention_cache_draft(Draft& draft);
/// The same for rotary embeddings.
[[nodiscard]] bool shape_attention_rotary_draft(Draft& draft);
/// The same for normalisation by the root mean square.
[[nodiscard]] bool shape_attention_norm_draft(Draft& draft);
/// The same for the softmax of attention scores.
[[nodiscard]] bool shape_attention_softmax_draft(Draft& draft);
/// The same for feed-forward layers, and for products whose parts are on several devices.
[[nodiscard]] bool shape_attention_ffn_draft(Draft& draft);
/// The same for whole attention layers, with their projections and caches.
[[nodiscard]] bool shape_attention_fused_draft(Draft& draft);
/// The same for logits that change before a token is drawn, for sampling, and for the other steps of a generation.
[[nodiscard]] bool shape_attention_penalty_draft(Draft& draft);
[[nodiscard]] bool shape_attention_sampling_draft(Draft& draft);
[[nodiscard]] bool shape_attention_decode_draft(Draft& draft);

}  // namespace diopi
