#include "replay/capture_replay.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "backend/faulty_testing.hpp"
#include "backend/testing.hpp"
#include "intercept/testing.hpp"
#include "replay/recipe.hpp"
#include "runtime/async_device.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

Recipe constant(double x) { return {Recipe::Kind::kConstant, Dtype::float32, x, 0}; }

void plain_alpha(Call& call) { call["alpha"] = Scalar::of(1.0); }

/// sum = a + b; then a += sum, in place; a is a parameter, and sum is not used again.
Capture two_sums() {
    Capture capture;
    capture.name = "two_sums";
    const size_t a = add_floats(capture, "a", 3, constant(1)), b = add_floats(capture, "b", 3, constant(2));
    const size_t sum = add_floats(capture, "sum", 3);
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", sum}, {"input", a}, {"other", b}}, plain_alpha);
    add_call(capture, "add_.Tensor", "diopiAddInp", {{"input", a}, {"other", sum}}, plain_alpha);
    return capture;
}

struct Replaying {
    explicit Replaying(const Capture& capture, uint64_t seed = 0) {
        auto made = CaptureReplay::create(capture, values, seed);
        REQUIRE(made.ok());
        replay.emplace(std::move(*made));
    }
    Status run(const Backend& backend = cpu(), const CaptureReplay::Visit& visit = {}) {
        if (Status s = replay->begin(context); !s.ok()) return s;
        return replay->run(Chain(backend), context, visit);
    }
    std::vector<float> floats(size_t tensor) { return floats_of(context, replay->placed(tensor)); }

    CaptureValues values;
    Context context{cpu_device()};
    std::optional<CaptureReplay> replay;
};

}  // namespace

TEST_CASE("a replay runs the calls on shared storages, from the same initial values each time", "[run][capture]") {
    const Capture capture = two_sums();
    Replaying replaying(capture);
    for (int iteration = 0; iteration < 2; ++iteration) {
        REQUIRE(replaying.run().ok());
        CHECK(replaying.floats(0) == std::vector<float>(3, 4));
    }
}

TEST_CASE("the results of a capture are written last and not read afterwards", "[run][capture]") {
    const Capture capture = two_sums();
    CHECK(Replaying(capture).replay->results() == std::vector<size_t>{0});
}

TEST_CASE("a storage without a result ends with its last call", "[run][capture]") {
    const Capture capture = two_sums();
    Replaying replaying(capture);
    const auto visit = [&](const ReplayedCall& call) {
        CHECK((replaying.replay->placed(2).storage.memory != nullptr) == true);
        CHECK(call.captured.overload == (call.index == 0 ? "add.Tensor" : "add_.Tensor"));
        return Status();
    };
    REQUIRE(replaying.run(cpu(), visit).ok());
    CHECK(replaying.replay->placed(2).storage.memory == nullptr);
    CHECK(replaying.replay->placed(0).storage.memory != nullptr);
}

TEST_CASE("tensors of one storage show the same memory", "[run][capture]") {
    Capture capture;
    const size_t whole = add_floats(capture, "x", 6, constant(1));
    const size_t tail = capture.add_tensor("tail", 0, {{2}, Dtype::float32, {2}}, 2);
    add_call(capture, "add_.Tensor", "diopiAddInp", {{"input", tail}, {"other", tail}}, plain_alpha);
    Replaying replaying(capture);
    REQUIRE(replaying.run().ok());
    CHECK(replaying.floats(whole) == std::vector<float>{1, 1, 2, 1, 2, 1});
}

TEST_CASE("a call without a function gets drawn values, and is reported", "[run][capture]") {
    Capture capture;
    capture.name = "missing";
    const size_t x = add_floats(capture, "x", 3, constant(1)), y = add_floats(capture, "y", 3);
    capture.calls.emplace_back().overload = "erfinv";
    capture.calls.back().reads = {x};
    capture.calls.back().writes = {{y, constant(7)}};
    add_call(capture, "add_.Tensor", "diopiAddInp", {{"input", x}, {"other", y}}, plain_alpha);
    Replaying replaying(capture);
    std::vector<Outcome> outcomes;
    const auto visit = [&](const ReplayedCall& call) {
        outcomes.push_back(call.outcome);
        return Status();
    };
    REQUIRE(replaying.run(cpu(), visit).ok());
    CHECK(replaying.floats(x) == std::vector<float>(3, 8));
    REQUIRE(outcomes.size() == 2);
    CHECK(outcomes[0].is_declined());
    CHECK_THAT(outcomes[0].message, Contains("erfinv"));
    CHECK(outcomes[1].ok());
}

