#include "conformance/cost.hpp"

#include <catch2/catch.hpp>
#include <cstdio>

#include "backend/testing.hpp"
#include "cases/catalogue.hpp"
#include "cases/testing.hpp"

namespace diopi {

namespace {

CaseTensor tensor(const std::string& name, const Shape& shape, bool grad = false) {
    CaseTensor out = testing::case_tensor(name, shape);
    out.requires_grad = grad;
    return out;
}

using testing::cpu;

}  // namespace

TEST_CASE("the work of a linear layer is its products", "[run][cost]") {
    Case c = testing::make_case(
        "linear", {tensor("input", {8, 20}, true), tensor("weight", {30, 20}, true), tensor("bias", {30}, true)});
    const CaseWork forward = work_of(c, cpu());
    CHECK(forward.steps == 1);
    CHECK(forward.drawn == 8 * 20 + 30 * 20 + 30);
    CHECK(forward.expected == 8 * 30);
    CHECK(forward.multiply_adds == 8 * 30 * (20 + 1));
    c.backward = true;
    const CaseWork both = work_of(c, cpu());
    CHECK(both.steps == 2);
    CHECK(both.drawn == forward.drawn);
    CHECK(both.expected == forward.expected + forward.drawn);
    CHECK(both.multiply_adds == forward.multiply_adds + 8 * 20 * 30 + 30 * 20 * 8 + 30 * 8);
}

TEST_CASE("an in-place step is work, too", "[run][cost]") {
    Case c = testing::make_case("add", {tensor("input", {4, 33}), tensor("other", {4, 33})});
    const CaseWork forward = work_of(c, cpu());
    c.inplace = true;
    const CaseWork both = work_of(c, cpu());
    CHECK(both.steps == 2);
    CHECK(both.expected == 2 * forward.expected);
    CHECK(cost_of(c, cpu()) > cost_of(testing::make_case("add", c.tensors), cpu()));
}

TEST_CASE("a case needs the memory of its largest step", "[run][cost]") {
    Case c = testing::make_case("sigmoid", {tensor("input", {1000}, true)});
    const auto bytes = [](const Case& of) { return work_of(of, cpu()).largest.most(); };
    // An input of 4 bytes an element, which the reference widens, and an expected value of 8.
    CHECK(bytes(c) == 1000 * (4 + 8 + 8));
    c.backward = true;
    // Two inputs: the result and its gradient.
    CHECK(bytes(c) == 1000 * (4 + 4 + 8 + 8 + 8));
    // A float64 one is not widened, and there is a result.
    c.tensors[0].specs[0].dtype = Dtype::float64;
    CHECK(bytes(c) == 1000 * (8 + 8 + 8 + 8));
    c.backward = false;
    c.inplace = true;
    CHECK(bytes(c) == 1000 * (8 + 8 + 8));
    // A large one is computed in slices.
    Case large = testing::make_case("sigmoid", {tensor("input", {10'000'000})});
    CHECK(bytes(large) == 10'000'000 * (4 + 4 + 8));
    Case broadcast = testing::make_case("add", {tensor("input", {1000, 1}), tensor("other", {1, 1000})});
    CHECK(bytes(broadcast) == 2 * 4000 + 1'000'000 * (4 + 8));
}

TEST_CASE("the work done is a share of the estimated time", "[run][cost]") {
    std::vector<Case> cases;
    for (const int64_t size : {10'000, 1'000'000, 10}) {
        cases.push_back(testing::make_case("add", {tensor("input", {size}), tensor("other", {size})}));
        cases.back().index = static_cast<int64_t>(cases.size());
    }
    ShareOfWork all(cases, cpu(), {}, 1);
    CHECK(all.after(cases[0].id(), 0) < 0.1);
    CHECK(all.after(cases[1].id(), 0) > 0.9);
    CHECK(all.after(cases[2].id(), 0) == 1);
    ShareOfWork few(
        cases, cpu(), [&](const Case& c) { return c.index == 2 ? std::optional<std::string>("large") : std::nullopt; },
        1);
    CHECK(few.after(cases[0].id(), 0) > 0.8);
}

TEST_CASE("the elapsed time says how far the running cases are", "[run][cost]") {
    std::vector<Case> cases;
    double seconds = 0;
    for (const int64_t size : {8'000'000, 8'000'000, 4'000'000, 10}) {
        cases.push_back(testing::make_case("add", {tensor("input", {size}), tensor("other", {size})}));
        cases.back().index = static_cast<int64_t>(cases.size());
        seconds += static_cast<double>(cost_of(cases.back(), cpu())) * 1e-9 / 2;
    }
    ShareOfWork share(cases, cpu(), {}, 2);
    CHECK(share.after(cases[3].id(), seconds * 0.25) == Approx(0.25));
    CHECK(share.after(cases[3].id(), seconds * 0.75) == Approx(0.75));
    // Two cases of 40 % each run at a time: no more can be done.
    CHECK(share.after(cases[3].id(), seconds * 2) == Approx(0.8).epsilon(0.01));
    CHECK(share.after(cases[0].id(), 0) == Approx(0.4).epsilon(0.01));
    CHECK(share.after(cases[1].id(), seconds) == Approx(1).epsilon(0.01));
}

TEST_CASE("a step that does not run costs nothing", "[run][cost]") {
    CHECK(cost_of(testing::make_case("no_such_operator", {tensor("input", {1000, 1000})}), cpu()) == kCostOfNothing);
    CHECK(cost_of(testing::make_case("add", {tensor("input", {4, 33}), tensor("other", {5, 33})}), cpu()) ==
          kCostOfNothing);
    const std::vector<AnyFunction> nothing(rows().size(), nullptr);
    const Backend empty("empty", cpu_device(), nothing);
    CHECK(cost_of(testing::make_case("add", {tensor("input", {4}), tensor("other", {4})}), empty) == kCostOfNothing);
}

// This is no test: it prints the work of the operator cases, or of a model, for scripts/fit_cost.py.
TEST_CASE("work of the operator cases as CSV", "[.work]") {
    CaseSelection selection;
    selection.models = {"resnet50"};
    const auto catalogue = Catalogue::load(DIOPI_SOURCE_DIR "/cases", selection);
    REQUIRE(catalogue.ok());
    const auto cases = catalogue->cases_of();
    for (const Case& c : *cases) {
        const CaseWork work = work_of(c, cpu());
        if (work.steps == 0) continue;
        std::printf("work,%s,%ld,%ld,%ld,%ld,%ld,%ld\n", c.id().c_str(), work.steps, work.drawn, work.expected,
                    work.functions, work.converted, work.multiply_adds);
    }
}

}  // namespace diopi
