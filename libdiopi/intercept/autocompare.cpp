#include "intercept/autocompare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "call/tensors.hpp"
#include "check/compare.hpp"
#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "intercept/places.hpp"

namespace diopi {

namespace {

/// The dtype in which two floating or two complex dtypes are compared; nullopt if they are not comparable.
std::optional<Dtype> common_dtype(Dtype a, Dtype b) {
    const bool alike = (is_floating(a) && is_floating(b)) || (is_complex(a) && is_complex(b));
    if (a == b || alike) return promote(a, b);
    return std::nullopt;
}

/// Both sides of a comparison in one dtype.
struct CommonForm {
    Tensor actual, expected;
    Dtype narrower;  ///< the tolerance is that of this dtype
    std::string cast;
};

Result<CommonForm> common_form(const Tensor& actual, const Tensor& expected) {
    CommonForm form{actual, expected, actual.dtype, ""};
    const auto common = common_dtype(actual.dtype, expected.dtype);
    if (actual.dtype == expected.dtype || !common || actual.shape != expected.shape) return form;
    if (significand_bits(expected.dtype) < significand_bits(actual.dtype)) form.narrower = expected.dtype;
    form.cast = fmt::format("{} and {} as {}", name(actual.dtype), name(expected.dtype), name(*common));
    for (Tensor* side : {&form.actual, &form.expected}) {
        if (side->dtype == *common) continue;
        auto made = cast(*side, *common);
        if (!made.ok()) return made.error();
        *side = **made;
    }
    return form;
}

/// Adds half an ulp to the tolerance for values of a half dtype (docs/compare.md), also after a cast.
AbsRel with_rounding(AbsRel tolerance, Dtype dtype) {
    if (!is_half(component_of(dtype))) return tolerance;
    const Format format = format_of(component_of(dtype));
    return {tolerance.atol + std::ldexp(0.5, format.min_exponent - format.significand + 1),
            tolerance.rtol + std::ldexp(1.0, -format.significand)};
}

/// The reason why two correct results of this function may differ; empty if they may not.
std::string why_results_may_differ(const Row& row) {
    if (row.accuracy == AccuracyClass::F) return "random: the numbers of two libraries differ";
    return "";
}

/// Visits all tensors but the opaque ones.
template <class Visit>
void for_each_comparable(const Call& call, const Visit& visit) {
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.arg.is_opaque) visit(place, tensor);
    });
}

}  // namespace

bool ComparedCall::allclose() const { return std::ranges::all_of(tensors, &ComparedTensor::allclose); }

Outcome Autocompare::around(Call& call, Context& context, const Next& next) {
    ComparedCall compared{call, {}, why_results_may_differ(*call.row)};
    if (compared.skipped.empty() && !against_->backend().implements(*call.row)) {
        compared.skipped = lacks(against_->backend(), "it").message;
    }
    if (!compared.skipped.empty()) {
        Outcome outcome = next(call, context);
        if (outcome.ok()) sink_(compared);
        return outcome;
    }
    auto copy = CallCopy::create(call, context, *against_);
    auto exact = exact_answer(call, context);
    Outcome outcome = next(call, context);
    if (!outcome.ok()) return outcome;
    if (!copy.ok()) {
        compared.skipped = copy.error().message;
    } else if (const Outcome other = copy->run(); !other.ok()) {
        compared.skipped = std::string(against_->backend().name()) + ": " + other.message;
        const bool may_cast = other.error == diopiDtypeNotSupported && !against_->casts();
        if (may_cast) compared.skipped += "; --against-dtype float32 calls it in another dtype";
    } else if (Status s = compare_all(call, context, *copy, compared); !s.ok()) {
        compared.skipped = s.message();
    } else if (exact) {
        add_exact(*exact, compared);
    }
    sink_(compared);
    against_->context().release();
    return outcome;
}

std::optional<CallCopy> Autocompare::exact_answer(const Call& call, Context& context) {
    if (oracle_ == nullptr || !oracle_->backend().implements(*call.row)) return std::nullopt;
    auto exact = CallCopy::create(call, context, *oracle_);
    if (!exact.ok() || !exact->run().ok()) return std::nullopt;
    return std::move(*exact);
}

