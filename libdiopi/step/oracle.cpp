#include "step/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "call/element_numbers.hpp"
#include "call/tensors.hpp"
#include "core/convert.hpp"
#include "core/format.hpp"
#include "core/half.hpp"
#include "core/strided.hpp"
#include "infer/operand_dtype.hpp"
#include "intercept/call_copy.hpp"
#include "runtime/generator.hpp"
#include "step/slices.hpp"

namespace diopi {

namespace {

/// Larger widened inputs are not kept for the other steps of a case: they would be most of a large case's memory. Calls
/// on tensors of that size have slices if they can.
constexpr int64_t kMostShared = kSlicedElements * 8;

bool takes_tensors(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Value& value = call.args[i];
        const bool has_tensors = std::holds_alternative<TensorPtr>(value) || std::holds_alternative<TensorList>(value);
        if (!call.row->args()[i].is_output && has_tensors) return true;
    }
    return false;
}

/// Whether numbers are first rounded to float32, as in a float32 or half operation on tensors. A result made of numbers
/// alone (arange) is rounded at the end only.
bool computes_in_float32(const Call& call, const std::vector<OutputSpec>& outputs) {
    if (!takes_tensors(call)) return false;
    bool any = false;
    const auto allows = [&](Dtype dtype) {
        if (dtype == Dtype::float64 || dtype == Dtype::complex128) return false;
        any = any || is_floating(dtype) || is_complex(dtype);
        return true;
    };
    for (const OutputSpec& output : outputs) {
        if (!allows(output.spec.dtype)) return false;
    }
    bool all = true;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (place.arg.is_inout) all = allows(tensor->dtype) && all;
    });
    return all && any;
}

/// The integer dtype that an element-wise call computes in, where its output has another one: results wrap in it before
/// they are converted. Source: torch.result_type, and PyTorch's conversion of results to the dtype of out=.
std::optional<Dtype> wrapping_dtype(const Call& call, const OutputSpec& output) {
    const ShapeRule rule = call.row->rule;
    if (rule != ShapeRule::same && rule != ShapeRule::broadcast && rule != ShapeRule::broadcast_div) return {};
    Call plain = call;
    const auto promoted = infer(plain, {});
    if (!promoted.ok()) return {};
    for (const OutputSpec& result : *promoted) {
        const bool wraps = is_integer(result.spec.dtype) && result.spec.dtype != output.spec.dtype;
        if (result.place() == output.place() && wraps) return result.spec.dtype;
    }
    return {};
}

/// Converts `from` to another dtype, as PyTorch converts an operand.
Result<TensorPtr> converted(const TensorPtr& from, Dtype dtype) {
    auto wide = make_tensor(cpu_device(), {from->shape, wide_dtype(from->dtype), {}});
    if (!wide.ok()) return wide;
    widen(*from, **wide);
    auto made = make_tensor(cpu_device(), {from->shape, dtype, {}});
    if (made.ok()) narrow(**wide, **made);
    return made;
}

/// Converts the operands of a function that promotes them first.
Status promote_operands(Call& call) {
    const std::optional<Dtype> common = common_dtype(call);
    if (!common) return {};
    for (Value& value : call.args) {
        if (auto* number = std::get_if<Scalar>(&value)) *number = as_element(*number, *common);
        auto* tensor = std::get_if<TensorPtr>(&value);
        if (tensor == nullptr || *tensor == nullptr || (*tensor)->dtype == *common) continue;
        auto made = converted(*tensor, *common);
        if (!made.ok()) return made.error();
        *tensor = *made;
    }
    return {};
}

void wrap_element(const Tensor& wide, Dtype dtype) {
    int64_t& element = *wide.data_as<int64_t>();
    element = wrap_integer(element, dtype);
}

/// Converts `wide`, results in a wide dtype, to `computed` and then to the output's dtype.
Result<TensorPtr> wrapped(const TensorPtr& wide, Dtype computed, const OutputSpec& output) {
    auto elements = make_tensor(cpu_device(), {output.spec.shape, computed, {}});
    if (!elements.ok()) return elements;
    auto made = make_tensor(cpu_device(), {output.spec.shape, wide_dtype(output.spec.dtype), {}});
    if (!made.ok()) return made;
    narrow(*wide, **elements);
    widen(**elements, **made);
    return made;
}

