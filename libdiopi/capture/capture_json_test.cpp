#include "capture/capture_json.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "call/arg_kind.hpp"
#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Result<Capture> read(const std::string& text) { return capture_from_json(text, "file.json"); }

std::string written(const Capture& capture) {
    const auto text = capture_to_json(capture);
    if (!text.ok()) FAIL(text.error().message);
    return *text;
}

/// The text with one part replaced, which it must contain.
std::string with(std::string text, const std::string& part, const std::string& by) {
    const size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
}

/// An add and a call without a function.
Capture add_and_mystery() {
    Capture capture;
    capture.name = "two calls";
    capture.model = "a \"model\" \\ ü \n";
    capture.generator = "by hand";
    capture.values = "two.h5";
    capture.storages = {{"s10", 64, Recipe{Recipe::Kind::kNormal, Dtype::float32, 0.1, 1e-300}},
                        {"s2", 8, Recipe{Recipe::Kind::kIntegers, Dtype::int64, -5, 7}},
                        {"s1", 40, {}}};
    capture.add_tensor("t10", 0, {{2, 3}, Dtype::float16, {1, 4}}, 3);
    capture.add_tensor("t2", 1, {{}, Dtype::int64, {}}, 0);
    capture.add_tensor("t1", 2, {{0, 3}, Dtype::float32, {3, 1}}, 10);
    capture.tensors[0].label = "conv1.weight";
    capture.tensors[0].grad_of = 2;
    CapturedCall add{"add.Tensor", "backward", 7, "layer1.0", "model.py:9", Call(*find_row("diopiAdd")), {}, {}};
    (*add.call)["out"] = capture.tensors[0].tensor;
    (*add.call)["input"] = capture.tensors[0].tensor;
    (*add.call)["other"] = capture.tensors[1].tensor;
    (*add.call)["alpha"] = Scalar::of(2.5);
    CapturedCall other{"erfinv", "", {}, "", "", {}, {2, 1, 2}, {}};
    other.writes = {{1, {Recipe::Kind::kConstant, Dtype::int64, 3, 0}},
                    {2, {Recipe::Kind::kUniform, Dtype::float32, -0.5, 0.1}}};
    capture.calls = {add, other};
    return capture;
}

void check_same(const Capture& a, const Capture& b) {
    CHECK((a.name == b.name && a.model == b.model && a.generator == b.generator && a.values == b.values));
    REQUIRE(a.storages.size() == b.storages.size());
    for (size_t i = 0; i < a.storages.size(); ++i) {
        CHECK(a.storages[i].id == b.storages[i].id);
        CHECK(a.storages[i].nbytes == b.storages[i].nbytes);
        CHECK(a.storages[i].fill == b.storages[i].fill);
    }
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (size_t i = 0; i < a.tensors.size(); ++i) {
        const Tensor &x = *a.tensors[i].tensor, &y = *b.tensors[i].tensor;
        CHECK(a.tensors[i].id == b.tensors[i].id);
        CHECK(a.tensors[i].storage == b.tensors[i].storage);
        CHECK(a.tensors[i].label == b.tensors[i].label);
        CHECK(a.tensors[i].grad_of == b.tensors[i].grad_of);
        CHECK((x.dtype == y.dtype && x.shape == y.shape && x.strides == y.strides && x.offset == y.offset));
        CHECK(x.storage.nbytes == y.storage.nbytes);
        CHECK(y.storage.memory == nullptr);
    }
    REQUIRE(a.calls.size() == b.calls.size());
    for (size_t i = 0; i < a.calls.size(); ++i) {
        CHECK(a.calls[i].overload == b.calls[i].overload);
        CHECK(a.calls[i].phase == b.calls[i].phase);
        CHECK(a.calls[i].forward_id == b.calls[i].forward_id);
        CHECK((a.calls[i].layer == b.calls[i].layer && a.calls[i].source == b.calls[i].source));
        CHECK(a.calls[i].call.has_value() == b.calls[i].call.has_value());
        CHECK((a.calls[i].reads == b.calls[i].reads && a.calls[i].writes == b.calls[i].writes));
    }
}

