/// The tensors and parameters of hard cases of normalisation by the root mean square.
#include <algorithm>
#include <array>

#include "hard/draft.hpp"

namespace diopi {

namespace {

constexpr std::array<double, kPatterns> kRmsAddends = {1e-5, 1e-6, 1e-3, 0, 1, 1e-12, 1e-4, 0.01};

bool normalise_rows(Draft& draft) {
    const Shape shape = draft.shape(1);
    const size_t p = draft.pattern(), count = std::min(shape.size(), 1 + p % 3);
    const Shape last(shape.end() - static_cast<std::ptrdiff_t>(count), shape.end());
    draft.add("input", shape);
    draft.add("weight", last);
    draft.add("bias", last);
    draft.set("normalized_shape", last);
    draft.set("eps", kRmsAddends[p]);
    return true;
}

bool normalise_in_place(Draft& draft) {
    Shape shape = draft.shape(2);
    while (shape.size() > 2) {
        shape[1] *= shape[0];
        shape.erase(shape.begin());
    }
    draft.add("inoutput", shape);
    draft.add("residual", shape);
    draft.add("bias", {shape[1]});
    draft.add("scale", {shape[1]});
    draft.set("eps", kRmsAddends[draft.pattern()]);
    return true;
}

}  // namespace

bool shape_attention_norm_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::rms_norm) return normalise_rows(draft);
    return draft.row().rule == ShapeRule::rms_norm_in_place && normalise_in_place(draft);
}

}  // namespace diopi
