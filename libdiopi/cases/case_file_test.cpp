#include "cases/case_file.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace diopi;

namespace {

/// A file with one group whose keys after "group" and "ops" are `rest`, which starts in line 3.
std::string file_with(const std::string& rest) {
    return "{\"groups\": [{\n\"group\": \"g\", \"ops\": [\"add\"],\n" + rest + "}]}";
}

std::string refusal_of_file(const std::string& text) {
    const auto groups = parse_case_file(text, "x.json");
    REQUIRE_FALSE(groups.ok());
    CHECK(groups.error().code == Errc::kBadInput);
    return groups.error().message;
}

std::string refusal(const std::string& rest) { return refusal_of_file(file_with(rest)); }

CaseGroup only_group(const std::string& rest) {
    auto groups = parse_case_file(file_with(rest), "x.json");
    if (!groups.ok()) FAIL(groups.error().message);
    return groups->front();
}

}  // namespace

TEST_CASE("a group is read with its defaults") {
    const CaseGroup group = only_group(R"("tensors": [{"name": ["input", "other"], "shapes": [[], [2, 3], null]}])");
    CHECK(group.suite == "ops");
    CHECK(group.semantics == "torch");
    CHECK(group.line == 1);
    CHECK(group.num_entries == 3);
    CHECK(group.num_dtypes == 5);
    CHECK(group.cases_per_op() == 15);
    CHECK(group.full.atol == 1e-5);
    CHECK(group.half.rtol == 5e-2);
    CHECK_FALSE(group.full.stated);
    const GroupTensor& tensor = group.tensors.front();
    CHECK(tensor.names.size() == 2);
    CHECK(tensor.fill.fn == Fill::kRandn);
    CHECK(tensor.entries[1].shapes.front() == Shape{2, 3});
    CHECK(tensor.entries[2].absent);
}

TEST_CASE("tolerances are stated one by one") {
    const CaseGroup group = only_group(R"("tolerance": {"atol": 1e-3, "half": {"rtol": 0.5}, "mismatch_ratio": 0})");
    CHECK(group.full.atol == 1e-3);
    CHECK(group.full.rtol == 1e-5);
    CHECK(group.full.stated);
    CHECK(group.half.atol == 1e-2);
    CHECK(group.half.rtol == 0.5);
    CHECK(group.half.mismatch_ratio == 0);
}

TEST_CASE("literals have their own shape, and texts replace numbers that JSON lacks") {
    const CaseGroup group = only_group(
        R"("tensors": [{"name": "input", "values": [[[1, "nan"], [true, "-inf"]], null, 3], "dtypes": ["float32"]}])");
    const GroupTensor& tensor = group.tensors.front();
    CHECK(tensor.fill.fn == Fill::kValue);
    CHECK(tensor.entries[0].shapes.front() == Shape{2, 2});
    CHECK(std::isnan(tensor.entries[0].values[1]));
    CHECK(tensor.entries[0].values[3] < -1e300);
    CHECK(tensor.entries[1].absent);
    CHECK(tensor.entries[2].shapes.front().empty());
    CHECK(tensor.entries[2].values == std::vector<double>{3});
}

TEST_CASE("a parameter that is not a list is valid for every case") {
    const CaseGroup group = only_group(R"("params": {"alpha": 2, "dim": [0, [1, 2], null], "p": "inf"})");
    CHECK(group.num_entries == 3);
    CHECK(group.params[0].values == std::vector<Param>{Param{int64_t{2}}});
    CHECK(group.params[1].values[1] == Param{std::vector<Param>{Param{int64_t{1}}, Param{int64_t{2}}}});
    CHECK(group.params[1].values[2] == Param{});
    CHECK(std::isinf(std::get<double>(group.params[2].values[0].value)));
}

TEST_CASE("an error message has file, line and JSON path") {
    CHECK(refusal("\"inplace\": 1") == "x.json:3: /groups/0/inplace: expected true or false, got a number");
    CHECK(refusal("\"tensors\": [\n{\"name\": \"input\", \"shapes\": 7}]") ==
          "x.json:4: /groups/0/tensors/0/shapes: expected a list of shapes, got a number");
    CHECK(
        refusal_of_file("{\"groups\": [\n") ==
        "x.json:1:13: malformed JSON: while parsing value - unexpected end of input; expected '[', '{', or a literal");
}

