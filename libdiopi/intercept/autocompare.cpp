#include "intercept/autocompare.hpp"

#include <algorithm>
#include <array>

#include "call/tensors.hpp"
#include "check/compare.hpp"
#include "check/oracle.hpp"
#include "core/convert.hpp"

namespace diopi {

namespace {

/// Why two right answers of this function may differ; empty where they may not.
std::string freedom(const Row& row) {
    if (row.accuracy == AccuracyClass::F) return "random: the numbers of two libraries differ";
    return "";
}

}  // namespace

bool ComparedCall::allclose() const { return std::ranges::all_of(tensors, &ComparedTensor::allclose); }

Outcome Autocompare::around(Call& call, Context& context, const Next& next) {
    ComparedCall compared{call, {}, freedom(*call.row)};
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
    for_each_tensor(exact.call(), [&](const Place&, const TensorPtr& exactly) {
        if (at >= compared.tensors.size()) return;
        ComparedTensor& tensor = compared.tensors[at++];
        auto wide = exact.wide_tensor(*exactly);
        if (wide.ok() && (*wide)->shape == tensor.actual->shape) tensor.exact = std::move(*wide);
    });
}

Status Autocompare::compare_all(const Call& call, Context& context, CallCopy& copy, ComparedCall& compared) {
    Status status;
    std::array<size_t, 3> counts{};
    std::vector<TensorPtr> others;
    for_each_tensor(copy.call(), [&](const Place&, const TensorPtr& other) { others.push_back(other); });
    size_t at = 0;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& own) {
        const size_t position = at++;
        if (!status.ok() || position >= others.size()) return;
        auto actual = to_host(*context.device, context.stream, *own);
        auto expected = copy.host_tensor(*others[position]);
        if (!actual.ok() || !expected.ok()) {
            status = (actual.ok() ? expected : actual).status();
            return;
        }
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
    const AbsRel tolerance = tolerances.find(call, actual.dtype);
    compared.atol = tolerance.atol;
    compared.rtol = tolerance.rtol;
    Bound bound;
    bound.accuracy = AccuracyClass::E;
    bound.tolerance.atol = tolerance.atol;
    bound.tolerance.rtol = tolerance.rtol;
    const Tensor oracle = to_oracle(expected, wide_dtype(actual.dtype));
    Comparison comparison = compare(actual, oracle, {expected.shape, expected.dtype}, bound, nullptr);
    compared.allclose = comparison.passed;
    compared.error = std::move(comparison.reason);
    compared.deviation = std::move(comparison.deviation);
    compared.deviation.output = compared.place;
    return compared;
}

}  // namespace diopi
