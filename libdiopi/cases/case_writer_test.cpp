#include "cases/case_writer.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "cases/case_file.hpp"
#include "cases/catalogue.hpp"
#include "cases/testing.hpp"

using namespace diopi;
using diopi::testing::case_tensor;
using diopi::testing::make_case;

namespace {

Case add_case() {
    Case c = make_case("add", {case_tensor("input", {2, 3}), case_tensor("other", {3})});
    c.group = "mine";
    return c;
}

/// Writes the case to a file and reads it back; both must be equal.
Case same_again(const Case& c) {
    const auto again = reread(c);
    if (!again.ok()) FAIL(c.id() + ": " + again.error().message);
    CHECK(again->fingerprint() == c.fingerprint());
    return *again;
}

}  // namespace

TEST_CASE("every case of the catalogue comes back from its own file") {
    CaseSelection all;
    all.all_models = true;
    const auto catalogue = Catalogue::load(DIOPI_SOURCE_DIR "/cases", all);
    REQUIRE(catalogue.ok());
    auto cases = catalogue->cases_of();
    REQUIRE(cases.ok());
    CHECK(cases->size() > 20000);
    for (Case& c : *cases) {
        // The draw of a list's length depends on the group's name alone; a file of one case begins at 0.
        c.index = 0;
        const auto again = reread(c);
        if (!again.ok()) FAIL(c.id() + ": " + again.error().message);
        const bool same = again->fingerprint() == c.fingerprint() && again->tolerance.atol == c.tolerance.atol &&
                          again->tolerance.rtol == c.tolerance.rtol && again->semantics == c.semantics &&
                          again->tolerance.mismatch_ratio == c.tolerance.mismatch_ratio &&
                          again->grad_outputs == c.grad_outputs;
        if (!same) FAIL(c.fingerprint() + "\n" + again->fingerprint() + "\n" + *case_file_text(c));
    }
}

TEST_CASE("stated values keep every bit, also numbers that JSON lacks") {
    Case c = add_case();
    c.tensors[0].fill.fn = Fill::kValue;
    const double infinity = std::numeric_limits<double>::infinity();
    c.tensors[0].values = {0.1, -infinity, 3, -0.0, 1e300, 0x1p-149};
    const Case again = same_again(c);
    CHECK(std::signbit(again.tensors[0].values[3]));
    CHECK(again.tensors[0].specs[0].shape == Shape{2, 3});
    c.tensors[0].values[1] = std::nan("");
    CHECK(std::isnan(reread(c)->tensors[0].values[1]));
    c.tensors[0] = case_tensor("input", {});
    c.tensors[0].fill.fn = Fill::kValue;
    c.tensors[0].values = {-2.5};
    same_again(c);
}

TEST_CASE("parameters keep their kinds") {
    Case c = add_case();
    const Param list{std::vector<Param>{Param{int64_t{1}}, Param{2.0}, Param{std::vector<Param>{}}}};
    c.params = {{"alpha", Param{2.0}}, {"dim", Param{int64_t{2}}}, {"dims", list}, {"mode", Param{std::string("mean")}},
                {"flag", Param{true}}, {"none", Param{}}};
    c.params.emplace_back("limit", Param{-std::numeric_limits<double>::infinity()});
    same_again(c);
}

TEST_CASE("an absent tensor, strides, a list and a tolerance come back") {
    Case c = add_case();
    c.tensors[1] = CaseTensor();
    c.tensors[1].name = "other";
    c.tensors[1].absent = true;
    c.tensors[0].specs[0].strides = {8, 2};
    c.tensors.push_back(case_tensor("tensors", {4}));
    c.tensors.back().is_list = true;
    c.tensors.back().specs.push_back({{4, 1}, Dtype::float32, {}});
    c.tolerance.atol = 0.5;
    c.tolerance.rtol = 0;
    c.tolerance.stated = true;
    CHECK(same_again(c).tolerance.atol == 0.5);
    c.tensors[0].specs[0].dtype = Dtype::float16;
    CHECK(same_again(c).tolerance.rtol == 0);
}

TEST_CASE("a case that no case file can describe is refused") {
    const auto refusal = [](const Case& c) {
        const auto text = case_file_text(c);
        REQUIRE_FALSE(text.ok());
        CHECK(text.error().code == Errc::kBadInput);
        return text.error().message;
    };
    Case c = add_case();
    c.tensors[0].fill.fn = Fill::kCaptured;
    CHECK_THAT(refusal(c), Catch::Contains("captured"));
    c.tensors[0].fill.fn = Fill::kValue;
    c.tensors[0].values = {1, 2};
    CHECK_THAT(refusal(c), Catch::Contains("one for each element"));
    c = add_case();
    c.tensors[0].is_list = true;
    c.tensors[0].specs.push_back({{2, 3}, Dtype::float64, {}});
    CHECK_THAT(refusal(c), Catch::Contains("differ in dtype"));
    c.tensors[0].specs[1] = {{2, 2}, Dtype::float32, {2, 1}};
    CHECK_THAT(refusal(c), Catch::Contains("several shapes"));
}

TEST_CASE("the incoming gradients are written as they are drawn") {
    Case c = add_case();
    c.tensors[0].requires_grad = c.backward = true;
    c.grad_fill = {Fill::kUniform, -1, 1};
    c.grad_outputs = {0};
    const Case again = same_again(c);
    CHECK(again.grad_fill == c.grad_fill);
    CHECK(again.grad_outputs == c.grad_outputs);
}
