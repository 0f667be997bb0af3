#include "hard/hard_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "cases/layout.hpp"
#include "cases/plan.hpp"
#include "cases/variant.hpp"
#include "core/format.hpp"
#include "hard/covering.hpp"
#include "hard/draft.hpp"

namespace diopi {

namespace {

/// A plain size, 0, and the widths of vectors, warps, tiles, blocks and grids, with a size beside each.
const std::vector<int64_t> kSizes = {9,   0,   1,   2,    3,    4,    5,    7,    8,      15,     16,     17,
                                     31,  32,  33,  63,   64,   65,   127,  128,  129,    255,    256,    257,
                                     511, 513, 999, 1023, 1025, 4095, 4096, 4097, 65'535, 65'536, 65'537, 1'048'577};

constexpr std::array kIntegers = {Dtype::uint8, Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64};
/// The half types twice: they are what chips are built for, and few of the standard's cases have them.
constexpr std::array kFloats = {Dtype::float32, Dtype::bfloat16, Dtype::float16,
                                Dtype::float64, Dtype::bfloat16, Dtype::float16};
constexpr std::array kComplexes = {Dtype::complex64, Dtype::complex128};

constexpr std::array kForms = {"vector",     "inner dim", "outer dim",   "square",
                               "middle dim", "4 dims",    "6 to 8 dims", "0-dim"};
constexpr std::array kLayouts = {
    "contiguous", "first transposed", "first stepped", "first turned", "first two dims swapped",
    "views",      "host strides",     "unaligned"};
constexpr std::array kOtherLayouts = {"contiguous", "last transposed", "last stepped", "last repeats", "one object"};
constexpr size_t kRepeats = 3;
static_assert(kOneObject == kOtherLayouts.size() - 1);
/// The kinds of values of floating and complex tensors, and those of integers.
constexpr std::array kRealValues = {"normal",         "exact sums", "special",     "positive",
                                    "small variance", "large",      "tiny",        "zeros and ones",
                                    "wide",           "ties",       "cancelling",  "near the range of exp",
                                    "near 1",         "denormal",   "rows of -inf"};
constexpr std::array kWholeValues = {"normal",          "exact sums", "extremes",       "positive", "near the largest",
                                     "large",           "near 0",     "zeros and ones", "wide",     "near the smallest",
                                     "the whole range", "two bits",   "normal",         "normal",   "normal"};
static_assert(kForms.size() == kDraftForms && kRealValues.size() == kWholeValues.size());

/// The factors that decide which path a library takes: each triple of their levels occurs.
const std::vector<size_t> kDeep = {static_cast<size_t>(Factor::kDtype), static_cast<size_t>(Factor::kForm),
                                   static_cast<size_t>(Factor::kPattern), static_cast<size_t>(Factor::kLayout),
                                   static_cast<size_t>(Factor::kOtherLayout)};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kOthers = 3, kNumbers = 10, kMostAbsent = 6;

std::vector<Dtype> dtypes_of(const Row& row) {
    std::vector<Dtype> dtypes;
    if (row.takes.find('f') != std::string_view::npos) dtypes.insert(dtypes.end(), kFloats.begin(), kFloats.end());
    if (row.takes.find('i') != std::string_view::npos) dtypes.insert(dtypes.end(), kIntegers.begin(), kIntegers.end());
    if (row.takes.find('b') != std::string_view::npos) dtypes.push_back(Dtype::boolean);
    if (row.takes.find('c') != std::string_view::npos) {
        dtypes.insert(dtypes.end(), kComplexes.begin(), kComplexes.end());
    }
    return dtypes;
}

/// The functions of the operator that hard cases are made for: those whose rule of shapes knows the plainest
/// combination.
std::vector<const Row*> hard_rows(std::string_view op) {
    std::vector<const Row*> rows;
    const Combination plain(kFactors, 0);
    const bool has_forward =
        std::ranges::any_of(rows_of(op), [](const Row* row) { return row->variant == Variant::forward; });
    for (const Row* row : rows_of(op)) {
        // The in-place functions of the others run in the same cases.
        if (row->variant != (has_forward ? Variant::forward : Variant::inplace)) continue;
        Draft draft(*row, Dtype::float32, plain, kSizes);
        if (shape_draft(draft)) rows.push_back(row);
    }
    return rows;
}

class HardOperator {
 public:
    HardOperator(std::string_view op, uint64_t seed) : rows_(hard_rows(op)), op_(op), seed_(seed) {
        size_t optional = 0, most_dtypes = 1;
        for (const Row* row : rows_) {
            const auto is_optional = [](const Arg& arg) { return arg.optional && !arg.is_output; };
            optional = std::max(optional, static_cast<size_t>(std::ranges::count_if(row->args(), is_optional)));
            most_dtypes = std::max(most_dtypes, dtypes_of(*row).size());
        }
        const bool rounds = std::ranges::any_of(rows_, [](const Row* row) { return row->find("rounding_mode") >= 0; });
        const size_t absent = rounds ? 3 : optional == 0 ? 1 : std::min(optional + 2, kMostAbsent);
        levels_ = {std::max<size_t>(rows_.size(), 1),
                   most_dtypes,
                   kOthers,
                   kSizes.size(),
                   kForms.size(),
                   kPatterns,
                   kLayouts.size(),
                   kOtherLayouts.size(),
                   kRealValues.size(),
                   kNumbers,
                   absent};
    }

    [[nodiscard]] CoveringArray array() const {
        Case all;
        all.suite = kHardSuite;
        all.op = op_;
        return {levels_, all.key(seed_), kDeep, late_triples()};
    }

    /// The case of a combination; none if it means nothing.
    [[nodiscard]] std::optional<Case> make(const Combination& combination, int64_t number) const {
        const Row& row = *rows_[combination[static_cast<size_t>(Factor::kRow)]];
        const std::vector<Dtype> dtypes = dtypes_of(row);
        const Dtype dtype = dtypes[combination[static_cast<size_t>(Factor::kDtype)] % dtypes.size()];
        Draft draft(row, dtype, combination, kSizes);
        if (!shape_draft(draft)) return {};
        set_numbers(draft);
        widen_output(draft);
        const std::vector<CaseTensor> plain_tensors = draft.made().tensors;
        const bool converts = is_converted(draft, dtype);
        lay_out(draft, number);
        fill(draft);
        Case made = draft.take();
        made.suite = kHardSuite;
        made.group = std::to_string(seed_);
        made.index = number;
        made.varied = true;
        made.grad_fill = gradient_fill(draft);
        if (draft.level(Factor::kLayout) == 0 && number % 3 == 2) {
            constexpr std::array kRepeated = {Repeats::kAll, Repeats::kLast, Repeats::kFirst};
            made.grad_repeats = kRepeated[static_cast<size_t>(number / 3) % kRepeated.size()];
        }
        const auto has = [&](Variant variant, std::string_view overload) {
            return std::ranges::any_of(rows_of(op_), [&](const Row* each) {
                return each->variant == variant && each->overload == overload && each->rule != ShapeRule::unknown;
            });
        };
        // A complex tensor has no place for its real component.
        const bool fits = row.rule != ShapeRule::component || !is_complex(dtype);
        made.inplace = fits && row.variant == Variant::forward && has(Variant::inplace, row.overload) &&
                       !first_repeats(made) && runs_in_place(made);
        const bool has_gradient = std::ranges::any_of(made.tensors, &CaseTensor::requires_grad);
        // Backward functions are defined for results of the usual dtype.
        const bool is_wider = made.param("dtype") != nullptr && !made.tensors.empty();
        made.backward = has(Variant::backward, row.overload) && is_floating(dtype) && has_gradient && !is_wider;
        made.random = row.accuracy == AccuracyClass::F;
        if (level(combination, Factor::kValues) == kSpecialValues && !converts && !made.random) {
            auto special = vary(made, {.fill = Fill::kSpecial});
            if (special.ok() && special->skip_reason.empty()) made = without_illegal(row, made, special->changed);
        }
        if (!plan(made).ok()) return {};
        made.choices = choices(combination, made);
        made.other_params = other_params(row, dtype, combination, plain_tensors, made);
        return made;
    }

    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] size_t functions() const { return rows_.size(); }

    /// The levels that the combination chose, by factor, for reports.
    static std::vector<std::pair<std::string, std::string>> choices(const Combination& combination, const Case& made) {
        const auto of = [&](Factor factor) { return combination[static_cast<size_t>(factor)]; };
        const bool is_real = is_floating(made.dtype()) || is_complex(made.dtype());
        std::vector<std::pair<std::string, std::string>> chosen = {
            {"size", std::to_string(kSizes[of(Factor::kSize)])},
            {"form", kForms[of(Factor::kForm)]},
            {"layout", made.layout.results                                    ? "results turned"
                       : made.backward && made.grad_repeats != Repeats::kNone ? "gradients repeat"
                       : first_repeats(made)                                  ? "first repeats"
                                                                              : kLayouts[of(Factor::kLayout)]},
            {"values", (is_real ? kRealValues : kWholeValues)[of(Factor::kValues)]}};
        const size_t other = of(Factor::kOtherLayout);
        const bool applies = made.tensors.size() > 1 && (other != kOneObject || !made.tensors.back().same_as.empty());
        if (applies && other > 0) chosen.emplace_back("other layout", kOtherLayouts[other]);
        return chosen;
    }

 private:
    static constexpr size_t kSpecialValues = 2, kRowsOfInfinity = kRealValues.size() - 1;
    /// The first exponent that int32 does not hold.
    static constexpr int64_t kLargeExponent = int64_t{1} << 31;

    /// A library may choose its path by the function, the dtype and one more factor. A conversion may be wrong for one
    /// dtype beside another one, and for one kind of values.
    [[nodiscard]] std::vector<FactorTriple> late_triples() const {
        std::vector<FactorTriple> triples;
        for (const Factor choice : {Factor::kOther, Factor::kForm, Factor::kPattern, Factor::kLayout}) {
            triples.push_back(triple_of(Factor::kDtype, choice, Factor::kValues));
            triples.push_back(triple_of(Factor::kDtype, choice, Factor::kNumbers));
        }
        triples.push_back(triple_of(Factor::kPattern, Factor::kLayout, Factor::kValues));
        triples.push_back(triple_of(Factor::kForm, Factor::kPattern, Factor::kNumbers));
        if (rows_.size() < 2) return triples;
        triples.push_back(triple_of(Factor::kRow, Factor::kOther, Factor::kValues));
        triples.push_back(triple_of(Factor::kRow, Factor::kOther, Factor::kNumbers));
        triples.push_back(triple_of(Factor::kRow, Factor::kPattern, Factor::kNumbers));
        for (const Factor choice : {Factor::kOther, Factor::kForm, Factor::kPattern, Factor::kLayout,
                                    Factor::kOtherLayout, Factor::kValues, Factor::kNumbers, Factor::kAbsent}) {
            triples.push_back(triple_of(Factor::kRow, Factor::kDtype, choice));
        }
        return triples;
    }

    static FactorTriple triple_of(Factor a, Factor b, Factor c) {
        return {static_cast<size_t>(a), static_cast<size_t>(b), static_cast<size_t>(c)};
    }

    /// Whether elements of the first tensor share memory.
    static bool first_repeats(const Case& c) {
        if (c.tensors.empty() || c.tensors.front().specs.empty()) return false;
        const Shape& strides = c.tensors.front().specs.front().strides;
        return std::ranges::find(strides, 0) != strides.end();
    }

    static size_t level(const Combination& combination, Factor factor) {
        return combination[static_cast<size_t>(factor)];
    }

    /// The parameters of the combination, among those with other numbers, another pattern or other absent arguments,
    /// that has the same tensors, outputs of the same specs, and the fewest other parameters. Empty: there is none.
    [[nodiscard]] static std::vector<std::pair<std::string, Param>> other_params(const Row& row, Dtype dtype,
                                                                                 const Combination& combination,
                                                                                 const std::vector<CaseTensor>& tensors,
                                                                                 const Case& made) {
        constexpr size_t kOtherNumbers = 3, kOtherPatterns = kPatterns - 1, kOtherAbsent = kMostAbsent - 1;
        constexpr size_t kCandidates = kOtherNumbers + kOtherPatterns + kOtherAbsent;
        std::vector<std::pair<std::string, Param>> nearest;
        if (made.params.empty()) return nearest;
        const auto outputs = planned_outputs(made);
        if (!outputs.ok()) return nearest;
        Case other_case = made;
        size_t fewest = std::numeric_limits<size_t>::max();
        for (size_t k = 0; k < kCandidates && fewest > 1; ++k) {
            const size_t candidate = (static_cast<size_t>(made.index) + k) % kCandidates;
            Combination other = combination;
            const auto change = [&](Factor factor, size_t by, size_t levels) {
                size_t& changed = other[static_cast<size_t>(factor)];
                changed = (changed + by + 1) % levels;
            };
            if (candidate < kOtherNumbers) {
                change(Factor::kNumbers, candidate, kNumbers);
            } else if (candidate < kOtherNumbers + kOtherPatterns) {
                change(Factor::kPattern, candidate - kOtherNumbers, kPatterns);
            } else {
                change(Factor::kAbsent, candidate - kOtherNumbers - kOtherPatterns, kMostAbsent);
            }
            Draft draft(row, dtype, other, kSizes);
            if (!shape_draft(draft)) continue;
            set_numbers(draft);
            widen_output(draft);
            if (draft.made().tensors != tensors) continue;
            const auto& params = draft.made().params;
            const auto missing = [](const auto& some, const auto& others) {
                return static_cast<size_t>(std::ranges::count_if(
                    some, [&](const auto& param) { return std::ranges::find(others, param) == others.end(); }));
            };
            const size_t differing = std::max(missing(params, made.params), missing(made.params, params));
            if (differing == 0 || differing >= fewest) continue;
            other_case.params = params;
            const auto others = planned_outputs(other_case);
            if (!others.ok() || *others != *outputs) continue;
            fewest = differing;
            nearest = params;
        }
        return nearest;
    }

    /// Whether a number beside integers may have a fraction, which makes the computation one of floating numbers.
    static bool may_have_fraction(const Row& row, const Arg& arg) {
        constexpr std::array kPromoting = {ShapeRule::broadcast, ShapeRule::broadcast_div, ShapeRule::compare};
        return arg.influence == Influence::both && row.takes.find('f') != std::string_view::npos &&
               std::ranges::find(kPromoting, row.rule) != kPromoting.end();
    }

    /// Whether a number takes the place of elements, and is converted to their dtype.
    static bool is_stored(const Draft& draft, const Arg& arg) {
        const Arg& written = draft.row().args().front();
        const bool overwrites = written.is_inout && written.reading == Reading::nothing;
        const bool is_placed = overwrites || (arg.influence == Influence::none && !arg.is_factor);
        return is_placed && draft.made().param("reduce") == nullptr;
    }

    /// A fraction or 256 in the place of integers or truth values: integers drop the fraction, and every number but 0
    /// is true. None for other numbers, and where the dtype does not hold it.
    static std::optional<double> stored_number(Dtype dtype, size_t chosen) {
        constexpr double kStored[kNumbers] = {0, 0, 0.5, 0, -2.5, 256, 0, 2.75, 0, 0};
        const double number = kStored[chosen];
        const bool is_held =
            dtype == Dtype::boolean || ((number >= 0 || !is_unsigned(dtype)) && (number < 128 || size_of(dtype) > 1));
        return number != 0 && is_held ? std::optional(number) : std::nullopt;
    }

    /// Numbers of kind scalar, the last ones as integers. A factor of a sum stays finite.
    static void set_numbers(Draft& draft) {
        constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
        constexpr double kReals[] = {0.7, 0, 1, -1, -2.5, 1000, kInfinity, kNaN, 3, -2};
        constexpr double kFactorsOf[] = {1, 0, 0.7, -1, -2.5, 1000, 2, -0.125, 3, -2};
        // Powers that libraries compute in a way of their own, and one beside them.
        constexpr double kExponents[] = {2.5, 0, 1, -1, 0.5, 1000, kInfinity, kNaN, 3, 2};
        constexpr int64_t kWholes[] = {3, 0, 1, -1, -2, 1000, 2, 100, 17, -100};
        // Beside integers, in place of the whole number.
        constexpr double kFractions[] = {0, 0, 0, 0, -2.5, 0, 0, 0.5, 0, 0};
        constexpr size_t kFirstInteger = 8;
        const size_t chosen = draft.level(Factor::kNumbers);
        const bool has_reals = is_floating(draft.dtype()) || is_complex(draft.dtype());
        const bool has_floating = has_floating_tensor(draft);
        size_t position = 0;
        for (const Arg& arg : draft.row().args()) {
            if (arg.kind != ArgKind::scalar) continue;
            // The factor of a sum of an integer tensor and a floating one may have a fraction.
            const bool is_real = has_reals || (arg.is_factor && has_floating);
            // Several numbers of one call differ.
            const size_t at = (chosen + 3 * position++) % kNumbers;
            if (draft.made().param(arg.name) != nullptr) continue;
            if (is_real) {
                double real = (arg.is_factor ? kFactorsOf : arg.is_exponent ? kExponents : kReals)[at];
                // Products of the largest numbers would overflow, or not, in one operation with the sum.
                const bool has_largest = draft.level(Factor::kValues) == kSpecialValues;
                if (arg.is_factor && has_largest && std::fabs(real) > 1) real = 1 / real;
                if (at >= kFirstInteger && real == std::trunc(real)) {
                    draft.set(arg.name, static_cast<int64_t>(real));
                } else {
                    draft.set(arg.name, real);
                }
                continue;
            }
            if (kFractions[at] != 0 && may_have_fraction(draft.row(), arg)) {
                draft.set(arg.name, kFractions[at]);
                continue;
            }
            if (const auto stored = stored_number(draft.dtype(), at); stored && is_stored(draft, arg)) {
                if (*stored == std::trunc(*stored)) {
                    draft.set(arg.name, static_cast<int64_t>(*stored));
                } else {
                    draft.set(arg.name, *stored);
                }
                continue;
            }
            int64_t whole = kWholes[at];
            if (arg.is_divisor && whole == 0) whole = 7;
            if (arg.is_exponent && whole < 0) whole = -whole;
            if (arg.is_exponent && whole >= 100 && draft.dtype() == Dtype::int64) whole += kLargeExponent;
            // A number that its dtype does not hold may be refused; a bound is the last integer then.
            if (size_of(draft.dtype()) == 1 && !arg.is_bound) whole = std::min<int64_t>(whole, 100);
            draft.set(arg.name, whole);
        }
    }

    /// In a third of the cases the output has the next wider dtype, if the row says that it may.
    static void widen_output(Draft& draft) {
        const bool may_be_wider = std::ranges::any_of(draft.row().args(), &Arg::may_be_wider);
        if (!may_be_wider || draft.level(Factor::kOther) != 2) return;
        const Dtype own = draft.dtype();
        if (is_floating(own) && own != Dtype::float64) {
            draft.set_hint("dtype", std::string(name(is_half(own) ? Dtype::float32 : Dtype::float64)));
        }
    }

    static void transpose(CaseTensor& tensor) {
        for (TensorSpec& spec : tensor.specs) {
            const size_t rank = spec.shape.size();
            if (rank < 2) continue;
            Shape swapped = spec.shape;
            std::swap(swapped[rank - 1], swapped[rank - 2]);
            spec.strides = contiguous_strides(swapped);
            std::swap(spec.strides[rank - 1], spec.strides[rank - 2]);
        }
    }

    /// Every second element, or every second one of the first dim that has several: every second sample of a batch.
    static void step(CaseTensor& tensor, bool is_outer) {
        for (TensorSpec& spec : tensor.specs) {
            spec.strides = contiguous_strides(spec.shape);
            for (size_t d = 0; d < spec.shape.size(); ++d) {
                spec.strides[d] *= 2;
                if (is_outer && spec.shape[d] > 1) break;
            }
        }
    }

    /// The first dim is the innermost; of images, the channels.
    static void turn(CaseTensor& tensor) {
        for (TensorSpec& spec : tensor.specs) {
            if (spec.shape.empty()) continue;
            const std::ptrdiff_t first = spec.shape.size() == 4 ? 1 : 0;
            Shape turned = spec.shape;
            std::rotate(turned.begin() + first, turned.begin() + first + 1, turned.end());
            spec.strides = contiguous_strides(turned);
            std::rotate(spec.strides.begin() + first, spec.strides.end() - 1, spec.strides.end());
        }
    }

    /// As batch and time are: the innermost dim stays dense.
    static void swap_outer(CaseTensor& tensor) {
        for (TensorSpec& spec : tensor.specs) {
            if (spec.shape.size() < 3) continue;
            Shape swapped = spec.shape;
            std::swap(swapped[0], swapped[1]);
            spec.strides = contiguous_strides(swapped);
            std::swap(spec.strides[0], spec.strides[1]);
        }
    }

    static void repeat(CaseTensor& tensor, Repeats repeats) {
        for (TensorSpec& spec : tensor.specs) spec.strides = repeating_strides(spec.shape, repeats);
    }

    /// The results have a layout of their own in a third of the cases whose first tensor has the plain one, and their
    /// gradients in another third.
    static void lay_out(Draft& draft, int64_t number) {
        LayoutOptions& all = draft.made().layout;
        all.results = draft.level(Factor::kLayout) == 0 && number % 3 == 1;
        all.strided = draft.level(Factor::kLayout) == 5;
        all.host = draft.level(Factor::kLayout) == 6;
        all.unaligned = draft.level(Factor::kLayout) == 7;
        std::vector<CaseTensor>& tensors = draft.made().tensors;
        if (tensors.empty()) return;
        CaseTensor& first = tensors.front();
        switch (draft.level(Factor::kLayout)) {
            case 1:
                transpose(first);
                break;
            case 2:
                step(first, draft.level(Factor::kNumbers) % 2 == 1);
                break;
            case 3:
                turn(first);
                break;
            case 4:
                swap_outer(first);
                break;
            default:
                break;
        }
        if (tensors.size() < 2) return;
        CaseTensor& last = tensors.back();
        // The in-place function of each tensor of a list changes all of them.
        const auto is_written = [&](const CaseTensor& tensor) {
            const bool is_listed = draft.row().rule == ShapeRule::listed && !tensor.list.empty();
            return is_listed || draft.arg_of(tensor)->is_inout;
        };
        const auto is_free = [](const Arg& arg) { return !arg.has_meaning && !arg.is_divisor && !arg.is_exponent; };
        switch (draft.level(Factor::kOtherLayout)) {
            case 1:
                return transpose(last);
            case 2:
                return step(last, draft.level(Factor::kNumbers) % 2 == 1);
            case kRepeats: {
                // No two elements of a tensor that is written may be one, nor of one whose values the draft states.
                const auto may_repeat = [&](const CaseTensor& tensor) {
                    return !is_written(tensor) && !tensor.absent && tensor.fill.fn != Fill::kValue;
                };
                if (!may_repeat(last)) return;
                const Repeats repeats = draft.level(Factor::kNumbers) % 2 == 1 ? Repeats::kLast : Repeats::kFirst;
                repeat(last, repeats);
                // Or both in the same way.
                const bool are_alike = first.specs.size() == 1 && last.specs.size() == 1 &&
                                       first.specs[0].shape == last.specs[0].shape && may_repeat(first);
                if (are_alike && draft.level(Factor::kOther) == 0) repeat(first, repeats);
                return;
            }
            case kOneObject: {
                // Elements of equal spec: x + x, x * x^T of a square x. No function takes values by their places from
                // the tensor that it changes.
                const ShapeRule rule = draft.row().rule;
                const bool puts_by_place = rule == ShapeRule::scatter || rule == ShapeRule::index_put;
                const bool may_be_one = !is_written(first) && !is_written(last) && first.specs == last.specs &&
                                        first.fill == last.fill && !puts_by_place && !first.absent && !last.absent &&
                                        !first.is_list && !last.is_list && is_free(*draft.arg_of(last));
                if (may_be_one) last.same_as = first.name;
                return;
            }
            default:
                return;
        }
    }

    /// Values that are written out are few, and of one tensor. Products of padding, or of a weight that is 0 or tiny,
    /// and infinity may be NaN; infinite parameters, moments and ignored rows give NaN or not, as the formula is
    /// written.
    static bool may_be_infinite(const Row& row, const CaseTensor& tensor, const Arg& arg) {
        constexpr std::array kUndefined = {
            ShapeRule::matmul,         ShapeRule::add_product,   ShapeRule::linear,      ShapeRule::convolution,
            ShapeRule::conv_transpose, ShapeRule::cross_entropy, ShapeRule::in_place,    ShapeRule::cdist,
            ShapeRule::gated_ffn,      ShapeRule::roi_align,     ShapeRule::grid_sample, ShapeRule::matmul_all_reduce};
        const bool is_parameter = row.family == Family::norm && !arg.answers_to("input");
        return std::ranges::find(kUndefined, row.rule) == kUndefined.end() && !is_parameter &&
               numel(tensor.specs.front().shape) <= kMostWritten && !tensor.is_list && !arg.has_meaning;
    }

    /// The first half of the elements is -inf, the others are small.
    static void fill_rows_of_infinity(CaseTensor& tensor) {
        const auto n = static_cast<size_t>(numel(tensor.specs.front().shape));
        tensor.fill = {Fill::kValue};
        tensor.values.assign(n, -kInfinity);
        for (size_t i = n / 2; i < n; ++i) tensor.values[i] = static_cast<double>(i % 7) - 3;
    }

    static void fill(Draft& draft) {
        for (CaseTensor& tensor : draft.made().tensors) {
            if (tensor.absent || tensor.fill != FillSpec{}) continue;
            const Dtype dtype = tensor.specs.front().dtype;
            const bool is_real = is_floating(dtype) || is_complex(dtype);
            const Arg& arg = *draft.arg_of(tensor);
            if (arg.is_exponent && has_large_exponents(draft, dtype)) {
                // Powers of integers wrap; int32 holds the exponents below that one.
                const auto first = static_cast<double>(dtype == Dtype::int64 ? kLargeExponent : kLargeExponent - 100);
                tensor.fill = {Fill::kRandint, first, first + 100};
            } else if (arg.is_exponent && has_negative_exponents(draft, dtype)) {
                tensor.fill = {Fill::kRandint, -4, 5};
            } else if (!is_real && (arg.is_divisor || arg.is_exponent)) {
                // Not 0, and not so large that every quotient is 0 or every power overflows. The least integer has no
                // quotient with -1.
                const bool is_negative = arg.is_divisor && is_integer(dtype) && !is_unsigned(dtype) &&
                                         draft.level(Factor::kNumbers) % 2 == 1;
                tensor.fill = is_negative ? FillSpec{Fill::kRandint, -100, -1}
                                          : FillSpec{Fill::kRandint, 1, arg.is_divisor ? 100.0 : 5.0};
            } else if (draft.level(Factor::kValues) == kRowsOfInfinity && is_floating(dtype) &&
                       may_be_infinite(draft.row(), tensor, arg)) {
                fill_rows_of_infinity(tensor);
            } else if (dtype != Dtype::boolean) {
                tensor.fill = is_real ? real_fill(draft, dtype) : whole_fill(draft, dtype);
            }
        }
    }

    /// Whether a tensor of exponents beside integers has large ones. A floating base would round them.
    static bool has_large_exponents(const Draft& draft, Dtype dtype) {
        const bool is_large = draft.level(Factor::kValues) == 4 || draft.level(Factor::kValues) == 12;
        const bool is_wide = dtype == Dtype::int64 || dtype == Dtype::int32;
        return is_large && is_wide && is_integer(draft.dtype()) && !has_fraction(draft);
    }

    /// Whether a tensor of exponents beside small integers has negative ones. Their powers are 1, -1 or 0.
    static bool has_negative_exponents(const Draft& draft, Dtype dtype) {
        constexpr size_t kNearZero = 6;
        const auto is_signed = [](Dtype each) { return is_integer(each) && !is_unsigned(each); };
        return draft.level(Factor::kValues) == kNearZero && is_signed(dtype) && is_signed(draft.dtype()) &&
               draft.made().tensors.size() <= 2;
    }

    /// Gradients of every size where the values of the tensors are near 1: results are linear in them, and stay finite.
    static FillSpec gradient_fill(const Draft& draft) {
        constexpr size_t kZerosAndOnes = 7, kNearOne = 12;
        const size_t values = draft.level(Factor::kValues);
        return {values == kZerosAndOnes || values == kNearOne ? Fill::kWide : Fill::kRandn};
    }

    /// `special` with the values of `plain` where 0 or a negative number has no meaning.
    static Case without_illegal(const Row& row, const Case& plain, Case special) {
        for (size_t i = 0; i < special.tensors.size(); ++i) {
            const CaseTensor& tensor = plain.tensors[i];
            const auto is_limited = [&](const Arg& arg) {
                return arg.answers_to(tensor.name) && (arg.is_divisor || arg.is_exponent);
            };
            if (tensor.fill.fn == Fill::kRandint && std::ranges::any_of(row.args(), is_limited)) {
                special.tensors[i].fill = tensor.fill;
            }
        }
        return special;
    }

    /// kSpecialValues is not among these: it depends on what the function does with its arguments.
    static FillSpec real_fill(const Draft& draft, Dtype dtype) {
        const double denormal = std::ldexp(1.0, format_of(component_of(dtype)).min_exponent + 1);
        switch (draft.level(Factor::kValues)) {
            case 1:
                return {Fill::kExact};
            case 3:
                return {Fill::kPositive};
            case 4:  // a variance that is small beside the mean
                return {Fill::kUniform, 1000, 1001};
            case 5:
                return {Fill::kUniform, -60'000, 60'000};
            case 6:
                return {Fill::kUniform, -1e-4, 1e-4};
            case 7:
                return {Fill::kMask};
            case 8:
                return {Fill::kWide};
            case 9:
                return {Fill::kTies};
            case 10:
                return {Fill::kCancelling};
            case 11:  // exp and its relatives near overflow, softmax of large logits
                return {Fill::kUniform, -110, 110};
            case 12:  // log near 0, powers near 1
                return {Fill::kUniform, 0.99, 1.01};
            case 13:
                return {Fill::kUniform, -denormal, denormal};
            default:
                return {Fill::kRandn};
        }
    }

    static bool has_floating_tensor(const Draft& draft) {
        return std::ranges::any_of(draft.made().tensors, [](const CaseTensor& tensor) {
            return !tensor.specs.empty() && is_floating(tensor.specs.front().dtype);
        });
    }

    /// Whether a number among the parameters is a floating one.
    static bool has_fraction(const Draft& draft) {
        return std::ranges::any_of(
            draft.made().params, [](const auto& param) { return std::holds_alternative<double>(param.second.value); });
    }

    /// Whether the function takes these integers as float32, which does not hold them all: one of a floating number, of
    /// a number with a fraction beside them, or a whole quotient by floating numbers.
    static bool is_converted(const Draft& draft, Dtype dtype) {
        const bool is_floating_quotient = draft.made().param("rounding_mode") != nullptr && has_floating_tensor(draft);
        const bool is_floating_function =
            draft.row().rule == ShapeRule::floating || has_fraction(draft) || is_floating_quotient;
        return is_floating_function && is_integer(dtype) && size_of(dtype) > 2;
    }

    static FillSpec whole_fill(const Draft& draft, Dtype dtype) {
        const bool converts = is_converted(draft, dtype);
        const double top = std::min(largest_of(dtype), converts ? 0x1p24 : kInfinity);
        const double bottom = dtype == Dtype::uint8 ? 0 : converts ? -top : -top - 1;
        switch (draft.level(Factor::kValues)) {
            case 1:
                return {Fill::kExact};
            case 3:
                return {Fill::kPositive};
            case 4:
                return {Fill::kRandint, top - 100, top};
            case 5:
                return {Fill::kUniform, -60'000, 60'000};
            case 6:
                return {Fill::kRandint, -2, 3};
            case 7:
                return {Fill::kMask};
            case 8:
                return converts ? FillSpec{Fill::kRandn} : FillSpec{Fill::kWide};
            case 9:
                return {Fill::kRandint, bottom, bottom + 100};
            case 10:
                return {Fill::kRandint, bottom, top};
            case 11:
                return converts ? FillSpec{Fill::kRandn} : FillSpec{Fill::kTies};
            default:
                return {Fill::kRandn};
        }
    }

    /// The largest number that an integer dtype holds; 2^53 for more than 53 bits, where float64 ends to hold them all.
    static double largest_of(Dtype dtype) {
        const size_t bits = 8 * size_of(dtype);
        return std::ldexp(1.0, static_cast<int>(std::min<size_t>(bits - (dtype == Dtype::uint8 ? 0 : 1), 53))) - 1;
    }

    std::vector<const Row*> rows_;
    std::vector<size_t> levels_;
    std::string_view op_;
    uint64_t seed_;
};

}  // namespace

std::string why_no_hard_cases(std::string_view op) {
    return hard_rows(op).empty() ? "the shapes of their arguments are not generated yet" : "";
}

std::vector<Case> hard_cases(std::string_view op, uint64_t seed, size_t most) {
    std::vector<Case> cases;
    const HardOperator generator(op, seed);
    if (generator.empty()) return cases;
    CoveringArray array = generator.array();
    for (int64_t number = 0; cases.size() < most; ++number) {
        const auto combination = array.next();
        if (!combination) break;
        if (auto made = generator.make(*combination, number)) cases.push_back(std::move(*made));
    }
    return cases;
}

std::vector<Case> plain_cases(std::string_view op) {
    constexpr size_t kInnerDim = 1;
    std::vector<Case> cases;
    const HardOperator generator(op, 0);
    for (size_t i = 0; i < generator.functions(); ++i) {
        Combination plain(kFactors, 0);
        plain[static_cast<size_t>(Factor::kRow)] = i;
        plain[static_cast<size_t>(Factor::kForm)] = kInnerDim;
        if (auto made = generator.make(plain, static_cast<int64_t>(i))) cases.push_back(std::move(*made));
    }
    return cases;
}

Result<Case> find_hard_case(std::string_view id) {
    const std::string prefix = std::string(kHardSuite) + "/";
    const size_t last = id.rfind('.'), middle = last == std::string_view::npos ? last : id.rfind('.', last - 1);
    uint64_t seed = 0;
    int64_t number = -1;
    if (id.starts_with(prefix) && middle != std::string_view::npos) {
        const auto seed_read = std::from_chars(id.data() + middle + 1, id.data() + last, seed);
        const auto number_read = std::from_chars(id.data() + last + 1, id.data() + id.size(), number);
        const bool is_read = seed_read.ec == std::errc() && seed_read.ptr == id.data() + last &&
                             number_read.ec == std::errc() && number_read.ptr == id.data() + id.size();
        if (!is_read) number = -1;
    }
    if (number < 0) {
        return bad_input(fmt::format(
            "'{}' is no id of a hard case: expected hard/<operator>.<seed>.<number>, such as hard/add.0.17", id));
    }
    const std::string op(id.substr(prefix.size(), middle - prefix.size()));
    if (rows_of(op).empty()) return unknown_operator(op);
    const HardOperator generator(rows_of(op).front()->op, seed);
    if (generator.empty()) return bad_input(fmt::format("no hard cases are made for {} yet", op));
    CoveringArray array = generator.array();
    std::optional<Combination> combination;
    for (int64_t i = 0; i <= number; ++i) combination = array.next();
    auto made = combination ? generator.make(*combination, number) : std::nullopt;
    if (!made) return bad_input(fmt::format("there is no hard case '{}': its number stands for none", id));
    return std::move(*made);
}

}  // namespace diopi
