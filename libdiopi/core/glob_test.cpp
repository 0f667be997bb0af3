#include "core/glob.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace diopi;

TEST_CASE("a glob matches the whole text") {
    CHECK(matches_glob("add", "add"));
    CHECK_FALSE(matches_glob("add", "addmm"));
    CHECK_FALSE(matches_glob("add", "dadd"));
    CHECK(matches_glob("", ""));
    CHECK_FALSE(matches_glob("", "a"));
}

TEST_CASE("a star stands for any characters, a question mark for one") {
    CHECK(matches_glob("*", ""));
    CHECK(matches_glob("add*", "add"));
    CHECK(matches_glob("*norm", "batch_norm"));
    CHECK(matches_glob("ops/*.add.1*", "ops/pointwise_binary.add.17"));
    CHECK_FALSE(matches_glob("ops/*.add.1*", "ops/pointwise_binary.add.27"));
    CHECK(matches_glob("a*b*c", "abbbcabc"));
    CHECK_FALSE(matches_glob("a*b*c", "abbbcab"));
    CHECK(matches_glob("conv?d", "conv2d"));
    CHECK_FALSE(matches_glob("conv?d", "convd"));
    CHECK_FALSE(matches_glob("a?", "a"));
}

TEST_CASE("a pattern of many stars takes no exponential time") {
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "a*";
    CHECK_FALSE(matches_glob(pattern + "b", std::string(5000, 'a')));
}

TEST_CASE("a glob may match a text with a given start") {
    CHECK(may_match_glob("hard/add.0.1?", "hard/add."));
    CHECK(may_match_glob("hard/a*", "hard/add."));
    CHECK(may_match_glob("*relu*", "hard/add."));
    CHECK_FALSE(may_match_glob("hard/addmm.*", "hard/add."));
    CHECK_FALSE(may_match_glob("ops/relu.relu.7?", "hard/relu."));
}
