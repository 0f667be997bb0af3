#include "cases/device_config.hpp"

#include <catch2/catch.hpp>

#include "cases/testing.hpp"

using namespace diopi;
using diopi::testing::case_tensor;
using diopi::testing::make_case;

namespace {

/// ops/pointwise_binary.add.17: add of a float32 (2, 3) and an int64 (3).
Case plain_add() {
    Case c = make_case("add", {case_tensor("input", {2, 3}), case_tensor("other", {3}, Dtype::int64)});
    c.group = "pointwise_binary";
    c.index = 17;
    c.params = {{"alpha", Param{int64_t{2}}}, {"dims", Param{std::vector<Param>{{int64_t{0}}, {int64_t{1}}}}}};
    return c;
}

/// A file with one rule.
std::string config_with(const std::string& rule) { return "{\"rules\": [\n{" + rule + "}]}"; }

DeviceRule rule_of(const std::string& criteria) {
    const auto config = parse_device_config(config_with(criteria + R"(, "skip": true, "reason": "why")"), "x.json");
    if (!config.ok()) FAIL(config.error().message);
    return config->rules.front();
}

bool matches(const std::string& criteria, const Case& c = plain_add()) { return rule_of(criteria).matches(c); }

DeviceConfig config_of(const std::string& rules) {
    auto config = parse_device_config("{\"rules\": [" + rules + "]}", "x.json");
    if (!config.ok()) FAIL(config.error().message);
    return *config;
}

std::string refused_config(const std::string& text) {
    const auto config = parse_device_config(text, "x.json");
    REQUIRE_FALSE(config.ok());
    CHECK(config.error().code == Errc::kBadInput);
    return config.error().message;
}

std::string refused_rule(const std::string& rule) { return refused_config(config_with(rule)); }

}  // namespace

TEST_CASE("a device rule matches by operator") {
    CHECK(matches(R"("ops": ["add"])"));
    CHECK(matches(R"("ops": ["sub", "a*"])"));
    CHECK(matches(R"("ops": ["*"])"));
    CHECK_FALSE(matches(R"("ops": ["sub", "ad"])"));
}

