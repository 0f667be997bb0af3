#include "step/bad_call.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "call/chain.hpp"
#include "call/tensors.hpp"
#include "core/stopwatch.hpp"
#include "core/strided.hpp"
#include "infer/infer.hpp"
#include "step/findings.hpp"
#include "step/placed_call.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

using Change = BadCall::Change;

/// No enumeration of the standard has this value.
constexpr int64_t kNoEnumerator = 7;
constexpr int64_t kHuge = int64_t{1} << 40;
/// No tensor of a plain call has so many elements, and int32 holds it.
constexpr int64_t kBeyond = int64_t{1} << 30;

/// The output at an argument, of a Step or a const one; null if there is none.
template <class AnyStep>
auto* output_at(AnyStep& step, size_t arg) {
    const auto found = std::ranges::find(step.outputs, arg, &OutputSpec::arg);
    return found == step.outputs.end() ? nullptr : &*found;
}

/// The tensor, or the first one of a list, of a Value or a const one; null if the argument has none.
template <class AnyValue>
auto* tensor_at(AnyValue& value) {
    if (auto* tensor = std::get_if<TensorPtr>(&value)) return *tensor == nullptr ? nullptr : tensor;
    auto* list = std::get_if<TensorList>(&value);
    return list == nullptr || list->empty() || list->front() == nullptr ? nullptr : &list->front();
}

void lengthen(Shape& shape) {
    if (!shape.empty()) ++shape.back();
}

/// Zeros: as indices they are in range.
TensorPtr zeros(const TensorSpec& spec) {
    auto made = make_tensor(cpu_device(), spec);
    if (!made.ok()) return nullptr;
    if (const Storage& storage = (*made)->storage; storage.nbytes > 0) {
        std::memset(storage.memory.get(), 0, storage.nbytes);
    }
    return *made;
}

/// The tensor with another first element; of int32 or int64.
TensorPtr with_first(const Tensor& tensor, int64_t number) {
    auto made = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!made.ok()) return nullptr;
    copy_strided(tensor, **made);
    if (tensor.dtype == Dtype::int64)
        *(*made)->data_as<int64_t>() = number;
    else
        *(*made)->data_as<int32_t>() = static_cast<int32_t>(number);
    return *made;
}

void set_number(Value& value, int64_t number) {
    if (auto* list = std::get_if<IntList>(&value)) {
        if (list->empty()) list->push_back(0);
        list->front() = number;
    } else if (auto* own = std::get_if<int64_t>(&value)) {
        *own = number;
    }
}

bool is_enumeration(ArgKind kind) {
    return kind == ArgKind::reduction || kind == ArgKind::round_mode || kind == ArgKind::memory_format;
}

/// A result may be converted to a dtype of its kind or of a higher one.
int kind_of(Dtype dtype) {
    if (is_complex(dtype)) return 3;
    if (is_floating(dtype)) return 2;
    return dtype == Dtype::boolean ? 0 : 1;
}

/// Whether the rules of shapes refuse the changed call, or want another output than it has. They do not describe every
/// gradient.
bool is_refused(const Step& changed, const ResultHints& hints) {
    Call call = changed.call;
    const auto wanted = infer(call, hints);
    if (!wanted.ok()) return wanted.error().code == Errc::kBadInput;
    return std::ranges::any_of(changed.outputs, [&](const OutputSpec& given) {
        if (call.row->args()[given.arg].is_made) return false;  // the function gives it the shape that follows
        const auto result = std::ranges::find(*wanted, given.place(), &OutputSpec::place);
        return result != wanted->end() &&
               (result->spec.shape != given.spec.shape || kind_of(result->spec.dtype) > kind_of(given.spec.dtype));
    });
}

/// Small whole numbers in place of floating ones, in the call and in its results.
void make_whole(Step& step) {
    for_each_tensor(step.call, [](const Place&, TensorPtr& tensor) {
        if (!is_floating(tensor->dtype)) return;
        if (const TensorPtr whole = zeros({tensor->shape, Dtype::int32, {}}); whole != nullptr) tensor = whole;
    });
    for (OutputSpec& output : step.outputs) {
        if (is_floating(output.spec.dtype)) output.spec.dtype = Dtype::int32;
    }
}

BadCall change_of(const Arg& arg, Change change, Dtype dtype = Dtype::float32, int64_t number = 0) {
    return {"", std::string(arg.name), change, dtype, number};
}

/// Whether only the output tells the function its shape: normal numbers of a mean and a deviation.
bool gives_shape(const Call& call) {
    const auto args = call.row->args();
    return call.row->rule == ShapeRule::drawn &&
           std::ranges::none_of(args, [](const Arg& arg) { return arg.kind == ArgKind::const_tensor; });
}

void add_for_output(const Call& call, const Arg& arg, const OutputSpec& output, std::vector<BadCall>& candidates) {
    if (!arg.optional) candidates.push_back(change_of(arg, Change::kNull));
    if (arg.is_made) return;
    if (!output.spec.shape.empty() && !gives_shape(call)) candidates.push_back(change_of(arg, Change::kLonger));
    // A cast of a floating result to a whole number is no result.
    if (is_floating(output.spec.dtype)) {
        candidates.push_back(change_of(arg, Change::kDtype, Dtype::int64));
    }
}

