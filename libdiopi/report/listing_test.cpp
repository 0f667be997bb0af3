#include "report/listing.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

const Listing kTwo = {{{"operator"}, {"cases", Align::kRight}}, {{"add", "106"}, {"mul", "98"}}};

}  // namespace

TEST_CASE("a listing is a table with the number of its rows") {
    CHECK(listing_text(kTwo, false, {}) ==
          "operator  cases\n"
          "--------  -----\n"
          "add         106\n"
          "mul          98\n"
          "2 operators\n");
}

TEST_CASE("a quiet listing has the names alone, for a shell") { CHECK(listing_text(kTwo, true, {}) == "add\nmul\n"); }

TEST_CASE("a listing in JSON has a key for each column, and numbers") {
    const std::string text = listing_json(kTwo);
    CHECK_THAT(text, Catch::Contains("\"operator\": \"add\"") && Catch::Contains("\"cases\": 106"));
}
