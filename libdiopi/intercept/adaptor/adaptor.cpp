#include "intercept/adaptor/adaptor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "call/element_numbers.hpp"
#include "call/tensors.hpp"
#include "infer/infer.hpp"
#include "infer/operand_dtype.hpp"
#include "intercept/device_timer.hpp"

namespace diopi {

namespace {

size_t position_of(const Place& place, const Row& row) { return static_cast<size_t>(&place.arg - row.args().data()); }

/// The spec of a tensor that no rule changes.
TensorSpec own_spec(const Tensor& tensor) { return {tensor.shape, tensor.dtype, {}}; }

std::string describe(const Call& call, const Place& place, const Tensor& tensor) {
    return fmt::format("adaptor: {}: {}, {} {}", call.row->function, place.name(), name(tensor.dtype),
                       to_string(tensor.shape));
}

/// A random integer's bounds are those of the dtype that the caller sees. Returns the bound that the adapted dtype
/// cannot hold, as text; empty if it holds all numbers.
std::string bound_draws(const Call& call, Call& adapted) {
    const LawOfRow& law = call.row->law;
    if (law.output < 0 || law.law != Law::kIntegerUniform) return "";
    const auto dtype_in = [&](const Call& c) {
        return std::get<TensorPtr>(c.args[static_cast<size_t>(law.output)])->dtype;
    };
    const Dtype dtype = dtype_in(call), target = dtype_in(adapted);
    const IntegerRange own = integer_range(dtype), holds = integer_range(target);
    Value& end = adapted.args[static_cast<size_t>(law.b)];
    const bool is_open = !std::holds_alternative<int64_t>(end);
    // Without an end a device draws all integers of its own dtype.
    if (is_open && own.high < holds.high) end = own.high + 1;
    if (!may_overflow(dtype, target)) return "";
    const int64_t last = is_open ? own.high : std::get<int64_t>(end) - 1;
    const int64_t first = std::get<int64_t>(adapted.args[static_cast<size_t>(law.a)]);
    if (last > holds.high) return fmt::format("{}", last);
    return first < holds.low ? fmt::format("{}", first) : "";
}

/// The dtypes of the tensors that the function makes, as its shape rule gives them for a call that no adaptor changed;
/// none where the function makes no tensors.
std::vector<OutputSpec> made_by(const Call& call) {
    if (std::ranges::none_of(call.row->args(), &Arg::is_made)) return {};
    Call copy = call;
    auto specs = infer(copy, {});
    if (!specs.ok()) return {};
    std::erase_if(*specs, [&](const OutputSpec& spec) { return !call.row->args()[spec.arg].is_made; });
    return std::move(*specs);
}

/// Moves what the function wrote through pointers, and tensors that it made. `given` are the arguments of `from` before
/// the call.
void take_results(Call& from, const std::vector<Value>& given, Call& to, const std::vector<TensorPtr>& adapted) {
    for (size_t i = 0; i < to.args.size(); ++i) {
        Value& value = to.args[i];
        if (std::holds_alternative<TensorPtr>(value)) continue;
        auto* list = std::get_if<TensorList>(&value);
        if (list == nullptr) {
            if (from.args[i] != given[i]) value = std::move(from.args[i]);
            continue;
        }
        const auto& made = std::get<TensorList>(from.args[i]);
        for (size_t k = 0; k < list->size(); ++k) {
            const bool is_ours = std::ranges::find(adapted, made[k]) != adapted.end();
            if (made[k] != nullptr && !is_ours) (*list)[k] = made[k];
        }
    }
}

}  // namespace

std::vector<Adaptor::Change> Adaptor::changes_of(const Call& call, std::span<const ArgRules> rules) const {
    std::vector<Change> changes;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        auto wanted = rules[position_of(place, *call.row)].wanted(*tensor);
        if (!wanted) return;
        const auto same = [&](const Change& c) { return c.original == tensor && c.spec == *wanted; };
        auto found = std::ranges::find_if(changes, same);
        if (found == changes.end()) {
            changes.push_back({tensor, std::move(*wanted), nullptr, place});
            found = changes.end() - 1;
        }
        found->reads |= place.is_read();
        found->writes |= place.is_written();
    });
    return changes;
}

