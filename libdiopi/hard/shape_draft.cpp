/// The tensors and parameters of hard cases, by the shape rule of the function.
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string>

#include "hard/draft.hpp"

namespace diopi {

namespace {

int64_t rank_of(const Shape& shape) { return static_cast<int64_t>(shape.size()); }

// ---- element-wise ----

/// Gives two tensors of one shape the same values; in some patterns the last element is NaN in both, 0 of another sign,
/// or another number.
void make_alike(Draft& draft) {
    constexpr size_t kFirst = 3, kNaN = 4, kSignOfZero = 5, kOther = 6;
    std::vector<CaseTensor>& tensors = draft.made().tensors;
    const size_t pattern = draft.pattern();
    const int64_t n = numel(tensors[0].specs.front().shape);
    if (tensors.size() != 2 || pattern < kFirst || n == 0) return;
    for (CaseTensor& tensor : tensors) {
        tensor.fill = n > kMostWritten ? kOnesFill : FillSpec{Fill::kValue};
        for (int64_t i = 0; i < n && n <= kMostWritten; ++i) tensor.values.push_back(static_cast<double>(i % 2));
    }
    if (n > kMostWritten) return;
    double &first = tensors[0].values.back(), &second = tensors[1].values.back();
    if (pattern == kOther) second = 1 - first;
    if (!is_floating(draft.dtype())) return;
    if (pattern == kNaN) first = second = std::numeric_limits<double>::quiet_NaN();
    if (pattern == kSignOfZero) {
        first = 0.0;
        second = -0.0;
    }
}

/// The tensors have one shape. A function along a dim gets one, from the front or from the back.
bool same(Draft& draft) {
    const Shape shape = draft.shape(draft.row().find("diagonal") >= 0 ? 2 : draft.row().find("dims") >= 0 ? 1 : 0);
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_tensor() && !arg.is_output) draft.add(arg.name, shape);
    }
    const int64_t rank = std::max<int64_t>(rank_of(shape), 1);
    const auto p = static_cast<int64_t>(draft.pattern());
    draft.set("dim", p % 2 == 0 ? p % rank : -1 - p % rank);
    if (draft.row().find("dims") >= 0) draft.set("dims", p < 4 ? Shape{p % rank} : Shape{-1 - p % rank});
    // Far away, where the low 32 bits are those of a diagonal of the matrix.
    constexpr int64_t kFar = int64_t{1} << 32;
    const size_t chosen = draft.level(Factor::kNumbers);
    draft.set("diagonal", p - 4 + (chosen == 4 ? kFar : chosen == 9 ? -kFar : 0));
    constexpr const char* kWords[] = {"none", "tanh"};
    draft.set("approximate", std::string(kWords[p % 2]));
    if (draft.row().args().front().gives_number) make_alike(draft);
    return true;
}

/// The shape that broadcasts to `wide`.
Shape narrowed(const Shape& wide, size_t pattern) {
    Shape shape = wide;
    switch (pattern) {
        case 1:  // a row
            if (!shape.empty()) shape.erase(shape.begin(), shape.end() - 1);
            return shape;
        case 2:  // a column
            if (!shape.empty()) shape.back() = 1;
            return shape;
        case 3:  // without the first dim
            if (!shape.empty()) shape.erase(shape.begin());
            return shape;
        case 4:  // a single element
            return {1};
        case 5:  // every other dim
            for (size_t d = 0; d < shape.size(); d += 2) shape[d] = 1;
            return shape;
        case 6:
            return {};
        default:
            return shape;
    }
}

/// Which operands have the shape that broadcasts, as bits: all but the first one, or another choice of them. At least
/// one has the result's shape.
uint32_t narrow_operands(const Draft& draft) {
    constexpr uint32_t kChosen[] = {0b110, 0b001, 0b001, 0b010, 0b100, 0b110, 0b101, 0b011, 0b001, 0b110};
    const auto operands = std::ranges::count_if(
        draft.row().args(), [](const Arg& arg) { return arg.is_tensor() && !arg.is_output && !arg.has_meaning; });
    const uint32_t all = (1u << operands) - 1, chosen = kChosen[draft.level(Factor::kNumbers)] & all;
    return chosen == all || chosen == 0 ? all & ~1u : chosen;
}

