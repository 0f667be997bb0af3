#include "report/compare_report.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

const CompareSides kSides{"cpu", "reference"};

CompareRow compared_row(const std::string& where, bool allclose) {
    CompareRow row;
    row.where = where;
    row.name = row.overload = "add.Tensor";
    row.function = "diopiAdd";
    row.place = "out";
    row.tensor = "float32[2]";
    row.seed = "numel:2";
    row.allclose = allclose;
    row.max_abs = allclose ? 1e-7 : 0.5;
    row.atol = 1e-4;
    if (allclose) return row;
    row.error = "0.5 off";
    row.inputs = {"input: numel:2"};
    return row;
}

CompareRow skipped_row(const std::string& where) {
    CompareRow row = compared_row(where, true);
    row.skipped = "random";
    return row;
}

CompareRow lone_row(const std::string& where, const std::string& after) {
    CompareRow row = compared_row(where, true);
    row.only_in = "A";
    row.after = after;
    row.error = "only A has this call";
    return row;
}

}  // namespace

TEST_CASE("compare's text counts calls and tensors, and names the first difference", "[report][compare]") {
    const std::vector<CompareRow> rows = {compared_row("call 0", true), compared_row("call 1", false),
                                          compared_row("call 1", true), skipped_row("call 2"), skipped_row("call 3")};
    const std::string text = compare_text(rows, kSides, false, {});
    CHECK_THAT(text,
               Contains("2 calls on cpu and reference: 1 of 3 tensors differ, the first at call 1, add.Tensor.\n"));
    CHECK_THAT(text, Contains("not compared, random: 2 calls, the first call 2: add.Tensor x2\n"));
    CHECK_THAT(text, Contains("First differences") && Contains("0.5 off") && Contains("Operator"));
    const std::string short_text = compare_text(rows, kSides, true, {});
    CHECK_THAT(short_text, !Contains("Operator"));
    CHECK_THAT(short_text, Contains("First differences"));
}

TEST_CASE("consecutive calls that one capture lacks are one break", "[report][compare]") {
    const std::string text = compare_text({lone_row("call 3 of A", "call 2, mm"), lone_row("call 4 of A", "call 2, mm"),
                                           lone_row("call 9 of A", "call 8, mm")},
                                          kSides, false, {});
    CHECK_THAT(text, Contains("call 3 of A to call 4 of A  "));
    CHECK_THAT(text, Contains("add.Tensor: only in A") && Contains("call 8, mm"));
    CHECK_THAT(text, Contains(", 3 calls are in only one of them, the first at call 3 of A, add.Tensor.\n"));
}

TEST_CASE("a tensor that is zero up to rounding has no cosine and no relative difference", "[report][compare]") {
    CompareRow zero = compared_row("call 0", true);
    zero.cosine = zero.max_rel = std::nullopt;
    const auto line_of = [](const std::vector<CompareRow>& rows) {
        const std::string text = compare_text(rows, kSides, false, {});
        const size_t start = text.find("add.Tensor");
        return text.substr(start, text.find('\n', start) - start);
    };
    CHECK_THAT(line_of({zero}), Contains(" . ") && EndsWith(" ."));
    CHECK_THAT(line_of({zero, compared_row("call 1", true)}), Contains(" 1.000000 ") && EndsWith(" 0"));
    const auto again = compare_row_from_json(to_json_line(zero));
    REQUIRE(again.has_value());
    CHECK((!again->cosine && !again->max_rel));
    CHECK_THAT(to_json_line(zero), Contains(R"("cosine_similarity":null)") && Contains(R"("max_relative_diff":null)"));
}

TEST_CASE("histograms show the side that is closer to the exact values", "[report][compare]") {
    CompareRow row = compared_row("call 0", true);
    row.ulp.emplace().counts[0] = 4;
    row.other_ulp.emplace().counts[3] = 4;
    const std::string text = compare_text({row}, kSides, false, {});
    CHECK_THAT(text, Contains("Closer to exact") && Contains("Errors of all outputs in ulp") && Contains("100 "));
    CHECK(text.find("cpu", text.find("add.Tensor")) < text.find("\n", text.find("add.Tensor")));
}

TEST_CASE("compare's CSV has rows for differences, for tensors not compared and for calls that one capture lacks",
          "[report][compare]") {
    CompareRow cast = compared_row("call 1", false);
    cast.cast = "float16 and float32 as float32";
    cast.forward_id = 7;
    CompareRow zero = compared_row("call 4", true);
    zero.cosine = zero.max_rel = std::nullopt;
    CHECK_THAT(compare_csv({zero}), Contains("\r\n,add.Tensor,True,,1e-07,,0.0001,0,"));
    CHECK(compare_csv({cast, skipped_row("call 2"), lone_row("call 3 of A", "")}) ==
          "forward_id,name,allclose,cosine_similarity,max_abs_diff,max_relative_diff,atol,rtol,error_info\r\n"
          "7,add.Tensor,False,1,0.5,0,0.0001,0,compared float16 and float32 as float32: 0.5 off\r\n"
          ",add.Tensor,,,,,,,not compared: random\r\n"
          ",add.Tensor,False,,,,,,only A has this call\r\n");
}

TEST_CASE("the seed's lines of a difference describe its inputs", "[report][compare]") {
    const std::string text = compare_seed_lines(compared_row("call 1", false));
    CHECK_THAT(text, Contains("allclose: False    max_diff:          0.500000000\n"));
    CHECK_THAT(text, Contains("autocompare:    add.Tensor out:\n\tnumel:2\n\tnot_close, 0.5 off\n"));
    CHECK_THAT(text, Contains("OpAutoCompareHook: add.Tensor input: input: numel:2\n"));
    CHECK(compare_seed_lines(skipped_row("call 2")) == "skip OpAutoCompareHook on add.Tensor: random\n");
}

TEST_CASE("compare's JSON counts differences, calls of one capture and tensors not compared", "[report][compare]") {
    const auto json = nlohmann::json::parse(
        compare_json({compared_row("call 1", false), skipped_row("call 2"), lone_row("call 3 of A", "")}, kSides));
    CHECK(json.at("different") == 1);
    CHECK(json.at("alone") == 1);
    CHECK(json.at("not_compared") == 1);
    CHECK(json.at("tensors").size() == 3);
    CHECK(json.at("against") == "reference");
}

}  // namespace diopi
