#include "cases/catalogue.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "cases/case_totals.hpp"

using namespace diopi;

namespace {

namespace fs = std::filesystem;

/// The case files of this repository.
std::string cases_folder() { return (fs::path(__FILE__).parent_path() / ".." / ".." / "cases").string(); }

/// A folder of case files that is removed when the test ends.
class TemporaryFolder {
 public:
    TemporaryFolder()
        : path_(fs::temp_directory_path() / ("diopi_catalogue_test_" + std::to_string(std::random_device()()))) {
        fs::create_directories(path_ / "ops");
        fs::create_directories(path_ / "models");
    }
    ~TemporaryFolder() { fs::remove_all(path_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return (path_ / name).string();
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

 private:
    fs::path path_;
};

CaseGroup group_of(const std::string& text) {
    auto groups = parse_case_file("{\"groups\": [" + text + "]}", "x.json");
    if (!groups.ok()) FAIL(groups.error().message);
    return groups->front();
}

const CaseGroup& group_named(const Catalogue& catalogue, const std::string& name) {
    for (const CaseGroup& group : catalogue.groups()) {
        if (group.name == name) return group;
    }
    FAIL("no group " + name);
    return catalogue.groups().front();
}

}  // namespace

TEST_CASE("cases are entries times dtypes times sparse, for each operator") {
    const CaseGroup group = group_of(R"({"group": "g", "ops": ["a", "b"], "dtypes": ["float32", "float64"],
        "tensors": [{"name": "x", "shapes": [[1, 1], [2, 2], [3, 3]], "sparse": [true, false]},
                    {"name": "y", "shapes": [null, [4], [5]], "dtypes": ["int64"]}],
        "params": {"dim": [7, 8, 9], "keep": true}})");
    const std::vector<Case> cases = expand(group);
    REQUIRE(cases.size() == 2 * 3 * 2 * 2);
    CHECK(count(group).total == 24);
    // This is (entry 1, float64, dense) of b.
    const Case& made = cases[12 + 4 + 2 + 1];
    CHECK(made.id() == "ops/g.b.7");
    CHECK(made.tensors[0].specs.front() == TensorSpec{{2, 2}, Dtype::float64, {}});
    CHECK_FALSE(made.tensors[0].sparse_csr);
    CHECK(cases[12 + 4 + 2].tensors[0].sparse_csr);
    CHECK(made.tensors[1].specs.front() == TensorSpec{{4}, Dtype::int64, {}});
    CHECK(*made.param("dim") == Param{int64_t{8}});
    CHECK(*made.param("keep") == Param{true});
    CHECK(made.param("none") == nullptr);
    CHECK(cases[0].tensors[1].absent);
    CHECK_FALSE(cases[0].uses(Dtype::int64));
    CHECK(made.uses(Dtype::int64));
    CHECK(made.dtype() == Dtype::float64);
}

TEST_CASE("missing strides at the end are row-major") {
    const CaseGroup group = group_of(R"({"group": "g", "ops": ["a"], "dtypes": ["float32"],
        "tensors": [{"name": "x", "shapes": [[2, 3], [4], [5]], "strides": [[1, 2], null]}]})");
    const std::vector<Case> cases = expand(group, NameChoice("a"));
    CHECK(cases[0].tensors[0].specs[0].strides == Shape{1, 2});
    CHECK(cases[1].tensors[0].specs[0].strides.empty());
    CHECK(cases[2].tensors[0].specs[0].strides.empty());
    CHECK(expand(group, NameChoice("b")).empty());
}

TEST_CASE("only present tensors of continuous dtypes have a gradient") {
    const CaseGroup group = group_of(R"({"group": "g", "ops": ["a"], "dtypes": ["float32", "int64", "complex64"],
        "tensors": [{"name": "x", "shapes": [[2], null], "grad": true}, {"name": "y", "shapes": [[2], [2]]}]})");
    const std::vector<Case> cases = expand(group);
    const bool expected[] = {true, false, true, false, false, false};
    for (size_t i = 0; i < 6; ++i) CHECK(cases[i].backward == expected[i]);
    CHECK(cases[0].tensors[0].requires_grad);
    CHECK_FALSE(cases[0].tensors[1].requires_grad);
    CHECK(count(group).backward == 2);
}

