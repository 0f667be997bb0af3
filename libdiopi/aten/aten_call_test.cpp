#include "aten/aten_call.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace diopi;

namespace {

std::vector<AtenCall> calls_of(const char* function) {
    const Row* row = find_row(function);
    REQUIRE(row != nullptr);
    return aten_calls_of(*row);
}

/// The arguments of ATen, each with its parameter: "self=input".
std::vector<std::string> arguments_of(const char* function, const AtenCall& call) {
    std::vector<std::string> texts;
    for (const AtenArgument& argument : call.arguments) {
        texts.push_back(std::string(argument.name) + "=" +
                        std::string(find_row(function)->args()[static_cast<size_t>(argument.parameter)].name));
    }
    return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a row between ATen and the standard is read backwards", "[aten]") {
    const auto calls = calls_of("diopiAdd");
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].overloads == std::vector<std::string_view>{"add.Tensor", "add.out"});
    CHECK(arguments_of("diopiAdd", calls[0]) == Texts{"self=input", "other=other", "alpha=alpha"});
    CHECK(calls[0].results == std::vector<int>{0});
    CHECK(calls[0].required.empty());
}

TEST_CASE("a constant of a row is a condition on the way back", "[aten]") {
    const auto calls = calls_of("diopiDiv");
    const auto floor =
        std::ranges::find_if(calls, [](const AtenCall& call) { return call.overloads.front() == "floor_divide"; });
    REQUIRE(floor != calls.end());
    REQUIRE(floor->required.size() == 1);
    CHECK(floor->required[0].value == "2");
    CHECK(find_row("diopiDiv")->args()[static_cast<size_t>(floor->required[0].parameter)].name == "rounding_mode");
}

TEST_CASE("a row gives ATen's arguments that the standard does not have, and the number of dims", "[aten]") {
    const auto calls = calls_of("diopiConvolution2d");
    REQUIRE(calls.size() == 1);
    REQUIRE(calls[0].given.size() == 2);
    CHECK(calls[0].given[0].name == "transposed");
    CHECK(calls[0].given[0].value == "False");
    CHECK(calls[0].given[1].value == "[0]");
    REQUIRE(calls[0].ranks.size() == 1);
    CHECK(calls[0].ranks[0].name == "input");
    CHECK(calls[0].ranks[0].rank == 4);
}

TEST_CASE("rows of several calls, or with sources that have no inverse, are not read backwards", "[aten]") {
    // rsub is a product and a sum; _foreach_add one call for each tensor.
    for (const AtenCall& call : calls_of("diopiMulScalar")) {
        CHECK(std::ranges::none_of(call.overloads, [](std::string_view name) { return name.starts_with("rsub"); }));
    }
    for (const AtenCall& call : calls_of("diopiAdd")) {
        CHECK(std::ranges::none_of(call.overloads, [](std::string_view name) { return name.starts_with("_"); }));
    }
    CHECK(calls_of("diopiFlashAttention").empty());
}

TEST_CASE("a row of the way back leaves parameters out, and takes values from shapes", "[aten]") {
    const auto calls = calls_of("diopiPool2d");
    REQUIRE(calls.size() == 5);
    CHECK(arguments_of("diopiPool2d", calls[3]) == Texts{"self=input", "output_size=output_size"});
    REQUIRE(calls[3].required.size() == 2);
    CHECK(calls[3].required[0].value == "'max'");

    const auto expand = calls_of("diopiExpand");
    REQUIRE(expand.size() == 1);
    REQUIRE(expand[0].shapes.size() == 1);
    CHECK(expand[0].shapes[0].name == "size");
    CHECK(expand[0].shapes[0].parameter == 0);
    CHECK(expand[0].shapes[0].form == AtenShape::Form::kFrom);

    const auto norm = calls_of("diopiGroupNorm");
    REQUIRE(norm.size() == 1);
    REQUIRE(norm[0].shapes.size() == 3);
    CHECK(norm[0].shapes[1].form == AtenShape::Form::kOne);
    CHECK(norm[0].shapes[1].dim == 1);
    CHECK(norm[0].shapes[2].form == AtenShape::Form::kProduct);
    CHECK(norm[0].shapes[2].dim == 2);
}

TEST_CASE("a tensor may be folded, and a function may need a second call", "[aten]") {
    const auto losses = calls_of("diopiNLLLossV2");
    REQUIRE(losses.size() == 4);
    CHECK(losses[1].arguments[0].form == AtenArgument::Form::kFolded);
    CHECK(losses[1].arguments[0].name == "self");
    CHECK(losses[1].arguments[0].dim == 2);
    CHECK(losses[1].arguments[1].dim == 1);
    REQUIRE(losses[1].ranks.size() == 1);
    CHECK(losses[1].ranks[0].rank == 3);

    const auto ctc = calls_of("diopiCTCLoss");
    REQUIRE(ctc.size() == 1);
    CHECK(ctc[0].results == std::vector<int>{0});
    REQUIRE(ctc[0].more.size() == 1);
    CHECK(ctc[0].more[0].overloads == std::vector<std::string_view>{"_ctc_loss.Tensor"});
    CHECK(ctc[0].more[0].results == std::vector<int>{1, 2});
}

TEST_CASE("a row of a gradient names what comes in and what goes out", "[aten]") {
    const auto calls = calls_of("diopiAdaptiveAvgPool1dBackward");
    REQUIRE(calls.size() == 1);
    CHECK(arguments_of("diopiAdaptiveAvgPool1dBackward", calls[0]) == Texts{"self=input"});
    REQUIRE(calls[0].gradients.size() == 1);
    CHECK(calls[0].gradients[0].name == "self");
    CHECK(calls[0].gradients[0].parameter == 0);
    CHECK(calls[0].incoming == std::vector<int>{1});
    CHECK(calls[0].results.empty());
    REQUIRE(calls[0].shapes.size() == 1);
    CHECK(calls[0].shapes[0].parameter == 1);
    CHECK(calls[0].shapes[0].dim == -1);
}

TEST_CASE("a parameter may be an argument and a result", "[aten]") {
    const auto calls = calls_of("diopiBernoulliInp");
    REQUIRE(calls.size() == 1);
    CHECK(arguments_of("diopiBernoulliInp", calls[0]) == Texts{"self=inout", "generator=generator"});
    CHECK(calls[0].results == std::vector<int>{0});
}

TEST_CASE("a function that ATen has no call for has a reason", "[aten]") {
    CHECK(calls_of("diopiNms").empty());
    CHECK(no_aten_call(*find_row("diopiNms")) == "it is a function of torchvision, not of ATen");
    CHECK(no_aten_call(*find_row("diopiAdd")).empty());
    for (const Row& row : rows()) {
        if (!no_aten_call(row).empty()) CHECK(aten_calls_of(row).empty());
    }
}

TEST_CASE("split_list keeps brackets and texts together", "[aten]") {
    CHECK(split_list(" a, b=[1, 2],c='x, y' ,d=f(a, b)") ==
          std::vector<std::string_view>{"a", "b=[1, 2]", "c='x, y'", "d=f(a, b)"});
    CHECK(split_list(" ").empty());
}