TEST_CASE("a device rule matches by the id of the case") {
    CHECK(matches(R"("cases": ["ops/pointwise_binary.add.17"])"));
    CHECK(matches(R"("cases": ["ops/*.add.1*"])"));
    CHECK_FALSE(matches(R"("cases": ["ops/*.add.2*", "pointwise_binary.add.17"])"));
}

TEST_CASE("a device rule matches by the dtype of any tensor") {
    CHECK(matches(R"("dtypes": ["float64", "int64"])"));
    CHECK_FALSE(matches(R"("dtypes": ["float64"])"));
}

TEST_CASE("a device rule matches by an argument") {
    const auto argument = [](const std::string& rest) { return matches(R"("argument": {"name": )" + rest + "}"); };
    CHECK(argument(R"("other")"));
    CHECK_FALSE(argument(R"("weight")"));
    CHECK(argument(R"("other", "dtypes": ["int32", "int64"])"));
    CHECK_FALSE(argument(R"("other", "dtypes": ["float32"])"));
    CHECK(argument(R"("input", "ranks": [1, 2])"));
    CHECK_FALSE(argument(R"("input", "ranks": [1, 3])"));
    CHECK(argument(R"("input", "shapes": [[2, 3]])"));
    CHECK_FALSE(argument(R"("input", "shapes": [[3, 2], [2]])"));
    CHECK_FALSE(argument(R"("input", "shapes": [[2, 3]], "dtypes": ["int64"])"));
}

TEST_CASE("an absent tensor is not an argument, an element of a list has the list's name") {
    Case c = plain_add();
    c.tensors[1].absent = true;
    CHECK_FALSE(matches(R"("argument": {"name": "other"})", c));
    c.tensors[0].list = "tensors";
    CHECK(matches(R"("argument": {"name": "tensors", "ranks": [2]})", c));
    CHECK_FALSE(matches(R"("argument": {"name": "input"})", c));
}

TEST_CASE("one tensor of an argument must have dtype, rank and shape at once") {
    Case c = plain_add();
    c.tensors[0].is_list = true;
    c.tensors[0].specs = {{{2}, Dtype::float32, {}}, {{2, 3}, Dtype::int64, {}}};
    CHECK(matches(R"("argument": {"name": "input", "ranks": [2], "dtypes": ["int64"]})", c));
    CHECK_FALSE(matches(R"("argument": {"name": "input", "ranks": [2], "dtypes": ["float32"]})", c));
}

TEST_CASE("a device rule matches by a parameter") {
    const auto param = [](const std::string& name, const std::string& values, const Case& c = plain_add()) {
        return matches(R"("param": {"name": ")" + name + R"(", "values": )" + values + "}", c);
    };
    CHECK(param("alpha", "[1, 2]"));
    CHECK(param("alpha", "[2.0]"));
    CHECK_FALSE(param("alpha", "[1, 2.5, true, \"2\"]"));
    CHECK_FALSE(param("beta", "[2, null]"));
    CHECK(param("dims", "[[0, 1.0]]"));
    CHECK_FALSE(param("dims", "[0, [0], [1, 0]]"));
    Case c = plain_add();
    c.params = {{"alpha", Param{}}, {"mode", Param{std::string("floor")}}};
    CHECK(param("alpha", "[null]", c));
    CHECK(param("mode", "[\"ceil\", \"floor\"]", c));
    CHECK_FALSE(param("mode", "[null]", c));
}

TEST_CASE("a device rule matches by a factor of a hard case") {
    const auto factor = [](const std::string& name, const std::string& levels) {
        Case c = plain_add();
        c.choices = {{"layout", "first transposed"}, {"values", "denormal"}};
        return matches(R"("factor": {"name": ")" + name + R"(", "levels": )" + levels + "}", c);
    };
    CHECK(factor("layout", R"(["views", "first *"])"));
    CHECK_FALSE(factor("layout", R"(["views", "denormal"])"));
    CHECK_FALSE(factor("size", R"(["*"])"));
    CHECK_FALSE(matches(R"("factor": {"name": "layout", "levels": ["*"]})", plain_add()));
}

TEST_CASE("every criterion of a device rule must hold") {
    CHECK(matches(R"("ops": ["add"], "dtypes": ["int64"], "cases": ["ops/*"])"));
    CHECK_FALSE(matches(R"("ops": ["sub"], "dtypes": ["int64"])"));
    CHECK_FALSE(matches(R"("ops": ["add"], "param": {"name": "alpha", "values": [3]})"));
}

TEST_CASE("a rule for steps matches cases that have one of them") {
    Case c = plain_add();
    CHECK(matches(R"("ops": ["add"], "steps": ["forward"])", c));
    CHECK_FALSE(matches(R"("ops": ["add"], "steps": ["inplace", "backward"])", c));
    c.backward = true;
    CHECK(matches(R"("ops": ["add"], "steps": ["inplace", "backward"])", c));
}

TEST_CASE("skips of whole cases name the first rule, skips of steps go into the case") {
    const DeviceConfig config = config_of(R"(
        {"ops": ["add"], "steps": ["inplace", "backward"], "skip": true, "reason": "no gradients"},
        {"dtypes": ["int64"], "skip": true, "reason": "no int64"},
        {"ops": ["*"], "skip": true, "reason": "nothing works"})");
    std::vector<Case> cases(1, plain_add());
    cases[0].backward = true;
    const DeviceConfigUse use = apply_device_config(config, cases);
    CHECK(use.matched == std::vector<int64_t>{1, 1, 1});
    CHECK(config.skip_reason(cases[0]) == "device config: no int64 (rule 2)");
    REQUIRE(cases[0].skip_reason("backward") != nullptr);
    CHECK(*cases[0].skip_reason("backward") == "device config: no gradients (rule 1)");
    CHECK(cases[0].skip_reason("inplace") == nullptr);
    CHECK(cases[0].skip_reason("forward") == nullptr);
}

TEST_CASE("a rule that skips a case with the other parameters leaves out the other call") {
    const auto other_params = [](const std::string& rule) {
        Case c = plain_add();
        c.other_params = {{"alpha", Param{0.7}}};
        std::vector<Case> cases = {c};
        static_cast<void>(apply_device_config(config_of(rule), cases));
        CHECK(cases[0].params == c.params);
        return cases[0].other_params.size();
    };
    const std::string criterion = R"({"param": {"name": "alpha", "values": [0.7]}, )";
    CHECK(other_params(criterion + R"("skip": true, "reason": "a"})") == 0);
    CHECK(other_params(criterion + R"("skip": true, "steps": ["forward"], "reason": "a"})") == 0);
    CHECK(other_params(criterion + R"("atol": 1, "reason": "a"})") == 1);
    CHECK(other_params(R"({"param": {"name": "alpha", "values": [2]}, "skip": true, "reason": "a"})") == 1);
}

TEST_CASE("a later tolerance replaces the members that it states") {
    const DeviceConfig config = config_of(R"(
        {"ops": ["add"], "atol": 0.5, "rtol": 0.25, "reason": "a"},
        {"ops": ["add"], "atol": 0.125, "reason": "b"})");
    std::vector<Case> cases(2, plain_add());
    cases[1].op = "sub";
    const DeviceConfigUse use = apply_device_config(config, cases);
    CHECK(use.held == 1);
    CHECK(cases[0].tolerance.instead == Tolerance::Instead::kTolerance);
    CHECK(cases[0].tolerance.atol == 0.125);
    CHECK(cases[0].tolerance.rtol == 0.25);
    CHECK(cases[1].tolerance.instead == Tolerance::Instead::kNothing);
    CHECK(cases[1].tolerance.atol == 1e-5);

    cases.assign(1, plain_add());
    static_cast<void>(apply_device_config(config_of(R"({"ops": ["add"], "atol": 0.5, "reason": "a"},
                                                       {"ops": ["add"], "max_ulp": 4, "reason": "b"})"),
                                          cases));
    CHECK(cases[0].tolerance.instead == Tolerance::Instead::kUlp);
    CHECK(cases[0].tolerance.max_ulp == 4);
}

TEST_CASE("skipped and random cases have no tolerance") {
    const DeviceConfig config = config_of(R"(
        {"ops": ["*"], "atol": 1, "reason": "a"},
        {"ops": ["sub"], "skip": true, "reason": "b"})");
    std::vector<Case> cases(3, plain_add());
    cases[1].op = "sub";
    cases[2].random = true;
    const DeviceConfigUse use = apply_device_config(config, cases);
    CHECK(use.matched == std::vector<int64_t>{3, 1});
    CHECK(use.held == 1);
}

TEST_CASE("rules of hard cases are reported only where there are hard cases") {
    const DeviceConfig config = config_of(R"({"ops": ["add"], "cases": ["hard/add.0.1"], "skip": true, "reason": "a"},
{"ops": ["add"], "factor": {"name": "layout", "levels": ["first *"]}, "skip": true, "reason": "b"},
{"ops": ["add"], "cases": ["hard/add.0.1", "ops/none"], "skip": true, "reason": "c"})");
    std::vector<Case> cases(1, plain_add());
    CHECK(apply_device_config(config, cases).unmatched ==
          std::vector<std::string>{"x.json:3: /rules/2: matches no case"});
    cases[0].suite = kHardSuite;
    CHECK(apply_device_config(config, cases).unmatched.size() == 3);
}

TEST_CASE("rules without effect are reported with their place") {
    const DeviceConfig config = config_of(R"({"ops": ["add"], "skip": true, "reason": "a"},
{"ops": ["sub"], "skip": true, "reason": "b"},
{"ops": ["sotfmax", "ad*"],
 "skip": true, "reason": "c"},
{"ops": ["add"], "argument": {"name": "inptu"}, "skip": true, "reason": "d"},
{"ops": ["add"], "param": {"name": "alhpa", "values": [1]}, "skip": true, "reason": "e"},
{"ops": ["*"], "param": {"name": "keepdim", "values": [true]}, "skip": true, "reason": "f"})");
    std::vector<Case> cases(1, plain_add());
    const DeviceConfigUse use = apply_device_config(config, cases);
    CHECK(use.matched == std::vector<int64_t>{1, 0, 1, 0, 0, 0});
    CHECK(use.unmatched ==
          std::vector<std::string>{"x.json:2: /rules/1: matches no case", "x.json:5: /rules/3: matches no case",
                                   "x.json:6: /rules/4: matches no case", "x.json:7: /rules/5: matches no case"});
    CHECK(use.unknown ==
          std::vector<std::string>{
              "x.json:3: /rules/2/ops/0: the standard has no operator 'sotfmax' (did you mean 'softmax'?)",
              "x.json:5: /rules/3/argument/name: no operator of this rule has an argument 'inptu' "
              "(did you mean 'input'?)",
              "x.json:6: /rules/4/param/name: no operator of this rule has a parameter 'alhpa' "
              "(did you mean 'alpha'?)"});
}

TEST_CASE("the effect of a device rule as text") {
    CHECK(rule_of(R"("ops": ["add"])").effect() == "skip");
    CHECK(rule_of(R"("ops": ["add"], "steps": ["inplace", "backward"])").effect() == "skip inplace, backward");
    CHECK(config_of(R"({"ops": ["a"], "rtol": 0.5, "reason": "r"})").rules[0].effect() == "rtol 0.5");
    CHECK(config_of(R"({"ops": ["a"], "atol": 0, "rtol": 0.5, "reason": "r"})").rules[0].effect() ==
          "atol 0, rtol 0.5");
    CHECK(config_of(R"({"ops": ["a"], "max_ulp": 2.5, "reason": "r"})").rules[0].effect() == "max_ulp 2.5");
}

TEST_CASE("a malformed device configuration is refused with file, line and JSON path") {
    CHECK(refused_config("[]") == "x.json:1: /: expected an object, got a list");
    CHECK(refused_config("{}") == "x.json:1: /: the key 'rules' is missing");
    CHECK(refused_config(R"({"rules": []})") == "x.json:1: /rules: expected a list of rules, got an empty list");
    CHECK(refused_config(R"({"ruels": []})") == "x.json:1: /ruels: unknown key 'ruels' (did you mean 'rules'?)");
    CHECK(refused_config(R"({"device": 1, "rules": [1]})") ==
          "x.json:1: /device: expected the name of the device, got a number");
    CHECK(refused_config(R"({"rules": [1]})") == "x.json:1: /rules/0: expected an object, got a number");
    CHECK_THAT(refused_config("{\"rules\": ["), Catch::StartsWith("x.json:1:11: malformed JSON"));
}

TEST_CASE("an invalid device rule is refused") {
    struct Row {
        const char* rule;
        const char* message;
    };
    const Row rows[] = {
        {R"("ops": ["add"], "skip": true)", "x.json:2: /rules/0: the key 'reason' is missing"},
        {R"("ops": ["add"], "skip": true, "reason": "")",
         "/reason: expected the reason of the rule, got an empty text"},
        {R"("ops": ["add"], "skip": true, "reason": 1)", "/reason: expected the reason of the rule, got a number"},
        {R"("skip": true, "reason": "r")", "a rule says which cases it is for: \"ops\": [\"*\"] for all"},
        {R"("ops": ["add"], "reason": "r")", "a rule says \"skip\": true, or sets 'atol' and 'rtol', or 'max_ulp'"},
        {R"("ops": ["add"], "skip": false, "reason": "r")", "/skip: expected true; a rule that is not to skip"},
        {R"("ops": ["add"], "skip": true, "atol": 1, "reason": "r")", "/atol: a rule skips, or it sets a tolerance"},
        {R"("ops": ["add"], "max_ulp": 1, "rtol": 1, "reason": "r")", "/max_ulp: a rule sets 'atol' and 'rtol', or"},
        {R"("ops": ["add"], "atol": -1, "reason": "r")", "/atol: a tolerance cannot be negative"},
        {R"("ops": ["add"], "atol": "1", "reason": "r")", "/atol: expected a number, got a text"},
        {R"("ops": ["add"], "atol": 1, "steps": ["forward"], "reason": "r")", "/steps: 'steps' go with 'skip'"},
        {R"("ops": ["add"], "skip": true, "steps": ["backwards"], "reason": "r")",
         "/steps/0: unknown step 'backwards' (did you mean 'backward'?)"},
        {R"("ops": "add", "skip": true, "reason": "r")", "/ops: expected a list of operators, got a text"},
        {R"("ops": [], "skip": true, "reason": "r")", "/ops: expected a list of operators, got an empty list"},
        {R"("ops": [1], "skip": true, "reason": "r")", "/ops/0: expected the name of an operator, got a number"},
        {R"("cases": [1], "skip": true, "reason": "r")", "/cases/0: expected the id of a case, got a number"},
        {R"("dtypes": ["flaot32"], "skip": true, "reason": "r")", "unknown dtype 'flaot32' (did you mean 'float32'"},
        {R"("argument": "input", "skip": true, "reason": "r")", "/argument: expected an object, got a text"},
        {R"("argument": {}, "skip": true, "reason": "r")", "/argument: the key 'name' is missing"},
        {R"("argument": {"name": "a", "rank": [1]}, "skip": true, "reason": "r")", "(did you mean 'ranks'?)"},
        {R"("argument": {"name": "a", "ranks": [-1]}, "skip": true, "reason": "r")",
         "expected a rank (an integer from 0)"},
        {R"("argument": {"name": "a", "shapes": [3]}, "skip": true, "reason": "r")",
         "/shapes/0: expected a shape (a list of sizes)"},
        {R"("param": {"name": "a"}, "skip": true, "reason": "r")", "/param: the key 'values' is missing"},
        {R"("param": {"name": "a", "values": [{}]}, "skip": true, "reason": "r")",
         "/param/values/0: expected a number, a text"},
        {R"("factor": {"name": "layouts", "levels": ["views"]}, "skip": true, "reason": "r")",
         "/factor/name: unknown factor 'layouts' (did you mean 'layout'?)"},
        {R"("factor": {"name": "layout"}, "skip": true, "reason": "r")", "/factor: the key 'levels' is missing"},
        {R"("opss": ["add"], "skip": true, "reason": "r")", "unknown key 'opss' (did you mean 'ops'"},
    };
    for (const Row& row : rows) {
        INFO(row.rule);
        CHECK_THAT(refused_rule(row.rule), Catch::Contains(row.message));
    }
}