TEST_CASE("unknown words get suggestions") {
    const auto tensor = [](const std::string& rest) {
        return refusal(R"("tensors": [{"name": "input", )" + rest + "}]");
    };
    CHECK_THAT(tensor(R"("shpaes": [[1]])"), Catch::EndsWith("unknown key 'shpaes' (did you mean 'shapes'?)"));
    CHECK_THAT(tensor(R"("shapes": [[1]], "dtypes": ["flaot32"])"), Catch::Contains("(did you mean 'float32'"));
    CHECK_THAT(tensor(R"("shapes": [[1]], "fill": "radnn")"),
               Catch::Contains("unknown fill 'radnn' (did you mean 'randn'"));
    CHECK_THAT(refusal(R"("semantics": "jax")"), Catch::Contains("unknown semantics 'jax'; known: torch, "));
    CHECK_THAT(refusal_of_file(R"({"gruops": []})"), Catch::EndsWith("unknown key 'gruops' (did you mean 'groups'?)"));
}

TEST_CASE("an invalid tensor is refused") {
    struct Row {
        const char* tensor;
        const char* message;
    };
    const Row rows[] = {
        {R"({"shapes": [[1]]})", "/groups/0/tensors/0: the key 'name' is missing"},
        {R"({"name": "a"})", "one of 'shapes', 'shape_lists' and 'values' is missing"},
        {R"({"name": "a", "shapes": [[1]], "values": [1]})", "a tensor has either 'shapes' or 'values'"},
        {R"({"name": "a", "shapes": []})", "expected a list of shapes, got an empty list"},
        {R"({"name": "a", "shapes": [[2, -1]]})", "/shapes/0/1: a size cannot be negative: -1"},
        {R"({"name": "a", "shapes": [[2.5]]})", "expected a size (an integer), got a number"},
        {R"({"name": "a", "shapes": [[9000000000, 9000000000]]})", "the size in bytes overflows 64 bits"},
        {R"({"name": "a", "shapes": [[0, 9000000000, 9000000000]]})", "the size in bytes overflows 64 bits"},
        {R"({"name": "a", "shapes": [[3, 3]], "strides": [[4611686018427387904, 1]]})",
         "the size in bytes overflows 64 bits"},
        {R"({"name": "a", "shapes": [[2]], "count": [1, 1025]})", "a list has at most 1024 tensors"},
        {R"({"name": "a", "shapes": [[2, 3]], "strides": [[1]]})", "1 strides for the shape (2, 3)"},
        {R"({"name": "a", "shapes": [[2]], "strides": [null, [1]]})", "2 strides for 1 shapes"},
        {R"({"name": "a", "values": [[[1, 2], [3]]]})", "the rows of a tensor differ in length: 2 and 1"},
        {R"({"name": "a", "values": [[1, [2]]]})", "the rows of a tensor differ in depth"},
        {R"({"name": "a", "values": [1], "fill": "ones"})", "a tensor has either 'values' or a 'fill'"},
        {R"({"name": "a", "shapes": [[1]], "fill": {"fn": "ones", "low": 1}})", "'ones' takes no range"},
        {R"({"name": "a", "shapes": [[1]], "fill": {"fn": "randint", "low": 4, "high": 4}})",
         "the range [4, 4) is empty"},
        {R"({"name": "a", "shapes": [[1]], "fill": {"low": 4}})", "the key 'fn' is missing"},
        {R"({"name": "a", "shapes": [[1]], "count": [5, 1]})", "the least is not above the most"},
        {R"({"name": "a", "shapes": [[1]], "sparse": true})", "a sparse (CSR) tensor has two dimensions"},
        {R"({"name": "1a", "shapes": [[1]]})", "a name has letters, digits and underscores"},
        {R"({"name": ["a", "a"], "shapes": [[1]]})", "the tensor 'a' occurs twice"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.tensor);
        CHECK_THAT(refusal("\"tensors\": [" + std::string(row.tensor) + "]"), Catch::Contains(row.message));
    }
}

