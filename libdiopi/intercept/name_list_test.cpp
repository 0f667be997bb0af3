#include "intercept/name_list.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

Call call_of(std::string_view function) { return Call(*find_row(function)); }

NameList parsed(std::string_view text) {
    auto list = NameList::parse(text);
    REQUIRE(list.ok());
    return std::move(*list);
}

}  // namespace

TEST_CASE("an item must match a whole name of the call", "[intercept][name_list]") {
    const Call add = call_of("diopiAdd");
    for (const char* text : {"add", "diopiAdd", "add.Tensor", "add.*", ".*", "a.d", "conv2d|add", " add ", "x,add"}) {
        INFO(text);
        CHECK(parsed(text).matches(add));
    }
    for (const char* text : {"ad", "addmm", "Add", "add.Scalar", ".*Scalar", "", ",,", "dd"}) {
        INFO(text);
        CHECK_FALSE(parsed(text).matches(add));
    }
}

TEST_CASE("a captured call is also found by its framework's names", "[intercept][name_list]") {
    CallOrigin origin;
    origin.overload = "add_.Tensor";
    Call call = call_of("diopiAddInp");
    CHECK_FALSE(parsed("add_").matches(call));
    call.origin = &origin;
    CHECK(parsed("add_").matches(call));
    CHECK(parsed("add_.Tensor").matches(call));
    CHECK(parsed(".*\\.Tensor").matches(call));
    CHECK(parsed("add").matches(call));
}

TEST_CASE("calls of one function with different overloads are distinguished", "[intercept][name_list]") {
    CallOrigin tensor, scalar;
    tensor.overload = "mul.Tensor";
    scalar.overload = "mul_.Scalar";
    Call one = call_of("diopiMul"), two = call_of("diopiMul");
    one.origin = &tensor;
    two.origin = &scalar;
    NameList list = parsed("mul_.Scalar");
    CHECK_FALSE(list.matches(one));
    CHECK(list.matches(two));
    CHECK_FALSE(list.matches(one));
}

TEST_CASE("items without a match are named", "[intercept][name_list]") {
    NameList list = parsed("conv3d, add ,nope");
    CHECK(list.unmatched() == std::vector<std::string>{"conv3d", "add", "nope"});
    CHECK(list.matches(call_of("diopiAdd")));
    CHECK(list.unmatched() == std::vector<std::string>{"conv3d", "nope"});
}

TEST_CASE("an invalid regular expression is refused by name", "[intercept][name_list]") {
    const auto list = NameList::parse("add, (oops");
    REQUIRE_FALSE(list.ok());
    CHECK(list.error().code == Errc::kBadInput);
    CHECK_THAT(list.error().message, Catch::Matchers::Contains("'(oops'"));
}

}  // namespace diopi
