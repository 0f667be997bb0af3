#include "run/compare_run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "cases/testing.hpp"
#include "intercept/testing.hpp"
#include "run/faulty_testing.hpp"
#include "store/test_folder.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

const double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Compared {
    Status status;
    std::vector<CompareRow> rows;
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const CompareRow& row : rows) names.push_back(row.name);
        return names;
    }
    [[nodiscard]] int64_t different() const {
        return std::ranges::count_if(rows, [](const CompareRow& row) { return row.skipped.empty() && !row.allclose; });
    }
};

const ToleranceTable kNoTolerances;

CompareOptions options_for(Compared& compared, const Backend& backend) {
    CompareOptions options;
    options.backend = &backend;
    options.against = &reference_backend();
    options.tolerances = &kNoTolerances;
    options.on_row = [&compared](const CompareRow& row) { compared.rows.push_back(row); };
    return options;
}

Compared compared_case(const Case& c, const Backend& backend = **find_backend("cpu")) {
    Compared compared;
    compared.status = compare_case(c, 0, options_for(compared, backend));
    return compared;
}

Case conv_case() {
    Case c = make_case(
        "conv2d", {case_tensor("input", {2, 3, 5, 5}), case_tensor("weight", {4, 3, 3, 3}), case_tensor("bias", {4})},
        {{"stride", Param{int64_t{1}}},
         {"padding", Param{int64_t{1}}},
         {"dilation", Param{int64_t{1}}},
         {"groups", Param{int64_t{1}}}});
    c.backward = true;
    for (CaseTensor& tensor : c.tensors) tensor.requires_grad = true;
    return c;
}

diopiError_t failing_relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiErrorOccurred;
}

diopiError_t declining_relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiDtypeNotSupported;
}

CompareRow some_row() {
    CompareRow row;
    row.where = "call 3";
    row.name = "relu 0th input";
    row.layer = "layer1.0";
    row.overload = "relu";
    row.function = "diopiRelu";
    row.forward_id = 7;
    row.place = "input";
    row.tensor = "float32[2]";
    row.seed = "numel:2";
    row.cosine = kNan;
    row.max_abs = kInf;
    row.max_rel = -kInf;
    row.atol = 1e-4;
    row.rtol = 0.1;
    row.error = "1 at (0,) where NaN is expected; \"first\"\n";
    row.inputs = {"input: numel:2", "alpha: 1"};
    row.outputs = {"out: numel:2"};
    row.ulp.emplace().counts[3] = 2;
    return row;
}

/// A capture of calls of relu, each on the output of the one before it, with what each call left.
struct Kept {
    Kept(const TestFolder& folder, const std::string& name, const std::vector<std::string>& layers, float last = 1) {
        capture.name = name;
        capture.values = name + ".h5";
        size_t input = add_floats(capture, "in", 3, Recipe{Recipe::Kind::kConstant, Dtype::float32, 1, 0});
        auto writer = CaptureValuesWriter::create(folder / capture.values);
        REQUIRE(writer.ok());
        for (size_t i = 0; i < layers.size(); ++i) {
            const size_t out = add_floats(capture, std::to_string(i), 3);
            add_call(capture, "relu", "diopiRelu", {{"out", out}, {"input", input}}, [](Call&) {});
            capture.calls.back().layer = layers[i];
            const float value = i + 1 == layers.size() ? last : 1;
            REQUIRE(writer->result(i, "out", *floats_on(cpu_device(), {1, 1, value})).ok());
            input = out;
        }
        REQUIRE(writer->finish(capture).ok());
        auto opened = CaptureValues::open(folder / (name + ".json"), capture);
        REQUIRE(opened.ok());
        values = std::move(*opened);
    }

    Capture capture;
    CaptureValues values;
};

Compared compared_captures(const Kept& one, const Kept& other) {
    Compared compared;
    const CompareOptions options = options_for(compared, **find_backend("cpu"));
    compared.status = compare_captures(one.capture, one.values, other.capture, other.values, options);
    return compared;
}

}  // namespace

TEST_CASE("a compared row survives its JSON line, NaN and infinities included", "[run][compare]") {
    const CompareRow row = some_row();
    const std::string line = to_json_line(row);
    CHECK(line.find('\n') == std::string::npos);
    const auto again = compare_row_from_json(line);
    REQUIRE(again);
    CHECK(std::isnan(again->cosine));
    CHECK(again->max_abs == kInf);
    CHECK(again->max_rel == -kInf);
    CHECK(again->atol == 1e-4);
    CHECK(again->error == row.error);
    CHECK(again->inputs == row.inputs);
    CHECK(again->outputs == row.outputs);
    CHECK(again->forward_id == row.forward_id);
    CHECK(again->layer == row.layer);
    CHECK(again->ulp == row.ulp);
    CHECK_FALSE(again->other_ulp);
    CHECK(to_json_line(*again) == line);
}