void Autocompare::add_exact(CallCopy& exact, ComparedCall& compared) {
    size_t at = 0;
    for_each_comparable(exact.call(), [&](const Place&, const TensorPtr& exactly) {
        if (at >= compared.tensors.size()) return;
        ComparedTensor& tensor = compared.tensors[at++];
        auto wide = exact.wide_tensor(*exactly);
        if (wide.ok() && (*wide)->shape == tensor.actual->shape) tensor.exact = std::move(*wide);
    });
}

Result<TensorPtr> Autocompare::answer_of(CallCopy& copy, const Tensor& tensor, Dtype dtype) const {
    auto answer = copy.host_tensor(tensor);
    const Dtype wanted = against_->dtype_for(dtype);
    // A tensor that the reference allocated has a wide dtype.
    const bool is_wide = answer.ok() && against_->is_wide() && (*answer)->dtype == wide_dtype(wanted);
    return is_wide && (*answer)->dtype != wanted ? cast(**answer, wanted) : answer;
}

namespace {

/// Brings results of an output that the standard leaves open into one form.
Status settle_open(const Call& call, Context& context, const Place& place, TensorPtr& actual, TensorPtr& expected) {
    const auto arg = static_cast<size_t>(&place.arg - call.row->args().data());
    if (!is_open(call, arg)) return {};
    Call on_host = call;
    for (size_t i = 0; i < call.args.size(); ++i) {
        auto* tensor = std::get_if<TensorPtr>(&on_host.args[i]);
        if (tensor == nullptr || *tensor == nullptr || call.row->args()[i].is_output) continue;
        auto host = to_host(*context.device, context.stream, **tensor);
        if (!host.ok()) return host.status();
        *tensor = *host;
    }
    return settle(on_host, arg, actual, expected);
}

}  // namespace

Status Autocompare::compare_all(const Call& call, Context& context, CallCopy& copy, ComparedCall& compared) {
    Status status;
    std::array<size_t, 3> counts{};
    std::vector<TensorPtr> others;
    for_each_comparable(copy.call(), [&](const Place&, const TensorPtr& other) { others.push_back(other); });
    size_t at = 0;
    for_each_comparable(call, [&](const Place& place, const TensorPtr& own) {
        const size_t position = at++;
        if (!status.ok() || position >= others.size()) return;
        auto actual = to_host(*context.device, context.stream, *own);
        auto expected = answer_of(copy, *others[position], own->dtype);
        if (!actual.ok() || !expected.ok()) {
            status = (actual.ok() ? expected : actual).status();
            return;
        }
        status = settle_open(call, context, place, *actual, *expected);
        if (!status.ok()) return;
        ComparedTensor tensor = compare_tensors(call, **actual, **expected, place.name(), *tolerances_);
        tensor.role = place.arg.is_output  ? ComparedTensor::Role::kOutput
                      : place.arg.is_inout ? ComparedTensor::Role::kInout
                                           : ComparedTensor::Role::kInput;
        tensor.nth = counts[static_cast<size_t>(tensor.role)]++;
        tensor.actual = std::move(*actual);
        tensor.expected = std::move(*expected);
        compared.tensors.push_back(std::move(tensor));
    });
    return status;
}

ComparedTensor compare_tensors(const Call& call, const Tensor& actual, const Tensor& expected, std::string place,
                               const ToleranceTable& tolerances) {
    ComparedTensor compared;
    compared.place = std::move(place);
    auto form = common_form(actual, expected);
    if (!form.ok()) {
        compared.error = form.error().message;
        return compared;
    }
    compared.cast = std::move(form->cast);
    const AbsRel tolerance = tolerances.find(call, form->narrower);
    const AbsRel held_to = compared.cast.empty() ? tolerance : with_rounding(tolerance, form->narrower);
    compared.atol = tolerance.atol;
    compared.rtol = tolerance.rtol;
    Bound bound;
    bound.accuracy = AccuracyClass::E;
    bound.tolerance.instead = Tolerance::Instead::kTolerance;
    bound.tolerance.atol = held_to.atol;
    bound.tolerance.rtol = held_to.rtol;
    const Tensor oracle = to_oracle(form->expected, wide_dtype(form->actual.dtype));
    Comparison comparison = compare(form->actual, oracle, {expected.shape, form->expected.dtype}, bound, nullptr);
    compared.allclose = comparison.passed;
    compared.error = std::move(comparison.reason);
    compared.deviation = std::move(comparison.deviation);
    compared.deviation.output = compared.place;
    return compared;
}

}  // namespace diopi