void Adaptor::convert_first(std::vector<Change>& changes, const TensorPtr& tensor, const Place& place, Dtype dtype) {
    auto found = std::ranges::find(changes, tensor, &Change::original);
    if (found == changes.end()) {
        changes.push_back({tensor, own_spec(*tensor), nullptr, place, true, place.is_written()});
        found = changes.end() - 1;
    }
    found->first = dtype;
}

void Adaptor::convert_operands(std::vector<Change>& changes, Call& adapted) {
    const std::optional<Dtype> common = common_dtype(adapted), operand = common ? common : operand_dtype(adapted);
    if (!operand) return;
    for (size_t i = 0; i < adapted.args.size(); ++i) {
        auto* scalar = std::get_if<Scalar>(&adapted.args[i]);
        if (scalar == nullptr || !(common || is_integer(scalar->dtype))) continue;
        const bool saturates = adapted.row->args()[i].is_bound && is_integer(*operand);
        *scalar = saturates ? Scalar::of(saturate_integer(scalar->integer, *operand)) : as_element(*scalar, *operand);
    }
    for_each_tensor(adapted, [&](const Place& place, const TensorPtr& tensor) {
        const bool is_operand = common || tensor->shape.empty();
        if (!is_operand || (place.is_written() && !place.arg.is_inout)) return;
        const bool wraps = is_integer(tensor->dtype) && may_overflow(tensor->dtype, *operand);
        const bool rounds = common && DtypeCast{tensor->dtype, *common}.rounds();
        if (wraps || rounds) convert_first(changes, tensor, place, *operand);
    });
}

Outcome Adaptor::check_range(const Change& change, const TensorPtr& from, const Call& call, Context& context) {
    const DeviceTimer timer(context);
    const auto host = to_host(*context.device, context.stream, *from);
    if (!host.ok())
        return {diopiErrorOccurred, describe(call, change.place, *change.original) + ": " + host.error().message};
    const std::string out_of_range = first_out_of_range(**host, change.spec.dtype);
    last_.in.seconds += timer.seconds();
    if (out_of_range.empty()) return {};
    return {
        diopiDtypeNotSupported,
        fmt::format("{}, holds {}, which {} cannot hold; leave this argument uncast: \"ops\": {{\"{}\": {{\"args\": "
                    "{{\"{}\": {{\"dtype\": \"no_cast\"}}}}}}}}",
                    describe(call, change.place, *change.original), out_of_range, name(change.spec.dtype), call.row->op,
                    change.place.arg.name)};
}

Outcome Adaptor::convert_in(std::vector<Change>& changes, const Call& call, Context& context,
                            const Converter& converter) {
    for (Change& change : changes) {
        TensorPtr values = change.original;
        if (change.first) {
            auto made = converter.convert(values, {values->shape, *change.first, {}}, context, last_.in);
            if (!made.ok())
                return {diopiErrorOccurred, describe(call, change.place, *values) + ": " + made.error().message};
            values = std::move(*made);
        }
        const Dtype from = values->dtype, to = change.spec.dtype;
        // A tensor that random numbers overwrite in place may hold anything.
        const bool is_overwritten = call.row->accuracy == AccuracyClass::F && change.writes;
        // Every byte of a mask but 0 is true.
        const bool is_mask = change.place.arg.takes_bytes && to == Dtype::boolean;
        const bool is_promoted = change.first && is_floating(from) && is_integer(to);
        const bool may_lose = rules_.check_range && (is_promoted || may_overflow(from, to));
        if (change.reads && !is_overwritten && !is_mask && may_lose) {
            if (Outcome outcome = check_range(change, values, call, context); !outcome.ok()) return outcome;
        }
        auto made = change.reads ? converter.convert(values, change.spec, context, last_.in)
                                 : make_tensor(*context.device, change.spec);
        if (!made.ok()) {
            return {diopiErrorOccurred,
                    fmt::format("{}, cannot be converted to {}: {}", describe(call, change.place, *change.original),
                                name(to), made.error().message)};
        }
        change.adapted = std::move(*made);
        const bool is_new = from != to && std::ranges::find(last_.casts, DtypeCast{from, to}) == last_.casts.end();
        if (is_new) last_.casts.push_back({from, to});
    }
    return {};
}