void add_for_input(const Row& row, const Arg& arg, const Value& value, std::vector<BadCall>& candidates) {
    const bool is_one = std::holds_alternative<TensorPtr>(value);
    if (is_one && !arg.optional) candidates.push_back(change_of(arg, Change::kNull));
    candidates.push_back(change_of(arg, Change::kLonger));
    for (const Dtype dtype : {Dtype::float32, Dtype::int64, Dtype::complex64}) {
        candidates.push_back(change_of(arg, Change::kDtype, dtype));
    }
    const Tensor& tensor = **tensor_at(value);
    const bool is_index = tensor.dtype == Dtype::int64 || tensor.dtype == Dtype::int32;
    if (arg.has_meaning && !arg.has_tokens && is_index && tensor.numel() > 0) {
        candidates.push_back(change_of(arg, Change::kIndex, {}, kBeyond));
    }
    if (row.traits.no_empty && !tensor.shape.empty()) {
        candidates.push_back(change_of(arg, Change::kEmpty));
        candidates.back().must_fail = true;
    }
}

void add_for_number(const Arg& arg, const Value& value, int64_t rank, std::vector<BadCall>& candidates) {
    if (std::holds_alternative<Scalar>(value) && !arg.optional) {
        candidates.push_back(change_of(arg, Change::kNull));
    }
    if (std::holds_alternative<Scalar>(value) && arg.is_exponent) {
        candidates.push_back(change_of(arg, Change::kPower));
        candidates.back().must_fail = true;
    }
    if (!std::holds_alternative<int64_t>(value) && !std::holds_alternative<IntList>(value)) return;
    if (!arg.list.empty()) return;  // the length of a list, which a function cannot check
    const auto add = [&](int64_t number) { candidates.push_back(change_of(arg, Change::kNumber, {}, number)); };
    if (is_enumeration(arg.kind)) return add(kNoEnumerator);
    for (const int64_t number : {int64_t{-1}, int64_t{0}, rank, -rank - 1, kHuge}) add(number);
}

}  // namespace

std::vector<BadCall> bad_calls_of(const Step& step, const ResultHints& hints) {
    std::vector<BadCall> candidates;
    const auto args = step.call.row->args();
    int64_t rank = 0;
    for (size_t i = 0; i < args.size(); ++i) {
        const Value& value = step.call.args[i];
        const TensorPtr* tensor = tensor_at(value);
        const OutputSpec* output = output_at(step, i);
        if (tensor != nullptr && rank == 0) rank = static_cast<int64_t>((*tensor)->shape.size());
        const auto* sizes = std::get_if<IntList>(&value);
        if (sizes != nullptr && !args[i].shape_of.empty()) rank = std::ssize(*sizes);
        if (output != nullptr) {
            add_for_output(step.call, args[i], *output, candidates);
        } else if (tensor != nullptr) {
            add_for_input(*step.call.row, args[i], value, candidates);
        } else {
            add_for_number(args[i], value, rank, candidates);
        }
    }
    std::vector<BadCall> bad_calls;
    for (BadCall& candidate : candidates) {
        candidate.step = step.name;
        Step changed = step;
        apply(candidate, changed);
        const Arg& arg = args[static_cast<size_t>(step.call.row->find(candidate.arg))];
        const bool is_outside = candidate.change == Change::kNumber && arg.names_dims &&
                                (candidate.number >= rank || candidate.number < -rank);
        const bool is_bad = candidate.change == Change::kNull || candidate.change == Change::kIndex ||
                            candidate.must_fail || is_enumeration(arg.kind) || is_outside || is_refused(changed, hints);
        if (is_bad) bad_calls.push_back(std::move(candidate));
    }
    return bad_calls;
}

void apply(const BadCall& bad, Step& step) {
    const int found = step.call.row->find(bad.arg);
    if (found < 0) return;
    const auto at = static_cast<size_t>(found);
    Value& value = step.call.args[at];
    OutputSpec* output = output_at(step, at);
    TensorPtr* tensor = output == nullptr ? tensor_at(value) : nullptr;
    TensorSpec spec = tensor == nullptr ? TensorSpec() : TensorSpec{(*tensor)->shape, (*tensor)->dtype, {}};
    switch (bad.change) {
        case Change::kNull:
            std::erase_if(step.outputs, [&](const OutputSpec& each) { return each.arg == at; });
            value = tensor != nullptr ? Value(TensorPtr()) : Value();
            return;
        case Change::kLonger:
            if (output != nullptr) return lengthen(output->spec.shape);
            lengthen(spec.shape);
            break;
        case Change::kEmpty:
            spec.shape.front() = 0;
            break;
        case Change::kDtype:
            if (output != nullptr) {
                output->spec.dtype = bad.dtype;
                return;
            }
            spec.dtype = bad.dtype;
            break;
        case Change::kPower:
            value = Scalar::of(int64_t{-1});
            return make_whole(step);
        case Change::kNumber:
            return set_number(value, bad.number);
        case Change::kIndex:
            if (tensor != nullptr) *tensor = with_first(**tensor, bad.number);
            return;
    }
    if (tensor != nullptr) *tensor = zeros(spec);
}

void run_bad_call(const StepRules& rules, const Step& step, Placement& placement, StepResult& result) {
    Findings findings(result);
    const Row& row = *step.call.row;
    if (!rules.backend->implements(row)) return findings.lacks_function(*rules.backend, row);
    auto placed = PlacedCall::create(step, placement, Poison::kFirst);
    if (!placed.ok()) return findings.fail(placed.error());
    Context& context = placement.context();
    note_step(WorkPhase::kInCall, step.name, row.function);
    const Stopwatch watch;
    const Outcome outcome = Chain(*rules.backend).run(placed->call(), context);
    const Status finished = context.device->synchronize(context.stream);
    result.seconds = watch.seconds();
    note_step(WorkPhase::kInChecks, step.name, row.function);
    findings.fail(finished);
    if (outcome.ok()) findings.fail({FailureKind::kAccepted, "returned success"});
    findings.fail(placed->check_inputs(placement));
    if (!outcome.ok()) findings.fail(placed->check_untouched(context));
    findings.fail(placement.check_guards());
}

}  // namespace diopi
