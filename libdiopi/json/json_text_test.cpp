#include "json/json_text.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using namespace diopi;

TEST_CASE("JSON texts keep the order of members and replace bytes that are not UTF-8", "[json]") {
    const Json json = {{"z", 1}, {"a", {"x\xff"}}};
    CHECK(one_line(json) == "{\"z\":1,\"a\":[\"x\xef\xbf\xbd\"]}");
    CHECK(indented(json) == "{\n  \"z\": 1,\n  \"a\": [\n    \"x\xef\xbf\xbd\"\n  ]\n}");
    CHECK(one_line(parse_own(indented(json))) == one_line(json));
    CHECK_THROWS_AS(parse_own("{"), nlohmann::json::exception);
}

TEST_CASE("JSON numbers without digits are texts", "[json]") {
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(one_line({json_number(1.5), json_number(inf), json_number(-inf), json_number(NAN)}) ==
          R"([1.5,"inf","-inf","nan"])");
    for (const double x : {1.5, inf, -inf}) CHECK(number_of(json_number(x)) == x);
    CHECK(std::isnan(number_of(json_number(NAN))));
    CHECK_THROWS_AS(number_of(Json::array()), nlohmann::json::exception);
}
