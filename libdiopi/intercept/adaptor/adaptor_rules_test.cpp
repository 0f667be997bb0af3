#include "intercept/adaptor/adaptor_rules.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

Tensor tensor_of(Dtype dtype, Shape shape, Shape strides = {}) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.strides = strides.empty() ? contiguous_strides(shape) : std::move(strides);
    tensor.shape = std::move(shape);
    return tensor;
}

AdaptorRule casts(std::string_view text) {
    AdaptorRule rule;
    auto parsed = parse_casts(text);
    REQUIRE(parsed.ok());
    rule.casts = std::move(*parsed);
    return rule;
}

ArgRules layouts(std::vector<TensorLayout> wanted, std::optional<bool> contiguous = std::nullopt) {
    ArgRules rules;
    rules.apply({std::nullopt, std::move(wanted), contiguous});
    return rules;
}

/// The strides that the rules give a tensor; empty if it is not converted.
Shape strides_for(const ArgRules& rules, const Shape& shape, const Shape& strides = {}) {
    const auto wanted = rules.wanted(tensor_of(Dtype::float32, shape, strides));
    return wanted ? wanted->strides : Shape();
}

std::string refusal(std::string_view text) {
    const auto parsed = parse_casts(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == Errc::kBadInput);
    return parsed.error().message;
}

const ArgRules& rules_at(const AdaptorRules& rules, std::string_view function, std::string_view arg) {
    const Row& row = *find_row(function);
    REQUIRE_FALSE(rules.of(row).empty());
    return rules.of(row)[static_cast<size_t>(row.find(arg))];
}

}  // namespace

TEST_CASE("casts are read in brackets, alone, and by the name of a preset", "[intercept][adaptor]") {
    using Casts = std::vector<DtypeCast>;
    CHECK(*parse_casts("(int64,float64)->float32") ==
          Casts{{Dtype::int64, Dtype::float32}, {Dtype::float64, Dtype::float32}});
    CHECK(*parse_casts(" int64 -> int32 , (bool)->int32") ==
          Casts{{Dtype::int64, Dtype::int32}, {Dtype::boolean, Dtype::int32}});
    CHECK(parse_casts("no_cast")->empty());
    CHECK(parse_casts("")->empty());
    CHECK(*parse_casts("cast_float_only") ==
          Casts{{Dtype::float64, Dtype::float32}, {Dtype::complex128, Dtype::complex64}});
    CHECK(parse_casts("default")->size() == 4);
    CHECK(parse_casts("logic_op")->back() == DtypeCast{Dtype::boolean, Dtype::int32});
}

TEST_CASE("invalid casts are refused", "[intercept][adaptor]") {
    CHECK_THAT(refusal("(int46)->int32"), Contains("unknown dtype 'int46'") && Contains("int64"));
    CHECK_THAT(refusal("int64"), Contains("is no cast") && Contains("cast_float_only"));
    CHECK_THAT(refusal("(int64->int32"), Contains("is no cast"));
    CHECK_THAT(refusal("(float64)->int32"), Contains("fraction"));
    CHECK_THAT(refusal("(complex64)->float32"), Contains("imaginary"));
    CHECK_THAT(refusal("(int64)->bool"), Contains("bool cannot hold"));
    CHECK_THAT(refusal("(int64,int64)->int32"), Contains("cast twice"));
}

TEST_CASE("a layout applies only to tensors of its rank", "[intercept][adaptor]") {
    const ArgRules rules = layouts({TensorLayout::kNlc, TensorLayout::kNhwc, TensorLayout::kNdhwc});
    CHECK(strides_for(rules, {2, 3, 4}) == Shape{12, 1, 3});
    CHECK(strides_for(rules, {2, 3, 4, 5}) == Shape{60, 1, 15, 3});
    CHECK(strides_for(rules, {2, 3, 4, 5, 6}) == Shape{360, 1, 90, 18, 3});
    CHECK(strides_for(rules, {2, 3}, {1, 2}).empty());
    CHECK(strides_for(rules, {2, 3, 4, 5}, {60, 1, 15, 3}).empty());
}

TEST_CASE("the layouts of row-major dims convert channels-last tensors", "[intercept][adaptor]") {
    const ArgRules rules = layouts({TensorLayout::kNcl, TensorLayout::kNchw, TensorLayout::kNcdhw});
    CHECK(strides_for(rules, {2, 3, 4}, {12, 1, 3}) == Shape{12, 4, 1});
    CHECK(strides_for(rules, {2, 3, 4, 5}, {60, 1, 15, 3}) == Shape{60, 20, 5, 1});
    CHECK(strides_for(rules, {2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}) == Shape{360, 120, 30, 6, 1});
    CHECK(strides_for(rules, {2, 3, 4}).empty());
}

TEST_CASE("ND applies to every rank without its own layout", "[intercept][adaptor]") {
    const ArgRules rules = layouts({TensorLayout::kNhwc, TensorLayout::kNd});
    CHECK(strides_for(rules, {2, 3}, {1, 2}) == Shape{3, 1});
    CHECK(strides_for(rules, {2, 1, 3, 1, 2, 2}, {1, 2, 2, 2, 6, 12}) == Shape{12, 12, 4, 4, 2, 1});
    CHECK(strides_for(rules, {2, 3, 4, 5}) == Shape{60, 1, 15, 3});
    CHECK(strides_for(rules, {}).empty());
}