/// Some value that fits the C type; `tensor` if that is a tensor.
Value sample_of_kind(ArgKind kind, const TensorPtr& tensor) {
    switch (alternative_of(kind)) {
        case kAlternative<TensorPtr>:
            return tensor;
        case kAlternative<TensorList>:
            return TensorList{tensor};
        case kAlternative<Scalar>:
            return Scalar::of(1.0);
        case kAlternative<IntList>:
            return IntList{1};
        case kAlternative<int64_t>:
            return int64_t{1};
        case kAlternative<double>:
            return 1.0;
        case kAlternative<bool>:
            return true;
        case kAlternative<std::string>:
            return std::string("none");
    }
    return {};
}

/// A capture of one call of some function with an argument of this C type, which is `value`, with tensors for the
/// others; and that argument's position.
std::pair<Capture, size_t> capture_taking(ArgKind kind, const Value& value) {
    for (const Row& row : rows()) {
        Capture capture;
        capture.storages = {{"s", 8, {}}};
        const TensorPtr tensor = capture.tensors[capture.add_tensor("t", 0, {{2}, Dtype::float32, {}}, 0)].tensor;
        Call call(row);
        size_t at = row.num_args;
        for (size_t i = 0; i < row.num_args; ++i) {
            const ArgKind of = row.args()[i].kind;
            const bool here = at == row.num_args && of == kind;
            if (here) at = i;
            call.args[i] = here ? value : sample_of_kind(of, tensor);
            if (here && value.index() == kAlternative<TensorPtr>) call.args[i] = tensor;
            if (here && value.index() == kAlternative<TensorList>) call.args[i] = TensorList{tensor, nullptr, tensor};
        }
        const bool lacks_generator = std::ranges::any_of(
            row.args(), [&](const Arg& arg) { return arg.is_generator() && arg.kind != kind && !arg.optional; });
        if (at == row.num_args || lacks_generator) continue;
        capture.calls = {{std::string(row.op), "", {}, "", "", std::move(call), {}, {}}};
        return {std::move(capture), at};
    }
    FAIL("no function takes " << name(kind) << " " << static_cast<int>(kind));
    return {};
}

/// The addition of some_capture with another number.
Result<Capture> with_alpha(const Scalar& alpha) {
    Capture capture = add_and_mystery();
    (*capture.calls[0].call)["alpha"] = alpha;
    return read(written(capture));
}

}  // namespace

TEST_CASE("a capture comes back from JSON unchanged, in its order", "[store][capture_json]") {
    const Capture capture = add_and_mystery();
    const std::string text = written(capture);
    const auto back = read(text);
    if (!back.ok()) FAIL(back.error().message);
    check_same(capture, *back);
    CHECK(written(*back) == text);
    const Call& add = *back->calls[0].call;
    CHECK(add.row == find_row("diopiAdd"));
    CHECK(std::get<TensorPtr>(add["out"]) == back->tensors[0].tensor);
    CHECK(std::get<TensorPtr>(add["input"]) == back->tensors[0].tensor);
    CHECK(std::get<Scalar>(add["alpha"]) == Scalar::of(2.5));
    CHECK(back->position(*std::get<TensorPtr>(add["other"])) == 1);
}

TEST_CASE("each storage, tensor and call has its own line", "[store][capture_json]") {
    const std::string text = written(add_and_mystery());
    CHECK_THAT(text, Contains("{\n  \"diopi_capture\": 1,\n  \"name\": \"two calls\",\n"));
    CHECK_THAT(text, Contains("\n    \"s2\": {\"nbytes\": 8, \"fill\": {\"kind\": \"integers\", \"dtype\": \"int64\", "
                              "\"low\": -5, \"high\": 7}},\n"));
    CHECK_THAT(text,
               Contains("\n    \"t10\": {\"storage\": \"s10\", \"dtype\": \"float16\", \"shape\": [2, 3], "
                        "\"strides\": [1, 4], \"offset\": 3, \"label\": \"conv1.weight\", \"grad_of\": \"t1\"},\n"));
    CHECK_THAT(text, Contains("\"function\": \"diopiAdd\", \"args\": {\"out\": \"t10\", \"input\": \"t10\", \"other\": "
                              "\"t2\", \"alpha\": {\"dtype\": \"float64\", \"value\": 2.5}}},\n    {\"overload\": "));
    CHECK(std::ranges::count(text, '\n') == 21);
    Capture empty;
    empty.name = "nothing";
    CHECK(written(empty) ==
          "{\n  \"diopi_capture\": 1,\n  \"name\": \"nothing\",\n  \"storages\": {},\n"
          "  \"tensors\": {},\n  \"calls\": []\n}\n");
    CHECK(read(written(empty)).ok());
}

