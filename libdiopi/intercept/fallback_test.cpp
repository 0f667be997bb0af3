#include "intercept/fallback.hpp"

#include <catch2/catch.hpp>
#include <memory>

#include "backend/testing.hpp"
#include "intercept/testing.hpp"
#include "runtime/async_device.hpp"

namespace diopi {

namespace {

using namespace testing;

diopiError_t decline(diopiContextHandle_t) { return diopiDtypeNotSupported; }

NameList list_of(std::string_view text) { return std::move(*NameList::parse(text)); }

/// A device with its own memory that has all functions, none, or one that declines.
class Scene {
 public:
    explicit Scene(AnyFunction instead) {
        table.assign(rows().size(), instead);
        backend.emplace("chip", device, table);
        auto made = Side::create(*backend);
        REQUIRE(made.ok());
        chip = std::move(*made);
        auto host = Side::create(cpu());
        REQUIRE(host.ok());
        other = std::move(*host);
    }

    Outcome run(Call& call) {
        Fallback fallback(*other, lists, [this](const FallbackEvent& event) {
            reasons.push_back(event.reason);
            in = event.in;
            out = event.out;
        });
        Chain chain(*backend);
        chain.add(fallback);
        return chain.run(call, chip->context());
    }

    AsyncDevice device;
    std::vector<AnyFunction> table;
    std::optional<Backend> backend;
    std::unique_ptr<Side> chip, other;
    FallbackLists lists;
    std::vector<FallbackReason> reasons;
    Transfers in, out;
};

}  // namespace

TEST_CASE("a function that the device lacks is answered by the other backend", "[intercept][fallback]") {
    Scene scene(nullptr);
    Call call = add_on(scene.device);
    REQUIRE(scene.run(call).ok());
    CHECK(floats_of(scene.chip->context(), *call.tensor("out")) == std::vector<float>{11, 22});
    REQUIRE(scene.reasons == std::vector{FallbackReason::kNotImplemented});
    CHECK(scene.in.copies == 2);
    CHECK(scene.in.nbytes == 16);
    CHECK(scene.out.copies == 1);
    CHECK(scene.out.nbytes == 8);
}

TEST_CASE("a call that the device declines is answered by the other backend", "[intercept][fallback]") {
    Scene scene(reinterpret_cast<AnyFunction>(&decline));
    Call call = add_on(scene.device);
    REQUIRE(scene.run(call).ok());
    CHECK(floats_of(scene.chip->context(), *call.tensor("out")) == std::vector<float>{11, 22});
    CHECK(scene.reasons == std::vector{FallbackReason::kDeclined});
}

TEST_CASE("listed operators fall back, all others with the list of exceptions", "[intercept][fallback]") {
    Scene scene(cpu().function(*find_row("diopiAdd")));
    Call call = add_on(scene.device);
    scene.lists.only = list_of("mul");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons.empty());
    scene.lists.only = list_of("add.Tensor");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons == std::vector{FallbackReason::kForced});
    scene.lists.only.reset();
    scene.lists.except = list_of("add");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons.size() == 1);
    scene.lists.except = list_of("mul");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons.size() == 2);
    scene.lists.only = list_of("add");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons.size() == 3);
    scene.lists.except = list_of("add.Tensor");
    REQUIRE(scene.run(call).ok());
    CHECK(scene.reasons.size() == 3);
}

TEST_CASE("a tensor that is input and output at once is copied with its values", "[intercept][fallback]") {
    Scene scene(nullptr);
    Call call = add_on(scene.device);
    call["out"] = call["input"];
    REQUIRE(scene.run(call).ok());
    CHECK(floats_of(scene.chip->context(), *call.tensor("input")) == std::vector<float>{11, 22});
}

TEST_CASE("results go back into views without touching what lies between", "[intercept][fallback]") {
    Scene scene(nullptr);
    Call call(*find_row("diopiAddInp"));
    const TensorPtr whole = floats_on(scene.device, {1, 2, 3, 4, 5});
    auto view = std::make_shared<Tensor>(*whole);
    view->shape = {2};
    view->strides = {2};
    view->offset = 1;
    call["input"] = view;
    call["other"] = floats_on(scene.device, {10, 20});
    call["alpha"] = Scalar::of(1.0);
    REQUIRE(scene.run(call).ok());
    CHECK(floats_of(scene.chip->context(), *whole) == std::vector<float>{1, 12, 3, 24, 5});
}

TEST_CASE("a generator that fell back goes on where the other backend left it", "[intercept][fallback]") {
    Scene scene(nullptr);
    Generator generator{7, 4};
    Call call(*find_row("diopiNormalInp"));
    call["inout"] = floats_on(scene.device, std::vector<float>(16, 0));
    call["mean"] = 0.0;
    call["std"] = 1.0;
    call["generator"] = diopiGeneratorHandle_t{&generator};
    REQUIRE(scene.run(call).ok());
    CHECK(generator.offset > 4);
}

TEST_CASE("a call that nobody implements stays not implemented", "[intercept][fallback]") {
    Scene scene(nullptr);
    Call call(*find_row("diopiCdist"));
    const Outcome outcome = scene.run(call);
    CHECK(outcome.error == diopiNoImplement);
    CHECK(scene.reasons.empty());
}

}  // namespace diopi
