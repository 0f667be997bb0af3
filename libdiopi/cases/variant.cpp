#include "cases/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cases/bind.hpp"
#include "cases/layout.hpp"
#include "cases/plan.hpp"

namespace diopi {

namespace {

/// A case while it is changed, and the functions that it calls.
class Variation {
 public:
    Variation(const Case& c, const CaseRows& rows, const VariantOptions& options)
        : varied_{c, ""}, case_(varied_.changed), options_(options) {
        for (const Row* row : {rows.forward, c.inplace || rows.forward == nullptr ? rows.inplace : nullptr,
                               c.backward ? rows.saving : nullptr, c.backward ? rows.backward : nullptr}) {
            if (row != nullptr) rows_.push_back(row);
        }
    }

    Result<VariedCase> run() {
        if (options_.empty && may_go_on()) make_empty();
        if (options_.zero_dim && may_go_on()) make_zero_dim();
        if (options_.four_bytes && may_go_on()) make_four_bytes();
        if (options_.fill && may_go_on()) {
            if (Status s = refill(); !s.ok()) return s.error();
        }
        if (options_.layout != LayoutOptions() && may_go_on()) lay_out();
        return std::move(varied_);
    }

 private:
    [[nodiscard]] bool may_go_on() const { return varied_.skip_reason.empty(); }
    void skip(const std::string& why) { varied_.skip_reason = case_.op + ": " + why; }
    /// The main function's row: the forward function, or the in-place one when there is no other.
    [[nodiscard]] const Row& main_row() const { return *rows_.front(); }

    /// Whether any function that the case calls has this mark on the argument.
    [[nodiscard]] bool is_marked(const CaseTensor& tensor, bool Arg::*mark) const {
        return std::ranges::any_of(rows_, [&](const Row* row) {
            const Arg* arg = arg_of(*row, tensor);
            return arg != nullptr && arg->*mark;
        });
    }

    /// Whether a non-empty index would point into an empty tensor.
    [[nodiscard]] bool has_dangling_index(const Case& candidate) const;
    void make_empty();
    void make_zero_dim();
    void make_four_bytes();
    Status refill();
    [[nodiscard]] Fill special_for_sums(const CaseTensor& tensor) const;
    Status capture(CaseTensor& tensor, bool& found);
    void lay_out();

