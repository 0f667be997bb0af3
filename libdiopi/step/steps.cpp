#include "step/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "call/tensors.hpp"
#include "cases/draw.hpp"
#include "cases/layout.hpp"
#include "cases/recorded_call.hpp"
#include "check/verdict.hpp"
#include "core/convert.hpp"
#include "core/format.hpp"
#include "core/half.hpp"
#include "step/duplicates.hpp"

namespace diopi {

namespace {

/// The expected value in the output's own dtype, like a framework passes it to the backward function.
Result<TensorPtr> rounded(const TensorPtr& wide, Dtype dtype, Device& memory) {
    const bool is_there = wide->dtype == dtype && wide->is_contiguous() && &memory == &cpu_device();
    if (is_there) return wide;
    auto out = make_tensor(memory, {wide->shape, dtype, {}});
    if (out.ok()) narrow(*wide, **out);
    return out;
}

/// Whether both are floating, both complex, both integers, or both bool.
bool are_of_one_kind(Dtype a, Dtype b) {
    return is_floating(a) == is_floating(b) && is_complex(a) == is_complex(b) && is_integer(a) == is_integer(b);
}

/// The step that the function of the row makes.
const char* step_of(const Row& row) {
    if (row.variant == Variant::inplace) return "inplace";
    return row.variant == Variant::backward ? "backward" : "forward";
}

std::vector<Dtype> tensor_dtypes(const Call& call) {
    std::vector<Dtype> dtypes;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) { dtypes.push_back(tensor->dtype); });
    return dtypes;
}

/// Whether the gradients' function reads opaque tensors.
bool reads_opaque(const Row& backward) {
    return std::ranges::any_of(backward.args(), [](const Arg& arg) { return arg.is_opaque && !arg.is_output; });
}

const ArgTensor* find(const std::vector<ArgTensor>& list, ArgPlace place) {
    const auto found = std::ranges::find(list, place, &ArgTensor::place);
    return found == list.end() ? nullptr : &*found;
}

}  // namespace

std::vector<ArgTensor> opaque_for(const Row& backward, const Row& forward, const std::vector<ArgTensor>& results) {
    std::vector<ArgTensor> taken;
    for (const ArgTensor& result : results) {
        const Arg& made = forward.args()[result.arg];
        const int arg = made.is_opaque ? backward.find(made.name) : -1;
        if (arg >= 0) taken.push_back({static_cast<size_t>(arg), result.tensor});
    }
    return taken;
}

Call Step::call_of_reference() const {
    Call own = call;
    for (size_t i = 0; i < own.args.size(); ++i) {
        if (own.row->args()[i].is_opaque) own.args[i] = {};
    }
    for (const ArgTensor& made : made_by_reference) own.set_tensor(made.place(), made.tensor);
    return own;
}

std::optional<OutputSpec> Step::result_at(ArgPlace place) const {
    const auto found = std::ranges::find(outputs, place, &OutputSpec::place);
    if (found != outputs.end()) return *found;
    const auto number = place.position == 0 ? given_number(call, place.arg) : std::nullopt;
    if (number) return OutputSpec{place.arg, {{}, number->dtype, {}}};
    const Arg& arg = call.row->args()[place.arg];
    const TensorPtr tensor = arg.is_inout ? call.tensor_at(place) : nullptr;
    if (tensor == nullptr) return std::nullopt;
    return OutputSpec{place.arg, {tensor->shape, tensor->dtype, {}}, arg.zeros_of.empty(), place.position};
}

Dtype Step::precision_of(const OutputSpec& output) const {
    if (!call.row->args()[output.arg].gives_number) return output.spec.dtype;
    std::optional<Dtype> widest;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (place.is_read()) widest = promote(widest.value_or(tensor->dtype), tensor->dtype);
    });
    return widest.value_or(output.spec.dtype);
}

std::vector<OutputSpec> Step::results() const {
    std::vector<OutputSpec> results;
    for (size_t i = 0; i < call.args.size(); ++i) {
        for (ArgPlace place(i); const auto result = result_at(place); ++place.position) {
            results.push_back(*result);
            if (call.row->args()[i].is_tensor()) break;
        }
    }
    return results;
}

