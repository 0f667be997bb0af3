#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/half.hpp"
#include "file/test_folder.hpp"
#include "intercept/testing.hpp"
#include "replay/call_match.hpp"
#include "replay/compare_run.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

/// One call of a test capture: an operator with one tensor, by default of three floats.
struct Made {
    std::string overload, layer;
    std::vector<float> out = {1, 1, 1};
    Dtype dtype = Dtype::float32;
    std::string phase = "forward";
};

/// Calls, each on the output of the one before it, with the kept result of each.
struct Kept {
    Kept(const TestFolder& folder, const std::string& name, const std::vector<Made>& calls) {
        capture.name = name;
        capture.values = name + ".h5";
        size_t input = add_floats(capture, "in", 3, Recipe{Recipe::Kind::kConstant, Dtype::float32, 1, 0});
        auto writer = CaptureValuesWriter::create(folder / capture.values);
        REQUIRE(writer.ok());
        for (size_t i = 0; i < calls.size(); ++i) {
            const Made& made = calls[i];
            const auto numel = static_cast<int64_t>(made.out.size());
            capture.storages.push_back({"s" + std::to_string(i), numel * 8, std::nullopt});
            const size_t out =
                capture.add_tensor("t" + std::to_string(i), capture.storages.size() - 1, {{numel}, made.dtype}, 0);
            const char* function = made.overload == "relu" ? "diopiRelu" : "diopiSigmoid";
            add_call(capture, made.overload, function, {{"out", out}, {"input", input}}, [](Call&) {});
            capture.calls.back().layer = made.layer;
            capture.calls.back().phase = made.phase;
            auto values = cast(*floats_on(cpu_device(), made.out), made.dtype);
            REQUIRE(values.ok());
            REQUIRE(writer->result(i, "out", **values).ok());
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

std::vector<Made> relus(const std::vector<std::string>& layers) {
    std::vector<Made> calls;
    for (const std::string& layer : layers) calls.push_back({"relu", layer});
    return calls;
}

std::vector<CompareRow> compared(const Kept& one, const Kept& other) {
    const ToleranceTable no_tolerances;
    std::vector<CompareRow> rows;
    CompareOptions options;
    options.tolerances = &no_tolerances;
    options.on_row = [&rows](const CompareRow& row) { rows.push_back(row); };
    REQUIRE(compare_captures(one.capture, one.values, other.capture, other.values, options).ok());
    return rows;
}

/// "0-0 1-2 _-1": pairs, gaps as underscores; "0x1" out of order.
std::string drawn(const std::vector<Made>& one, const std::vector<Made>& other) {
    const TestFolder folder;
    const Kept first(folder, "one", one), second(folder, "other", other);
    std::string text;
    for (const CallPair& pair : match_calls(first.capture, second.capture)) {
        text += text.empty() ? "" : " ";
        text += pair.one ? std::to_string(*pair.one) : "_";
        text += pair.out_of_order ? "x" : "-";
        text += pair.other ? std::to_string(*pair.other) : "_";
    }
    return text;
}

}  // namespace

TEST_CASE("calls of one layer and shape correspond, with any calls between them", "[run][compare]") {
    CHECK(drawn(relus({"a", "b", "c"}), relus({"a", "b", "c"})) == "0-0 1-1 2-2");
    CHECK(drawn(relus({"a", "b", "c"}), relus({"a", "x", "b", "c"})) == "0-0 _-1 1-2 2-3");
    CHECK(drawn(relus({"a", "x", "b", "c"}), relus({"a", "b", "c"})) == "0-0 1-_ 2-1 3-2");
    CHECK(drawn(relus({"a", "b", "c"}), relus({"a", "x", "b", "y", "c"})) == "0-0 _-1 1-2 _-3 2-4");
    CHECK(drawn(relus({"a"}), {}) == "0-_");
}

TEST_CASE("a layer's name adds to the similarity, it is no key", "[run][compare]") {
    CHECK(drawn(relus({"a", "b", "c"}), relus({"a", "renamed", "c"})) == "0-0 1-1 2-2");
    CHECK(drawn(relus({"a", "b"}), relus({"x", "y"})) == "0-0 1-1");
    CHECK(drawn(relus({"a.1", "b.1", "c.1"}), relus({"m.a.1", "m.x.1", "m.b.1", "m.c.1"})) == "0-0 _-1 1-2 2-3");
    CHECK(drawn(relus({"", ""}), relus({"a", "b"})) == "0-0 1-1");
    CHECK(drawn(relus({"", ""}), relus({"", "", ""})) == "0-0 1-1 _-2");
}

TEST_CASE("calls of different operators or phases never correspond", "[run][compare]") {
    CHECK(drawn({{"relu", "a"}}, {{"sigmoid", "a"}}) == "0-_ _-0");
    Made backward{"relu", "a"};
    backward.phase = "backward";
    CHECK(drawn({{"relu", "a"}}, {backward}) == "0-_ _-0");
    backward.phase = "";
    CHECK(drawn({{"relu", "a"}}, {backward}) == "0-0");
}

TEST_CASE("one of two calls in exchanged places is out of order", "[run][compare]") {
    const Made relu{"relu", "a"}, sigmoid{"sigmoid", "b"}, last{"relu", "c"};
    CHECK(drawn({relu, sigmoid, last}, {sigmoid, relu, last}) == "0x1 1-0 2-2");
    const Made nameless{"relu", ""}, other_nameless{"sigmoid", ""};
    CHECK(drawn({nameless, other_nameless, last}, {other_nameless, nameless, last}) == "0-_ 1-0 _-1 2-2");
}

TEST_CASE("calls of different shapes correspond only in their layer", "[run][compare]") {
    const Made small{"relu", "b", {1, 2}}, renamed{"relu", "x", {1, 2}};
    CHECK(drawn(relus({"a", "b"}), {{"relu", "a"}, small}) == "0-0 1-1");
    CHECK(drawn(relus({"a", "b"}), {{"relu", "a"}, renamed}) == "0-0 1-_ _-1");
    CHECK(drawn(relus({"a", "b"}), {{"relu", "a"}, {"relu", "module.b", {1, 2}}}) == "0-0 1-1");
    CHECK(drawn(relus({"a", "b"}), {{"relu", "a"}, {"relu", "moduleb", {1, 2}}}) == "0-0 1-_ _-1");

    const TestFolder folder;
    const auto rows = compared({folder, "one", relus({"a", "b"})}, {folder, "two", {{"relu", "a"}, small}});
    REQUIRE(rows.size() == 2);
    CHECK(rows[1].differs());
    CHECK(rows[1].error == "shape (3,) where (2,) is wanted");
}

TEST_CASE("a call of only one capture is a difference between its neighbours", "[run][compare]") {
    const TestFolder folder;
    auto calls = relus({"a", "x", "b", "c"});
    calls.back().out = {1, 1, 2};
    const Kept one(folder, "one", relus({"a", "b", "c"})), more(folder, "more", calls);
    const auto rows = compared(one, more);
    REQUIRE(rows.size() == 4);
    CHECK(rows[1].where == "call 1 of more");
    CHECK(rows[1].layer == "x");
    CHECK(rows[1].only_in == "more");
    CHECK(rows[1].differs());
    CHECK(rows[1].after == "call 0, relu (a)");
    CHECK(rows[1].before == "call 1 and 2, relu (b)");
    CHECK(rows[1].error == "only more has this call, between call 0, relu (a), and call 1 and 2, relu (b)");
    CHECK(rows[2].where == "call 1 and 2");
    CHECK(rows[2].allclose);
    CHECK(rows[3].where == "call 2 and 3");
    CHECK(rows[3].differs());
    CHECK(rows[3].max_abs == 1);
    CHECK(rows[3].inputs.size() == 1);
    CHECK(rows[3].outputs.size() == 1);

    const auto reversed = compared(more, one);
    CHECK(reversed[1].where == "call 1 of more");
    CHECK(reversed[3].where == "call 3 and 2");
}

TEST_CASE("a break at an end has one neighbour, and one of everything has none", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", relus({"b"})), more(folder, "more", relus({"a", "b", "c"}));
    const Kept other(folder, "other", {{"sigmoid", "b"}});
    const auto rows = compared(one, more);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].error == "only more has this call, before the first of both, call 0 and 1, relu (b)");
    CHECK(rows[2].error == "only more has this call, after the last of both, call 0 and 1, relu (b)");
    const auto nothing = compared(one, other);
    REQUIRE(nothing.size() == 2);
    CHECK(nothing[0].error == "only one has this call; no call is in both");
    CHECK(nothing[1].only_in == "other");
}