TEST_CASE("numbers come back bit for bit", "[store][capture_json]") {
    for (const Scalar& alpha : {Scalar::of(-2.5), Scalar::of(int64_t{INT64_MIN}), Scalar::of(true), Scalar::of(kInf),
                                Scalar::of(-kInf), Scalar::of(5e-324), Scalar{Dtype::float32, 0.1, 0}}) {
        const auto back = with_alpha(alpha);
        REQUIRE(back.ok());
        CHECK(std::get<Scalar>((*back->calls[0].call)["alpha"]) == alpha);
    }
    const auto nan = with_alpha(Scalar::of(kNan));
    CHECK(std::isnan(std::get<Scalar>((*nan->calls[0].call)["alpha"]).real));
    const auto zero = with_alpha(Scalar::of(-0.0));
    CHECK(std::signbit(std::get<Scalar>((*zero->calls[0].call)["alpha"]).real));
}

TEST_CASE("values of every C type that a function takes come back", "[store][capture_json]") {
    diopiGenerator generator{UINT64_MAX, 7};
    const std::vector<std::pair<ArgKind, Value>> values = {{ArgKind::tensor, TensorPtr()},
                                                           {ArgKind::const_tensor, TensorPtr()},
                                                           {ArgKind::tensors, TensorList()},
                                                           {ArgKind::const_tensors, TensorList()},
                                                           {ArgKind::scalar, Scalar::of(int64_t{3})},
                                                           {ArgKind::int_list, IntList{3, -1, INT64_MAX}},
                                                           {ArgKind::int_list_ptr, IntList{}},
                                                           {ArgKind::int64, int64_t{INT64_MIN}},
                                                           {ArgKind::int32, int64_t{INT32_MIN}},
                                                           {ArgKind::float32, 0.1},
                                                           {ArgKind::float64, 1e300},
                                                           {ArgKind::boolean, true},
                                                           {ArgKind::text, std::string("a \"b\" \\ ü \n")},
                                                           {ArgKind::reduction, int64_t{1}},
                                                           {ArgKind::round_mode, int64_t{2}},
                                                           {ArgKind::memory_format, int64_t{4}},
                                                           {ArgKind::int64_ptr, int64_t{5}},
                                                           {ArgKind::float64_ptr, -0.5},
                                                           {ArgKind::boolean_ptr, false},
                                                           {ArgKind::generator, diopiGeneratorHandle_t{&generator}},
                                                           {ArgKind::generators, GeneratorList{&generator, nullptr}},
                                                           {ArgKind::pointer, Value()}};
    for (const auto& [kind, value] : values) {
        const auto [capture, at] = capture_taking(kind, value);
        INFO(capture.calls[0].call->row->function);
        const auto back = read(written(capture));
        if (!back.ok()) FAIL(back.error().message);
        CHECK(written(*back) == written(capture));
        const Value& again = back->calls[0].call->args[at];
        if (const auto* generators = std::get_if<GeneratorList>(&again)) {
            CHECK(*generators == GeneratorList{back->generators.at(0).get(), nullptr});
            CHECK(generators->front()->offset == 7);
        } else if (const auto* handle = std::get_if<diopiGeneratorHandle_t>(&again)) {
            CHECK(*handle == back->generators.at(0).get());
            CHECK(((*handle)->seed == UINT64_MAX && (*handle)->offset == 7));
        } else if (const auto* list = std::get_if<TensorList>(&again)) {
            CHECK(*list == TensorList{back->tensors[0].tensor, nullptr, back->tensors[0].tensor});
        } else if (const auto* tensor = std::get_if<TensorPtr>(&again)) {
            CHECK(*tensor == back->tensors[0].tensor);
        } else {
            CHECK(again == value);
        }
    }
}