TEST_CASE("a row that was not compared says why, and a foreign line is no row", "[run][compare]") {
    CompareRow row = some_row();
    row.skipped = "random";
    const auto again = compare_row_from_json(to_json_line(row));
    REQUIRE(again);
    CHECK(again->skipped == "random");
    CHECK(again->place.empty());
    for (const char* line : {"", "{}", "[dump 0] add", "{\"where\": 1}"}) CHECK_FALSE(compare_row_from_json(line));
}

TEST_CASE("the gradients of a convolution are compared", "[run][compare]") {
    const Compared compared = compared_case(conv_case());
    REQUIRE(compared.status.ok());
    CHECK(compared.names() == std::vector<std::string>{"conv2d", "conv2d 0th input", "conv2d 1th input",
                                                       "conv2d 2th input", "conv2d 0th input grad",
                                                       "conv2d 1th input grad", "conv2d 2th input grad",
                                                       "conv2d 0th input", "conv2d 1th input", "conv2d 2th input"});
    CHECK(compared.different() == 0);
    CHECK(compared.rows[4].function == "diopiConvolution2dBackward");
    CHECK(compared.rows[5].tensor == "float32[4, 3, 3, 3]");
}

TEST_CASE("a call that fails is an error, one that is declined a row", "[run][compare]") {
    const Case relu = make_case("relu", {case_tensor("input", {4})});
    const FaultyBackend failing({{"diopiRelu", reinterpret_cast<AnyFunction>(&failing_relu)}});
    const Compared failed = compared_case(relu, failing.backend());
    CHECK_THAT(failed.status.message(), Contains("forward (diopiRelu): ") && Contains("diopiErrorOccurred"));
    CHECK(failed.rows.empty());

    const FaultyBackend declining({{"diopiRelu", reinterpret_cast<AnyFunction>(&declining_relu)}});
    const Compared declined = compared_case(relu, declining.backend());
    CHECK(declined.status.ok());
    REQUIRE(declined.rows.size() == 1);
    CHECK_THAT(declined.rows[0].skipped, Contains("diopiDtypeNotSupported"));
}

TEST_CASE("an extra call of one capture stands alone, and the calls behind it are compared", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", {"a", "b", "c"});
    const Kept more(folder, "more", {"a", "x", "b", "c"}, 2);
    const Compared compared = compared_captures(one, more);
    REQUIRE(compared.status.ok());
    REQUIRE(compared.rows.size() == 4);
    CHECK(compared.rows[1].where == "call 1");
    CHECK(compared.rows[1].layer == "x");
    CHECK(compared.rows[1].skipped == "only more has this call");
    CHECK(compared.rows[2].where == "call 1 and 2");
    CHECK(compared.rows[2].allclose);
    CHECK(compared.rows[3].where == "call 2 and 3");
    CHECK_FALSE(compared.rows[3].allclose);
    CHECK(compared.rows[3].max_abs == 1);
    CHECK(compared.rows[3].inputs.size() == 1);
    CHECK(compared.rows[3].outputs.size() == 1);
    CHECK(compared.different() == 1);

    const Compared reversed = compared_captures(more, one);
    CHECK(reversed.rows[1].skipped == "only more has this call");
    CHECK(reversed.rows[3].where == "call 3 and 2");
}

TEST_CASE("what stands between two extra calls is compared", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", {"a", "b", "c"}), more(folder, "more", {"a", "x", "b", "y", "c"});
    const Compared compared = compared_captures(one, more);
    REQUIRE(compared.status.ok());
    REQUIRE(compared.rows.size() == 5);
    CHECK(compared.rows[2].where == "call 1 and 2");
    CHECK(compared.rows[2].skipped.empty());
    CHECK(compared.rows[3].layer == "y");
    CHECK(compared.rows[4].where == "call 2 and 4");
}

TEST_CASE("NaN against a number is a difference without a size", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", {"a"}), other(folder, "other", {"a"}, std::numeric_limits<float>::quiet_NaN());
    const Compared compared = compared_captures(one, other);
    REQUIRE(compared.rows.size() == 1);
    CHECK_FALSE(compared.rows[0].allclose);
    CHECK(std::isnan(compared.rows[0].max_abs));
    CHECK(std::isnan(compared.rows[0].cosine));
    const Compared same = compared_captures(other, other);
    CHECK(same.rows[0].allclose);
    CHECK(same.rows[0].max_abs == 0);
}

}  // namespace diopi
