/// Class E: an output that has little to do with the expected one must not pass, whatever the case's tolerance.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>

#include "cases/catalogue.hpp"
#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "hard/hard_cases.hpp"
#include "step/case_run.hpp"
#include "step/compare_value.hpp"

namespace diopi {

namespace {

constexpr int64_t kFewElements = 8, kManyElements = 20'000;
/// Only every so many cases of an operator are tried.
constexpr size_t kEvery = 3;
/// Hard cases of a function that may be tried.
constexpr size_t kMostTried = 40;

using Values = std::vector<double>;

struct Wrong {
    const char* name;
    std::function<void(Values&)> make;
};

const Wrong kWrongs[] = {
    {"zeros", [](Values& x) { std::ranges::fill(x, 0.0); }},
    {"the first element everywhere", [](Values& x) { std::ranges::fill(x, x.front()); }},
    {"the negated output", [](Values& x) { std::ranges::transform(x, x.begin(), std::negate<>()); }},
    {"the reversed output", [](Values& x) { std::ranges::reverse(x); }},
    {"3% more", [](Values& x) { std::ranges::transform(x, x.begin(), [](double v) { return v * 1.03; }); }},
};

/// The values as a tensor of the output's dtype.
Tensor stored(const Values& values, const TensorSpec& spec) {
    Tensor wide = make_host_tensor(spec.shape, Dtype::float64);
    std::ranges::copy(values, wide.data_as<double>());
    Tensor narrowed = make_host_tensor(spec.shape, spec.dtype);
    narrow(wide, narrowed);
    return narrowed;
}

/// Whether two outputs are as good as equal: both are within the error bounds of the expected one. The gradient of a
/// softmax for a gradient of ones is 0 everywhere.
bool are_indistinguishable(const Values& a, const Values& b, const Tensor& errors) {
    for (size_t i = 0; i < a.size(); ++i) {
        const double bound = 4 * errors.data_as<double>()[i] + 1e-30 + 0.015 * std::fabs(b[i]);
        if (std::isfinite(bound) && std::fabs(a[i] - b[i]) > bound) return false;
    }
    return true;
}

/// The functions of class E, and for each the wrong outputs that were tried and were distinguishable.
std::map<std::string, int> g_tried;

void try_output(const Case& c, CaseSteps& steps, const StepRules& rules, const Step& step, const ArgTensor& value) {
    const auto output = step.result_at(value.place());
    const Tensor& expected = *value.tensor;
    if (!output || !output->has_meaning || expected.dtype != Dtype::float64) return;
    // The norms of a list are single elements.
    const int64_t least = step.call.row->rule == ShapeRule::listed_norms ? 1 : kFewElements;
    if (expected.numel() < least || expected.numel() > kManyElements) return;
    const TensorPtr errors = steps.error_bounds(step, *output);
    INFO(c.id() << ", " << step.function << ", " << step.call.name_of(value.place()));
    REQUIRE(errors != nullptr);
    const Values right(expected.data_as<double>(), expected.data_as<double>() + expected.numel());
    CHECK(compare_value({rules, steps, step}, stored(right, output->spec), value, *output).passed);
    for (const Wrong& wrong : kWrongs) {
        Values values = right;
        wrong.make(values);
        if (are_indistinguishable(values, right, *errors)) continue;
        INFO(wrong.name);
        CHECK_FALSE(compare_value({rules, steps, step}, stored(values, output->spec), value, *output).passed);
        ++g_tried[std::string(step.call.row->function)];
    }
}

void try_case(const Case& c) {
    CaseOptions options;
    options.backend = &reference_backend();
    auto steps = steps_of(c, options);
    if (!steps.ok()) return;
    const StepRules rules = rules_for(c, options);
    for (const std::string& name : (*steps)->names()) {
        const auto step = (*steps)->plan(name);
        if (!step.ok() || step->call.row->accuracy != AccuracyClass::E) continue;
        const auto is_small = [](const OutputSpec& output) { return numel(output.spec.shape) <= kManyElements; };
        if (!step->outputs.empty() && std::ranges::none_of(step->outputs, is_small)) continue;
        const auto expected = (*steps)->expected(*step);
        if (!expected.ok()) continue;
        for (const ArgTensor& value : *expected) try_output(c, **steps, rules, *step, value);
    }
}

}  // namespace

TEST_CASE("class E: no other output passes, in the cases of every function") {
    const auto catalogue = Catalogue::load(DIOPI_SOURCE_DIR "/cases");
    REQUIRE(catalogue.ok());
    std::vector<std::string> functions;
    for (const std::string& op : catalogue->list_ops()) {
        // The factors Q and R are not compared: factors_law_test.cpp has the wrong ones.
        const auto is_composite = [](const Row* row) {
            return row->accuracy == AccuracyClass::E && row->rule != ShapeRule::unknown &&
                   row->rule != ShapeRule::linalg_qr;
        };
        auto composites = rows_of(op) | std::views::filter(is_composite);
        if (composites.empty()) continue;
        const auto cases = catalogue->cases_of(NameChoice(op));
        REQUIRE(cases.ok());
        for (size_t i = 0; i < cases->size(); i += kEvery) try_case((*cases)[i]);
        for (const Row* row : composites) functions.emplace_back(row->function);
    }
    for (const std::string& function : functions) {
        // The standard's cases of some have results of one element only, or of too many.
        for (const Case& c : hard_cases(find_row(function)->op, 0, kMostTried)) {
            if (g_tried[function] > 0) break;
            try_case(c);
        }
        INFO(function);
        CHECK(g_tried[function] > 0);
    }
}

}  // namespace diopi