TEST_CASE("numbers that a library cannot draw are replaced", "[run][capture]") {
    Capture capture;
    capture.name = "draws";
    const size_t x = add_floats(capture, "x", 100);
    Generator generator;
    add_call(capture, "bernoulli_.float", "diopiBernoulliScalar", {{"out", x}}, [&](Call& call) {
        call["p"] = 0.5;
        call["generator"] = &generator;
    });
    Replaying replaying(capture);
    const FaultyBackend none({{"diopiBernoulliScalar", nullptr}});
    std::vector<Outcome> outcomes;
    REQUIRE(replaying
                .run(none.backend(),
                     [&](const ReplayedCall& call) {
                         outcomes.push_back(call.outcome);
                         return Status();
                     })
                .ok());
    CHECK(outcomes.front().is_declined());
    const std::vector<float> made = replaying.floats(x);
    const auto between = [](float v) { return v != 0 && v != 1 && std::fabs(v) < 6; };
    CHECK(std::ranges::count_if(made, between) == 100);
    REQUIRE(replaying.run().ok());
    CHECK(std::ranges::none_of(replaying.floats(x), between));
}

TEST_CASE("a call that fails ends the iteration, with its number and name", "[run][capture]") {
    Capture capture = two_sums();
    capture.tensors[1].tensor->shape = {2};
    Replaying replaying(capture);
    const Status s = replaying.run();
    REQUIRE_FALSE(s.ok());
    CHECK_THAT(s.message(), Contains("call 0 (add.Tensor, diopiAdd)"));
}

TEST_CASE("a replay copies to a device whose memory the host cannot read", "[run][capture]") {
    AsyncDevice device;
    const Backend backend = cpu().on(device);
    const Capture capture = two_sums();
    Replaying replaying(capture);
    auto stream = device.create_stream();
    REQUIRE(stream.ok());
    replaying.context.device = &device;
    replaying.context.stream = *stream;
    REQUIRE(replaying.run(backend).ok());
    CHECK(replaying.floats(0) == std::vector<float>(3, 4));
    REQUIRE(replaying.replay->begin(replaying.context).ok());
    replaying.replay.reset();
    REQUIRE(device.destroy_stream(*stream).ok());
}

TEST_CASE("generators begin each iteration in the recorded state", "[run][capture]") {
    Capture capture;
    const size_t x = add_floats(capture, "x", 64, constant(0));
    auto generator = capture.generators.emplace_back(std::make_shared<Generator>(Generator{5, 8}));
    add_call(capture, "normal_", "diopiNormalInp", {{"inout", x}}, [&](Call& call) {
        call["mean"] = 0.0;
        call["std"] = 1.0;
        call["generator"] = diopiGeneratorHandle_t{generator.get()};
    });
    Replaying replaying(capture);
    REQUIRE(replaying.run().ok());
    const std::vector<float> first = replaying.floats(x);
    CHECK(first != std::vector<float>(64, 0));
    REQUIRE(replaying.run().ok());
    CHECK(replaying.floats(x) == first);
    CHECK(generator->offset == 8);
}

TEST_CASE("recipes give the values they describe", "[run][capture]") {
    const int64_t n = 20000;
    const auto draw = [&](Recipe::Kind kind, double first, double second) {
        auto tensor = draw_recipe({kind, Dtype::float32, first, second}, {n}, 3);
        REQUIRE(tensor.ok());
        const float* values = (*tensor)->data_as<float>();
        return std::vector<double>(values, values + n);
    };
    const auto mean = [&](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / n; };
    CHECK(draw(Recipe::Kind::kConstant, 2.5, 0) == std::vector<double>(n, 2.5));
    const auto normal = draw(Recipe::Kind::kNormal, 10, 2);
    CHECK(mean(normal) == Approx(10).margin(0.08));
    double square = 0;
    for (const double x : normal) square += (x - 10) * (x - 10) / n;
    CHECK(std::sqrt(square) == Approx(2).epsilon(0.05));
    const auto uniform = draw(Recipe::Kind::kUniform, -3, 5);
    CHECK(*std::ranges::min_element(uniform) >= -3);
    CHECK(*std::ranges::max_element(uniform) < 5);
    CHECK(mean(uniform) == Approx(1).margin(0.1));
    const auto whole = draw(Recipe::Kind::kIntegers, 2, 5);
    for (const double x : whole) CHECK((x == 2 || x == 3 || x == 4));
    CHECK(mean(whole) == Approx(3).margin(0.05));
}

TEST_CASE("a recipe depends on its key, and refuses a range without a value", "[run][capture]") {
    const Recipe normal{Recipe::Kind::kNormal, Dtype::float32, 0, 1};
    const auto values = [&](uint64_t key) {
        const auto tensor = *draw_recipe(normal, {8}, key);
        return std::vector<float>(tensor->data_as<float>(), tensor->data_as<float>() + 8);
    };
    CHECK(values(recipe_key("a", "s0", 0)) == values(recipe_key("a", "s0", 0)));
    CHECK(values(recipe_key("a", "s0", 0)) != values(recipe_key("a", "s0", 1)));
    CHECK(values(recipe_key("a", "s0", 0)) != values(recipe_key("a", "s1", 0)));
    CHECK(values(recipe_key("a", "s0", 0)) != values(recipe_key("b", "s0", 0)));
    CHECK_FALSE(draw_recipe({Recipe::Kind::kUniform, Dtype::float32, 1, 1}, {2}, 0).ok());
    CHECK_FALSE(draw_recipe({Recipe::Kind::kIntegers, Dtype::int64, 0.2, 0.8}, {2}, 0).ok());
}

}  // namespace diopi