TEST_CASE("lists that belong together must have one length") {
    CHECK_THAT(refusal(R"("tensors": [{"name": "a", "shapes": [[1], [2]]}, {"name": "b", "shapes": [[1]]}])"),
               Catch::Contains("/groups/0/tensors/1/shapes: 1 entries for 'b', but 2 for 'a'"));
    CHECK_THAT(refusal(R"("tensors": [{"name": "a", "shapes": [[1], [2]]}], "params": {"dim": [0]})"),
               Catch::Contains("/groups/0/params/dim: 1 entries for 'dim', but 2 for 'a'"));
    CHECK_THAT(refusal(R"("tensors": [{"name": "a", "shapes": [[1]], "dtypes": ["int8", "int16"]},
                                      {"name": "b", "shapes": [[1]], "dtypes": ["int8", "int16", "int32"]}])"),
               Catch::Contains("3 dtypes for 'b', but 2 for 'a'"));
    CHECK_THAT(
        refusal(R"("tensors": [{"name": "a", "shapes": [[1]], "dtypes": ["int8"]}, {"name": "b", "shapes": [[1]]}])"),
        Catch::Contains("'b' has no dtypes, others do"));
}

TEST_CASE("an invalid group is refused") {
    CHECK_THAT(refusal_of_file(R"({"groups": [{"group": "g"}]})"),
               Catch::EndsWith("/groups/0: the key 'ops' is missing"));
    CHECK_THAT(
        refusal_of_file("{\"groups\": [{\"group\": \"g\", \"ops\": [\"a\"]},\n{\"group\": \"g\", \"ops\": [\"a\"]}]}"),
        Catch::EndsWith("x.json:2: /groups/1/group: the group 'g' stands in line 1 already"));
    CHECK_THAT(refusal(R"("dtypes": ["int8"])"), Catch::Contains("'dtypes' cannot be used in a group without tensors"));
    CHECK_THAT(refusal(R"("params": {"dim": [{"slice": 1}]})"), Catch::Contains("got an object"));
    CHECK_THAT(refusal(R"("tolerance": {"atol": -1})"), Catch::Contains("a tolerance cannot be negative"));
    CHECK_THAT(refusal(R"("saved": {"output": "first"})"),
               Catch::Contains("expected the index of an output, got a text"));
}

TEST_CASE("a group with too many cases is refused") {
    std::string names;
    for (char letter = 'a'; letter <= 'z'; ++letter)
        names += std::string(names.empty() ? "\"" : ", \"") + letter + "\"";
    const std::string tensor = R"("tensors": [{"shapes": [[2, 2]], "sparse": [true, false], "name": [)";
    CHECK_THAT(refusal(tensor + names + "]}]"), Catch::Contains("the group expands to more than 1000000 cases"));
    CHECK(only_group(tensor + "\"a\", \"b\"]}]").cases_per_op() == 20);
}

TEST_CASE("a file that cannot be read is refused by name") {
    const auto groups = read_case_file("no/such/file.json");
    REQUIRE_FALSE(groups.ok());
    CHECK(groups.error().message == "no/such/file.json: the case file cannot be read");
}

TEST_CASE("grad_fill describes the values of gradients, and must give them values") {
    const auto fill_of = [](const std::string& text) {
        return parse_case_file(R"({"groups": [{"group": "g", "ops": ["a"])" + text + "}]}", "x.json");
    };
    CHECK(fill_of("")->front().grad_fill == kOnesFill);
    CHECK(fill_of(R"(, "grad_fill": "randn")")->front().grad_fill.fn == Fill::kRandn);
    CHECK(fill_of(R"(, "grad_fill": {"fn": "uniform", "low": -1, "high": 1})")->front().grad_fill.low == -1);
    CHECK_THAT(fill_of(R"(, "grad_fill": "empty")").error().message, Catch::Contains("a gradient is read"));
    CHECK_FALSE(fill_of(R"(, "grad_fill": "randm")").ok());
}