TEST_CASE("an invalid capture is refused with the member and the reason", "[store][capture_json]") {
    struct Row {
        const char* part;
        const char* by;
        const char* message;
    };
    const Row refused[] = {
        {"\"diopi_capture\": 1", "\"diopi_capture\": 2", "/diopi_capture: format 2, this program reads 1; use a newer"},
        {"\"diopi_capture\": 1,", "", "no capture: the key 'diopi_capture' is missing"},
        {"\"name\": \"two calls\",", "", "/: the key 'name' is missing"},
        {"\"model\"", "\"modle\"", "/modle: unknown key 'modle' (did you mean 'model'"},
        {"\"by hand\"", "7", "/generator: expected a text, got a number"},
        {"\"two.h5\"", "\"../two.h5\"", "/values: expected the name of a file beside this one"},
        {"\"s10\": {", "\"s/10\": {", "/storages: 's/10' is no id"},
        {"\"s10\": {", "\"\": {", "/storages: '' is no id"},
        {"\"t10\": {", "\"..\": {", "/tensors: '..' is no id"},
        {"\"t2\": {", "\"t10\": {", "the key 't10' occurs twice in one object"},
        {"\"nbytes\": 8", "\"nbytes\": -8", "/storages/s2/nbytes: expected a number of bytes from 0 on"},
        {"\"nbytes\": 8", "\"nbytes\": 8.5", "/storages/s2/nbytes: expected an integer of 64 bits"},
        {"\"nbytes\": 8", "\"nbytes\": 12", "/storages/s2/fill/dtype: 12 bytes are no whole number of int64"},
        {"\"nbytes\": 8,", "\"nbytes\": 8, \"size\": 8,", "/storages/s2/size: unknown key 'size'"},
        {"\"storage\": \"s10\"", "\"storage\": \"s11\"",
         "/tensors/t10/storage: there is no storage 's11' in /storages "
         "(did you mean 's10'"},
        {"\"float16\"", "\"float17\"", "/tensors/t10/dtype: unknown dtype 'float17' (did you mean 'float16'"},
        {"\"float16\"", "16", "/tensors/t10/dtype: expected the name of a dtype, got a number"},
        {"[2, 3]", "[2, -3]", "/tensors/t10/shape: (2, -3) is no shape that a tensor can have"},
        {"[2, 3]", "[9223372036854775807, 3]", "is no shape"},
        {"[2, 3]", "[2, 9223372036854775808]", "/tensors/t10/shape/1: expected an integer of 64 bits with a sign"},
        {"[1, 4]", "[1]", "/tensors/t10/strides: 1 strides for 2 dims"},
        {"[1, 4]", "[1, -4]", "(1, -4) are no strides that a tensor can have"},
        {"[1, 4]", "[1, 4611686018427387904]", "are no strides"},
        {"\"offset\": 3", "\"offset\": -1",
         "/tensors/t10: 10 elements of float16 from -1 on do not lie within the 64 "
         "bytes of storage 's10'"},
        {"\"offset\": 3", "\"offset\": 23", "do not lie within"},
        {"\"offset\": 3", "\"offset\": 9223372036854775807", "do not lie within"},
        {"\"offset\": 10", "\"offset\": 11", "/tensors/t1: 0 elements of float32 from 11 on do not lie within"},
        {"\"nbytes\": 64", "\"nbytes\": 24", "do not lie within the 24 bytes"},
        {"\"grad_of\": \"t1\"", "\"grad_of\": \"t3\"", "/tensors/t10/grad_of: there is no tensor 't3' in /tensors"},
        {"\"grad_of\": \"t1\"", "\"grad_of\": \"t10\"", "/tensors/t10/grad_of: no tensor is its own gradient"},
        {"\"label\": \"conv1.weight\"", "\"label\": null", "/tensors/t10/label: expected a text, got null"},
        {"\"overload\": \"add.Tensor\"", "\"overload\": \"\"", "/calls/0/overload: expected the framework's name"},
        {"\"overload\": \"add.Tensor\", ", "", "/calls/0: the key 'overload' is missing"},
        {"\"backward\"", "\"backwards\"", "/calls/0/phase: 'backwards' is none of forward, backward and optimizer"},
        {"\"backward\"", "\"\"", "/calls/0/phase: '' is none of"},
        {"\"forward_id\": 7", "\"forward_id\": -7", "/calls/0/forward_id: expected a count from 0 on"},
        {"\"forward_id\": 7", "\"forward_id\": null", "/calls/0/forward_id: expected an integer of 64 bits"},
        {"\"layer1.0\"", "[]", "/calls/0/layer: expected a text, got a list"},
        {"\"source\"", "\"srouce\"", "/calls/0/srouce: unknown key 'srouce' (did you mean 'source'"},
        {"diopiAdd", "diopiAd", "/calls/0/function: the standard has no function 'diopiAd' (did you mean 'diopiAdd'"},
        {"\"function\": \"diopiAdd\", ", "", "/calls/0: the key 'function' is missing"},
        {"\"function\": \"diopiAdd\", ", "\"reads\": [], ",
         "/calls/0: expected either function and args, or reads and writes"},
        {"\"reads\": [\"t1\", \"t2\", \"t1\"], ", "", "/calls/1: the key 'reads' is missing"},
        {"\"other\": ", "\"othr\": ", "/calls/0/args: diopiAdd has no argument 'othr' (did you mean 'other'"},
        {"\"other\": \"t2\", ", "", "/calls/0/args: argument 'other' of diopiAdd is missing; null stands for"},
        {"\"other\": \"t2\"", "\"other\": null", "/calls/0/args/other: expected a tensor, got null"},
        {"\"other\": \"t2\"", "\"other\": 2", "/calls/0/args/other: expected a text, got a number"},
        {"\"other\": \"t2\"", "\"other\": \"t20\"", "/calls/0/args/other: there is no tensor 't20' in /tensors (did"},
        {"\"value\": 2.5", "\"value\": \"2.5\"",
         "/calls/0/args/alpha/value: expected a number, \"nan\", \"inf\" or \"-inf\""},
        {"{\"dtype\": \"float64\", \"value\": 2.5}", "2.5", "/calls/0/args/alpha: expected an object, got a number"},
        {"\"float64\", \"value\": 2.5", "\"int64\", \"value\": 2.5",
         "/calls/0/args/alpha/value: expected an integer of 64"},
        {"[\"t1\", \"t2\", \"t1\"]", "[\"t1\", \"t20\"]", "/calls/1/reads/1: there is no tensor 't20'"},
        {"[\"t1\", \"t2\", \"t1\"]", "\"t1\"", "/calls/1/reads: expected a list of tensors, got a text"},
        {"\"writes\": {\"t2\"", "\"writes\": {\"t20\"", "/calls/1/writes: there is no tensor 't20'"},
        {"\"uniform\", \"dtype\": \"float32\"", "\"uniform\", \"dtype\": \"float64\"",
         "/calls/1/writes/t1/dtype: float64 for a tensor of float32"},
        {"\"offset\": 3", "\"offset\": [[[[[[[[[[[[[[[[[3]]]]]]]]]]]]]]]]]",
         "/tensors/t10/offset: expected an integer"},
        {"2.5", "1e999", "number overflow"},
        {"2.5", "", "malformed JSON"},
    };
    const std::string text = written(add_and_mystery());
    for (const Row& row : refused) {
        INFO(row.part << " -> " << row.by);
        const auto capture = read(with(text, row.part, row.by));
        REQUIRE_FALSE(capture.ok());
        CHECK(capture.error().code == Errc::kBadInput);
        CHECK_THAT(capture.error().message, Catch::Matchers::StartsWith("file.json:") && Contains(row.message));
    }
    CHECK_THAT(read("[]").error().message, Contains("file.json:1: /: expected an object, got a list"));
    CHECK_THAT(read(with(text, "\"s10\": {", '"' + std::string(201, 's') + "\": {")).error().message,
               Contains("/storages: 'ssss") && Contains("...' is no id"));
}

