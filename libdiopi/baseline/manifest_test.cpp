#include "baseline/manifest.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

ManifestEntry entry_of(const std::string& file) { return {file, 0, 12, 7, "diopi 1.0.0 reference", "plan", ""}; }

}  // namespace

TEST_CASE("a manifest lists its files in sorted order", "[store][manifest]") {
    const TestFolder folder;
    std::ofstream(folder / "b.h5") << "second";
    std::ofstream(folder / "a.h5") << "first";
    auto manifest = Manifest::load(folder.path());
    REQUIRE(manifest.ok());
    CHECK(manifest->entries().empty());
    REQUIRE(manifest->record(entry_of("b.h5")).ok());
    REQUIRE(manifest->record(entry_of("a.h5")).ok());
    REQUIRE(manifest->record(entry_of("b.h5")).ok());
    REQUIRE(manifest->save().ok());

    const auto again = Manifest::load(folder.path());
    REQUIRE(again.ok());
    REQUIRE(again->entries().size() == 2);
    CHECK(again->entries()[0].file == "a.h5");
    REQUIRE(again->find("b.h5") != nullptr);
    CHECK(again->find("b.h5")->bytes == 6);
    CHECK(again->find("b.h5")->cases == 12);
    CHECK(again->find("b.h5")->seed == 7);
    CHECK(again->find("b.h5")->plan == "plan");
    CHECK(again->find("c.h5") == nullptr);
}

TEST_CASE("verify finds a file that changed since it was generated", "[store][manifest]") {
    const TestFolder folder;
    std::ofstream(folder / "a.h5") << "first";
    auto manifest = Manifest::load(folder.path());
    REQUIRE(manifest->record(entry_of("a.h5")).ok());
    CHECK(manifest->verify("a.h5").ok());
    CHECK(manifest->verify("unlisted.h5").ok());
    std::ofstream(folder / "a.h5") << "FIRST";
    CHECK_THAT(manifest->verify("a.h5").message(), Contains("changed since it was generated"));
    std::ofstream(folder / "a.h5") << "longer than it was";
    CHECK_THAT(manifest->verify("a.h5").message(), Contains("18 bytes, were 5"));
    std::filesystem::remove(folder / "a.h5");
    CHECK_THAT(manifest->verify("a.h5").message(), Contains("cannot be read"));
}

TEST_CASE("a damaged or newer manifest is refused with a reason", "[store][manifest]") {
    const TestFolder folder;
    std::ofstream(folder / "manifest.json") << R"({"diopi_format": 1, "files": [{"file": 3}]})";
    CHECK_THAT(Manifest::load(folder.path()).error().message, Contains("damaged"));
    std::ofstream(folder / "manifest.json") << "{";
    CHECK_THAT(Manifest::load(folder.path()).error().message, Contains("damaged"));
    std::ofstream(folder / "manifest.json") << R"({"diopi_format": 9, "files": []})";
    CHECK_THAT(Manifest::load(folder.path()).error().message, Contains("newer diopi"));
}

TEST_CASE("a full disk keeps the former manifest", "[store][manifest]") {
    const TestFolder folder;
    std::ofstream(folder / "a.h5") << "first";
    auto manifest = Manifest::load(folder.path());
    REQUIRE(manifest->record(entry_of("a.h5")).ok());
    REQUIRE(manifest->save().ok());
    Status status;
    {
        const testing::FullDisk full(20);
        status = manifest->save();
    }
    CHECK_THAT(status.message(), Contains("bytes to " + (folder / "manifest.json")));
    CHECK(Manifest::load(folder.path())->entries().size() == 1);
    CHECK(testing::names_in(folder.path()) == std::vector<std::string>{"a.h5", "manifest.json"});
}

}  // namespace diopi
