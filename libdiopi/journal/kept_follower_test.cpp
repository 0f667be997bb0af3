#include "journal/kept_follower.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

void keep(const std::string& folder, const std::string& kind, const std::string& report) {
    REQUIRE(keep_report(folder, {kind, {"diopi", kind}, "", "a machine", nullptr}, report).ok());
}

}  // namespace

TEST_CASE("a follower reads a kept report once, and again when it was written", "[journal][kept]") {
    const testing::TestFolder folder;
    KeptFollower follower(folder.path() + "/later");
    CHECK(follower.poll().empty());
    keep(folder.path() + "/later", "profile", "{}");
    keep(folder.path() + "/later", "compare", "{}");
    const auto first = follower.poll();
    REQUIRE(first.size() == 2);
    REQUIRE(first[0].report->ok());
    CHECK((*first[0].report)->kind == "profile");
    CHECK(follower.poll().empty());
    keep(folder.path() + "/later", "compare", "{\"tensors\": []}");
    const auto second = follower.poll();
    REQUIRE(second.size() == 1);
    CHECK(second[0].path == folder.path() + "/later/compare.json");
}

TEST_CASE("a follower reports damage and removal once", "[journal][kept]") {
    const testing::TestFolder folder;
    const std::string path = folder.path() + "/bisect.json";
    std::ofstream(path) << "{";
    KeptFollower follower(path);
    const auto damaged = follower.poll();
    REQUIRE(damaged.size() == 1);
    CHECK_FALSE(damaged[0].report->ok());
    CHECK(follower.poll().empty());
    std::filesystem::remove(path);
    const auto removed = follower.poll();
    REQUIRE(removed.size() == 1);
    CHECK_FALSE(removed[0].report.has_value());
    CHECK(follower.poll().empty());
}

}  // namespace diopi