TEST_CASE("half tolerances follow floating dtypes, not an int16 index or an absent tensor") {
    const CaseGroup group =
        group_of(R"({"group": "g", "ops": ["a"], "dtypes": ["float32", "float16", "bfloat16", "int16"],
        "tensors": [{"name": "x", "shapes": [[2]]}, {"name": "y", "shapes": [[2]], "dtypes": ["int16"]},
                    {"name": "z", "shapes": [null], "dtypes": ["float16"]}]})");
    const std::vector<Case> cases = expand(group);
    CHECK(cases[0].tolerance.atol == 1e-5);
    CHECK(cases[1].tolerance.atol == 1e-2);
    CHECK(cases[2].tolerance.rtol == 5e-2);
    CHECK(cases[3].tolerance.atol == 1e-5);
}

TEST_CASE("the number of tensors in lists depends only on the case, and is the same for every list") {
    const CaseGroup group = group_of(R"({"group": "g", "ops": ["a"], "dtypes": ["float32"],
        "tensors": [{"name": ["x", "y"], "shapes": [[1],[2],[3],[4],[5],[6],[7],[8],[9]], "count": [1, 5]},
                    {"name": "z", "shape_lists": [[[1],[2]],[],null,[],[],[],[],[],[]]}]})");
    std::set<size_t> sizes;
    for (const Case& made : expand(group)) {
        const size_t size = made.tensors[0].specs.size();
        CHECK(made.tensors[0].is_list);
        CHECK(made.tensors[1].specs.size() == size);
        CHECK((size >= 1 && size <= 5));
        sizes.insert(size);
    }
    CHECK(sizes.size() > 1);
    CHECK(expand(group)[0].tensors[2].specs.size() == 2);
    CHECK(expand(group)[2].tensors[2].absent);
}

TEST_CASE("keys differ between cases and between seeds, and never change") {
    Case a, b;
    a.suite = b.suite = "ops";
    a.group = b.group = "relu";
    a.op = b.op = "relu";
    b.index = 1;
    CHECK(a.key(0) != b.key(0));
    CHECK(a.key(0) != a.key(1));
    CHECK(a.key(7) == a.key(7));
    CHECK(a.key(0) == 0x5e59605d335703abu);
}

TEST_CASE("the case files of this repository expand to the figures of the standard") {
    CaseSelection selection;
    selection.all_models = true;
    const auto catalogue = Catalogue::load(cases_folder(), selection);
    if (!catalogue.ok()) FAIL(catalogue.error().message);
    const CaseTotals totals = count_cases(*catalogue, {}, [](const std::string&) { return true; });
    CHECK(totals.operators == CaseCounts{14143, 4131, 1784, 341});
    CHECK(catalogue->suites().size() == 1 + 43);
    int64_t models = 0;
    for (const std::string& model : list_models(cases_folder())) models += totals.by_model.at(model).total;
    CHECK(models == 10537);
    CHECK(totals.by_model.at("resnet50") == CaseCounts{104, 14, 28, 3});
    CHECK(totals.by_model.at("llama") == CaseCounts{2420, 3, 13, 1});
    const std::pair<const char*, int64_t> figures[] = {
        {"pointwise_binary", 616},        {"conv_2d", 24}, {"where", 14},     {"spmm", 12}, {"randperm", 5},
        {"batch_norm_backward_elemt", 6}, {"bmm", 21},     {"ones_zeros", 18}};
    for (const auto& [name, total] : figures) {
        CAPTURE(name);
        CHECK(count(group_named(*catalogue, name)).total == total);
    }
    for (const CaseGroup& group : catalogue->groups()) {
        CaseCounts expanded;
        for (const Case& made : expand(group)) expanded += {1, made.inplace, made.backward, made.random};
        if (!(expanded == count(group))) FAIL_CHECK("count and expand disagree on " + group.name);
    }
}

