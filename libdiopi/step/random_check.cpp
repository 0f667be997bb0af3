#include "step/random_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/distribution.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

/// The law of a function's result and the arguments that are its parameters: numbers, or a tensor with one for each
/// element.
struct LawRow {
    std::string_view function;
    std::string_view output;
    Law law;
    std::string_view a, b;  ///< b may be empty
};

constexpr LawRow kLaws[] = {
    {"diopiNormalInp", "inout", Law::kNormal, "mean", "std"},
    {"diopiBernoulli", "out", Law::kBernoulli, "input", ""},
    {"diopiBernoulliInp", "inout", Law::kBernoulli, "inout", ""},
    {"diopiBernoulliScalar", "out", Law::kBernoulli, "p", ""},
};

const LawRow* find_law(const Row& row) {
    const auto found = std::ranges::find(kLaws, row.function, &LawRow::function);
    return found == std::end(kLaws) ? nullptr : &*found;
}

/// Without whatever lies between the elements: one run may have been placed with room, another without.
Result<TensorPtr> dense(TensorPtr tensor) {
    if (tensor->is_contiguous()) return tensor;
    auto out = make_tensor(cpu_device(), {tensor->shape, tensor->dtype, {}});
    if (out.ok()) copy_strided(*tensor, **out);
    return out;
}

/// Bit by bit, of dense tensors.
bool same_elements(const Tensor& a, const Tensor& b) {
    return a.numel() == 0 || std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
}

/// Whether the sample follows the law whose parameters stand in the call, as it was before it ran.
DistributionCheck check_against(const LawRow& row, const Call& call, const Tensor& drawn) {
    if (const Tensor* each = call.tensor(row.a)) return check_bernoulli(drawn, *each);
    const double b = row.b.empty() ? 0 : std::get<double>(call[row.b]);
    return check_distribution(drawn, {row.law, std::get<double>(call[row.a]), b});
}

/// Whether two samples of numbers of which there are but two may well be equal.
bool may_agree(const LawRow& row, const DistributionCheck& check) {
    if (row.law != Law::kBernoulli) return false;
    const double each = std::max(0.0, 1 - 2 * check.deviation * check.deviation);
    return std::pow(each, static_cast<double>(check.n)) > kLeastPValue * kLeastPValue;
}

/// What the step's generator held before any call.
const Generator* state_before(const Step& step) {
    for (const Value& value : step.call.args) {
        if (const auto* handle = std::get_if<diopiGeneratorHandle_t>(&value)) return *handle;
    }
    return nullptr;
}

}  // namespace

bool draws_into(const Row& row, std::string_view arg) {
    const LawRow* law = find_law(row);
    return law != nullptr && law->output == arg && law->a != arg;
}

Failure check_random(const Step& step, const RandomRuns& runs, Context& context) {
    const LawRow* row = find_law(*step.call.row);
    if (row == nullptr) {
        return {FailureKind::kError, "no law is known for " + std::string(step.call.row->function)};
    }
    const auto arg = static_cast<size_t>(step.call.row->find(row->output));
    const TensorSpec spec = step.result_at(arg)->spec;
    TensorPtr drawn[3];
    PlacedCall* const calls[] = {&runs.first, &runs.second, &runs.other_seed};
    for (size_t i = 0; i < std::size(calls); ++i) {
        auto numbers = calls[i]->host_tensor(arg, context);
        if (!numbers.ok()) return failure_of(numbers.error());
        if ((*numbers)->shape != spec.shape || (*numbers)->dtype != spec.dtype) {
            return {FailureKind::kForm, std::string(row->output) + " changed its shape or dtype"};
        }
        auto packed = dense(*numbers);
        if (!packed.ok()) return failure_of(packed.error());
        drawn[i] = *packed;
    }
    if (!same_elements(*drawn[0], *drawn[1])) {
        return {FailureKind::kNotRepeatable, "two runs from the same generator state gave different numbers"};
    }
    const DistributionCheck check = check_against(*row, step.call, *drawn[0]);
    if (!check.passed) return {FailureKind::kDistribution, check.reason};
    // A few numbers of a coarse dtype may agree by chance, and a law of one value has no other.
    if (check.n < kLeastSample || check.deviation == 0) return {};
    if (!may_agree(*row, check) && same_elements(*drawn[0], *drawn[2])) {
        return {FailureKind::kError, "a generator with another seed gave the same numbers"};
    }
    const Generator* before = state_before(step);
    const Generator* after = runs.second.generator();
    if (before != nullptr && after != nullptr && before->seed == after->seed && before->offset == after->offset) {
        return {FailureKind::kError,
                "the generator's state did not advance: the next call would give the same numbers"};
    }
    return {};
}

}  // namespace diopi
