#include "report/order_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

OrderRecord one_dependent() {
    OrderRecord record;
    record.cases = 10;
    record.failures = 2;
    record.options = "--seed 7";
    record.found.push_back({"ops/a.add.3",
                            Verdict::kFailed,
                            Verdict::kPassed,
                            Verdict::kPassed,
                            false,
                            {"ops/a.add.0", "ops/a.add.1"},
                            {},
                            Verdict::kFailed,
                            true});
    return record;
}

}  // namespace

TEST_CASE("a case that depends on the order has the command that reproduces its verdict", "[report][order]") {
    const std::string text = order_report(one_dependent(), {});
    CHECK_THAT(text, Contains("\nops/a.add.3 fails after ops/a.add.0, ops/a.add.1\n"
                              "    diopi test --in-order ops/a.add.0 ops/a.add.1 ops/a.add.3 --seed 7\n"));
    CHECK_THAT(text, Contains("\n1 of 10 cases depend on the order or on addresses, 2 fail alone, 0.0 s\n"));
    const auto json = nlohmann::json::parse(order_json(one_dependent()));
    CHECK(json.at("order_dependent").at(0).at("after").size() == 2);
    CHECK(json.at("order_dependent").at(0).at("repeat") ==
          "diopi test --in-order ops/a.add.0 ops/a.add.1 ops/a.add.3 --seed 7");
    CHECK(json.at("fail_alone") == 2);
}

TEST_CASE("a case that depends on addresses has the command that reproduces its verdict", "[report][order]") {
    OrderRecord record = one_dependent();
    record.found.front().addresses = 7;
    CHECK_THAT(order_report(record, {}), Contains(" ops/a.add.1 ops/a.add.3 --seed 7 --addresses 7\n"));
    record.found.front().after.clear();
    CHECK_THAT(order_report(record, {}), Contains("\nops/a.add.3 fails at other addresses\n"
                                                  "    diopi test --case ops/a.add.3 --seed 7 --addresses 7\n"));
    CHECK(nlohmann::json::parse(order_json(record)).at("order_dependent").at(0).at("addresses") == 7);
}

TEST_CASE("a failure that no order explains has no command", "[report][order]") {
    OrderRecord record = one_dependent();
    OrderFinding& found = record.found.front();
    found.fewest = false;
    CHECK_THAT(order_report(record, {}), Contains("(not the fewest: out of time)"));
    found.after.clear();
    CHECK_THAT(order_report(record, {}), Contains("not found in time") && !Contains("--in-order"));
    found.fewest = true;
    CHECK_THAT(order_report(record, {}), Contains("no order that was found"));
    found.flaky = true;
    CHECK_THAT(order_report(record, {}), Contains("nothing: its verdict changes alone, too"));
    CHECK(nlohmann::json::parse(order_json(record)).at("order_dependent").at(0).at("repeat") == "");
    record.found.clear();
    CHECK(order_report(record, {}) == "0 of 10 cases depend on the order or on addresses, 2 fail alone, 0.0 s\n");
}

}  // namespace diopi