/// The tensor converted to `dtype`, in the wide dtype of that.
Result<TensorPtr> converted_and_widened(const TensorPtr& tensor, Dtype dtype) {
    auto own = converted(tensor, dtype);
    if (!own.ok()) return own;
    auto wide = make_tensor(cpu_device(), {tensor->shape, wide_dtype(dtype), {}});
    if (wide.ok()) widen(**own, **wide);
    return wide;
}

/// The dtype to which a call converts the argument before anything else.
std::optional<Dtype> converted_to(const Arg& arg, const std::vector<OutputSpec>& outputs) {
    if (arg.converted_to < 0) return {};
    const auto found = std::ranges::find(outputs, static_cast<size_t>(arg.converted_to), &OutputSpec::arg);
    return found == outputs.end() ? std::nullopt : std::optional(found->spec.dtype);
}

/// One in this many terms is used for a lower bound.
constexpr int64_t kShareOfTerms = 8;

void narrow_summed_dims(Call& call, size_t output) {
    for (const SummedDim& summed : call.row->summed_dims()) {
        if (static_cast<size_t>(summed.output) != output) continue;
        const auto* groups = summed.groups < 0 ? nullptr : &call.args[static_cast<size_t>(summed.groups)];
        if (groups != nullptr && std::get<int64_t>(*groups) != 1) continue;
        Value& arg = call.args[static_cast<size_t>(summed.arg)];
        auto fewer = std::make_shared<Tensor>(*std::get<TensorPtr>(arg));
        int64_t& size = fewer->shape[static_cast<size_t>(summed.dim)];
        size = (size + kShareOfTerms - 1) / kShareOfTerms;
        arg = TensorPtr(std::move(fewer));
    }
}

/// The factor of a subtracted product stays negative: |input| + |alpha| |other| is the sum of the magnitudes.
void drop_sign(const Arg& arg, Scalar& scalar) {
    const double sign = arg.is_subtracted ? -1 : 1;
    scalar = Scalar::of(sign * std::fabs(scalar.as_double()));
}

/// A tensor that the call has made, dense.
Result<TensorPtr> made_by_call(const Call& call, ArgPlace place) {
    TensorPtr tensor = call.tensor_at(place);
    if (tensor == nullptr) return failed("reference: it made no " + call.name_of(place));
    if (tensor->is_contiguous()) return tensor;
    auto dense = make_tensor(cpu_device(), {tensor->shape, tensor->dtype, {}});
    if (dense.ok()) copy_strided(*tensor, **dense);
    return dense;
}

}  // namespace

Result<TensorPtr> Oracle::widened(const TensorPtr& tensor, Sign sign, bool shared) {
    if (tensor == nullptr) return tensor;
    if (tensor->is_sparse()) {
        auto values = widened(tensor->values, sign, shared);
        if (!values.ok()) return values;
        auto out = std::make_shared<Tensor>(*tensor);
        out->values = *values;
        out->dtype = out->values->dtype;
        return out;
    }
    const bool same = wide_dtype(tensor->dtype) == tensor->dtype && tensor->is_contiguous();
    if (shared && same && sign == Sign::kKept) return tensor;
    const bool cached = shared && sign == Sign::kKept;
    if (cached) {
        if (const auto found = widened_.find(tensor); found != widened_.end()) return found->second;
    }
    auto out = make_tensor(cpu_device(), {tensor->shape, wide_dtype(tensor->dtype), {}});
    if (!out.ok()) return out;
    widen_magnitudes(*tensor, **out, sign);
    if (cached && static_cast<int64_t>((*out)->nbytes()) <= kMostShared) widened_[tensor] = *out;
    return out;
}

/// Numbers of places keep their signs: a negative one counts from the end.
Sign Oracle::sign_of(const Arg& arg, const TensorPtr& tensor, Sign sign) {
    return arg.has_meaning && tensor != nullptr && is_integer(tensor->dtype) ? Sign::kKept : sign;
}

