#include "core/suggest.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("the edit distance counts a swap of neighbours once and ignores case") {
    CHECK(edit_distance("add", "add") == 0);
    CHECK(edit_distance("ad", "add") == 1);
    CHECK(edit_distance("sahpes", "shapes") == 1);
    CHECK(edit_distance("Conv2D", "conv2d") == 0);
    CHECK(edit_distance("", "relu") == 4);
}

TEST_CASE("suggestions are near, closest first, and bounded") {
    const std::vector<std::string> ops = {"conv2d", "conv3d", "relu", "leaky_relu", "conv_transpose2d"};
    CHECK(nearest("conv2", ops).front() == "conv2d");
    CHECK(nearest("conv2", ops, 1).size() == 1);
    CHECK(nearest("rleu", ops) == std::vector<std::string>{"relu"});
    CHECK(nearest("softmax", ops).empty());
    CHECK(nearest("relu", ops) == std::vector<std::string>{"relu", "leaky_relu"});
}

TEST_CASE("the end of a message names the suggestions, or is empty") {
    const std::vector<std::string> keys = {"shapes", "strides"};
    CHECK(did_you_mean("shpaes", keys) == " (did you mean 'shapes'?)");
    CHECK(did_you_mean("zzz", keys).empty());
}
