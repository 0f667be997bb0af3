#include "replay/capture_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "call/arg_kind.hpp"
#include "call/tensors.hpp"
#include "cases/bind.hpp"
#include "cases/recorded_call.hpp"
#include "core/one_thread.hpp"
#include "core/strided.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/tensor_text.hpp"

namespace diopi {

namespace {

/// Calls with the same text make one case. It has the function, the arguments, and the strides and offsets of tensors;
/// generators and values of tensors are left out.
std::string signature(const Call& call) {
    std::string text(call.row->function);
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (!call.row->args()[i].is_generator()) text += "; " + argument_text(call.args[i]);
    }
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
        text += fmt::format("; {} {}", tensor->strides, tensor->offset);
    });
    return text;
}

TensorSpec spec_of(const Tensor& tensor) { return {tensor.shape, tensor.dtype, tensor.strides}; }

/// Moves the call's outputs to their descriptions, and leaves its generators out.
void describe_outputs(RecordedCall& recorded) {
    const auto args = recorded.call.row->args();
    for_each_tensor(recorded.call, [&](const Place& place, const TensorPtr& tensor) {
        const auto arg = static_cast<size_t>(&place.arg - args.data());
        const auto position = static_cast<size_t>(place.position);
        if (place.arg.is_output) recorded.outputs.push_back({arg, spec_of(*tensor), true, position});
    });
    for (size_t i = 0; i < args.size(); ++i) {
        if (args[i].is_output || args[i].is_generator()) recorded.call.args[i] = {};
    }
}

/// Notes the outputs that have no meaning, as far as the function's shape rule tells.
void note_scratch(RecordedCall& recorded, const Case& c) {
    Call call = recorded.call;
    const auto inferred = outputs_of(call, c);
    if (!inferred.ok()) return;
    for (OutputSpec& output : recorded.outputs) {
        const auto known = std::ranges::find(*inferred, output.place(), &OutputSpec::place);
        if (known != inferred->end()) output.has_meaning = known->has_meaning;
    }
}

/// Replaces the call's tensors by copies with the same strides. A tensor that is two arguments is copied once.
Status copy_inputs(Call& call) {
    std::unordered_map<TensorPtr, TensorPtr> copies;
    Status status;
    for_each_tensor(call, [&](const Place&, TensorPtr& tensor) {
        TensorPtr& copy = copies[tensor];
        if (copy == nullptr && status.ok()) {
            auto made = make_tensor(cpu_device(), spec_of(*tensor));
            status = made.status();
            if (made.ok()) copy_strided(*tensor, **made);
            if (made.ok()) copy = *made;
        }
        tensor = copy;
    });
    return status;
}

/// Makes the cases of the calls that it sees, with copies of their inputs before they run.
class CaseMaker final : public Interceptor {
 public:
    explicit CaseMaker(const Capture& capture) : capture_(capture) {}

    Outcome around(Call& call, Context& context, const Next& next) override {
        if (call.origin != nullptr && seen_.insert(signature(call)).second) {
            if (Status s = add(call); !s.ok()) return {diopiErrorOccurred, s.message()};
        }
        return next(call, context);
    }

    [[nodiscard]] std::vector<Case> take() { return std::move(cases_); }

 private:
    Status add(const Call& call) {
        Case made;
        made.suite = capture_.name;
        made.op = call.row->op;
        made.index = static_cast<int64_t>(capture_.position(*call.origin));
        made.random = call.row->accuracy == AccuracyClass::F;
        made.varied = true;
        auto recorded = std::make_shared<RecordedCall>(RecordedCall{call, {}});
        recorded->call.origin = nullptr;
        describe_outputs(*recorded);
        note_scratch(*recorded, made);
        for_each_tensor(recorded->call, [&](const Place& place, const TensorPtr& tensor) {
            CaseTensor& described = made.tensors.emplace_back();
            described.name = place.name();
            described.specs = {spec_of(*tensor)};
        });
        if (Status s = copy_inputs(recorded->call); !s.ok()) return s;
        made.recorded = std::move(recorded);
        cases_.push_back(std::move(made));
        return {};
    }

    const Capture& capture_;
    std::set<std::string> seen_;
    std::vector<Case> cases_;
};

}  // namespace

Result<std::vector<Case>> capture_cases(const Capture& capture, CaptureReplay& replay) {
    const Backend& cpu = **find_backend("cpu");
    const OneThread one_thread;
    auto side = Side::create(cpu);
    if (!side.ok()) return side.error();
    CaseMaker maker(capture);
    Chain chain(cpu);
    chain.add(maker);
    if (Status s = replay.begin((*side)->context()); !s.ok()) return s.error();
    if (Status s = replay.run(chain, (*side)->context()); !s.ok()) return s.error();
    return maker.take();
}

}  // namespace diopi
