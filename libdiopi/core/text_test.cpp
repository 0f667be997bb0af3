#include "core/text.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("only the letters from A to Z have small ones") {
    CHECK(lower_case("Conv2D_AZ[\\]^`") == "conv2d_az[\\]^`");
    CHECK(lower_case("\xc3\x84") == "\xc3\x84");
}

TEST_CASE("a text is trimmed of blanks, tabs and line ends on both sides") {
    CHECK(trimmed(" \tadd, mul \r\n") == "add, mul");
    CHECK(trimmed("add") == "add");
    CHECK(trimmed(" \n").empty());
    CHECK(trimmed("").empty());
}