namespace {

/// Returns what the reference computed, or null where it has no answer. Throws bad_alloc where memory ran out: without
/// these numbers a correct result may exceed the remaining bounds.
TensorPtr if_known(const Result<TensorPtr>& computed) {
    if (computed.ok()) return *computed;
    if (failure_of(computed.error()).kind == FailureKind::kOutOfMemory) throw std::bad_alloc();
    return nullptr;
}

/// In which a plain computation of the output works.
Dtype working_dtype(const Step& step, const OutputSpec& output) {
    return step.precision_of(output) == Dtype::float64 ? Dtype::float64 : Dtype::float32;
}

}  // namespace

TensorPtr Expectations::magnitude(const Step& step, const OutputSpec& output, Oracle::Terms terms) {
    return if_known(oracle_.magnitude(step.call_of_reference(), output, terms));
}

TensorPtr Expectations::error_bounds(const Step& step, const OutputSpec& output) {
    const Dtype working = working_dtype(step, output);
    return if_known(oracle_.error_bounds(step.call_of_reference(), step.outputs, output.place(), working));
}

TensorPtr Expectations::error_bounds(const Step& step, const OutputSpec& output, const SlicedCall& parts,
                                     int64_t slice) {
    return if_known(oracle_.error_bounds(parts, slice, output.place(), working_dtype(step, output)));
}

TensorPtr Expectations::magnitude_in_tf32(const Step& step, const OutputSpec& output, double roundoff) {
    return if_known(oracle_.magnitude_in_tf32(step.call_of_reference(), output, roundoff));
}

std::string function_of(const std::string& op, std::string_view step) {
    if (step == "inplace") return op + "_inp";
    return step == "backward" ? op + "_backward" : op;
}

Result<std::unique_ptr<CaseSteps>> CaseSteps::create(const Case& c, uint64_t seed, const CaseBaseline* baseline,
                                                     Device& memory) {
    std::unique_ptr<CaseSteps> steps(new CaseSteps(c, seed, baseline, memory));
    auto rows = rows_for(c);
    if (!rows.ok()) return rows.error();
    steps->rows_ = *rows;
    if (!c.other_params.empty()) {
        steps->other_case_ = c;
        steps->other_case_->params = c.other_params;
    }
    // Neither the inputs nor the words of such a case are known yet.
    const auto is_unknown = [](const Row* row) { return row == nullptr || row->rule == ShapeRule::unknown; };
    if (is_unknown(rows->forward) && is_unknown(rows->inplace)) {
        return undescribed(rows->forward != nullptr ? *rows->forward : *rows->inplace);
    }
    if (Status s = steps->take_inputs(seed); !s.ok()) return s.error();
    return steps;
}

Error CaseSteps::other_kind(const std::string& input, Dtype stored, Dtype wanted) const {
    return bad_input(
        fmt::format("{}: the baseline of {}: input '{}' is stored as {}, and the case has {}; store it in "
                    "the dtype of the case",
                    baseline_->file, case_->id(), input, name(stored), name(wanted)));
}

Status CaseSteps::take_inputs(uint64_t seed) {
    if (case_->recorded != nullptr) return {};
    for (const CaseTensor& tensor : case_->tensors) {
        const auto other = std::ranges::find(tensors_, tensor.same_as, [](const auto& each) { return each.first; });
        if (!tensor.absent && other != tensors_.end()) {
            tensors_.emplace_back(tensor.name, std::vector(other->second));
            continue;
        }
        auto drawn = draw(tensor, case_->key(seed), *memory_);
        if (!drawn.ok()) return drawn.error();
        tensors_.emplace_back(tensor.name, std::move(*drawn));
    }
    auto call = bind_call(rows_.forward != nullptr ? *rows_.forward : *rows_.inplace, *case_, tensors_);
    if (!call.ok()) return call.error();
    if (Status s = agree_on_duplicates(*call); !s.ok()) return s;
    return baseline_ == nullptr ? Status() : take_stored_inputs();
}

