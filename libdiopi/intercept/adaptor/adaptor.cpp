#include "intercept/adaptor/adaptor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "call/element_numbers.hpp"
#include "call/tensors.hpp"
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

void Adaptor::convert_operands(std::vector<Change>& changes, Call& adapted) const {
    const std::optional<Dtype> operand = operand_dtype(adapted);
    if (!operand) return;
    for (Value& value : adapted.args) {
        auto* scalar = std::get_if<Scalar>(&value);
        if (scalar != nullptr && is_integer(scalar->dtype)) scalar->integer = wrap_integer(scalar->integer, *operand);
    }
    for_each_tensor(adapted, [&](const Place& place, const TensorPtr& tensor) {
        const bool is_number = tensor->shape.empty() && is_integer(tensor->dtype) && !place.is_written();
        if (!is_number || !may_overflow(tensor->dtype, *operand)) return;
        auto found = std::ranges::find(changes, tensor, &Change::original);
        if (found == changes.end()) {
            changes.push_back({tensor, own_spec(*tensor), nullptr, place, true});
            found = changes.end() - 1;
        }
        found->first = *operand;
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
        if (change.reads && !is_overwritten && rules_.check_range && may_overflow(from, to)) {
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
    const std::vector<Value> given = adapted.args;
    outcome = next(adapted, context);
    if (outcome.ok()) {
        take_results(adapted, given, call, ours);
        if (Outcome back = copy_back(changes, call, context, converter); !back.ok()) return back;
    }
    if (totals_ != nullptr) totals_->add(*call.row, last_);
    return outcome;
}

}  // namespace diopi