namespace {

/// The dtype to which a result of the call is rounded.
Dtype dtype_of_result(const Call& call, const std::vector<OutputSpec>& outputs, const ArgTensor& result) {
    const auto output = std::ranges::find(outputs, result.place(), &OutputSpec::place);
    if (output != outputs.end()) return output->spec.dtype;
    const TensorPtr before = call.tensor_at(result.place());
    return before == nullptr ? Dtype::unsupported : before->dtype;
}

/// Where the function writes the lowest number of a dtype, it wrote that of float64.
void narrow_lowest(const Tensor& wide, Dtype dtype) {
    if (wide.dtype != Dtype::float64 || !is_floating(dtype)) return;
    auto* x = wide.data_as<double>();
    std::replace(x, x + wide.numel(), std::numeric_limits<double>::lowest(), -format_of(dtype).largest);
}

/// The most digits that a result of the call has.
int digits_of(const Call& call, const std::vector<OutputSpec>& outputs) {
    int most = 0;
    const auto look = [&](Dtype dtype) {
        const bool is_real = is_floating(component_of(dtype));
        most = std::max(most, is_real ? format_of(component_of(dtype)).significand : std::numeric_limits<int>::max());
    };
    for (const OutputSpec& output : outputs) look(output.spec.dtype);
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (place.arg.is_inout) look(tensor->dtype);
    });
    return outputs.empty() && most == 0 ? std::numeric_limits<int>::max() : most;
}

/// That with the fewest digits among the formats of the call's floating tensors.
Format coarsest_format(const Call& call) {
    Format coarsest = format_of(Dtype::float64);
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
        if (tensor == nullptr || !is_floating(tensor->dtype)) return;
        const Format format = format_of(tensor->dtype);
        if (format.significand < coarsest.significand) coarsest = format;
    });
    return coarsest;
}

}  // namespace

Result<std::vector<ArgTensor>> Oracle::evaluate(const Call& call, const std::vector<OutputSpec>& outputs, Sign sign,
                                                std::optional<Format> errors_in) {
    const auto sliced = SlicedCall::create(call, outputs);
    if (!sliced) return evaluate_at_once(call, outputs, sign, errors_in);
    std::vector<ArgTensor> all;
    for (int64_t slice = 0; slice < sliced->slices(); ++slice) {
        auto part = evaluate_at_once(sliced->call(slice), sliced->outputs(slice), sign, errors_in);
        const Status stored = part.ok() ? sliced->store(slice, *part, all) : part.status();
        widened_.clear();
        if (!stored.ok()) return stored.error();
    }
    return all;
}

