/// Shape, dtype and values of the step's results: in its first attempt, and in a second one that may differ.
#include <algorithm>
#include <optional>

#include "core/convert.hpp"
#include "file/checksum.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/distinct.hpp"
#include "intercept/places.hpp"
#include "step/checks/list.hpp"
#include "step/compare_value.hpp"
#include "step/zeros_warning.hpp"

namespace diopi {

namespace {

class ValueCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    /// Large expected values are dropped before the second attempt takes memory. The other checks may write to the
    /// second attempt's tensors.
    Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings&) override {
        if (&attempt == test.first) {
            compare_first(test);
        } else {
            wrong_in_second_ = wrong_in(test, attempt);
        }
        return {};
    }

    void judge(StepUnderTest& test, Findings& findings) override {
        for (Compared& each : compared_) {
            Comparison& comparison = each.comparison;
            const std::string& name = comparison.deviation.output;
            findings.fail({comparison.kind, name + ": " + comparison.reason});
            if (comparison.passed && !comparison.warning.empty()) findings.warn(name + ": " + comparison.warning);
            findings.result().deviations.push_back(std::move(comparison.deviation));
            if (!each.zeros.empty()) findings.warn(name + ": " + each.zeros);
        }
        if (unread_) return findings.fail(*unread_);
        check_pairs(test, findings);
        if (setup_.rules.hashes) findings.result().hash = hash_of(test);
        // Failures of the first run are reported first.
        findings.fail(wrong_in_second_);
    }

 private:
    struct Compared {
        Comparison comparison;
        std::string zeros;  ///< a warning, or empty
    };

    void compare_first(StepUnderTest& test) {
        compared_.clear();
        unread_.reset();
        wrong_in_second_ = {};
        for (const ArgTensor& value : test.expected) {
            auto actual = test.first->placed.host_tensor(value.place(), setup_.context());
            if (actual.ok()) test.actual.push_back({value.arg, *actual, value.position});
            if (actual.ok()) actual = test.as_computed(*actual, value.place());
            if (!actual.ok()) {
                unread_ = actual.error();
                return;
            }
            compare_one(test, **actual, value);
        }
        const bool is_right =
            std::ranges::all_of(compared_, [](const Compared& each) { return each.comparison.passed; });
        if (is_right && test.step.call.row->repeat != Repeat::varying) test.drop_large_expected();
        if (test.has_dropped_expected) setup_.expectations.release_bounds();
    }

    void compare_one(const StepUnderTest& test, const Tensor& actual, const ArgTensor& value) {
        const OutputSpec output = *test.computed.result_at(value.place());
        if (!output.has_meaning) return;
        Comparison comparison =
            compare_value({setup_.rules, setup_.expectations, test.computed}, actual, value, output);
        comparison.deviation.output = test.name_of(value.place());
        compared_.push_back({std::move(comparison), zeros_warning(test.computed, value, output)});
    }

    /// Values and places without an order belong together, and so do the factors of a matrix.
    static void check_pairs(const StepUnderTest& test, Findings& findings) {
        const Row& row = *test.step.call.row;
        if (row.rule == ShapeRule::unique) return check_distinct(test, findings);
        const bool are_factors = row.rule == ShapeRule::linalg_qr;
        if (test.actual.size() != 2 || (!are_factors && row.args()[test.actual[1].arg].place_in < 0)) return;
        const auto values = test.as_computed(test.actual[0].tensor, test.actual[0].place());
        if (!values.ok()) return findings.fail(values.error());
        const auto others = test.as_computed(test.actual[1].tensor, test.actual[1].place());
        if (!others.ok()) return findings.fail(others.error());
        const std::string wrong = wrong_pair(test.computed.call, **values, **others);
        if (!wrong.empty()) findings.fail({FailureKind::kValues, test.name_of(test.actual[0].place()) + ": " + wrong});
    }

    /// Distinct elements, their numbers and the positions of the input's elements belong together.
    static void check_distinct(const StepUnderTest& test, Findings& findings) {
        TensorPtr out, indices, counts;
        for (const ArgTensor& value : test.actual) {
            const std::string_view name = test.step.call.row->args()[value.arg].name;
            const auto computed = test.as_computed(value.tensor, value.place());
            if (!computed.ok()) return findings.fail(computed.error());
            (name == "out" ? out : name == "indices" ? indices : counts) = *computed;
        }
        if (out == nullptr) return;
        const std::string wrong = wrong_distinct(test.computed.call, *out, indices.get(), counts.get());
        if (!wrong.empty()) findings.fail({FailureKind::kValues, wrong});
    }

    static uint64_t hash_of(const StepUnderTest& test) {
        if (test.step.call.row->repeat == Repeat::varying) return 0;
        Checksum all;
        for (const ArgTensor& value : test.actual) {
            const auto output = test.step.result_at(value.place());
            const auto one = checksum_of_tensor(*value.tensor);
            if (output && output->has_meaning && one.ok()) all.update(one->data(), one->size());
        }
        return all.value();
    }

    /// The failure of a second run that may differ from the first.
    Failure wrong_in(StepUnderTest& test, Attempt& second) {
        if (test.step.call.row->repeat != Repeat::varying) return {};
        Failure wrong = first_wrong(test, test.expected, second.placed);
        if (!wrong.ok()) wrong.reason = "a second run is wrong: " + wrong.reason;
        return wrong;
    }

    std::vector<Compared> compared_;  ///< results of the first attempt
    std::optional<Error> unread_;     ///< why one of them could not be compared
    Failure wrong_in_second_;         ///< the failure of the second attempt
};

}  // namespace

std::unique_ptr<StepCheck> step_check::values(const CheckSetup& setup) { return std::make_unique<ValueCheck>(setup); }

}  // namespace diopi
