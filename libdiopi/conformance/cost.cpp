#include "conformance/cost.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "call/tensors.hpp"
#include "cases/bind.hpp"
#include "core/convert.hpp"
#include "infer/infer.hpp"
#include "infer/work.hpp"
#include "step/slices.hpp"

namespace diopi {

namespace {

/// Plans the steps of a case like CaseSteps, on tensors without memory, and counts their work.
class Estimate {
 public:
    Estimate(const Case& c, const Backend& backend) : case_(c), backend_(backend), tensors_(shape_tensors(c)) {}

    CaseWork count() {
        auto rows = rows_for(case_);
        if (!rows.ok()) return {};
        const Row* first = rows->forward != nullptr ? rows->forward : rows->inplace;
        if (!backend_.implements(*first)) return {};
        count_forward(*first);
        if (case_.inplace && rows->inplace != nullptr && backend_.implements(*rows->inplace)) {
            count_forward(*rows->inplace);
        }
        const bool backward = case_.backward && rows->backward != nullptr && rows->saving != nullptr;
        if (backward && backend_.implements(*rows->backward)) count_backward(*rows);
        if (work_.steps > 0) count_inputs();
        return work_;
    }

 private:
    void count_inputs() {
        for (const CaseTensor& tensor : case_.tensors) {
            for (const TensorSpec& spec : tensor.specs) {
                if (tensor.absent) continue;
                work_.drawn += numel(spec.shape);
                if (is_half(spec.dtype)) work_.converted += numel(spec.shape);
            }
        }
    }

    void add_expected(const Call& call, int64_t elements, Dtype dtype) {
        const AccuracyClass accuracy = call.row->accuracy;
        work_.expected += elements;
        if (accuracy == AccuracyClass::C || accuracy == AccuracyClass::E) work_.functions += elements;
        if (is_half(dtype)) work_.converted += elements;
    }

    /// The operations that a call needs, or its bytes where it does little with each element: fewer than its results
    /// have terms where sums share them (cumsum), or one of several sums takes a term (scatter).
    static int64_t most_operations(Call call, const std::vector<OutputSpec>& outputs) {
        for (const OutputSpec& output : outputs) call.set_tensor(output.place(), without_memory(output.spec));
        const CallWork work = diopi::work_of(call);
        return static_cast<int64_t>(std::max(work.flops, work.bytes));
    }

    static int64_t bytes_of(const Tensor& tensor) {
        const int64_t elements = std::min(tensor.numel(), storage_extent(tensor.shape, tensor.strides));
        return elements * static_cast<int64_t>(size_of(tensor.dtype));
    }

    static int64_t wide_bytes_of(ShapeView shape, Dtype dtype) {
        return numel(shape) * static_cast<int64_t>(size_of(wide_dtype(dtype)));
    }

    void note_bytes(const Call& call, const std::vector<OutputSpec>& outputs) {
        StepBytes bytes;
        const bool has_slices = SlicedCall::create(call, outputs).has_value();
        for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
            if (!place.is_read()) return;
            const int64_t wide = wide_bytes_of(tensor->shape, tensor->dtype);
            if (place.is_written()) {
                bytes.changed += bytes_of(*tensor);
                bytes.expected += wide;
                return;
            }
            bytes.read += bytes_of(*tensor);
            const bool is_wide = wide_dtype(tensor->dtype) == tensor->dtype && tensor->is_contiguous();
            if (!is_wide && !has_slices) bytes.widened += wide;
        });
        for (const OutputSpec& output : outputs) {
            bytes.made += numel(output.spec.shape) * static_cast<int64_t>(size_of(output.spec.dtype));
            bytes.expected += wide_bytes_of(output.spec.shape, output.spec.dtype);
        }
        if (bytes.most() > work_.largest.most()) work_.largest = bytes;
    }

    void count_results(const Call& call, const std::vector<OutputSpec>& outputs) {
        ++work_.steps;
        note_bytes(call, outputs);
        int64_t multiply_adds = 0;
        for (const OutputSpec& output : outputs) {
            const int64_t elements = numel(output.spec.shape);
            const int64_t terms = accumulation_length(call, output);
            add_expected(call, elements, output.spec.dtype);
            if (terms > 1) multiply_adds += elements * terms;
        }
        work_.multiply_adds += std::min(multiply_adds, most_operations(call, outputs));
        for (size_t i = 0; i < call.args.size(); ++i) {
            const auto* tensor = std::get_if<TensorPtr>(&call.args[i]);
            const bool changed = call.row->args()[i].is_inout && tensor != nullptr && *tensor != nullptr;
            if (changed) add_expected(call, (*tensor)->numel(), (*tensor)->dtype);
        }
    }

