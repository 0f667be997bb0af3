#include "intercept/adaptor/adaptor_config.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

AdaptorRules config_rules(const std::string& text) {
    auto config = adaptor_config_from(text, "chip.json");
    INFO((config.ok() ? "" : config.error().message));
    REQUIRE(config.ok());
    return std::move(config->rules);
}

std::string config_refusal(const std::string& text) {
    const auto config = adaptor_config_from(text, "chip.json");
    REQUIRE_FALSE(config.ok());
    CHECK(config.error().code == Errc::kBadInput);
    return config.error().message;
}

Dtype dtype_at(const AdaptorRules& rules, std::string_view function, std::string_view arg, Dtype dtype) {
    const Row& row = *find_row(function);
    const auto args = rules.of(row);
    return args.empty() ? dtype : args[static_cast<size_t>(row.find(arg))].dtype_for(dtype);
}

}  // namespace

TEST_CASE("a file of the adaptor has rules for all calls, for operators, and for their arguments", "[run][adaptor]") {
    const AdaptorRules rules = config_rules(R"({"device": "chip", "common": {"dtype": "(int64,float64)->float32"},
        "ops": {"conv2d": {"dtype": ["int64->int32", "float64->float16"], "layout": "NHWC", "contiguous": true,
                           "args": {"bias": {"dtype": "cast_float_only", "layout": []}}},
                "diopiAddScalar": {"dtype": "no_cast"}}})");
    CHECK(dtype_at(rules, "diopiMul", "input", Dtype::int64) == Dtype::float32);
    CHECK(dtype_at(rules, "diopiConvolution2d", "input", Dtype::int64) == Dtype::int32);
    CHECK(dtype_at(rules, "diopiConvolution2d", "input", Dtype::float64) == Dtype::float16);
    CHECK(dtype_at(rules, "diopiConvolution2d", "bias", Dtype::float64) == Dtype::float32);
    CHECK(dtype_at(rules, "diopiAddScalar", "input", Dtype::float64) == Dtype::float64);
    CHECK(dtype_at(rules, "diopiAdd", "input", Dtype::float64) == Dtype::float32);
    CHECK(rules.check_range);
    CHECK_FALSE(config_rules(R"({"check_range": false})").check_range);
    CHECK(config_rules("{}").empty());
}

TEST_CASE("the file's own rules change a preset", "[run][adaptor]") {
    const AdaptorRules rules = config_rules(R"({"preset": "float32_int32", "common": {"dtype": "default"}})");
    CHECK(dtype_at(rules, "diopiAdd", "input", Dtype::float16) == Dtype::float16);
    CHECK(dtype_at(rules, "diopiAdd", "input", Dtype::float64) == Dtype::float32);
    Tensor strided;
    strided.shape = {2, 2};
    strided.strides = {1, 2};
    CHECK(rules.of(*find_row("diopiAdd"))[0].wanted(strided));
}

TEST_CASE("the name of a preset replaces a file", "[run][adaptor]") {
    for (const std::string& preset : adaptor_presets()) {
        INFO(preset);
        const auto config = read_adaptor_config(preset);
        REQUIRE(config.ok());
        CHECK_FALSE(config->rules.empty());
    }
    CHECK_THAT(read_adaptor_config("contigous").error().message, Contains("did you mean 'contiguous'"));
    CHECK_THAT(read_adaptor_config("nothing").error().message, Contains("channels_last"));
    CHECK_THAT(read_adaptor_config("no/such.json").error().message, Contains("no/such.json"));
}

TEST_CASE("an invalid file of the adaptor is refused with the place of the error", "[run][adaptor]") {
    CHECK_THAT(config_refusal("{"), Contains("chip.json:1"));
    CHECK_THAT(config_refusal("[]"), Contains("expected an object"));
    CHECK_THAT(config_refusal(R"({"comon": {}})"), Contains("unknown key 'comon'") && Contains("'common'"));
    CHECK_THAT(config_refusal(R"({"common": {"dtypes": ""}})"), Contains("/common/dtypes") && Contains("'dtype'"));
    CHECK_THAT(config_refusal(R"({"common": {"args": {}}})"), Contains("unknown key 'args'"));
    CHECK_THAT(config_refusal(R"({"common": {"dtype": 3}})"), Contains("/common/dtype") && Contains("got a number"));
    CHECK_THAT(config_refusal(R"({"common": {"dtype": ["(float46)->float32"]}})"),
               Contains("/common/dtype/0") && Contains("'float64'"));
    CHECK_THAT(config_refusal(R"({"common": {"dtype": ["int64->int32", "int64->int16"]}})"), Contains("cast twice"));
    CHECK_THAT(config_refusal(R"({"common": {"dtype": "int64->int32, int32->int16"}})"),
               Contains("itself cast to int16"));
    CHECK_THAT(config_refusal(R"({"common": {"layout": "NHCW"}})"), Contains("/common/layout") && Contains("'NHWC'"));
    CHECK_THAT(config_refusal(R"({"common": {"contiguous": "yes"}})"), Contains("true or false"));
    CHECK_THAT(config_refusal(R"({"preset": "contigous"})"), Contains("/preset") && Contains("'contiguous'"));
    CHECK_THAT(config_refusal(R"({"check_range": 0})"), Contains("/check_range"));
    CHECK_THAT(config_refusal(R"({"ops": []})"), Contains("/ops"));
    CHECK_THAT(config_refusal(R"({"ops": {"conv2": {}}})"), Contains("/ops/conv2") && Contains("'conv2d'"));
    CHECK_THAT(config_refusal(R"({"ops": {"relu": {"args": {"inptu": {}}}}})"),
               Contains("/ops/relu/args/inptu") && Contains("'input'"));
    CHECK_THAT(config_refusal(R"({"ops": {"add": {"args": {"alpha": {}}}}})"), Contains("is no tensor"));
    CHECK_THAT(config_refusal(R"({"ops": {"relu": {"args": []}}})"), Contains("/ops/relu/args"));
}

}  // namespace diopi
