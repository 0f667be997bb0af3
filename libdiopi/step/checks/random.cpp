/// The numbers of a random operator follow their law; a third run has another seed.
#include <memory>
#include <vector>

#include "step/checks/list.hpp"
#include "step/random_check.hpp"

namespace diopi {

namespace {

class RandomCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool needs_second() const override { return true; }

    void judge(StepUnderTest& test, Findings& findings) override {
        if (test.second == nullptr) return;
        Step reseeded = test.step;
        std::vector<std::unique_ptr<Generator>> others;
        for (Value& value : reseeded.call.args) {
            for_each_generator(value, [&](diopiGeneratorHandle_t& handle) {
                others.push_back(std::make_unique<Generator>(Generator{~handle->seed, handle->offset}));
                handle = others.back().get();
            });
        }
        const std::string words = "the run with another seed failed: ";
        auto third = setup_.attempts.another(reseeded);
        if (!third.ok()) return findings.fail(behind(words, third.error()));
        if (!third->outcome.ok()) return findings.fail(behind(words, third->outcome));
        findings.fail(check_random(test, third->placed, setup_.context()));
        setup_.context().release();
    }
};

}  // namespace

std::unique_ptr<StepCheck> step_check::random(const CheckSetup& setup) {
    return setup.rules.random ? std::make_unique<RandomCheck>(setup) : nullptr;
}

}  // namespace diopi
