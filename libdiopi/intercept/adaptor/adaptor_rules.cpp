#include "intercept/adaptor/adaptor_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "call/call_name.hpp"
#include "core/suggest.hpp"
#include "core/text.hpp"

namespace diopi {

namespace {

struct LayoutRow {
    TensorLayout layout;
    std::string_view name;
    int64_t rank;
    bool channels_last;
};
constexpr LayoutRow kLayouts[] = {
    {TensorLayout::kNcl, "NCL", 3, false},     {TensorLayout::kNlc, "NLC", 3, true},
    {TensorLayout::kNchw, "NCHW", 4, false},   {TensorLayout::kNhwc, "NHWC", 4, true},
    {TensorLayout::kNcdhw, "NCDHW", 5, false}, {TensorLayout::kNdhwc, "NDHWC", 5, true},
    {TensorLayout::kNd, "ND", -1, false},
};

const LayoutRow& row_of(TensorLayout layout) { return *std::ranges::find(kLayouts, layout, &LayoutRow::layout); }

struct CastPreset {
    std::string_view name;
    std::string_view casts;
};
/// The names that users of the standard know.
constexpr CastPreset kCastPresets[] = {
    {"no_cast", ""},
    {"default", "(int64)->int32, (uint64)->uint32, (float64)->float32, (complex128)->complex64"},
    {"cast_float_only", "(float64)->float32, (complex128)->complex64"},
    {"logic_op", "(int64)->int32, (uint64)->uint32, (float64)->float32, (complex128)->complex64, (bool)->int32"},
};

/// The dims from the outermost to the innermost.
std::vector<size_t> order_of(const LayoutRow& layout, size_t rank) {
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    if (layout.channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return order;
}

/// Whether the dims have the layout's order in memory, with or without gaps.
bool lies_in(const LayoutRow& layout, const Tensor& tensor) {
    int64_t outer = INT64_MAX;
    for (const size_t d : order_of(layout, tensor.shape.size())) {
        if (tensor.shape[d] == 1) continue;
        if (tensor.strides[d] > outer || tensor.strides[d] < 0) return false;
        outer = tensor.strides[d];
    }
    return true;
}

bool same_strides(ShapeView shape, ShapeView a, ShapeView b) {
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != 1 && a[d] != b[d]) return false;
    }
    return true;
}

Result<Dtype> known_dtype(std::string_view text) {
    const auto dtype = parse_dtype(text);
    if (dtype && *dtype != Dtype::unsupported) return *dtype;
    std::vector<std::string> known;
    for (const Dtype each : all_dtypes()) {
        if (each != Dtype::unsupported) known.emplace_back(name(each));
    }
    const std::string hint = did_you_mean(text, known);
    return bad_input(fmt::format("unknown dtype '{}'{}", text,
                                 hint.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : hint));
}

/// A cast may lose range and digits, but must keep the kind of number.
Status check_cast(DtypeCast cast) {
    if (is_complex(cast.from) && !is_complex(cast.to)) {
        return bad_input(
            fmt::format("{} cannot hold {}: the imaginary part would be lost; cast complex numbers to "
                        "complex64 or complex128",
                        name(cast.to), name(cast.from)));
    }
    if (is_floating(cast.from) && !is_floating(cast.to) && !is_complex(cast.to)) {
        return bad_input(
            fmt::format("{} cannot hold {}: the fraction would be lost; cast floating numbers to a "
                        "floating dtype",
                        name(cast.to), name(cast.from)));
    }
    if (cast.to == Dtype::boolean && cast.from != Dtype::boolean) {
        return bad_input(
            fmt::format("bool cannot hold {}; cast it to an integer or a floating dtype", name(cast.from)));
    }
    return {};
}

/// Removes "(a, b)->c" or "a->c" from the front of `rest` and returns it.
Status take_cast(std::string_view& rest, std::vector<DtypeCast>& casts) {
    const auto malformed = [&] {
        return bad_input(fmt::format("'{}' is no cast; write (int64,float64)->float32, or a preset: {}", trimmed(rest),
                                     fmt::join(cast_presets(), ", ")));
    };
    const size_t arrow = rest.find("->");
    if (arrow == std::string_view::npos) return malformed();
    std::string_view sources = trimmed(rest.substr(0, arrow));
    const bool in_brackets = sources.starts_with('(') && sources.ends_with(')');
    if (in_brackets) sources = sources.substr(1, sources.size() - 2);
    if (!in_brackets && sources.find_first_of("(),") != std::string_view::npos) return malformed();
    const size_t end = std::min(rest.find(',', arrow), rest.size());
    const auto target = known_dtype(trimmed(rest.substr(arrow + 2, end - arrow - 2)));
    if (!target.ok()) return target.status();
    for (size_t begin = 0; begin <= sources.size();) {
        const size_t comma = std::min(sources.find(',', begin), sources.size());
        const auto source = known_dtype(trimmed(sources.substr(begin, comma - begin)));
        if (!source.ok()) return source.status();
        if (std::ranges::find(casts, *source, &DtypeCast::from) != casts.end()) {
            return bad_input(fmt::format("{} is cast twice", name(*source)));
        }
        if (Status s = check_cast({*source, *target}); !s.ok()) return s;
        casts.push_back({*source, *target});
        begin = comma + 1;
    }
    rest = end == rest.size() ? std::string_view() : rest.substr(end + 1);
    return {};
}

}  // namespace

