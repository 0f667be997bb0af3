#include "report/audit_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

LibraryAudit one_function() {
    LibraryAudit audit;
    audit.path = "./libx.so";
    audit.machine = "x86-64";
    audit.is_ours = true;
    audit.symbols.implemented = {"diopiAdd"};
    audit.symbols.missing = {"diopiSub", "diopiMul"};
    audit.needed = {"libc.so.6"};
    return audit;
}

}  // namespace

TEST_CASE("an audit lists functions, then findings, then remarks", "[report][audit]") {
    LibraryAudit audit = one_function();
    audit.not_found = {"libvendor.so"};
    audit.symbols.mangled = {{"diopiSub", "diopiSub(int)", "_Z8diopiSubi"}};
    audit.symbols.unknown = {"diopiAddd"};
    const std::string text = audit_report(audit, false, {});
    CHECK_THAT(text, Contains("diopiAdd ") && Contains("./libx.so: x86-64, 1 of "));
    CHECK_THAT(text, Contains("; needs libc.so.6\nnot found: libvendor.so;"));
    CHECK_THAT(text, Contains("\nmangled: diopiSub(int) is C++ (_Z8diopiSubi)"));
    CHECK_THAT(text, Contains("\nunknown: the standard has no diopiAddd (did you mean 'diopiAdd'"));
    CHECK_THAT(text, !Contains("usable: diopi test"));
    const std::string quiet = audit_report(audit, true, {});
    CHECK_THAT(quiet, Contains("not found: libvendor.so") && !Contains("unknown:") && !Contains("operator "));
}

TEST_CASE("an audit has the reasons of the library for what it lacks", "[report][audit]") {
    LibraryAudit audit = one_function();
    CHECK_THAT(audit_report(audit, false, {}), !Contains("reason"));
    audit.reasons = {{"diopiMul", "the chip has no multiplier"}};
    CHECK_THAT(audit_report(audit, false, {}), Contains("diopiMul  the chip has no multiplier"));
    CHECK(nlohmann::json::parse(audit_json(audit)).at("reasons").at("diopiMul") == "the chip has no multiplier");
}

TEST_CASE("an audit shows how to use a library, and for another machine's library only that fact", "[report][audit]") {
    LibraryAudit audit = one_function();
    REQUIRE(audit.is_usable());
    CHECK_THAT(audit_report(audit, true, {}), Catch::Matchers::EndsWith("\nusable: diopi test --impl ./libx.so\n"));
    const auto json = nlohmann::json::parse(audit_json(audit));
    CHECK(json.at("usable") == true);
    CHECK(json.at("missing").size() == 2);
    audit.is_ours = false;
    audit.machine = "aarch64";
    CHECK(audit_report(audit, false, {}) ==
          "./libx.so: wrong architecture: built for aarch64, which this machine cannot run; build it for this one\n");
}

}  // namespace diopi