TEST_CASE("a recipe must give values that its dtype holds", "[store][capture_json]") {
    const auto refused = [](const std::string& recipe) {
        const auto capture = read(R"({"diopi_capture": 1, "name": "x", "storages": {"s": {"nbytes": 8, "fill": )" +
                                  recipe + R"(}}, "tensors": {}, "calls": []})");
        return capture.ok() ? std::string() : capture.error().message;
    };
    const auto at = [](const std::string& message) { return Contains("file.json:1: /storages/s/fill" + message); };
    CHECK_THAT(refused("5"), at(": expected a recipe"));
    CHECK_THAT(refused("{}"), at(": expected a recipe"));
    CHECK_THAT(refused(R"({"kind": "norml"})"), at("/kind: unknown recipe 'norml' (did you mean 'normal'"));
    CHECK_THAT(refused(R"({"kind": "normal", "dtype": "float32", "mean": 0})"), at(": the key 'std' is missing"));
    CHECK_THAT(refused(R"({"kind": "constant", "dtype": "float32", "value": 0, "std": 1})"), at("/std: unknown key"));
    CHECK_THAT(refused(R"({"kind": "normal", "dtype": "float32", "mean": 0, "std": -1})"),
               at(": expected a finite mean and"));
    CHECK_THAT(refused(R"({"kind": "normal", "dtype": "float32", "mean": "nan", "std": 1})"),
               at(": expected a finite mean"));
    CHECK_THAT(refused(R"({"kind": "normal", "dtype": "int32", "mean": 0, "std": 1})"), at(": int32 holds no normal"));
    CHECK_THAT(refused(R"({"kind": "uniform", "dtype": "float32", "low": 1, "high": 1})"),
               at(": expected finite low < high"));
    CHECK_THAT(refused(R"({"kind": "uniform", "dtype": "float32", "low": 1, "high": "inf"})"),
               at(": expected finite low < hi"));
    CHECK_THAT(refused(R"({"kind": "uniform", "dtype": "bool", "low": 0, "high": 1})"), at(": bool holds no uniform"));
    CHECK_THAT(refused(R"({"kind": "integers", "dtype": "int8", "low": 3, "high": 3})"),
               at(": expected whole numbers low"));
    CHECK_THAT(refused(R"({"kind": "integers", "dtype": "int8", "low": 0.5, "high": 3})"),
               at(": expected whole numbers low"));
    CHECK_THAT(refused(R"({"kind": "integers", "dtype": "uint8", "low": -1, "high": 3})"), at(": uint8 cannot hold"));
    CHECK_THAT(refused(R"({"kind": "integers", "dtype": "int8", "low": 0, "high": 129})"), at(": int8 cannot hold"));
    CHECK_THAT(refused(R"({"kind": "constant", "dtype": "bool", "value": 2})"), at(": bool cannot hold"));
    CHECK_THAT(refused(R"({"kind": "constant", "dtype": "int64", "value": 0.5})"), at(": int64 cannot hold"));
    CHECK(refused(R"({"kind": "integers", "dtype": "int8", "low": -128, "high": 128})").empty());
    CHECK(refused(R"({"kind": "integers", "dtype": "bool", "low": 0, "high": 2})").empty());
    CHECK(refused(R"({"kind": "integers", "dtype": "float32", "low": -3, "high": 300})").empty());
    CHECK(refused(R"({"kind": "constant", "dtype": "float32", "value": "nan"})").empty());
    CHECK(refused(R"({"kind": "normal", "dtype": "complex64", "mean": 0, "std": 0})").empty());
}