Result<std::vector<ArgTensor>> Oracle::evaluate_at_once(const Call& given, const std::vector<OutputSpec>& outputs,
                                                        Sign sign, std::optional<Format> errors_in) {
    Call call = given;
    convert_element_numbers(call);
    if (const Status promoted = promote_operands(call); !promoted.ok()) return promoted.error();
    Call wide(*call.row);
    std::vector<ArgTensor> expected;
    std::vector<std::unique_ptr<Generator>> generators;
    const bool float32 = computes_in_float32(call, outputs);
    const std::optional<Dtype> wrapping = operand_dtype(call);
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const Value& value = call.args[i];
        wide.args[i] = value;
        if (arg.is_output) {
            wide.args[i] = {};
        } else if (const auto* tensor = std::get_if<TensorPtr>(&value)) {
            const bool wraps =
                wrapping && *tensor != nullptr && (*tensor)->shape.empty() && is_integer((*tensor)->dtype);
            const bool is_own = std::get<TensorPtr>(given.args[i]) == *tensor;
            const auto own = *tensor != nullptr ? converted_to(arg, outputs) : std::nullopt;
            auto made = own ? converted_and_widened(*tensor, *own)
                            : widened(*tensor, sign_of(arg, *tensor, sign), !arg.is_inout && !wraps && is_own);
            if (!made.ok()) return made.error();
            if (wraps) wrap_element(**made, *wrapping);
            wide.args[i] = *made;
            if (arg.is_inout && *made != nullptr) expected.push_back({i, *made});
        } else if (const auto* list = std::get_if<TensorList>(&value)) {
            auto& target = std::get<TensorList>(wide.args[i]);
            for (size_t k = 0; k < list->size(); ++k) {
                // Bytes among index tensors are masks; in the wide dtype they would be positions.
                const bool is_mask = arg.takes_bytes && (*list)[k] != nullptr && (*list)[k]->dtype == Dtype::uint8;
                auto given_mask = is_mask ? cast(*(*list)[k], Dtype::boolean) : Result<TensorPtr>((*list)[k]);
                if (!given_mask.ok()) return given_mask.error();
                auto made = widened(*given_mask, sign_of(arg, *given_mask, sign), !arg.is_inout);
                if (!made.ok()) return made.error();
                target[k] = *made;
                if (arg.is_inout && *made != nullptr) expected.push_back({i, *made, k});
            }
        } else if (auto* scalar = std::get_if<Scalar>(&wide.args[i])) {
            if (wrapping && is_integer(scalar->dtype)) {
                const auto fit = arg.is_bound ? saturate_integer : wrap_integer;
                scalar->integer = fit(scalar->integer, *wrapping);
            }
            if (float32) scalar->real = static_cast<double>(static_cast<float>(scalar->real));
            if (sign != Sign::kKept) drop_sign(arg, *scalar);
        } else if (auto* factor = std::get_if<double>(&wide.args[i]); factor != nullptr && sign != Sign::kKept) {
            *factor = std::fabs(*factor);
        } else if (auto* divisor = std::get_if<int64_t>(&wide.args[i]);
                   divisor != nullptr && arg.is_divisor && sign != Sign::kKept) {
            *divisor = std::abs(*divisor);
        }
        for_each_generator(wide.args[i], [&](diopiGeneratorHandle_t& handle) {
            handle = generators.emplace_back(std::make_unique<Generator>(*handle)).get();
        });
    }
    std::vector<std::optional<Dtype>> computed;  // by output: null if it is computed in its own dtype
    for (const OutputSpec& output : outputs) {
        computed.push_back(wrapping_dtype(call, output));
        const Dtype dtype = computed.back().value_or(output.spec.dtype);
        TensorPtr tensor;
        if (!call.row->args()[output.arg].is_made) {
            auto made = make_tensor(cpu_device(), {output.spec.shape, wide_dtype(dtype), {}});
            if (!made.ok()) return made.error();
            tensor = *made;
        }
        wide.set_tensor(output.place(), tensor);
        expected.push_back({output.arg, tensor, output.position});
    }
    Context context(cpu_device());
    context.errors_in = errors_in;
    context.digits = digits_of(given, outputs);
    if (errors_in) context.kept_in = coarsest_format(given);
    const Outcome outcome = Chain(reference_backend()).run(wide, context);
    if (outcome.error == diopiNoImplement) return not_implemented("reference: " + outcome.message);
    if (!outcome.ok()) return failed("reference: " + outcome.message);
    if (errors_in && !context.has_errors) {
        return not_implemented("the reference has no error bounds of " + std::string(call.row->function));
    }
    for (ArgTensor& result : expected) {
        const bool may_lack = call.row->args()[result.arg].is_opaque;
        if (result.tensor == nullptr && (!may_lack || wide.tensor_at(result.place()) != nullptr)) {
            auto made = made_by_call(wide, result.place());
            if (!made.ok()) return made.error();
            result.tensor = std::move(*made);
        }
        // A tensor that was converted before it changed in place has its own dtype again.
        const auto* before = std::get_if<TensorPtr>(&given.args[result.arg]);
        if (before == nullptr || *before == nullptr || call.row->args()[result.arg].is_output) continue;
        if (wide_dtype((*before)->dtype) == result.tensor->dtype) continue;
        auto made = converted(result.tensor, wide_dtype((*before)->dtype));
        if (!made.ok()) return made.error();
        result.tensor = *made;
    }
    if (call.row->writes_lowest() && !errors_in) {
        for (const ArgTensor& result : expected) narrow_lowest(*result.tensor, dtype_of_result(given, outputs, result));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!computed[i]) continue;
        TensorPtr& result = expected[expected.size() - outputs.size() + i].tensor;
        auto made = wrapped(result, *computed[i], outputs[i]);
        if (!made.ok()) return made.error();
        result = std::move(*made);
    }
    std::erase_if(expected, [](const ArgTensor& result) { return result.tensor == nullptr; });
    for (size_t i = 0; i < wide.args.size(); ++i) {
        if (auto number = given_number(wide, i)) expected.push_back({i, std::make_shared<Tensor>(std::move(*number))});
    }
    return expected;
}

