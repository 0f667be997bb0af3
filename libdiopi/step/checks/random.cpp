/// The numbers of a random operator follow their law; a third run has another seed or offset, a fourth one the state
/// that the second one left.
#include <fmt/format.h>

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
        // Some libraries use only the low 32 bits of a seed or an offset.
        struct Change {
            const char* state;
            uint64_t seed_bits, offset;
        };
        constexpr uint64_t kHigh = uint64_t{1} << 40;
        constexpr Change kChanges[] = {{"seed", ~uint64_t{0}, 0}, {"seed", kHigh, 0}, {"offset", 0, kHigh}};
        const Change& change = kChanges[setup_.rules.addresses.value_or(0) % std::size(kChanges)];
        auto other = run_from(test, fmt::format("with another {}", change.state), [&](const Generator& own, size_t) {
            return Generator{own.seed ^ change.seed_bits, own.offset + change.offset};
        });
        if (!other.ok()) return findings.fail(other.error());
        const auto left = test.second->placed.generators();
        auto next = run_from(test, "from the next state", [&](const Generator&, size_t i) { return *left[i]; });
        if (!next.ok()) return findings.fail(next.error());
        findings.fail(check_random(test, {other->placed, change.state, next->placed}, setup_.context()));
        setup_.context().release();
    }

 private:
    /// Runs the step with other states of its generators: state_of(own, position among all of them).
    template <class StateOf>
    Result<Attempt> run_from(const StepUnderTest& test, const std::string& which, const StateOf& state_of) {
        Step changed = test.step;
        std::vector<std::unique_ptr<Generator>> states;
        for (Value& value : changed.call.args) {
            for_each_generator(value, [&](diopiGeneratorHandle_t& handle) {
                states.push_back(std::make_unique<Generator>(state_of(*handle, states.size())));
                handle = states.back().get();
            });
        }
        const std::string words = "the run " + which + " failed: ";
        auto attempt = setup_.attempts.another(changed);
        if (!attempt.ok()) return behind(words, attempt.error());
        if (!attempt->outcome.ok()) return behind(words, attempt->outcome);
        return attempt;
    }
};

}  // namespace

std::unique_ptr<StepCheck> step_check::random(const CheckSetup& setup) {
    return setup.rules.random ? std::make_unique<RandomCheck>(setup) : nullptr;
}

}  // namespace diopi
