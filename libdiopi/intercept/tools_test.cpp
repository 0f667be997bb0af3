// Tests of dump and tolerances.
#include <catch2/catch.hpp>

#include "backend/testing.hpp"
#include "intercept/dump.hpp"
#include "intercept/testing.hpp"
#include "intercept/tolerances.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

std::vector<std::string> dumped(DumpLevel level) {
    std::vector<std::string> lines;
    Dump dump(level, [&](const std::string& line) { lines.push_back(line); });
    Chain chain(cpu());
    chain.add(dump);
    Context context(cpu_device());
    Call call = add_on(cpu_device());
    REQUIRE(chain.run(call, context).ok());
    return lines;
}

AbsRel found(const ToleranceTable& table, std::string_view function, Dtype dtype) {
    return table.find(Call(*find_row(function)), dtype);
}

}  // namespace

TEST_CASE("a dump shows names, then arguments, then values", "[intercept][dump]") {
    CHECK(dumped(DumpLevel::kNames) == std::vector<std::string>{"[dump 0] add.Tensor (diopiAdd)"});
    const auto arguments = dumped(DumpLevel::kArguments);
    REQUIRE(arguments.size() == 5);
    CHECK_THAT(arguments[1], Contains("in  input: float32[2]"));
    CHECK_THAT(arguments[3], Contains("in  alpha: 1"));
    CHECK_THAT(arguments[4], Contains("out out: float32[2]"));
    const auto values = dumped(DumpLevel::kValues);
    CHECK_THAT(values[4], Contains("input = [1, 2]"));
    CHECK_THAT(values.back(), Contains("out = [11, 22]"));
}

TEST_CASE("the most specific tolerance applies, and options precede the environment", "[intercept][tolerances]") {
    ToleranceTable table;
    CHECK(found(table, "diopiAdd", Dtype::float32) == AbsRel{1e-4, 1e-4});
    CHECK(found(table, "diopiAdd", Dtype::int64) == AbsRel{0, 0});
    table.add(ToleranceTable::Source::kEnvironment, "add", Dtype::float16, {9, 9});
    table.add(ToleranceTable::Source::kEnvironment, "", std::nullopt, {8, 8});
    CHECK(found(table, "diopiAdd", Dtype::float16) == AbsRel{9, 9});
    CHECK(found(table, "diopiMul", Dtype::float16) == AbsRel{8, 8});
    REQUIRE(table.add_option("1,2").ok());
    CHECK(found(table, "diopiAdd", Dtype::float16) == AbsRel{1, 2});
    REQUIRE(table.add_option("float16=3").ok());
    CHECK(found(table, "diopiAdd", Dtype::float16) == AbsRel{3, 3});
    REQUIRE(table.add_option("add=4,0").ok());
    CHECK(found(table, "diopiAdd", Dtype::float16) == AbsRel{4, 0});
    REQUIRE(table.add_option("add:float16=5e-3, 1e-4").ok());
    CHECK(found(table, "diopiAdd", Dtype::float16) == AbsRel{5e-3, 1e-4});
    CHECK(found(table, "diopiAdd", Dtype::float32) == AbsRel{4, 0});
}

TEST_CASE("an invalid tolerance is refused", "[intercept][tolerances]") {
    ToleranceTable table;
    for (const char* text : {"", "x", "1,", "-1", "1,2,3", "add=", "add:float99=1", "nan"}) {
        INFO(text);
        CHECK_FALSE(table.add_option(text).ok());
    }
}

}  // namespace diopi
