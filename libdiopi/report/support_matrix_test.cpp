#include "report/support_matrix.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

CaseResult tested(const std::string& op, const std::string& dtype, Verdict verdict, std::vector<int64_t> shape = {4}) {
    CaseResult result;
    result.case_id = "ops/a." + op + ".0";
    result.suite = "ops";
    result.op = op;
    result.dtype = dtype;
    result.verdict = verdict;
    result.tensors = {{"input", dtype, std::move(shape)}};
    result.steps = {{op, "forward", verdict, "", {}, 0}};
    return result;
}

SupportCell cell_of(const SupportMatrix& matrix, size_t row, Aspect aspect) {
    return matrix.rows.at(row).cells.at(static_cast<size_t>(aspect));
}

SupportMatrix matrix_of(std::vector<CaseResult> results, std::vector<std::string> command = {}) {
    Journal journal;
    journal.header.backend = "chip";
    journal.header.command = std::move(command);
    journal.results = std::move(results);
    return support_of(journal);
}

}  // namespace

TEST_CASE("the word of a cell states the worst that matters", "[report][matrix]") {
    using enum Verdict;
    const auto word = [](std::vector<Verdict> verdicts) {
        SupportCell cell;
        for (const Verdict verdict : verdicts) cell.add(verdict);
        return std::string(cell.word());
    };
    CHECK(word({}) == ".");
    CHECK(word({kPassed, kSkipped}) == "yes");
    CHECK(word({kPassed, kNotImplemented}) == "part");
    CHECK(word({kNotImplemented, kSkipped}) == "no");
    CHECK(word({kSkipped}) == "skip");
    CHECK(word({kPassed, kNotImplemented, kCrashed}) == "FAIL");
    CHECK(word({kTimeout}) == "FAIL");
}

TEST_CASE("a case counts for its steps, layouts and shapes", "[report][matrix]") {
    CaseResult views = tested("add", "float32", Verdict::kFailed, {0, 3});
    views.steps = {{"add", "forward", Verdict::kPassed, "", {}, 0},
                   {"add_inp", "inplace", Verdict::kFailed, "", {}, 0}};
    views.choices = {{"layout", "contiguous"}, {"other layout", "last stepped"}};
    CaseResult bad = tested("add", "float32", Verdict::kAdvice);
    bad.suite = "bad";
    const SupportMatrix matrix = matrix_of(
        {views, tested("add", "float32", Verdict::kPassed, {}), bad, tested("add", "int8", Verdict::kNotImplemented)});
    REQUIRE(matrix.rows.size() == 2);
    CHECK(cell_of(matrix, 0, Aspect::kForward).passed == 2);
    CHECK(cell_of(matrix, 0, Aspect::kInplace).word() == "FAIL");
    CHECK(cell_of(matrix, 0, Aspect::kBackward).cases() == 0);
    CHECK(cell_of(matrix, 0, Aspect::kStrided).failed == 1);
    CHECK(cell_of(matrix, 0, Aspect::kEmpty).failed == 1);
    CHECK(cell_of(matrix, 0, Aspect::kZeroDim).passed == 1);
    CHECK(cell_of(matrix, 0, Aspect::kChannelsLast).cases() == 0);
    CHECK(cell_of(matrix, 1, Aspect::kForward).word() == "no");
}

TEST_CASE("the options of a run give all its cases their layout", "[report][matrix]") {
    const auto results = {tested("add", "float32", Verdict::kPassed)};
    const SupportMatrix strided = matrix_of(results, {"diopi", "test", "--strided"});
    CHECK(cell_of(strided, 0, Aspect::kStrided).passed == 1);
    CHECK(cell_of(strided, 0, Aspect::kChannelsLast).cases() == 0);
    CHECK(cell_of(matrix_of(results, {"diopi", "test", "--nhwc"}), 0, Aspect::kChannelsLast).passed == 1);
}

TEST_CASE("a matrix as table, Markdown, CSV and JSON", "[report][matrix]") {
    const SupportMatrix matrix =
        matrix_of({tested("add", "float16", Verdict::kPassed), tested("add", "float32", Verdict::kPassed),
                   tested("a|<b>", "float32", Verdict::kNotImplemented)});
    const std::string table = matrix_text(matrix, MatrixFormat::kTable, {});
    CHECK_THAT(table, Contains("float16 float32\n") &&
                          Contains("3 pairs of operator and dtype, forward on chip: 1 no, 2 yes\n"));
    const std::string narrow = matrix_text(matrix, MatrixFormat::kTable, {70, false});
    CHECK_THAT(narrow, Contains("float16\n") && Contains(" float32\n") && !Contains("float16 float32"));
    CHECK_THAT(
        matrix_text(matrix, MatrixFormat::kMarkdown, {}),
        Contains("| add | yes | . | . | . | . | . | . | float16 float32 |\n") && Contains("| a\\|&lt;b> | no |"));
    CHECK_THAT(matrix_text(matrix, MatrixFormat::kCsv, {}), Contains("chip,add,float32,1,0,0,0,0,"));
    const auto json = nlohmann::json::parse(matrix_text(matrix, MatrixFormat::kJson, {}));
    CHECK(json.at("rows").size() == 3);
    CHECK(json.at("rows").at(1).at("cells").at("forward").at("support") == "yes");
    CHECK_FALSE(json.at("rows").at(1).at("cells").contains("backward"));
}

}  // namespace diopi
