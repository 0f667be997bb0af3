#include "worker/message.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

enum class Colour { kRed, kGreen };

}  // namespace

TEST_CASE("a message gives back its contents", "[run][pool]") {
    const std::vector<std::string> texts = {"", std::string("a\0\n!", 4)};
    const std::string bytes = pack_message(int64_t{-7}, true, Colour::kGreen, "!text", texts, std::vector<uint64_t>{9});
    int64_t number = 0;
    bool flag = false;
    Colour colour = Colour::kRed;
    std::string text;
    std::vector<std::string> list;
    std::vector<uint64_t> numbers;
    REQUIRE(unpack_message(bytes, number, flag, colour, text, list, numbers));
    CHECK(number == -7);
    CHECK(flag);
    CHECK(colour == Colour::kGreen);
    CHECK(text == "!text");
    CHECK(list == texts);
    CHECK(numbers == std::vector<uint64_t>{9});
}

TEST_CASE("a message that is truncated, too long, or of other types is refused", "[run][pool]") {
    const std::string bytes = pack_message("text", std::vector<std::string>{"one"}, std::vector<uint64_t>{9});
    std::string text;
    std::vector<std::string> list;
    std::vector<uint64_t> numbers;
    for (size_t size = 0; size < bytes.size(); ++size) {
        CHECK_FALSE(unpack_message(std::string_view(bytes).substr(0, size), text, list, numbers));
    }
    CHECK_FALSE(unpack_message(bytes + "x", text, list, numbers));
    CHECK_FALSE(unpack_message(bytes, text, numbers, list));
    std::string huge = pack_message("text");
    huge[6] = '\x7f';
    CHECK_FALSE(unpack_message(huge, text));
    huge = pack_message(std::vector<std::string>{});
    huge[6] = '\x7f';
    CHECK_FALSE(unpack_message(huge, list));
}

}  // namespace diopi