/// Operands that broadcast: all of one shape, some to the others, or (an outer product) each to the result.
bool broadcast(Draft& draft) {
    const Shape wide = draft.shape();
    const size_t pattern = draft.pattern();
    const uint32_t narrow = narrow_operands(draft);
    uint32_t operand = 0;
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_output || !arg.is_tensor()) continue;
        const bool is_first = operand == 0, is_narrow = (narrow >> operand++ & 1u) != 0;
        Shape shape = is_narrow ? narrowed(wide, pattern) : wide;
        if (pattern == 7 && wide.size() >= 2) (is_first ? shape.back() : shape.front()) = 1;
        if (arg.influence == Influence::shape) {
            // Any byte but 0 is true.
            const bool is_byte = arg.takes_bytes && draft.level(Factor::kOther) == 2;
            draft.add(arg.name, std::move(shape), is_byte ? Dtype::uint8 : Dtype::boolean,
                      is_byte ? FillSpec{Fill::kRandint, 0, 5} : FillSpec{Fill::kMask});
        } else if (arg.has_meaning) {
            draft.add(arg.name, {}, draft.dtype(), {Fill::kRandn});
        } else {
            draft.add(arg.name, std::move(shape));
        }
    }
    constexpr const char* kModes[] = {"none", "trunc", "floor"};
    if (draft.row().rule == ShapeRule::broadcast_div) {
        const char* mode = kModes[draft.level(Factor::kAbsent) % 3];
        // Quotients of complex numbers and of bool are not rounded.
        const bool can_round = !is_complex(draft.dtype()) && draft.dtype() != Dtype::boolean;
        if (std::string_view(mode) != "none" && can_round) draft.set("rounding_mode", std::string(mode));
    }
    return true;
}

// ---- reductions ----

Shape reduced_dims(int64_t rank, size_t pattern) {
    switch (pattern) {
        case 1:
            return {-1};
        case 2:
            return {0};
        case 3:
            return rank >= 2 ? Shape{rank - 1, 0} : Shape{0};
        case 4:
            return rank >= 2 ? Shape{-2} : Shape{-1};
        case 5:
            return rank >= 3 ? Shape{1, -1} : Shape{-1};
        case 6: {
            Shape all;
            for (int64_t d = rank; d-- > 0;) all.push_back(d);
            return all;
        }
        default:
            return {};
    }
}

bool reduce(Draft& draft) {
    const Shape shape = draft.shape();
    const Row& row = draft.row();
    draft.add(row.find("input") >= 0 ? "input" : "self", shape);
    const int at = row.find("dim");
    Shape dims = at < 0 ? Shape() : reduced_dims(rank_of(shape), draft.pattern());
    if (shape.empty() && !dims.empty()) dims = {draft.pattern() % 2 == 0 ? 0 : -1};
    const ArgKind kind = at < 0 ? ArgKind::pointer : row.args()[static_cast<size_t>(at)].kind;
    if (kind == ArgKind::int64 && dims.empty()) dims = {-1};
    if (kind == ArgKind::int_list && !dims.empty()) draft.set("dim", dims);
    if (kind != ArgKind::int_list && !dims.empty()) draft.set("dim", dims.front());
    // Without dims there is no keepdim in the framework's function.
    if (draft.level(Factor::kOther) % 2 == 1 && !dims.empty()) draft.set_hint("keepdim", true);
    constexpr double kOrders[] = {
        2, 1, 0, 3, std::numeric_limits<double>::infinity(), 0.5, -1, -std::numeric_limits<double>::infinity(), 2.5};
    const double order = kOrders[draft.level(Factor::kNumbers) % std::size(kOrders)];
    draft.set("p", order);
    draft.set("ord", order);
    draft.set("correction", static_cast<int64_t>(draft.level(Factor::kNumbers) % 3));
    return true;
}