TEST_CASE("rows of a renamed layer and of a call out of order are marked, and compared", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", {{"relu", "a"}, {"sigmoid", "b"}, {"relu", "c"}});
    const Kept two(folder, "two", {{"sigmoid", "b"}, {"relu", "a", {1, 1, 3}}, {"relu", "model.c"}});
    const auto rows = compared(one, two);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].out_of_order);
    CHECK(rows[0].where == "call 0 and 1");
    CHECK(rows[0].differs());
    CHECK(rows[0].after.empty());
    CHECK(rows[0].before == "call 1 and 0, sigmoid (b)");
    CHECK_FALSE(rows[1].out_of_order);
    CHECK(rows[2].other_layer == "model.c");
    CHECK(rows[2].allclose);
}

TEST_CASE("captures of one name are distinguished", "[run][compare]") {
    const TestFolder folder, another;
    const auto rows = compared({folder, "one", relus({"a"})}, {another, "one", relus({"a", "b"})});
    REQUIRE(rows.size() == 2);
    CHECK(rows[1].only_in == "the second capture");
    CHECK(rows[1].where == "call 1 of the second capture");
}

TEST_CASE("kept values of two floating dtypes are compared in the wider one", "[run][compare]") {
    const TestFolder folder;
    const Kept half(folder, "half", {{"relu", "a", {1, 1, 1.001f}, Dtype::float16}});
    const Kept full(folder, "full", {{"relu", "a", {1, 1, 1.002f}}});
    const auto rows = compared(half, full);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].allclose);
    CHECK(rows[0].cast == "float16 and float32 as float32");
    CHECK(rows[0].atol == 1e-2);
}

TEST_CASE("NaN against a number is a difference without a size", "[run][compare]") {
    const TestFolder folder;
    const Kept one(folder, "one", relus({"a"}));
    const Kept other(folder, "other", {{"relu", "a", {1, 1, std::numeric_limits<float>::quiet_NaN()}}});
    const auto rows = compared(one, other);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].differs());
    CHECK(std::isnan(rows[0].max_abs));
    CHECK(std::isnan(rows[0].cosine.value()));
    const auto same = compared(other, other);
    CHECK(same[0].allclose);
    CHECK(same[0].max_abs == 0);
}

}  // namespace diopi