TEST_CASE("an argument must be within its C type", "[store][capture_json]") {
    const auto refused = [](ArgKind kind, const Value& value, const char* part, const char* by) {
        const auto back = read(with(written(capture_taking(kind, value).first), part, by));
        REQUIRE_FALSE(back.ok());
        return back.error().message;
    };
    CHECK_THAT(refused(ArgKind::float32, 0.625, "0.625", "1e39"), Contains("the C type is float"));
    CHECK_THAT(refused(ArgKind::int64, int64_t{77}, "77", "7.5"), Contains("expected an integer of 64 bits"));
    CHECK_THAT(refused(ArgKind::boolean, true, "true", "1"), Contains("expected true or false, got a number"));
    CHECK_THAT(refused(ArgKind::int32, int64_t{77}, "77", "2147483648"),
               Contains("the C type holds -2147483648 to 2147483647"));
    CHECK_THAT(refused(ArgKind::reduction, int64_t{2}, ": 2", ": 4"), Contains("the C type holds 0 to 3"));
    Capture normal = add_and_mystery();
    diopiGenerator generator{1, 2};
    normal.calls.resize(1);
    normal.calls[0].call = Call(*find_row("diopiNormalInp"));
    (*normal.calls[0].call)["inout"] = normal.tensors[0].tensor;
    (*normal.calls[0].call)["mean"] = 0.0;
    (*normal.calls[0].call)["std"] = 1.0;
    (*normal.calls[0].call)["generator"] = diopiGeneratorHandle_t{&generator};
    const std::string text = written(normal);
    CHECK_THAT(read(with(text, "\"seed\": 1", "\"seed\": -1")).error().message,
               Contains("/calls/0/args/generator/seed: expected an integer from 0 to 2^64 - 1"));
    CHECK_THAT(read(with(text, "\"seed\": 1, ", "")).error().message, Contains("/args/generator: the key 'seed'"));
}

