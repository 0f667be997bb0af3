/// The tensors and parameters of hard cases of losses of each element, and of sequences.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

void set_reduction(Draft& draft) {
    constexpr const char* kReductions[] = {"mean", "sum", "none"};
    draft.set("reduction", std::string(kReductions[draft.level(Factor::kOther) % 3]));
}

/// Probabilities for the arguments whose values have a meaning, in some cases only 0 and 1.
bool lose_elements(Draft& draft) {
    constexpr size_t kZerosAndOnes = 7;
    const Shape shape = draft.shape();
    const size_t p = draft.pattern();
    Shape narrow = shape;
    if (p % 4 == 1) narrow.clear();
    if (p % 4 == 2 && !narrow.empty()) narrow.erase(narrow.begin());
    if (p % 4 == 3 && !narrow.empty()) narrow.front() = 1;
    if (p == 6 && !narrow.empty()) narrow.back() = 1;
    for (const Arg& arg : draft.row().args()) {
        if (!arg.is_tensor() || arg.is_output) continue;
        const bool is_weight = arg.optional;
        const bool is_certain = draft.level(Factor::kValues) == kZerosAndOnes;
        const FillSpec probability = is_certain ? FillSpec{Fill::kMask} : FillSpec{Fill::kUniform, 0.001, 0.999};
        const FillSpec values = arg.has_meaning ? probability : FillSpec{Fill::kRandn};
        draft.add(arg.name, is_weight ? narrow : shape, draft.dtype(),
                  is_weight ? FillSpec{Fill::kUniform, 0.1, 2} : values);
    }
    constexpr double kBetas[] = {1, 0, 0.1, 3};
    constexpr double kPowers[] = {2, 0, 0.5, 3, 1, 0, 2, 1}, kShares[] = {0.25, 0.25, 0, 1, -1, 0, -1, 0.25};
    draft.set("beta", kBetas[p % 4]);
    draft.set("gamma", kPowers[p]);
    draft.set("alpha", kShares[p]);
    set_reduction(draft);
    return true;
}

/// Some classes are impossible at some steps. The gradient there depends on how the formula is written.
void make_impossible(CaseTensor& log_probs) {
    const int64_t n = numel(log_probs.specs.front().shape);
    if (n > kMostWritten) return;
    log_probs.fill = {Fill::kValue};
    log_probs.requires_grad = false;
    for (int64_t i = 0; i < n; ++i) {
        const bool is_impossible = mixed(i, 9) == 0;
        log_probs.values.push_back(is_impossible ? -std::numeric_limits<double>::infinity()
                                                 : -0.25 - static_cast<double>(mixed(i, 16)) / 4);
    }
}

bool lose_sequence(Draft& draft) {
    const size_t p = draft.pattern(), form = draft.level(Factor::kForm);
    const int64_t size = std::max<int64_t>(draft.size(257), 2);
    // In a row of their own, or joined, with one to three for each sample.
    const bool is_joined = p % 2 == 1;
    // More labels, and states, than a block of a GPU has threads.
    const bool is_long = form == 6 && !is_joined;
    const int64_t steps = is_long ? 1'100 : form % 3 == 0 ? size : 12, samples = form % 3 == 1 ? size : is_long ? 2 : 3;
    const int64_t classes = form % 3 == 2 ? size : 7, labels = is_long ? 520 : 5;
    const auto whole = [&](std::string_view arg, Shape shape, int64_t low, int64_t end) {
        draft.add(arg, std::move(shape), Dtype::int64,
                  {Fill::kRandint, static_cast<double>(low), static_cast<double>(end)});
    };
    draft.add("log_probs", {steps, samples, classes}, draft.dtype(), {Fill::kLogSoftmax});
    draft.made().tensors.back().requires_grad = true;
    if (draft.level(Factor::kNumbers) % 5 == 4) make_impossible(draft.made().tensors.back());
    // The blank is no label: PyTorch reads others there.
    const int64_t first = p % 3 == 0 ? 1 : 0;
    std::vector<double> lengths;
    for (int64_t i = 0; i < samples; ++i) lengths.push_back(1 + static_cast<double>((i + 1) % 3));
    const auto joined = static_cast<int64_t>(std::accumulate(lengths.begin(), lengths.end(), 0.0));
    whole("targets", is_joined ? Shape{joined} : Shape{samples, labels}, first, classes - 1 + first);
    whole("input_lengths", {samples}, p < 4 && !is_long ? 1 : steps, steps + 1);
    whole("target_lengths", {samples}, is_long ? labels - 7 : p % 4 == 2 ? 0 : 1, labels + 1);
    if (is_joined) {
        draft.made().tensors.back().fill = {Fill::kValue};
        draft.made().tensors.back().values = std::move(lengths);
    }
    draft.set("blank", p % 3 == 0 ? int64_t{0} : classes - 1);
    draft.set("zero_infinity", p < 6);
    set_reduction(draft);
    return true;
}

}  // namespace

bool shape_loss_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::loss) return lose_elements(draft);
    return draft.row().rule == ShapeRule::ctc_loss && lose_sequence(draft);
}

}  // namespace diopi
