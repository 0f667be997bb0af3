/// The numbers of a random operator follow their law; a third run has another seed or offset, a fourth one the state
/// that the second one left.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "check/oracle.hpp"
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
        findings.fail(check_fixed_numbers(test));
    }

 private:
    /// In many permutations of few numbers one number of each permutation stays in its place, on average and with the
    /// same variance, however many numbers there are.
    Failure check_fixed_numbers(const StepUnderTest& test) {
        // Outside of these bounds by chance in less than one of ten million times.
        constexpr int64_t kMostNumbers = 64, kDraws = 40, kLeastFixed = 8, kMostFixed = 85;
        const LawOfRow& law = test.step.call.row->law;
        if (law.law != Law::kPermutation) return {};
        const auto arg = static_cast<size_t>(law.output);
        const int64_t n = numel(test.step.result_at(arg)->spec.shape);
        if (n < 2 || n > kMostNumbers) return {};
        int64_t fixed = 0;
        for (uint64_t draw = 1; draw <= kDraws; ++draw) {
            auto drawn = run_from(test, "with other seeds", [&](const Generator& own, size_t) {
                return Generator{own.seed + draw, own.offset};
            });
            if (!drawn.ok()) return failure_of(drawn.error());
            const auto numbers = drawn->placed.host_tensor(arg, setup_.context());
            if (!numbers.ok()) return failure_of(numbers.error());
            const Tensor wide = to_oracle(**numbers, Dtype::float64);
            for (int64_t i = 0; i < n; ++i) fixed += wide.data_as<double>()[i] == static_cast<double>(i) ? 1 : 0;
            setup_.context().release();
        }
        if (fixed >= kLeastFixed && fixed <= kMostFixed) return {};
        return {FailureKind::kDistribution, fmt::format("in {} permutations {} numbers stay in their places, where {} "
                                                        "are expected",
                                                        kDraws, fixed, kDraws)};
    }

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