TEST_CASE("a capture that would need much time or memory is refused at once", "[store][capture_json]") {
    const std::string text = written(add_and_mystery()), endless(size_t{4} << 20, 'd');
    for (const char* part : {"diopiAdd", "\"function\"", "\"model\"", "\"t10\"", "float16", "\"kind\": \"normal\""}) {
        INFO(part);
        const bool quoted = *part == '"';
        const auto capture = read(with(text, part, quoted ? '"' + endless + '"' : endless));
        REQUIRE_FALSE(capture.ok());
        CHECK(capture.error().message.size() < 1000);
    }
    // It is never touched, so that it takes no memory.
    const std::unique_ptr<char[]> large(new char[kMostJsonText + 1]);
    CHECK_THAT(capture_from_json({large.get(), kMostJsonText + 1}, "f").error().message,
               Contains("bytes are too many"));
    std::string many = R"({"diopi_capture": 1, "name": "", "storages": {}, "tensors": {}, "calls": [0)";
    for (size_t i = 0; i < kMostJsonItems; ++i) many += ",0";
    CHECK_THAT(read(many + "]}").error().message, Contains("more than 1048576 values in one list or object"));
}

TEST_CASE("a capture that does not fit its C types, or is sparse, is not written", "[store][capture_json]") {
    Capture capture = add_and_mystery();
    (*capture.calls[0].call)["alpha"] = 1.0;
    CHECK_THAT(capture_to_json(capture).error().message, Contains("diopiAdd: argument alpha holds no number"));
    capture = add_and_mystery();
    (*capture.calls[0].call)["other"] = std::make_shared<Tensor>();
    CHECK_THAT(capture_to_json(capture).error().message, Contains("argument other holds a tensor that is not the"));
    capture = add_and_mystery();
    capture.tensors[1].tensor->values = std::make_shared<Tensor>();
    const auto sparse = capture_to_json(capture);
    REQUIRE_FALSE(sparse.ok());
    CHECK(sparse.error().code == Errc::kNotImplemented);
    CHECK_THAT(sparse.error().message, Contains("t2 is sparse"));
}

TEST_CASE("storages and tensors alone come back", "[store][capture_json]") {
    Capture capture = add_and_mystery();
    const auto text = tensors_to_json(capture);
    REQUIRE(text.ok());
    const auto back = tensors_from_json(*text, "f");
    if (!back.ok()) FAIL(back.error().message);
    capture.calls.clear();
    capture.name = capture.model = capture.generator = capture.values = "";
    check_same(capture, *back);
    CHECK_THAT(tensors_from_json(written(capture), "f").error().message, Contains("unknown key 'diopi_capture'"));
    CHECK_THAT(tensors_from_json(R"({"tensors": {}})", "f").error().message, Contains("the key 'storages' is missing"));
    CHECK_THAT(tensors_from_json(R"({"storages": [], "tensors": {}})", "f").error().message,
               Contains("f:1: /storages: expected an object, got a list"));
}

}  // namespace diopi