Result<std::vector<ArgTensor>> Oracle::run(const Call& call, const std::vector<OutputSpec>& outputs) {
    return evaluate(call, outputs, Sign::kKept);
}

namespace {

/// The real parts of a contiguous complex tensor.
Result<TensorPtr> real_parts(const Tensor& tensor) {
    auto made = make_tensor(cpu_device(), {tensor.shape, Dtype::float64, {}});
    if (!made.ok()) return made;
    const auto* from = tensor.data_as<std::complex<double>>();
    std::transform(from, from + tensor.numel(), (*made)->data_as<double>(), [](auto x) { return x.real(); });
    return made;
}

/// The tensor at that place.
Result<TensorPtr> taken(const std::vector<ArgTensor>& list, ArgPlace place) {
    for (const ArgTensor& each : list) {
        if (each.place() == place) return each.tensor;
    }
    return internal_error("the oracle has no magnitudes of an output");
}

}  // namespace

Result<TensorPtr> Oracle::error_bounds(const Call& call, const std::vector<OutputSpec>& outputs, ArgPlace place,
                                       Dtype working) {
    if (!known_errors_ || !known_errors_->are_of(call, working)) {
        known_errors_.reset();
        auto errors = evaluate(call, outputs, Sign::kKept, format_of(working));
        if (!errors.ok()) return errors.error();
        known_errors_ = KnownErrors{call, working, std::move(*errors)};
    }
    return taken(known_errors_->bounds, place);
}

Result<TensorPtr> Oracle::error_bounds(const SlicedCall& parts, int64_t slice, ArgPlace place, Dtype working) {
    auto errors = evaluate_at_once(parts.call(slice), parts.outputs(slice), Sign::kKept, format_of(working));
    widened_.clear();
    return errors.ok() ? taken(*errors, place) : errors.error();
}

bool Oracle::KnownErrors::are_of(const Call& other, Dtype other_working) const {
    return call.row == other.row && working == other_working && call.args == other.args;
}

Result<TensorPtr> Oracle::sum_of_terms(const Call& call, const OutputSpec& output, Sign sign) {
    // An in-out tensor is a result without a spec; a new tensor in its place would lose its values.
    std::vector<OutputSpec> outputs;
    if (!call.row->args()[output.arg].is_inout) outputs.push_back(output);
    auto sums = evaluate(call, outputs, sign);
    if (!sums.ok()) return sums.error();
    auto sum = taken(*sums, output.place());
    if (sum.ok() && is_complex((*sum)->dtype)) sum = real_parts(**sum);
    // An input that keeps its signs can make negative sums.
    if (sum.ok()) take_magnitudes(**sum, Sign::kDropped);
    return sum;
}

Result<TensorPtr> Oracle::magnitude(const Call& call, const OutputSpec& output, Terms terms) {
    Call fewer = call;
    if (terms == Terms::kPart) narrow_summed_dims(fewer, output.arg);
    return sum_of_terms(fewer, output, Sign::kDroppedAndFinite);
}

Result<TensorPtr> Oracle::magnitude_in_tf32(const Call& call, const OutputSpec& output, double roundoff) {
    auto all = sum_of_terms(call, output, Sign::kDropped);
    if (!all.ok()) return all;
    const auto kept = sum_of_terms(call, output, Sign::kDroppedAndFlushed);
    if (!kept.ok()) return kept;
    const std::span<double> sums((*all)->data_as<double>(), static_cast<size_t>((*all)->numel()));
    for (size_t i = 0; i < sums.size(); ++i) {
        const double sum = (*kept)->data_as<double>()[i];
        if (std::isnan(sum)) {
            sums[i] = sum;
        } else if (std::isfinite(sums[i])) {
            sums[i] += (sums[i] - sum) / roundoff;
        }
    }
    return all;
}

}  // namespace diopi
