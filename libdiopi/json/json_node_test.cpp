#include "json/json_node.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

std::string refused_text(std::string_view text) {
    const Result<JsonNode> root = parse_json(text, "f.json");
    REQUIRE_FALSE(root.ok());
    return root.error().message;
}

}  // namespace

TEST_CASE("values have their line, also numbers at the end of one") {
    const Result<JsonNode> root = parse_json("{\n\"a\": [1\n,\n2.5\n],\n \"b\": null}", "f.json");
    REQUIRE(root.ok());
    const JsonNode& list = *root->find("a");
    CHECK(root->line == 1);
    CHECK(list.line == 2);
    CHECK(list.items[0].line == 2);
    CHECK(list.items[1].line == 4);
    CHECK(root->find("b")->line == 6);
    CHECK(root->find("c") == nullptr);
}

TEST_CASE("integers and reals stay apart, members keep their order") {
    const Result<JsonNode> root = parse_json(R"({"z": 2, "a": 2.0, "m": -3})", "f.json");
    REQUIRE(root.ok());
    CHECK(root->keys == std::vector<std::string>{"z", "a", "m"});
    CHECK(root->items[0].kind == JsonNode::Kind::kInteger);
    CHECK(root->items[1].kind == JsonNode::Kind::kReal);
    CHECK(root->items[2].integer == -3);
}

TEST_CASE("a pointer leads from the root to a value") {
    const Result<JsonNode> root = parse_json(R"({"groups": [{}, {"ops": ["add", "mul"]}]})", "f.json");
    REQUIRE(root.ok());
    CHECK(pointer_of(*root, root->items[0].items[1].items[0].items[1]) == "/groups/1/ops/1");
    CHECK(pointer_of(*root, *root).empty());
}

TEST_CASE("malformed text is refused with line and column") {
    CHECK(refused_text("{\n  \"a\": [1, 2\n}") ==
          "f.json:3:1: malformed JSON: while parsing array - unexpected '}'; expected ']'");
    CHECK(refused_text("").substr(0, 27) == "f.json:1:1: malformed JSON:");
    CHECK(refused_text("{\"a\": 1,\n\"a\": 2}") ==
          "f.json:2:3: the key 'a' occurs twice in one object; leave one of the two");
    CHECK_THAT(refused_text("[99999999999999999999]"),
               Catch::StartsWith("f.json:1:") && Catch::EndsWith("99999999999999999999 does not fit in 64 bits"));
    CHECK(refused_text(std::string(100, '[')) == "f.json:1:65: nested deeper than 64 levels");
}

TEST_CASE("an integer from 2^63 on is kept exactly and can be distinguished") {
    const Result<JsonNode> root =
        parse_json("[9223372036854775807, 9223372036854775808, 18446744073709551615]", "f.json");
    REQUIRE(root.ok());
    CHECK(root->items[0].kind == JsonNode::Kind::kInteger);
    CHECK(root->items[1].kind == JsonNode::Kind::kUnsigned);
    CHECK(static_cast<uint64_t>(root->items[2].integer) == UINT64_MAX);
    CHECK(root->items[1].real == 0x1p63);
    CHECK(root->items[1].is_number());
}

TEST_CASE("a key that occurs twice is found among few keys and among many") {
    for (const int count : {3, 100}) {
        std::string text = "{";
        for (int i = 0; i < count; ++i) text += "\"k" + std::to_string(i) + "\": 0, ";
        CHECK(parse_json(text + "\"last\": 0}", "f.json").ok());
        CHECK_THAT(refused_text(text + "\"k1\": 0}"), Catch::Contains("the key 'k1' occurs twice"));
    }
}

TEST_CASE("a long word from a file is cut in messages") {
    const std::string endless(1 << 20, 'x');
    CHECK(refused_text("[" + endless).size() < 400);
    CHECK(refused_text("{\"" + endless + "\": 0, \"" + endless + "\": 0}").size() < 400);
}
