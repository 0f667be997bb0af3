#include "report/gen_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

GeneratedFile generated(int64_t cases, int64_t left_out) {
    GeneratedFile file;
    file.path = "data/add.h5";
    file.cases = cases;
    file.left_out = left_out;
    file.bytes = 2048;
    return file;
}

CaseTotals three_totals() {
    CaseTotals totals;
    totals.operators = {12, 3, 4, 1};
    totals.groups["binary"] = {12, 3, 4, 1};
    totals.not_implemented["cdist"] = 2;
    return totals;
}

}  // namespace

TEST_CASE("the line of a baseline file has the counts of stored, omitted and kept cases", "[report][gen]") {
    CHECK(generated_line(generated(3, 0)) == "data/add.h5: 3 cases, 2.0 KiB");
    CHECK(generated_line(generated(0, 2)).empty());
    GeneratedFile file = generated(3, 2);
    file.former = 4;
    file.kept = Kept::kUnchanged;
    CHECK(generated_line(file) ==
          "data/add.h5: 3 cases, 2.0 KiB, 2 left out, 4 more kept, kept (--force makes it again)");
    file.kept = Kept::kForeign;
    CHECK(generated_line(file) == "data/add.h5: made by another program, kept (--force replaces it)");
    file.error = "disk full";
    CHECK(generated_line(file) == "data/add.h5: disk full");
}

TEST_CASE("the summary of gen has the sums over its files", "[report][gen]") {
    CHECK(generated_summary({generated(3, 0), generated(4, 0)}, "data", 7) ==
          "7 cases stored in data (4.0 KiB), seed 7\n");
    CHECK_THAT(generated_summary({generated(3, 1)}, "data", 7), Contains("\n1 cases left out: random operators"));
    const auto json = nlohmann::json::parse(generated_json({generated(3, 1), generated(4, 0)}));
    CHECK(json.at("cases") == 7);
    CHECK(json.at("left_out") == 1);
    CHECK(json.at("files").at(0).at("kept") == false);
}

TEST_CASE("totals name functions that no backend implements", "[report][gen]") {
    const std::string text = totals_report(three_totals(), 3 << 20, {});
    CHECK_THAT(text, Contains("ops/binary") && Contains("operator cases") && !Contains("model cases"));
    CHECK_THAT(text, Contains("\n2 cases of 1 operators are not implemented by any backend:\n  cdist (2 cases)"));
    CHECK_THAT(text, Contains("\n3.0 MiB of tensors"));
    const auto json = nlohmann::json::parse(totals_json(three_totals(), 5));
    CHECK(json.at("operators").at("groups").at("binary").at("also_backward") == 4);
    CHECK(json.at("operator_cases") == 12);
    CHECK(json.at("not_implemented").at("cdist") == 2);
    CHECK(json.at("bytes") == 5);
}

}  // namespace diopi