std::string_view name(TensorLayout layout) { return row_of(layout).name; }

std::optional<TensorLayout> parse_layout(std::string_view text) {
    const auto* found = std::ranges::find(kLayouts, text, &LayoutRow::name);
    return found == std::end(kLayouts) ? std::nullopt : std::optional(found->layout);
}

std::vector<std::string> layout_names() {
    std::vector<std::string> names;
    for (const LayoutRow& row : kLayouts) names.emplace_back(row.name);
    return names;
}

int64_t rank_of(TensorLayout layout) { return row_of(layout).rank; }

Shape dense_strides(TensorLayout layout, ShapeView shape) {
    const std::vector<size_t> order = order_of(row_of(layout), shape.size());
    Shape strides(shape.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= std::max<int64_t>(shape[order[i]], 1);
    }
    return strides;
}

bool is_dense(const Tensor& tensor) {
    std::vector<size_t> order(tensor.shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [&](size_t d) { return tensor.shape[d] == 1; });
    std::ranges::sort(order, {}, [&](size_t d) { return tensor.strides[d]; });
    int64_t stride = 1;
    return std::ranges::all_of(
        order, [&](size_t d) { return tensor.strides[d] == std::exchange(stride, stride * tensor.shape[d]); });
}

int digits_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::complex32:
            return significand_bits(Dtype::float16);
        case Dtype::complex64:
            return significand_bits(Dtype::float32);
        case Dtype::complex128:
            return significand_bits(Dtype::float64);
        default:
            return significand_bits(dtype);
    }
}

bool DtypeCast::rounds() const {
    const bool alike = (is_floating(from) && is_floating(to)) || (is_complex(from) && is_complex(to));
    return alike && digits_of(to) < digits_of(from);
}

std::vector<std::string> cast_presets() {
    std::vector<std::string> names;
    for (const CastPreset& preset : kCastPresets) names.emplace_back(preset.name);
    return names;
}

Result<std::vector<DtypeCast>> parse_casts(std::string_view text) {
    const auto* preset = std::ranges::find(kCastPresets, trimmed(text), &CastPreset::name);
    std::string_view rest = preset == std::end(kCastPresets) ? text : preset->casts;
    std::vector<DtypeCast> casts;
    while (!trimmed(rest).empty()) {
        if (Status s = take_cast(rest, casts); !s.ok()) return s.error();
    }
    return casts;
}

ArgRules::ArgRules() {
    for (size_t i = 0; i < kDtypes; ++i) dtypes_[i] = static_cast<Dtype>(i);
}

void ArgRules::apply(const AdaptorRule& rule) {
    if (rule.casts) {
        for (size_t i = 0; i < kDtypes; ++i) dtypes_[i] = static_cast<Dtype>(i);
        for (const DtypeCast& cast : *rule.casts) dtypes_[static_cast<size_t>(cast.from)] = cast.to;
    }
    if (rule.layouts) layouts_ = *rule.layouts;
    if (rule.contiguous) contiguous_ = *rule.contiguous;
}