Status CaseSteps::take_stored_inputs() {
    for (size_t k = 0; k < tensors_.size(); ++k) {
        const CaseTensor& tensor = case_->tensors[k];
        TensorList& drawn = tensors_[k].second;
        const auto other = std::ranges::find(tensors_, tensor.same_as, [](const auto& each) { return each.first; });
        if (!tensor.absent && other != tensors_.end()) {
            drawn = other->second;
            continue;
        }
        for (size_t i = 0; i < drawn.size(); ++i) {
            const std::string name = tensor.is_list ? tensor.name + "." + std::to_string(i) : tensor.name;
            const auto stored = std::ranges::find(baseline_->inputs, name, &NamedTensor::name);
            if (stored != baseline_->inputs.end()) {
                const Dtype wanted = drawn[i]->dtype;
                if (!are_of_one_kind(stored->dtype, wanted)) return other_kind(name, stored->dtype, wanted);
                drawn[i] = stored->tensor;
            } else if (Status s = check_input(*baseline_, name, *drawn[i]); !s.ok()) {
                return s;
            }
        }
    }
    return {};
}

std::vector<std::string> CaseSteps::names() const {
    if (case_->recorded != nullptr) return {std::string(step_of(*case_->recorded->call.row))};
    std::vector<std::string> names = {"forward"};
    if (case_->inplace) names.emplace_back("inplace");
    if (case_->backward) names.emplace_back("backward");
    return names;
}

/// Gives the numbers of a hard case other dtypes of their kind that hold them: a third has float32 and int32, another
/// one the dtype of the call's first floating tensor, and int16.
void CaseSteps::vary_numbers(Call& call) const {
    if (case_->suite != kHardSuite) return;
    const uint64_t drawn = case_->key(0) / 16 % 3;
    if (drawn == 0) return;
    Dtype real = Dtype::float32;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
        if (drawn == 2 && real == Dtype::float32 && tensor != nullptr && is_floating(tensor->dtype))
            real = tensor->dtype;
    });
    const Dtype whole = drawn == 1 ? Dtype::int32 : Dtype::int16;
    for (Value& value : call.args) {
        auto* number = std::get_if<Scalar>(&value);
        if (number == nullptr) continue;
        if (number->dtype == Dtype::float64) {
            const Format format = format_of(real);
            const double held =
                round_to_precision(number->real, format.significand, format.min_exponent, format.largest);
            if (held == number->real || std::isnan(number->real)) number->dtype = real;
        } else if (number->dtype == Dtype::int64 && wrap_integer(number->integer, whole) == number->integer) {
            number->dtype = whole;
        }
    }
}

void CaseSteps::lend_generators(Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (arg.kind == ArgKind::generator) call.args[i] = &generator_;
        if (arg.kind != ArgKind::generators || arg.one_for_each < 0) continue;
        const auto count = std::get<int64_t>(call.args[static_cast<size_t>(arg.one_for_each)]);
        GeneratorList handles;
        for (int64_t k = 0; k < count; ++k) {
            // A seed of its own, so that no sequence draws the numbers of another one.
            const uint64_t seed = generator_.seed + static_cast<uint64_t>(k);
            handles.push_back(listed_generators_.emplace_back(std::make_unique<Generator>(Generator{seed, 0})).get());
        }
        call.args[i] = std::move(handles);
    }
}

void CaseSteps::end_plans() {
    tensors_.clear();
    plans_more_ = false;
}

Result<Step> CaseSteps::plan(const std::string& name) {
    if (case_->recorded != nullptr) return plan_forward(*rows_.forward, name);
    if (name == "backward") return plan_backward();
    const bool direct = name == "forward";
    const Row* row = direct && rows_.forward != nullptr ? rows_.forward : rows_.inplace;
    if (row == nullptr) return not_implemented("the standard has no " + name + " function of " + case_->op);
    return plan_forward(*row, name);
}

Result<Step> CaseSteps::plan_forward(const Row& row, const std::string& name) {
    auto call = bind_call(row, *case_, tensors_);
    if (!call.ok()) return call.error();
    auto outputs = outputs_of(*call, *case_);
    if (!outputs.ok()) return outputs.error();
    lend_generators(*call);
    vary_numbers(*call);
    Step step{name, function_of(case_->op, name), std::move(*call), std::move(*outputs)};
    step.other_call = other_call(row, step.outputs);
    return step;
}