// ---- products ----

/// M, N and K: the boundary stands for one of them, or for all.
struct Product {
    int64_t m, n, k, batch = 3;
    explicit Product(const Draft& draft) : m(7), n(5), k(6) {
        const size_t form = draft.level(Factor::kForm);
        if (form == 0 || form == 4) k = draft.size(70'000);
        if (form == 1) n = draft.size(5'000);
        if (form == 5) batch = draft.size(70'000);
        if (batch > 300) m = 2, n = 3, k = 2;
        if (form == 2 || form == 6) m = draft.size(5'000);
        if (form == 3) m = n = k = draft.size(130);
        if (form == 7) m = n = 1;
    }
};

bool matmul(Draft& draft) {
    const auto [m, n, k, batch] = Product(draft);
    const int rank = draft.row().rank;
    Shape a = {m, k}, b = {k, n};
    if (rank == 3) a = {batch, m, k}, b = {batch, k, n};
    if (rank == 0) {
        const size_t pattern = draft.pattern();
        if (pattern == 1) a = {k};
        if (pattern == 2) b = {k};
        if (pattern == 3) a = {k}, b = {k};
        if (pattern == 4) a = {batch, m, k};
        if (pattern == 5) b = {2, k, n};
        if (pattern == 6) a = {3, 1, m, k}, b = {2, k, n};
        if (pattern == 7) a = {batch, m, k}, b = {1, k, n};
    }
    draft.add("input", a);
    draft.add(draft.row().find("mat2") >= 0 ? "mat2" : "other", b);
    if (draft.row().family == Family::sparse) {
        draft.made().tensors[0].sparse_csr = draft.pattern() % 4 != 3;
        draft.made().tensors[1].sparse_csr = draft.pattern() % 4 >= 2;
    }
    return true;
}

bool add_product(Draft& draft) {
    const auto [m, n, k, batch] = Product(draft);
    const bool is_batch = draft.row().rank == 3;
    const size_t pattern = draft.pattern();
    Shape input = pattern == 1 ? Shape{n} : pattern == 2 ? Shape{1, n} : pattern == 3 ? Shape{m, 1} : Shape{m, n};
    if (pattern == 4) input = {1};
    if (is_batch && input.size() == 2 && pattern != 5) input.insert(input.begin(), pattern == 6 ? 1 : batch);
    // With beta 0 it is not read.
    const bool is_unread = pattern == 7 && is_floating(draft.dtype());
    if (is_unread) draft.set("beta", 0.0);
    draft.add("input", input, draft.dtype(), is_unread ? FillSpec{Fill::kSpecial} : FillSpec{});
    draft.add(is_batch ? "batch1" : "mat1", is_batch ? Shape{batch, m, k} : Shape{m, k});
    draft.add(is_batch ? "batch2" : "mat2", is_batch ? Shape{batch, k, n} : Shape{k, n});
    return true;
}

bool linear(Draft& draft) {
    const auto [m, n, k, batch] = Product(draft);
    const size_t pattern = draft.pattern();
    draft.add("input", pattern == 1   ? Shape{k}
                       : pattern == 2 ? Shape{batch, m, k}
                       : pattern == 3 ? Shape{2, 1, m, k}
                                      : Shape{m, k});
    draft.add("weight", {n, k});
    draft.add("bias", {n});
    return true;
}

// ---- tables, lists, optimisers ----

bool embedding(Draft& draft) {
    const int64_t rows = draft.size(5'000), width = 1 + draft.size(130) % 67;
    if (rows == 0) return false;
    const auto p = static_cast<int64_t>(draft.pattern());
    const Shape shapes[] = {{7}, {2, 30}, {}, {1, 32}, {3, 2, 4}, {1000}, {0}, {129}};
    draft.add("weight", {rows, width});
    draft.add("indices", shapes[p], p % 2 == 0 ? Dtype::int64 : Dtype::int32,
              {Fill::kRandint, 0, static_cast<double>(rows)});
    if (p % 3 == 1) draft.set("padding_idx", p % rows);
    draft.set("scale_grad_byfreq", p % 4 == 2);
    return true;
}

bool cat(Draft& draft) {
    const Shape shape = draft.shape(1);
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t dim = p % 2 == 0 ? p % rank_of(shape) : -1 - p % rank_of(shape);
    const int64_t many = numel(shape) <= 4'096 ? 67 : 3, count = p == 7 ? many : 1 + p % 5;
    std::vector<Shape> shapes(static_cast<size_t>(count), shape);
    // Some of the same shape, some not.
    for (int64_t i = 2; i < count; i += 2) {
        shapes[static_cast<size_t>(i)][static_cast<size_t>(dim < 0 ? dim + rank_of(shape) : dim)] = i;
    }
    // An empty vector is left out, whatever the others are.
    if (draft.level(Factor::kNumbers) % 5 == 4 && count > 1 && rank_of(shape) > 1) shapes.front() = {0};
    draft.add_list("tensors", shapes);
    draft.set("dim", dim);
    return true;
}

bool expand(Draft& draft) {
    const Shape wide = draft.shape();
    const size_t pattern = draft.pattern();
    if (pattern == 7 || (pattern == 6 && wide.empty())) return false;
    draft.add("input", narrowed(wide, pattern));
    draft.set_hint("size", wide);
    return true;
}

// ---- tensors that are made, filled or copied ----

/// A tensor that is overwritten with one number.
bool overwrite(Draft& draft) {
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_inout) draft.add(arg.name, draft.shape());
    }
    return true;
}

bool make_sized(Draft& draft) {
    draft.set("size", draft.shape());
    draft.set_hint("dtype", std::string(name(draft.dtype())));
    return true;
}

/// `n` numbers, which the dtype holds.
bool count_up(Draft& draft) {
    const bool is_byte = size_of(draft.dtype()) == 1, is_whole = is_integer(draft.dtype());
    if (!is_whole && !is_floating(draft.dtype())) return false;
    const int64_t n = draft.size(is_byte ? 33 : is_half(draft.dtype()) ? 257 : 70'000);
    const size_t p = draft.pattern();
    constexpr std::array<int64_t, 8> kStarts = {0, 1, -4, 100, 0, -20, 7, 0}, kSteps = {1, 2, 1, -1, 3, 2, -3, 1};
    // Beyond the integers that float32 holds.
    constexpr int64_t kLargeStart = (int64_t{1} << 24) + 1;
    constexpr std::array<double, 8> kFractions = {0, 0.5, -4, 2.3, 0.1, -20, 1e-3, 0};
    constexpr std::array<double, 8> kRealSteps = {1, 0.1, 0.25, -0.5, 1e-3, 2, -0.7, 13};
    draft.set_hint("dtype", std::string(name(draft.dtype())));
    if (is_whole) {
        const bool is_large = p == 4 && size_of(draft.dtype()) >= 4;
        const int64_t start = is_unsigned(draft.dtype()) ? 100 : is_large ? kLargeStart : kStarts[p];
        const int64_t step = kSteps[p];
        draft.set("start", start);
        draft.set("end", start + n * step);
        draft.set("step", step);
        return true;
    }
    // Half a step before the end there is no doubt about the number of elements.
    const double start = kFractions[p], step = kRealSteps[p];
    draft.set("start", start);
    draft.set("end", n == 0 ? start : start + (static_cast<double>(n) - 0.5) * step);
    draft.set("step", step);
    return true;
}

/// A copy or a cast into a tensor of another dtype. Only a floating number that an integer holds becomes one.
bool convert(Draft& draft) {
    constexpr std::array kTargets = {Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float64, Dtype::int64,
                                     Dtype::int32,   Dtype::uint8,    Dtype::int8,    Dtype::boolean};
    const Dtype from = draft.dtype();
    const size_t chosen = draft.level(Factor::kNumbers);
    Dtype to = chosen == 0 ? from : kTargets[(chosen - 1) % kTargets.size()];
    if (is_complex(from)) to = chosen % 2 == 0 ? Dtype::complex64 : Dtype::complex128;
    bool cuts = is_floating(from) && !is_floating(to);
    if (cuts && draft.level(Factor::kValues) != 0) {
        to = from;
        cuts = false;
    }
    const Shape wide = draft.shape();
    const Shape source = draft.row().variant == Variant::inplace ? narrowed(wide, draft.pattern()) : wide;
    const FillSpec fill = cuts ? FillSpec{Fill::kUniform, 0, 100} : FillSpec{};
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_inout) {
            draft.add(arg.name, wide, to, {Fill::kRandn});
        } else {
            draft.add(arg.name, source, from, fill);
        }
    }
    return true;
}

/// Gradients of a loss that was scaled, and their common factor.
bool unscale(Draft& draft) {
    const size_t p = draft.pattern();
    const Shape shape = draft.level(Factor::kForm) == 7 ? Shape{} : Shape{1};
    const std::array<Shape, 4> shapes = {draft.shape(), Shape{}, Shape{7, 3}, Shape{2, 0}};
    for (size_t k = 0; k <= p % shapes.size(); ++k) draft.add_element("scaled_grads", shapes[k], draft.dtype(), {});
    draft.add("found_inf", shape, Dtype::float32, {p % 3 == 0 ? Fill::kOnes : Fill::kZeros});
    draft.add("inv_scale", shape, Dtype::float32, {Fill::kRand});
    return true;
}

/// The states of a loss scale: the values decide whether it grows, and when.
bool scale_loss(Draft& draft) {
    if (std::ranges::any_of(draft.row().args(), &Arg::is_tensor_list)) return unscale(draft);
    if (draft.dtype() != Dtype::float32) return false;
    const size_t p = draft.pattern();
    const Shape shape = draft.level(Factor::kForm) == 7 ? Shape{} : Shape{1};
    // Grows by the third factor beyond float32.
    draft.add("current_scale", shape, Dtype::float32, p % 4 == 2 ? FillSpec{Fill::kUniform, 1e10, 1e11} : FillSpec{});
    draft.add("growth_tracker", shape, Dtype::int32, {Fill::kRandint, 0, 3});
    draft.add("found_inf", shape, Dtype::float32, {p % 3 == 0 ? Fill::kOnes : Fill::kZeros});
    constexpr std::array<double, 4> kGrowths = {2, 1.1, 1e30, 0.75};
    draft.set("scale_growth_factor", kGrowths[p % 4]);
    draft.set("scale_backoff_factor", 1 / (2 + static_cast<double>(p)));
    draft.set("growth_interval", static_cast<int64_t>(1 + p % 4));
    return true;
}

/// param, grad and the states have one shape. The squares of gradients are not negative.
bool optimise(Draft& draft) {
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    const bool keeps_most = p % 2 == 1 && draft.level(Factor::kAbsent) == 0;
    bool lacks_state = false;
    const bool is_first_step = begins_with_zeros(draft);
    for (const Arg& arg : draft.row().args()) {
        if (!arg.is_tensor()) continue;
        const bool is_zero = is_first_step && arg.is_inout && !arg.unwritten && arg.name != "param";
        FillSpec state{is_zero ? Fill::kZeros : arg.has_meaning ? Fill::kRand : Fill::kRandn};
        // The root of square_avg - grad_avg^2 must not be the root of rounding errors.
        if (!is_zero && arg.name == "square_avg" && draft.row().find("grad_avg") >= 0) state = {Fill::kUniform, 2, 4};
        if (!is_zero && arg.name == "grad_avg") state = {Fill::kUniform, -1, 1};
        draft.add(arg.name, shape, draft.dtype(), state);
        lacks_state = lacks_state || draft.made().tensors.back().absent;
    }
    const bool is_rmsprop = draft.row().op == "rmsprop", needs_state = is_rmsprop && !lacks_state;
    constexpr double kRates[] = {0.1, 0.001, 1, 0};
    constexpr double kDecays[] = {0, 0.01, 0.5};
    draft.set("lr", kRates[p % 4]);
    set_decay_of_moments(draft);
    draft.set("weight_decay", kDecays[p % 3]);
    draft.set("momentum", p % 3 == 0 || (is_rmsprop && lacks_state) ? 0.0 : 0.9);
    draft.set("centered", needs_state && p % 2 == 0);
    draft.set("dampening", p % 4 == 1 ? 0.5 : 0.0);
    // nesterov needs a momentum and no dampening.
    draft.set("nesterov", p == 2 || p == 4);
    draft.set("step", is_first_step ? 1 : 1 + p * p * 10);
    draft.set("amsgrad", keeps_most);
    return true;
}

}  // namespace

bool shape_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::token_sampling) return shape_attention_sampling_draft(draft);
    const bool is_described = draft.row().rule != ShapeRule::unknown;
    if (is_described && draft.row().accuracy == AccuracyClass::F) return shape_random_draft(draft);
    switch (draft.row().rule) {
        case ShapeRule::in_place:
            if (std::ranges::none_of(draft.row().args(), &Arg::is_inout)) return same(draft);
            if (draft.row().family == Family::amp) return scale_loss(draft);
            if (std::ranges::any_of(draft.row().args(), &Arg::is_tensor_list)) return shape_optim_draft(draft);
            return draft.row().family == Family::optim ? optimise(draft) : overwrite(draft);
        case ShapeRule::sized:
            return make_sized(draft);
        case ShapeRule::arange:
            return count_up(draft);
        case ShapeRule::copy:
            return convert(draft);
        case ShapeRule::cat:
            return cat(draft);
        case ShapeRule::expand:
            return expand(draft);
        case ShapeRule::embedding:
            return embedding(draft);
        case ShapeRule::same:
        case ShapeRule::floating:
        case ShapeRule::component:
            return same(draft);
        case ShapeRule::broadcast:
        case ShapeRule::broadcast_div:
        case ShapeRule::broadcast_alike:
        case ShapeRule::broadcast_complex:
        case ShapeRule::compare:
            return broadcast(draft);
        case ShapeRule::reduce_sum:
        case ShapeRule::reduce_mean:
        case ShapeRule::reduce_index:
        case ShapeRule::reduce_extreme:
        case ShapeRule::reduce_truth:
            return reduce(draft);
        case ShapeRule::ordered:
        case ShapeRule::cumulative:
        case ShapeRule::unique:
            return shape_sort_draft(draft);
        case ShapeRule::loss:
        case ShapeRule::ctc_loss:
            return shape_loss_draft(draft);
        case ShapeRule::listed:
        case ShapeRule::listed_norms:
            return shape_optim_draft(draft);
        case ShapeRule::matmul:
            return matmul(draft);
        case ShapeRule::add_product:
            return add_product(draft);
        case ShapeRule::linear:
            return linear(draft);
        case ShapeRule::attention:
            return shape_attention_flash_draft(draft);
        default:
            return shape_network_draft(draft) || shape_norm_draft(draft) || shape_order_draft(draft) ||
                   shape_index_draft(draft) || shape_vision_draft(draft) || shape_solve_draft(draft) ||
                   shape_attention_cache_draft(draft) || shape_attention_rotary_draft(draft) ||
                   shape_attention_norm_draft(draft) || shape_attention_softmax_draft(draft) ||
                   shape_attention_ffn_draft(draft) || shape_attention_fused_draft(draft) ||
                   shape_attention_penalty_draft(draft) || shape_attention_decode_draft(draft) ||
                   shape_attention_sampling_draft(draft);
    }
}

}  // namespace diopi