void ArgRules::keep_masks() {
    const auto is_mask = [](Dtype dtype) { return dtype == Dtype::boolean || dtype == Dtype::uint8; };
    const Dtype of_bool = dtype_for(Dtype::boolean), of_bytes = dtype_for(Dtype::uint8);
    const auto choose = [&](Dtype own, Dtype first, Dtype second) {
        Dtype& target = dtypes_[static_cast<size_t>(own)];
        target = is_mask(first) ? first : is_mask(second) ? second : own;
    };
    choose(Dtype::boolean, of_bool, of_bytes);
    choose(Dtype::uint8, of_bytes, of_bool);
}

bool ArgRules::any() const {
    if (contiguous_ || !layouts_.empty()) return true;
    for (size_t i = 0; i < kDtypes; ++i) {
        if (dtypes_[i] != static_cast<Dtype>(i)) return true;
    }
    return false;
}

bool ArgRules::narrows() const {
    for (size_t i = 0; i < kDtypes; ++i) {
        if (DtypeCast{static_cast<Dtype>(i), dtypes_[i]}.rounds()) return true;
    }
    return false;
}

Dtype ArgRules::dtype_for(Dtype dtype) const {
    const auto i = static_cast<size_t>(dtype);
    return i < kDtypes ? dtypes_[i] : dtype;
}

/// The layout that the tensor already has, else the first one of its rank; ND if none has its rank.
std::optional<TensorLayout> ArgRules::layout_for(const Tensor& tensor) const {
    std::optional<TensorLayout> first;
    for (const int64_t rank : {tensor.rank(), int64_t{-1}}) {
        for (const TensorLayout layout : layouts_) {
            if (rank_of(layout) != rank) continue;
            if (lies_in(row_of(layout), tensor)) return layout;
            if (!first) first = layout;
        }
        if (first) return first;
    }
    return first;
}

std::optional<TensorSpec> ArgRules::wanted(const Tensor& tensor) const {
    if (tensor.is_sparse()) return std::nullopt;
    const Dtype dtype = dtype_for(tensor.dtype);
    // This early return serves most calls.
    const bool may_lie = layouts_.empty() && (!contiguous_ || tensor.is_contiguous());
    if (may_lie && dtype == tensor.dtype) return std::nullopt;
    const auto layout = layout_for(tensor);
    const TensorLayout target = layout.value_or(TensorLayout::kNd);
    bool moves = layout && !lies_in(row_of(target), tensor);
    if (contiguous_) moves = moves || !same_strides(tensor.shape, tensor.strides, dense_strides(target, tensor.shape));
    if (tensor.numel() == 0) moves = false;
    if (!moves && dtype == tensor.dtype) return std::nullopt;
    // A cast keeps the order of the dims if the device accepts any.
    const bool stays = !moves && !layout && is_dense(tensor);
    return TensorSpec{tensor.shape, dtype, stays ? tensor.strides : dense_strides(target, tensor.shape)};
}

AdaptorRules::AdaptorRules(const AdaptorRule& common, const std::map<std::string, OperatorRule>& operators) {
    by_row_.resize(rows().size());
    bool any = false;
    for (const Row& row : rows()) {
        std::vector<const OperatorRule*> levels;
        for (const std::string& key : {std::string(row.op), full_name(row), std::string(row.function)}) {
            const auto found = operators.find(key);
            const bool is_new = found != operators.end() && (levels.empty() || levels.back() != &found->second);
            if (is_new) levels.push_back(&found->second);
        }
        std::vector<ArgRules> rules(row.num_args);
        bool touches = false;
        for (size_t i = 0; i < row.num_args; ++i) {
            const Arg& arg = row.args()[i];
            if (!arg.is_tensor() && !arg.is_tensor_list()) continue;
            rules[i].apply(common);
            for (const OperatorRule* level : levels) rules[i].apply(level->rule);
            for (const OperatorRule* level : levels) {
                for (const auto& [word, rule] : level->args) {
                    if (arg.answers_to(word)) rules[i].apply(rule);
                }
            }
            if (arg.takes_bytes) rules[i].keep_masks();
            touches = touches || rules[i].any();
            narrows_ = narrows_ || rules[i].narrows();
        }
        if (touches) by_row_[row.index()] = std::move(rules);
        any = any || touches;
    }
    if (!any) by_row_.clear();
}

std::span<const ArgRules> AdaptorRules::of(const Row& row) const {
    if (by_row_.empty()) return {};
    return by_row_[row.index()];
}

}  // namespace diopi