std::optional<Call> CaseSteps::other_call(const Row& row, const std::vector<OutputSpec>& outputs) const {
    if (!other_case_) return {};
    auto call = bind_call(row, *other_case_, tensors_);
    if (!call.ok()) return {};
    const auto others = outputs_of(*call, *other_case_);
    return others.ok() && *others == outputs ? std::optional(std::move(*call)) : std::nullopt;
}

Result<TensorPtr> CaseSteps::incoming_gradient(const IncomingGradient& incoming, const TensorSpec& spec) const {
    constexpr Fill kGradientFills[] = {Fill::kRandn, Fill::kPositive, Fill::kExact};
    const Arg& arg = rows_.backward->args()[incoming.arg];
    if (!incoming.flows && arg.optional) return TensorPtr();
    CaseTensor gradient;
    gradient.name = arg.answers_to("grad_output") ? "grad_output" : arg.name;
    gradient.specs = {spec};
    gradient.fill = case_->grad_fill;
    if (case_->grad_repeats != Repeats::kNone) {
        gradient.specs.front().strides = repeating_strides(spec.shape, case_->grad_repeats);
    }
    const Fill varied = case_->tensors.empty() ? Fill::kOnes : case_->tensors.front().fill.fn;
    const bool as_varied = case_->varied && std::ranges::find(kGradientFills, varied) != std::end(kGradientFills);
    if (as_varied) gradient.fill = {varied};
    if (!incoming.flows) gradient.fill = {Fill::kZeros};
    auto drawn = draw(gradient, case_->key(seed_), *memory_);
    if (!drawn.ok()) return drawn.error();
    return drawn->front();
}

Result<std::vector<ArgTensor>> CaseSteps::gradients_for(const Step& forward) const {
    auto incoming = incoming_gradients(*rows_.backward, *rows_.saving, *case_);
    if (!incoming.ok()) return incoming.error();
    std::vector<ArgTensor> gradients;
    for (const IncomingGradient& gradient : *incoming) {
        const auto output = std::ranges::find(forward.outputs, gradient.output, &OutputSpec::arg);
        if (output == forward.outputs.end()) continue;
        auto tensor = incoming_gradient(gradient, output->spec);
        if (!tensor.ok()) return tensor.error();
        gradients.push_back({gradient.arg, std::move(*tensor)});
    }
    return gradients;
}

Result<Step> CaseSteps::plan_backward() {
    if (rows_.backward == nullptr || rows_.saving == nullptr) {
        return not_implemented("the standard has no backward function of " + case_->op);
    }
    auto forward = plan_forward(*rows_.saving, "forward");
    if (!forward.ok()) return forward;
    if (forward->outputs.empty()) return not_implemented("the backward of an operator without outputs");
    const bool shared = rows_.saving == rows_.forward && forward_.has_value();
    auto saved = shared ? Result<std::vector<ArgTensor>>(*forward_) : oracle_.run(forward->call, forward->outputs);
    if (!saved.ok()) return saved.error();
    std::vector<ArgTensor> made_by_reference = opaque_for(*rows_.backward, *rows_.saving, *saved);
    const auto maker = reads_opaque(*rows_.backward) ? std::make_shared<const Step>(*forward) : nullptr;
    for (const OutputSpec& output : forward->outputs) {
        if (rows_.saving->args()[output.arg].is_opaque) continue;
        const ArgTensor* value = find(*saved, output.place());
        if (value == nullptr) return internal_error("the oracle has no output for a saved tensor");
        auto tensor = rounded(value->tensor, output.spec.dtype, *memory_);
        if (!tensor.ok()) return tensor.error();
        forward->call.set_tensor(output.place(), *tensor);
        if (forward->other_call) forward->other_call->set_tensor(output.place(), *tensor);
    }
    // In the last step the expected outputs of the forward call are not needed again.
    saved = std::vector<ArgTensor>{};
    forward_.reset();
    auto gradients = gradients_for(*forward);
    if (!gradients.ok()) return gradients.error();
    auto call = bind_backward(*rows_.backward, *case_, forward->call, *gradients);
    if (!call.ok()) return call.error();
    lend_generators(*call);
    vary_numbers(*call);
    std::vector<OutputSpec> outputs = wanted_gradients(*call, *case_, forward->call);
    Step step{"backward", function_of(case_->op, "backward"), std::move(*call), std::move(outputs)};
    step.maker = maker;
    step.made_by_reference = std::move(made_by_reference);
    if (forward->other_call) {
        auto other = bind_backward(*rows_.backward, *other_case_, *forward->other_call, *gradients);
        if (other.ok()) step.other_call = std::move(*other);
    }
    if (step.other_call) {
        for_each_tensor(*step.other_call, [&](const Place&, const TensorPtr& tensor) {
            const auto is_it = [&](const OutputSpec& saved) {
                return forward->call.tensor_at(saved.place()) == tensor;
            };
            if (std::ranges::any_of(forward->outputs, is_it)) step.other_is_consistent = false;
        });
    }
    return step;
}