Outcome Adaptor::copy_back(const std::vector<Change>& changes, const Call& call, Context& context,
                           const Converter& converter) {
    for (const Change& change : changes) {
        if (!change.writes) continue;
        if (Status s = converter.copy_back(change.adapted, change.original, context, last_.out); !s.ok()) {
            return {diopiErrorOccurred,
                    fmt::format("{}, cannot be converted back from {}: {}",
                                describe(call, change.place, *change.original), name(change.spec.dtype), s.message())};
        }
    }
    return {};
}

Outcome Adaptor::convert_made(Call& call, std::span<const ArgRules> rules, Context& context,
                              const Converter& converter) {
    for (const OutputSpec& output : made_by(call)) {
        auto* list = std::get_if<TensorList>(&call.args[output.arg]);
        const Dtype dtype = output.spec.dtype;
        if (list == nullptr || output.position >= list->size()) continue;
        TensorPtr& made = (*list)[output.position];
        const Dtype adapted = rules[output.arg].dtype_for(dtype);
        if (made == nullptr || adapted == dtype || made->dtype != adapted) continue;
        const Shape strides = is_dense(*made) ? made->strides : Shape();
        auto back = converter.convert(made, {made->shape, dtype, strides}, context, last_.out);
        if (!back.ok()) {
            return {diopiErrorOccurred,
                    fmt::format("adaptor: {}: {}, which the function made, cannot be converted to {}: {}",
                                call.row->function, call.name_of(output.place()), name(dtype), back.error().message)};
        }
        made = std::move(*back);
    }
    return {};
}

Outcome Adaptor::around(Call& call, Context& context, const Next& next) {
    if (last_.is_adapted()) last_ = {};
    const std::span<const ArgRules> rules = rules_.of(*call.row);
    if (rules.empty()) return next(call, context);
    std::vector<Change> changes = changes_of(call, rules);
    if (changes.empty()) return next(call, context);
    Call adapted = call;
    convert_element_numbers(adapted);
    convert_operands(changes, adapted);
    last_.tensors = static_cast<int64_t>(changes.size());
    const Converter converter(next.backend(), device_tool_);
    Outcome outcome = convert_in(changes, call, context, converter);
    if (!outcome.ok()) return outcome;
    std::vector<TensorPtr> ours;
    for (const Change& change : changes) ours.push_back(change.adapted);
    for_each_tensor(adapted, [&](const Place& place, TensorPtr& tensor) {
        const auto wanted = rules[position_of(place, *call.row)].wanted(*tensor);
        const TensorSpec spec = wanted.value_or(own_spec(*tensor));
        const auto same = [&](const Change& c) { return c.original == tensor && c.spec == spec; };
        const auto found = std::ranges::find_if(changes, same);
        if (found != changes.end()) tensor = found->adapted;
    });
    if (const std::string bound = bound_draws(call, adapted); !bound.empty() && rules_.check_range) {
        return {diopiDtypeNotSupported,
                fmt::format("adaptor: {}: the numbers reach {}, which the device's dtype cannot hold; leave the tensor "
                            "uncast",
                            call.row->function, bound)};
    }
    const std::vector<Value> given = adapted.args;
    outcome = next(adapted, context);
    if (outcome.ok()) {
        take_results(adapted, given, call, ours);
        if (Outcome back = copy_back(changes, call, context, converter); !back.ok()) return back;
        if (Outcome back = convert_made(call, rules, context, converter); !back.ok()) return back;
    }
    if (totals_ != nullptr) totals_->add(*call.row, last_);
    return outcome;
}

}  // namespace diopi