    void count_forward(const Row& row) {
        auto call = bind_call(row, case_, tensors_);
        if (!call.ok()) return;
        const auto outputs = outputs_of(*call, case_);
        if (outputs.ok()) count_results(*call, *outputs);
    }

    void count_backward(const CaseRows& rows) {
        auto forward = bind_call(*rows.saving, case_, tensors_);
        if (!forward.ok()) return;
        const auto outputs = infer(*forward, hints_of(case_));
        if (!outputs.ok() || outputs->empty()) return;
        for (const OutputSpec& output : *outputs) forward->set_tensor(output.place(), without_memory(output.spec));
        const auto incoming = incoming_gradients(*rows.backward, *rows.saving, case_);
        if (!incoming.ok()) return;
        std::vector<ArgTensor> gradients;
        for (const IncomingGradient& gradient : *incoming) {
            gradients.push_back({gradient.arg, forward->tensor_at(gradient.output)});
        }
        const auto call = bind_backward(*rows.backward, case_, *forward, gradients);
        if (call.ok()) count_results(*call, wanted_gradients(*call, case_, *forward));
    }

    const Case& case_;
    const Backend& backend_;
    CaseTensors tensors_;
    CaseWork work_;
};

/// Rates in nanoseconds. scripts/fit_cost.py fits them to journals: here to those of the operator cases and of
/// ResNet-50.
struct Rates {
    double per_case = 0;
    double per_step = 0;
    double per_drawn = 0;
    double per_expected = 0;
    double per_function = 0;
    double per_converted = 0;
    double per_multiply_add = 0;
};

/// One worker (processor time) on a server with 2 cores of a Sapphire Rapids processor.
constexpr Rates kSapphireRapids = {15e3, 8.1e3, 5.2, 5.4, 20.7, 11.3, 0.11};

}  // namespace

CaseWork work_of(const Case& c, const Backend& backend) { return Estimate(c, backend).count(); }

int64_t cost_of(const Case& c, const Backend& backend) {
    const CaseWork work = work_of(c, backend);
    if (work.steps == 0) return kCostOfNothing;
    const Rates& rate = kSapphireRapids;
    return static_cast<int64_t>(rate.per_case + rate.per_step * static_cast<double>(work.steps) +
                                rate.per_drawn * static_cast<double>(work.drawn) +
                                rate.per_expected * static_cast<double>(work.expected) +
                                rate.per_function * static_cast<double>(work.functions) +
                                rate.per_converted * static_cast<double>(work.converted) +
                                rate.per_multiply_add * static_cast<double>(work.multiply_adds));
}

ShareOfWork::ShareOfWork(const std::vector<Case>& cases, const Backend& backend, const SkipReason& skip_reason,
                         int jobs)
    : jobs_(std::max(jobs, 1)) {
    std::vector<std::pair<double, std::string>> costs;
    for (const Case& c : cases) {
        const int64_t cost = skip_reason && skip_reason(c) ? kCostOfNothing : cost_of(c, backend);
        costs.emplace_back(static_cast<double>(cost), c.id());
        all_ += static_cast<double>(cost);
    }
    std::sort(costs.rbegin(), costs.rend());
    for (const auto& [cost, id] : costs) {
        places_.emplace(id, work_.size());
        work_.push_back({cost, false});
    }
}

double ShareOfWork::after(const std::string& case_id, double seconds) {
    const auto found = places_.find(case_id);
    if (found != places_.end() && !work_[found->second].is_done) {
        work_[found->second].is_done = true;
        done_ += work_[found->second].cost;
    }
    const double expected = seconds * 1e9 * jobs_;
    return std::clamp(expected, done_, done_ + running()) / std::max(all_, 1.0);
}

double ShareOfWork::running() {
    while (first_open_ < work_.size() && work_[first_open_].is_done) ++first_open_;
    double sum = 0;
    for (size_t i = first_open_, count = 0; i < work_.size() && count < static_cast<size_t>(jobs_); ++i) {
        if (work_[i].is_done) continue;
        sum += work_[i].cost;
        ++count;
    }
    return sum;
}

}  // namespace diopi
