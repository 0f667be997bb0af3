#include "call/call_name.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a call has its framework's name, else the schema's", "[call]") {
    Call call(*find_row("diopiAddInpScalar"));
    CHECK(name_of(call) == "add.Scalar");
    CHECK(name_of(Call(*find_row("diopiRelu"))) == "relu");
    CallOrigin origin;
    call.origin = &origin;
    CHECK(name_of(call) == "add.Scalar");
    origin.overload = "add_.Tensor";
    CHECK(name_of(call) == "add_.Tensor");
}

TEST_CASE("a call has each of its names once", "[call]") {
    CHECK(names_of(Call(*find_row("diopiRelu"))) == Names{"diopiRelu", "relu"});
    Call call(*find_row("diopiAddInp"));
    CHECK(names_of(call) == Names{"diopiAddInp", "add", "add.Tensor"});
    CallOrigin origin;
    call.origin = &origin;
    CHECK(names_of(call) == Names{"diopiAddInp", "add", "add.Tensor"});
    origin.overload = "add_.Tensor";
    CHECK(names_of(call) == Names{"diopiAddInp", "add", "add.Tensor", "add_.Tensor", "add_"});
    origin.overload = "add.Tensor";
    CHECK(names_of(call) == Names{"diopiAddInp", "add", "add.Tensor"});
}
