#include "report/table.hpp"

#include <catch2/catch.hpp>
#include <sstream>

namespace diopi {

TEST_CASE("a table aligns words left and numbers right", "[report][table]") {
    Table table({{"operator"}, {"cases", Align::kRight}});
    table.add_row({"add", "7"});
    table.add_row({"größe", "14143"});
    CHECK(table.render(80, false) ==
          "operator  cases\n"
          "--------  -----\n"
          "add           7\n"
          "größe     14143\n");
}

TEST_CASE("the widest text column becomes narrower, columns of numbers never", "[report][table]") {
    Table table({{"name"}, {"reason"}, {"n", Align::kRight}});
    table.add_row({"short", std::string(300, 'x'), "123456789"});
    const std::string text = table.render(80, false);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
    CHECK(text.find("…") != std::string::npos);
    CHECK(text.find("123456789\n") != std::string::npos);
}

TEST_CASE("a column is at most as wide as its limit", "[report][table]") {
    Table table({{"name", Align::kLeft, 5}});
    table.add_row({"abcdefgh"});
    CHECK(table.render(80, false) == "name\n-----\nabcd…\n");
}

TEST_CASE("optional columns are removed before text becomes too narrow, the last one first", "[report][table]") {
    Table table({{"shapes"}, {"min", Align::kRight, 0, true}, {"max", Align::kRight, 0, true}});
    table.add_row({std::string(20, 's'), "11111111", "22222222"});
    CHECK(table.render(40, false).find("22222222") != std::string::npos);
    const std::string narrow = table.render(25, false);
    CHECK(narrow.find("22222222") == std::string::npos);
    CHECK(narrow.find("11111111") != std::string::npos);
    CHECK(table.render(12, false).find("11111111") == std::string::npos);
}

TEST_CASE("names are cut after all other columns, and in the middle", "[report][table]") {
    Table table({{"name", Align::kLeft, 0, false, true}, {"text"}, {"more", Align::kLeft, 0, true}});
    table.add_row({"native_batch_norm", "twelve chars", "more text"});
    table.add_row({"native_batch_norm_backward", "twelve chars", "more text"});
    const std::string fitting = table.render(36, false), narrow = table.render(26, false);
    CHECK_THAT(fitting, Contains("native_batch_norm_backward  twelve …") && !Contains("more"));
    CHECK_THAT(narrow, Contains("native_b…ackward  twelve …") && Contains("native_b…ch_norm"));
}

TEST_CASE("colour appears only on request", "[report][table]") {
    Table table({{"name"}});
    table.add_row({"bad"}, Style::kRed);
    CHECK(table.render(80, false).find('\x1b') == std::string::npos);
    CHECK(table.render(80, true).find("\x1b[31mbad\x1b[0m") != std::string::npos);
}

TEST_CASE("text is shortened by characters, not bytes", "[report][table]") {
    CHECK(shorten("größe", 5) == "größe");
    CHECK(shorten("größen", 5) == "größ…");
    CHECK(shorten("abc", 1) == "…");
    CHECK(shorten("abc", 0).empty());
    CHECK(shorten_middle("layer_norm_backward", 19) == "layer_norm_backward");
    CHECK(shorten_middle("layer_norm_backward", 10) == "layer…ward");
    CHECK(shorten_middle("größenmaß", 5) == "gr…aß");
    CHECK(shorten_middle("abc", 1) == "…");
}

}  // namespace diopi
