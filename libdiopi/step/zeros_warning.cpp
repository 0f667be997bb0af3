#include "step/zeros_warning.hpp"

#include <algorithm>

#include "check/figures.hpp"

namespace diopi {

namespace {

/// With a larger share of zeros a correct output proves little, if it has at least this many elements.
constexpr double kZeroShare = 0.3;
constexpr int64_t kZeroNumel = 20;

/// The share for the step's floating input with the most zeros.
double share_of_zero_inputs(const Step& step) {
    double most = 0;
    for (size_t i = 0; i < step.call.args.size(); ++i) {
        const auto* tensor = std::get_if<TensorPtr>(&step.call.args[i]);
        if (tensor == nullptr || *tensor == nullptr || step.call.row->args()[i].is_output) continue;
        if (!is_floating((*tensor)->dtype) || (*tensor)->numel() == 0 || (*tensor)->is_sparse()) continue;
        most = std::max(most, share_of_zeros(**tensor));
    }
    return most;
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100)) + "%"; }

}  // namespace

std::string zeros_warning(const Step& step, const ArgTensor& value, const OutputSpec& output) {
    const bool searched = is_floating(output.spec.dtype) && !step.call.row->traits.zeros &&
                          value.tensor->dtype == Dtype::float64 && value.tensor->numel() >= kZeroNumel;
    if (!searched) return "";
    const double zeros = share_of_zeros(*value.tensor);
    if (zeros <= kZeroShare || share_of_zero_inputs(step) >= kZeroShare / 2) return "";
    return percent(zeros) + " of the expected values are 0: a fault may hide among them";
}

}  // namespace diopi
