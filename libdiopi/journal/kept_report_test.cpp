#include "journal/kept_report.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

KeptReport about(const std::string& kind, std::vector<std::string> command) {
    return {kind, std::move(command), "", "a machine", nullptr};
}

}  // namespace

TEST_CASE("a run's folder keeps the last report of each kind", "[journal][kept]") {
    const testing::TestFolder folder;
    const std::string run = folder.path() + "/new/run";
    REQUIRE(keep_report(run, about("compare", {"diopi", "compare"}), R"({"different": 1})").ok());
    REQUIRE(keep_report(run, about("compare", {"diopi", "compare", "add"}), "{\n  \"different\": 2\n}").ok());
    REQUIRE(keep_report(run, about("profile", {"diopi", "profile"}), R"({"calls": []})").ok());
    const auto kept = kept_reports_at(run);
    REQUIRE(kept.ok());
    REQUIRE(kept->size() == 2);
    CHECK(kept->at(0).kind == "profile");
    CHECK(kept->at(1).command == std::vector<std::string>{"diopi", "compare", "add"});
    CHECK(*kept->at(1).report == Json{{"different", 2}});
    CHECK(kept->at(1).written.size() == 24);
    CHECK(kept->at(1).environment == "a machine");
    const auto alone = kept_reports_at(run + "/compare.json");
    REQUIRE(alone.ok());
    CHECK(alone->size() == 1);
}

TEST_CASE("a folder without reports has none, and a damaged one is named", "[journal][kept]") {
    const testing::TestFolder folder;
    CHECK(kept_reports_at(folder.path())->empty());
    const std::string path = folder.path() + "/fallback.json";
    for (const char* text : {"", "{", "[]", "{\"diopi_report\":1}", "{\"diopi_report\":1,\"kind\":3}"}) {
        write(path, text);
        const auto kept = kept_reports_at(folder.path());
        REQUIRE_FALSE(kept.ok());
        CHECK_THAT(kept.error().message, Contains(path) && Contains("damaged"));
    }
    write(path, R"({"diopi_report":2})");
    CHECK_THAT(kept_reports_at(path).error().message, Contains("newer diopi"));
    write(path, R"({"diopi_report":1,"kind":"x","command":[],"written":"","environment":"","report":{}})");
    CHECK_THAT(kept_reports_at(path).error().message, Contains("kind 'x'"));
    CHECK_FALSE(kept_reports_at(folder.path() + "/absent").ok());
}

}  // namespace diopi
