#include "run/random_check.hpp"

#include <cstring>

#include "check/distribution.hpp"

namespace diopi {

namespace {

/// The law of a function's result and the arguments that are its parameters.
struct LawRow {
    std::string_view function;
    std::string_view output;
    Law law;
    std::string_view a, b;
};

constexpr LawRow kLaws[] = {
    {"diopiNormalInp", "inout", Law::kNormal, "mean", "std"},
};

bool same_bytes(const Tensor& a, const Tensor& b) {
    return a.storage.nbytes == b.storage.nbytes &&
           (a.storage.nbytes == 0 ||
            std::memcmp(a.storage.memory.get(), b.storage.memory.get(), a.storage.nbytes) == 0);
}

}  // namespace

Status check_random(const Step& step, PlacedCall& first, PlacedCall& second, Context& context) {
    const LawRow* row = nullptr;
    for (const LawRow& law : kLaws) {
        if (law.function == step.call.row->function) row = &law;
    }
    if (row == nullptr) return failed("no law is known for " + std::string(step.call.row->function));
    const auto arg = static_cast<size_t>(step.call.row->find(row->output));
    auto drawn = first.host_tensor(arg, context);
    if (!drawn.ok()) return drawn.error();
    auto again = second.host_tensor(arg, context);
    if (!again.ok()) return again.error();
    const TensorSpec spec = step.result_at(arg)->spec;
    if ((*drawn)->shape != spec.shape || (*drawn)->dtype != spec.dtype) {
        return failed(std::string(row->output) + " changed its shape or dtype");
    }
    if (!same_bytes(**drawn, **again)) {
        return failed("two runs from the same generator state gave different numbers");
    }
    const Distribution law{row->law, std::get<double>(step.call[row->a]), std::get<double>(step.call[row->b])};
    const DistributionCheck check = check_distribution(**drawn, law);
    return check.passed ? Status() : Status(failed(check.reason));
}

}  // namespace diopi
