#include "replay/rows_of_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "check/figures.hpp"
#include "file/hdf5_file.hpp"
#include "intercept/tensor_text.hpp"

namespace diopi {

namespace {

/// "add.Tensor", "add.Tensor 1th output", "conv2d_backward 0th input grad": the names in the users' format.
std::string name_of(const std::string& overload, const ComparedTensor& tensor, bool is_backward) {
    switch (tensor.role) {
        case ComparedTensor::Role::kOutput:
            if (is_backward) return fmt::format("{} {}th input grad", overload, tensor.nth);
            return tensor.nth == 0 ? overload : fmt::format("{} {}th output", overload, tensor.nth);
        case ComparedTensor::Role::kInout:
            return fmt::format("{} {}th inplace", overload, tensor.nth);
        case ComparedTensor::Role::kInput:
            return fmt::format("{} {}th input", overload, tensor.nth);
    }
    return overload;
}

/// Lists the input tensors and numbers of a call, and its output tensors.
void describe(CompareRow& row, const Call& call) {
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        const std::string text = place.name() + ": " + seed_text(*tensor);
        if (place.is_read()) row.inputs.push_back(text);
        if (place.is_written()) row.outputs.push_back(text);
    });
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Value& value = call.args[i];
        if (std::holds_alternative<TensorPtr>(value) || std::holds_alternative<TensorList>(value)) continue;
        row.inputs.push_back(fmt::format("{}: {}", call.row->args()[i].name, argument_text(value)));
    }
}

/// NaN or infinity on one side only is a difference without a size: statistics, which leave such elements out, must not
/// hide it.
void take_not_finite(CompareRow& row, const Deviation& deviation) {
    if (row.allclose || (std::isfinite(deviation.worst_actual) && std::isfinite(deviation.worst_expected))) return;
    row.max_abs = std::fabs(deviation.worst_actual - deviation.worst_expected);
    row.max_rel = row.cosine = std::numeric_limits<double>::quiet_NaN();
}

/// Whether the tolerance takes every expected value for zero, and the sides differ by more than rounding that is
/// relative to the expected values: a gradient that is zero but for rounding has any cosine.
bool is_zero_up_to_rounding(const ComparedTensor& tensor) {
    if (!tensor.allclose || tensor.deviation.max_abs == 0) return false;
    const TensorFigures figures = figures_of(*tensor.expected);
    const double largest = std::max(std::fabs(figures.min), std::fabs(figures.max));
    return largest <= tensor.atol && tensor.deviation.max_abs > tensor.rtol * largest;
}

void take_figures(CompareRow& row, const ComparedTensor& tensor) {
    row.place = tensor.place;
    row.tensor = short_text(*tensor.actual);
    row.seed = seed_text(*tensor.actual);
    row.allclose = tensor.allclose;
    row.cosine = tensor.deviation.cosine;
    row.max_abs = tensor.deviation.max_abs;
    row.max_rel = tensor.deviation.max_rel;
    row.atol = tensor.atol;
    row.rtol = tensor.rtol;
    row.cast = tensor.cast;
    row.error = tensor.error;
    take_not_finite(row, tensor.deviation);
    if (is_zero_up_to_rounding(tensor)) row.cosine = row.max_rel = std::nullopt;
    const bool has_ulp = is_floating(tensor.actual->dtype) || is_complex(tensor.actual->dtype);
    const bool counted = tensor.exact != nullptr && tensor.role != ComparedTensor::Role::kInput && has_ulp &&
                         (tensor.expected->dtype == tensor.actual->dtype || !tensor.cast.empty()) &&
                         tensor.exact->numel() > 0;
    if (!counted) return;
    // Both errors are in ulp of the narrower dtype, so that they can be compared.
    const bool other_is_narrower = significand_bits(tensor.expected->dtype) < significand_bits(tensor.actual->dtype);
    const Dtype unit = other_is_narrower ? tensor.expected->dtype : tensor.actual->dtype;
    row.ulp = ulp_histogram(*tensor.actual, *tensor.exact, unit);
    row.other_ulp = ulp_histogram(*tensor.expected, *tensor.exact, unit);
}

/// Saves both sides of a call that differs: groups "actual" and "expected", with a dataset per tensor.
Status save(const std::string& folder, const std::string& where, const ComparedCall& compared) {
    std::string stem = where;
    std::ranges::replace_if(
        stem, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; }, '-');
    auto file = Hdf5File::create(fmt::format("{}/{}.h5", folder, stem));
    if (!file.ok()) return file.status();
    Status s = file->write_attribute("/", "call", where);
    if (s.ok()) s = file->write_attribute("/", "function", compared.call.row->function);
    if (s.ok()) s = file->write_attribute("/", "overload", name_of(compared.call));
    for (const ComparedTensor& tensor : compared.tensors) {
        if (s.ok()) s = file->write_tensor("/actual", tensor.place, *tensor.actual);
        if (s.ok()) s = file->write_tensor("/expected", tensor.place, *tensor.expected);
        if (s.ok() && tensor.exact) s = file->write_tensor("/exact", tensor.place, *tensor.exact);
    }
    return s.ok() ? file->finish() : s;
}

}  // namespace

CompareRow row_of(const Call& call, const std::string& where) {
    CompareRow row;
    row.where = where;
    row.overload = name_of(call);
    row.function = call.row->function;
    row.name = row.overload;
    if (call.origin == nullptr) return row;
    row.forward_id = call.origin->forward_id;
    row.layer = call.origin->layer;
    return row;
}

Status report_tensors(const ComparedCall& compared, const CompareRow& row, const std::string& save_folder,
                      const std::function<void(const CompareRow&)>& on_row) {
    const bool is_backward = compared.call.row->variant == Variant::backward;
    for (const ComparedTensor& tensor : compared.tensors) {
        CompareRow of_tensor = row;
        take_figures(of_tensor, tensor);
        of_tensor.name = name_of(row.overload, tensor, is_backward);
        if (!tensor.allclose) describe(of_tensor, compared.call);
        on_row(of_tensor);
    }
    if (save_folder.empty() || compared.allclose()) return {};
    return save(save_folder, row.where, compared);
}

}  // namespace diopi