TEST_CASE("a case is found by its id, and the error for a wrong id has a reason") {
    const auto catalogue = Catalogue::load(cases_folder());
    REQUIRE(catalogue.ok());
    const auto found = catalogue->find("ops/pointwise_binary.add.17");
    REQUIRE(found.ok());
    CHECK(found->id() == "ops/pointwise_binary.add.17");
    const auto message = [&](const char* id) { return catalogue->find(id).error().message; };
    CHECK_THAT(message("add"), Catch::StartsWith("'add' is no id of a case"));
    CHECK_THAT(message("ops/relu.relu.x"), Catch::Contains("is no id of a case"));
    CHECK_THAT(message("ops/rleu.relu.1"), Catch::Contains("'ops' has no group 'rleu' (did you mean 'relu'"));
    CHECK_THAT(message("ops/relu.gelu.1"), Catch::Contains("the group 'relu' has the operators relu"));
    CHECK_THAT(message("ops/relu.relu.72"), Catch::Contains("the numbers of 'relu' end at 71"));
    CHECK_THAT(catalogue->cases_of(NameChoice("conv2")).error().message, Catch::Contains("did you mean 'conv2d'"));
}

TEST_CASE("only selected cases are read") {
    const TemporaryFolder folder;
    const std::string good = R"({"groups": [{"group": "g", "ops": ["a"]}]})";
    folder.write("ops/a.json", good);
    folder.write("models/m.json", "{ this is no JSON");
    CHECK(Catalogue::load(folder.path()).ok());
    CHECK(list_models(folder.path()) == std::vector<std::string>{"m"});
    CHECK_THAT(Catalogue::load(folder.path(), CaseSelection::for_id("m/g.a.0")).error().message,
               Catch::Contains("malformed JSON"));
    CaseSelection selection;
    selection.models = {"n"};
    CHECK_THAT(Catalogue::load(folder.path(), selection).error().message,
               Catch::EndsWith("has no model 'n' (did you mean 'm'?)"));
    CHECK_THAT(Catalogue::load(folder.path() + "/none").error().message, Catch::Contains("holds no case files"));
}

TEST_CASE("totals are of the chosen operator, by group and model, and list functions that are not implemented") {
    const TemporaryFolder folder;
    folder.write("ops/a.json", R"({"groups": [{"group": "g", "ops": ["add", "mul"], "dtypes": ["float32"],
        "tensors": [{"name": "x", "shapes": [[1], [2]]}]}]})");
    folder.write("models/m.json", R"({"model": "m", "groups": [{"group": "h", "ops": ["add"]}]})");
    CaseSelection selection;
    selection.all_models = true;
    const auto catalogue = Catalogue::load(folder.path(), selection);
    REQUIRE(catalogue.ok());
    const auto is_add = [](const std::string& op) { return op == "add"; };
    const CaseTotals all = count_cases(*catalogue, {}, is_add);
    CHECK(all.operators.total == 4);
    CHECK(all.models.total == 1);
    CHECK(all.groups.at("g").total == 4);
    CHECK(all.by_model.at("m").total == 1);
    CHECK(all.not_implemented == std::map<std::string, int64_t>{{"mul", 2}});
    const CaseTotals of_mul = count_cases(*catalogue, NameChoice("mul"), is_add);
    CHECK(of_mul.operators.total == 2);
    CHECK(of_mul.by_model.empty());
}

TEST_CASE("a user's file adds groups, and may not redefine one") {
    const TemporaryFolder folder;
    folder.write("ops/a.json", R"({"groups": [{"group": "g", "ops": ["a"]}]})");
    CaseSelection selection;
    selection.files = {folder.write("mine.json", R"({"groups": [{"group": "h", "ops": ["a", "b"]}]})")};
    const auto catalogue = Catalogue::load(folder.path(), selection);
    REQUIRE(catalogue.ok());
    CHECK(catalogue->list_ops() == std::vector<std::string>{"a", "b"});
    selection.files = {folder.write("mine.json", "{\"groups\": [\n{\"group\": \"g\", \"ops\": [\"a\"]}]}")};
    CHECK_THAT(
        Catalogue::load(folder.path(), selection).error().message,
        Catch::Contains("mine.json:2: the group 'g' of 'ops' stands in ") && Catch::EndsWith("a.json:1 already"));
    folder.write("ops/b.json", R"({"model": "m", "groups": [{"group": "h", "ops": ["a"]}]})");
    CHECK_THAT(Catalogue::load(folder.path()).error().message,
               Catch::Contains("expected cases of 'ops', got those of 'm'"));
}