TEST_CASE("with several layouts for a rank a tensor keeps the one that it has, or gets the first",
          "[intercept][adaptor]") {
    const ArgRules rules = layouts({TensorLayout::kNchw, TensorLayout::kNhwc});
    CHECK(strides_for(rules, {2, 3, 4, 5}).empty());
    CHECK(strides_for(rules, {2, 3, 4, 5}, {60, 1, 15, 3}).empty());
    CHECK(strides_for(rules, {2, 3, 4, 5}, {1, 2, 6, 24}) == Shape{60, 20, 5, 1});
}

TEST_CASE("a layout allows gaps, contiguity does not", "[intercept][adaptor]") {
    const Shape gaps{4, 2};
    CHECK(strides_for(layouts({TensorLayout::kNd}), {3, 2}, gaps).empty());
    CHECK(strides_for(layouts({TensorLayout::kNd}, true), {3, 2}, gaps) == Shape{2, 1});
    CHECK(strides_for(layouts({}, true), {3, 2}, {1, 3}) == Shape{2, 1});
    CHECK(strides_for(layouts({TensorLayout::kNhwc}, true), {1, 3, 2, 2}, {12, 1, 6, 3}).empty());
    CHECK(strides_for(layouts({TensorLayout::kNhwc}, true), {1, 3, 2, 2}, {24, 1, 12, 6}) == Shape{12, 1, 6, 3});
    // Strides of dims of size 1 do not matter, nor do those of an empty tensor.
    CHECK(strides_for(layouts({TensorLayout::kNd}, true), {1, 3}, {77, 1}).empty());
    CHECK(strides_for(layouts({TensorLayout::kNd}, true), {0, 3}, {1, 1}).empty());
}

TEST_CASE("a cast keeps the order of dims, and removes gaps", "[intercept][adaptor]") {
    ArgRules rules;
    rules.apply(casts("float32->float16"));
    CHECK(strides_for(rules, {2, 3}, {1, 2}) == Shape{1, 2});
    CHECK(strides_for(rules, {2, 3}, {8, 2}) == Shape{3, 1});
    CHECK(strides_for(rules, {2, 2}, {0, 3}) == Shape{2, 1});
    CHECK(rules.wanted(tensor_of(Dtype::float32, {2}))->dtype == Dtype::float16);
    CHECK_FALSE(rules.wanted(tensor_of(Dtype::float64, {2})));
}

TEST_CASE("dtype and layout change together", "[intercept][adaptor]") {
    ArgRules rules = layouts({TensorLayout::kNhwc}, true);
    rules.apply(casts("float32->float16"));
    const auto wanted = rules.wanted(tensor_of(Dtype::float32, {2, 3, 4, 5}));
    REQUIRE(wanted);
    CHECK(*wanted == TensorSpec{{2, 3, 4, 5}, Dtype::float16, {60, 1, 15, 3}});
}

TEST_CASE("the nearest level with a rule decides", "[intercept][adaptor]") {
    std::map<std::string, OperatorRule> operators;
    operators["add"].rule = casts("float64->float16");
    operators["add"].args["other"] = casts("float64->bfloat16");
    operators["add.Scalar"].rule = casts("no_cast");
    operators["diopiAddInp"].rule.contiguous = true;
    const AdaptorRules rules(casts("float64->float32"), operators);
    CHECK(rules_at(rules, "diopiMul", "input").dtype_for(Dtype::float64) == Dtype::float32);
    CHECK(rules_at(rules, "diopiAdd", "input").dtype_for(Dtype::float64) == Dtype::float16);
    CHECK(rules_at(rules, "diopiAdd", "other").dtype_for(Dtype::float64) == Dtype::bfloat16);
    CHECK(rules.of(*find_row("diopiAddScalar")).empty());
    // A level changes only what it states.
    CHECK(rules_at(rules, "diopiAddInp", "input").dtype_for(Dtype::float64) == Dtype::float16);
    CHECK(rules_at(rules, "diopiAddInp", "input").wanted(tensor_of(Dtype::float32, {2, 2}, {1, 2})));
}

TEST_CASE("without a rule no function is changed", "[intercept][adaptor]") {
    const AdaptorRules rules(AdaptorRule(), {});
    CHECK(rules.empty());
    CHECK(rules.of(*find_row("diopiAdd")).empty());
    CHECK_FALSE(rules.narrows());
    CHECK(AdaptorRules(casts("default"), {}).narrows());
    CHECK_FALSE(AdaptorRules(casts("(float16)->float32, (int64)->int32"), {}).narrows());
}

TEST_CASE("tensors that choose elements stay bool or bytes", "[intercept][adaptor]") {
    const AdaptorRules bytes_are_numbers(casts("(int64,uint8)->int32"), {});
    CHECK(rules_at(bytes_are_numbers, "diopiIndex", "indices").dtype_for(Dtype::uint8) == Dtype::boolean);
    CHECK(rules_at(bytes_are_numbers, "diopiIndex", "indices").dtype_for(Dtype::int64) == Dtype::int32);
    CHECK(rules_at(bytes_are_numbers, "diopiIndex", "input").dtype_for(Dtype::uint8) == Dtype::int32);
    const AdaptorRules neither(casts("(bool,uint8)->int32"), {});
    CHECK(rules_at(neither, "diopiIndex", "indices").dtype_for(Dtype::uint8) == Dtype::uint8);
    CHECK(rules_at(neither, "diopiIndex", "indices").dtype_for(Dtype::boolean) == Dtype::boolean);
}

}  // namespace diopi