Result<std::vector<ArgTensor>> CaseSteps::stored(const Step& step, const std::vector<NamedTensor>& values) const {
    const auto refuse = [&](const std::string& what) {
        return bad_input(baseline_->file + ": the baseline of " + case_->id() + ", " + step.name + ": " + what);
    };
    std::vector<ArgTensor> expected;
    for (const NamedTensor& named : values) {
        const auto place = step.call.place_of(named.name);
        if (!place || !step.result_at(*place)) {
            return refuse(std::string(step.call.row->function) + " has no output '" + named.name + "'");
        }
        const TensorSpec spec = step.result_at(*place)->spec;
        if (named.tensor->shape != spec.shape) {
            return refuse(fmt::format("output '{}' has shape {}, and {} gives {}", named.name,
                                      to_string(named.tensor->shape), step.call.row->function, to_string(spec.shape)));
        }
        if (is_complex(named.tensor->dtype) && !is_complex(spec.dtype)) {
            return refuse(fmt::format("output '{}' is complex, and {} gives {}", named.name, step.call.row->function,
                                      name(spec.dtype)));
        }
        expected.push_back({place->arg, named.tensor, place->position});
    }
    for (const OutputSpec& result : step.results()) {
        if (!result.has_meaning || find(expected, result.place()) != nullptr) continue;
        return refuse("it has no expected values of output '" + step.call.name_of(result.place()) + "'");
    }
    return expected;
}

Result<std::vector<ArgTensor>> CaseSteps::expected(const Step& step) {
    if (case_->random && step.call.row->accuracy == AccuracyClass::F) return std::vector<ArgTensor>{};
    if (baseline_ != nullptr) {
        const auto known = baseline_->expected.find(step.name);
        if (known != baseline_->expected.end()) return stored(step, known->second);
    }
    // An adapted call may have other dtypes than that of the forward step.
    const bool equals_forward = step.name == "inplace" && forward_.has_value() && !forward_outputs_.empty() &&
                                tensor_dtypes(step.call) == forward_dtypes_;
    if (equals_forward) {
        const auto* input = std::get_if<TensorPtr>(&step.call.args.front());
        const ArgTensor* out = find(*forward_, forward_outputs_.front().place());
        if (input != nullptr && out != nullptr && wide_dtype((*input)->dtype) == out->tensor->dtype) {
            return std::vector<ArgTensor>{{0, out->tensor}};
        }
    }
    auto computed = oracle_.run(step.call_of_reference(), step.outputs);
    if (!computed.ok()) return computed;
    if (!case_->random && step.name == "forward" && plans_more_) {
        forward_ = *computed;
        forward_outputs_ = step.outputs;
        forward_dtypes_ = tensor_dtypes(step.call);
    }
    // Neither opaque tensors nor what a law speaks of have expected values.
    const Row& row = *step.call.row;
    std::erase_if(*computed, [&](const ArgTensor& value) {
        return row.args()[value.arg].is_opaque || (case_->random && static_cast<int>(value.arg) == row.law.output);
    });
    return computed;
}

}  // namespace diopi
