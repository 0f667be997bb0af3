#include "core/name_choice.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

NameChoice parsed(const std::vector<std::string>& words) {
    auto list = NameChoice::parse(words);
    REQUIRE(list.ok());
    return *list;
}

}  // namespace

TEST_CASE("words, commas and repetitions give each name once, in order") {
    CHECK(parsed({"add,mul", "relu", "mul"}).items() == std::vector<std::string>{"add", "mul", "relu"});
    CHECK(parsed({" add , mul"}).items() == std::vector<std::string>{"add", "mul"});
}

TEST_CASE("a list without items matches every name, all and a star do, too") {
    CHECK(NameChoice().matches("add"));
    CHECK(parsed({"all"}).matches("add"));
    CHECK(parsed({"*"}).matches("add"));
}

TEST_CASE("an item matches its name or what its glob describes") {
    const NameChoice list = parsed({"add", "conv*"});
    CHECK(list.matches("add"));
    CHECK(list.matches("conv_transpose2d"));
    CHECK_FALSE(list.matches("addmm"));
}

TEST_CASE("an item that matches nothing is found") {
    const std::vector<std::string> names = {"add", "conv2d"};
    CHECK(parsed({"add", "conv*"}).unmatched(names) == nullptr);
    const NameChoice list = parsed({"add", "pool*"});
    REQUIRE(list.unmatched(names) != nullptr);
    CHECK(*list.unmatched(names) == "pool*");
}

TEST_CASE("an empty name is refused, for example of an unset variable") {
    CHECK_FALSE(NameChoice::parse(std::vector<std::string>{""}).ok());
    CHECK_FALSE(NameChoice::parse(std::vector<std::string>{"add,"}).ok());
    CHECK_FALSE(NameChoice::parse(std::vector<std::string>{"add,,mul"}).ok());
}