    VariedCase varied_;
    Case& case_;
    std::vector<const Row*> rows_;
    const VariantOptions& options_;
};

// ---- shapes ----

/// Gives the tensor a new shape. Values that a case states are cut to it.
void reshape(CaseTensor& tensor, TensorSpec& spec, Shape shape) {
    spec.shape = std::move(shape);
    spec.strides.clear();
    if (tensor.fill.fn == Fill::kValue) tensor.values.resize(static_cast<size_t>(numel(spec.shape)));
}

bool is_there(const CaseTensor& tensor) { return !tensor.absent && !tensor.specs.empty(); }

/// Sets dims of size `size` at the same position as `dim` (from the back where dims broadcast) to 0.
void empty_dim(CaseTensor& tensor, int64_t size, size_t dim, size_t from_back, bool broadcasts) {
    for (TensorSpec& spec : tensor.specs) {
        const size_t rank = spec.shape.size();
        if (broadcasts && from_back > rank) continue;
        const size_t at = broadcasts ? rank - from_back : dim;
        if (at >= rank || spec.shape[at] != size) continue;
        Shape shape = spec.shape;
        shape[at] = 0;
        reshape(tensor, spec, std::move(shape));
    }
}

bool is_empty(const Case& c) {
    return std::ranges::any_of(c.tensors, [](const CaseTensor& tensor) {
        return is_there(tensor) &&
               std::ranges::any_of(tensor.specs, [](const TensorSpec& s) { return numel(s.shape) == 0; });
    });
}

/// The number of tensors that may keep their size when a dim becomes 0; later ones always follow.
constexpr size_t kMostChosen = 6;

/// The case with that dim of its tensor `first` set to 0 there and in the tensors whose bits are set in `chosen`.
Case emptied(const Case& c, size_t first, size_t dim, uint32_t chosen, bool broadcasts) {
    Case out = c;
    const Shape& shape = c.tensors[first].specs.front().shape;
    for (size_t t = 0; t < out.tensors.size(); ++t) {
        const bool follows = t == first || t >= kMostChosen || (chosen >> t & 1u) != 0;
        if (!follows || !is_there(out.tensors[t])) continue;
        empty_dim(out.tensors[t], shape[dim], dim, shape.size() - dim, broadcasts);
    }
    return out;
}

bool Variation::has_dangling_index(const Case& candidate) const {
    return std::ranges::any_of(candidate.tensors, [&](const CaseTensor& tensor) {
        // Only values tell how many places a mask among index tensors names.
        const bool is_mask = !tensor.list.empty() && is_there(tensor) && tensor.specs.front().dtype == Dtype::boolean;
        return is_there(tensor) && is_marked(tensor, &Arg::has_meaning) &&
               (is_mask || is_integer(tensor.specs.front().dtype)) && numel(tensor.specs.front().shape) > 0;
    });
}

void Variation::make_empty() {
    if (!main_row().traits.empty) return skip("the schema names no empty form");
    if (is_empty(case_)) return;
    const bool repeats = broadcasts(main_row().rule) || main_row().rule == ShapeRule::in_place;
    const auto first = std::ranges::find_if(
        case_.tensors, [](const CaseTensor& t) { return is_there(t) && !t.specs.front().shape.empty(); });
    if (first == case_.tensors.end()) return skip("no tensor has a dim that could be 0");
    const auto at = static_cast<size_t>(first - case_.tensors.begin());
    // Another tensor may have the size by chance only: so fewer and fewer of them follow, first all.
    const uint32_t all = (1u << std::min(case_.tensors.size(), kMostChosen)) - 1;
    for (size_t dim = 0; dim < first->specs.front().shape.size(); ++dim) {
        for (uint32_t left_out = 0; left_out <= all; ++left_out) {
            Case candidate = emptied(case_, at, dim, all & ~left_out, repeats);
            if (has_dangling_index(candidate) || !plan(candidate).ok()) continue;
            case_ = std::move(candidate);
            case_.varied = true;
            return;
        }
    }
    skip("its shapes do not allow a dim of size 0");
}

/// Changes a parameter that names dims to one that a 0-dim tensor can have.
void fit_to_zero_dim(Param& dims) {
    if (auto* dim = std::get_if<int64_t>(&dims.value); dim != nullptr && !wrap_dim(*dim, 0)) *dim = 0;
    if (auto* list = std::get_if<std::vector<Param>>(&dims.value)) list->clear();
}

void Variation::make_zero_dim() {
    if (!main_row().traits.zero_dim) return skip("the schema names no 0-dim form");
    for (CaseTensor& tensor : case_.tensors) {
        if (!is_there(tensor) || tensor.sparse_csr) continue;
        tensor.no_contiguous = false;
        for (TensorSpec& spec : tensor.specs) reshape(tensor, spec, {});
        // The only place of a 0-dim tensor is the first one.
        const bool is_index = is_marked(tensor, &Arg::has_meaning) && is_integer(tensor.specs.front().dtype);
        if (is_index && tensor.fill.fn == Fill::kRandint) tensor.fill = {Fill::kZeros};
    }
    for (auto& [name, param] : case_.params) {
        if (names_dims(case_.op, name)) fit_to_zero_dim(param);
    }
    case_.varied = true;
    if (Status s = plan(case_); !s.ok()) skip("its tensors cannot all be 0-dim: " + s.message());
}

// ---- dtypes ----

void Variation::make_four_bytes() {
    const bool has_marked_output = std::ranges::any_of(rows_, [](const Row* row) {
        return std::ranges::any_of(row->args(), [](const Arg& arg) { return arg.four_bytes && arg.is_output; });
    });
    bool changes = has_marked_output, is_known = has_marked_output;
    for (CaseTensor& tensor : case_.tensors) {
        if (!is_marked(tensor, &Arg::four_bytes)) continue;
        is_known = true;
        for (TensorSpec& spec : tensor.specs) {
            const Dtype narrow = in_four_bytes(spec.dtype);
            changes = changes || (narrow != spec.dtype && is_there(tensor));
            spec.dtype = narrow;
        }
    }
    if (!is_known) return skip("the schema names no index that may come in 4 bytes");
    if (!changes) return skip("no index of this case has 8 bytes");
    case_.four_bytes = true;
    case_.varied = true;
}

// ---- values ----

/// Whether the values of this fill may be replaced.
bool is_replaceable(const CaseTensor& tensor) {
    const Fill fn = tensor.fill.fn;
    if (tensor.sparse_csr || fn == Fill::kMask || fn == Fill::kValue || fn == Fill::kEmpty) return false;
    return is_there(tensor) &&
           std::ranges::none_of(tensor.specs, [](const TensorSpec& spec) { return spec.dtype == Dtype::boolean; });
}

Status Variation::capture(CaseTensor& tensor, bool& found) {
    const std::string& argument = tensor.list.empty() ? tensor.name : tensor.list;
    auto values = options_.captured(case_.op, argument);
    if (!values.ok()) return values.status();
    if (*values == nullptr) return {};
    tensor.captured = std::move(*values);
    tensor.fill.fn = Fill::kCaptured;
    found = true;
    return {};
}

Fill Variation::special_for_sums(const CaseTensor& tensor) const {
    // Its gradients multiply each of its tensors by padding.
    if (main_row().rule == ShapeRule::conv_transpose && case_.backward) return Fill::kSpecialFactors;
    // Weights of samples are 0 or tiny, as the places are rounded.
    const ShapeRule rule = main_row().rule;
    if (rule == ShapeRule::roi_align || rule == ShapeRule::grid_sample) return Fill::kSpecialFactors;
    const auto args = main_row().args();
    const auto first = std::ranges::find_if(
        args, [](const Arg& arg) { return !arg.is_output && (arg.is_tensor() || arg.is_tensor_list()); });
    return arg_of(main_row(), tensor) == &*first ? Fill::kSpecialSums : Fill::kSpecialFactors;
}

Status Variation::refill() {
    const bool sums = std::ranges::any_of(
        rows_, [](const Row* row) { return row->accuracy == AccuracyClass::D || row->accuracy == AccuracyClass::E; });
    const bool captures = *options_.fill == Fill::kCaptured;
    std::vector<std::string> names;
    bool changed = false;
    for (CaseTensor& tensor : case_.tensors) {
        if (!is_replaceable(tensor) || is_marked(tensor, &Arg::has_meaning)) continue;
        names.push_back(tensor.list.empty() ? tensor.name : tensor.list);
        if (captures) {
            if (Status s = capture(tensor, changed); !s.ok()) return s;
            continue;
        }
        tensor.fill.fn = *options_.fill == Fill::kSpecial && sums ? special_for_sums(tensor) : *options_.fill;
        changed = true;
    }
    // A norm of special values is not finite.
    for (auto& [name, param] : case_.params) {
        if (changed && *options_.fill == Fill::kSpecial && name == "error_if_nonfinite") param.value = false;
    }
    case_.varied = case_.varied || changed;
    if (names.empty()) {
        skip("no argument of this case may have other values");
    } else if (!changed) {
        skip(fmt::format("no values are captured for {}: neither /{}/<argument> nor /<argument> is there",
                         fmt::join(names, ", "), case_.op));
    }
    return {};
}

// ---- layouts ----

void Variation::lay_out() {
    const LayoutOptions& asked = options_.layout;
    case_.layout = asked;
    const auto applies_to_any = [&](const LayoutOptions& option) {
        return std::ranges::any_of(rows_, [&](const Row* row) { return applies(*row, case_, option); });
    };
    if (asked.nhwc && !applies_to_any({.nhwc = true, .nhwc_min_dim = asked.nhwc_min_dim})) {
        const bool known = std::ranges::any_of(
            case_.tensors, [&](const CaseTensor& tensor) { return is_marked(tensor, &Arg::channels_last); });
        return skip(
            known ? fmt::format("no argument with channels changes its layout with {} dims or more", asked.nhwc_min_dim)
                  : "the schema names no channels-last argument");
    }
    if (asked.wide && !applies_to_any({.wide = true})) return skip("no tensor has a dim of size 2 or more");
    if (asked.host && !applies_to_any({.host = true})) {
        return skip("no tensor is empty or has a dim of size 1, and it is no reduction");
    }
    if (asked.unaligned && !applies_to_any({.unaligned = true})) return skip("no tensor has elements to lay out");
    if (asked.strided && !applies_to_any({.strided = true})) return skip("no tensor has elements to lay out");
}

}  // namespace

bool VariantOptions::any() const {
    return fill || empty || zero_dim || four_bytes || layout.strided || layout.wide || layout.host ||
           layout.unaligned || layout.nhwc;
}

Result<VariedCase> vary(const Case& c, const VariantOptions& options) {
    auto rows = rows_for(c);
    if (!rows.ok() || !options.any()) return VariedCase{c, ""};
    return Variation(c, *rows, options).run();
}

Result<std::map<std::string, std::string>> vary(std::vector<Case>& cases, const VariantOptions& options) {
    std::map<std::string, std::string> left_out;
    if (!options.any()) return left_out;
    for (Case& c : cases) {
        auto varied = vary(c, options);
        if (!varied.ok()) return varied.error();
        if (!varied->skip_reason.empty()) {
            left_out.emplace(c.id(), std::move(varied->skip_reason));
        } else {
            c = std::move(varied->changed);
        }
    }
    return left_out;
}

}  // namespace diopi
