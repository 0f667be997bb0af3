/// A call leaves no more threads, child processes, open descriptors, mappings and temporary files than there were. The
/// first call of a function may start what the library needs for all of them.
#include <algorithm>
#include <vector>

#include "state/resource_use.hpp"
#include "step/checks/list.hpp"

namespace diopi {

namespace {

/// Each of so many further calls must have left more of it: other processes and the C library's caches also change
/// the numbers. Memory must grow by the same each time, because an allocator takes and keeps it as it needs it.
constexpr int kConfirmingCalls = 6;
/// Pieces of up to 1 MiB may be steps of an allocator that grows for a while: more calls tell.
constexpr int64_t kPagesOfAllocator = 256;
constexpr int kCallsOfAllocator = 32;

/// A resource of which a call left so much.
struct Growth {
    Resource resource;
    int64_t amount;
};

class ResourceCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool needs_second() const override { return true; }

    void before_attempt(const Attempt&) override { before_ = ResourceUse::now(); }

    Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings&) override {
        if (&attempt == test.second) suspects_ = growths(attempt);
        return {};
    }

    void judge(StepUnderTest& test, Findings& findings) override {
        if (findings.has_failed() || test.second == nullptr || test.step.call.row->makes_results()) return;
        for (int i = 0; i < confirming_calls() && !suspects_.empty(); ++i) {
            before_ = ResourceUse::now();
            if (Status s = setup_.attempts.repeat(*test.second); !s.ok()) return findings.fail(s);
            const std::vector<Growth> again = growths(*test.second);
            std::erase_if(suspects_, [&](const Growth& suspect) {
                return std::ranges::none_of(again, [&](const Growth& each) {
                    const bool is_enough = suspect.resource != Resource::kMapping || each.amount == suspect.amount;
                    return each.resource == suspect.resource && is_enough;
                });
            });
        }
        if (suspects_.empty()) return;
        findings.fail({FailureKind::kState, "each call leaves " + std::string(name(suspects_.front().resource))});
    }

 private:
    [[nodiscard]] int confirming_calls() const {
        const bool may_be_allocator = std::ranges::all_of(suspects_, [](const Growth& suspect) {
            return suspect.resource == Resource::kMapping && suspect.amount <= kPagesOfAllocator;
        });
        return may_be_allocator ? kCallsOfAllocator : kConfirmingCalls;
    }

    /// The resources that grew since before the call.
    [[nodiscard]] std::vector<Growth> growths(Attempt& attempt) {
        // Tensors that the call required of the context are ours to free.
        setup_.attempts.free_required(attempt);
        const ResourceUse now = ResourceUse::now();
        std::vector<Growth> found;
        for (size_t i = 0; i < kResources; ++i) {
            const auto resource = static_cast<Resource>(i);
            const int64_t amount = now.growth_since(before_, resource);
            if (amount > 0) found.push_back({resource, amount});
        }
        return found;
    }

    ResourceUse before_;
    std::vector<Growth> suspects_;  ///< what the second attempt left
};

}  // namespace

std::unique_ptr<StepCheck> step_check::resources(const CheckSetup& setup) {
    return setup.rules.checks.state ? std::make_unique<ResourceCheck>(setup) : nullptr;
}

}  // namespace diopi
