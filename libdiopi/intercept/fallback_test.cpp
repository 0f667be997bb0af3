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
class FallbackTest {
 public:
    explicit FallbackTest(AnyFunction instead) {
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
    FallbackTest test(nullptr);
    Call call = add_on(test.device);
    REQUIRE(test.run(call).ok());
    CHECK(floats_of(test.chip->context(), *call.tensor("out")) == std::vector<float>{11, 22});
    REQUIRE(test.reasons == std::vector{FallbackReason::kNotImplemented});
    CHECK(test.in.copies == 2);
    CHECK(test.in.nbytes == 16);
    CHECK(test.out.copies == 1);
    CHECK(test.out.nbytes == 8);
}

TEST_CASE("a call that the device declines is answered by the other backend", "[intercept][fallback]") {
    FallbackTest test(reinterpret_cast<AnyFunction>(&decline));
    Call call = add_on(test.device);
    REQUIRE(test.run(call).ok());
    CHECK(floats_of(test.chip->context(), *call.tensor("out")) == std::vector<float>{11, 22});
    CHECK(test.reasons == std::vector{FallbackReason::kDeclined});
}

TEST_CASE("listed operators fall back, all others with the list of exceptions", "[intercept][fallback]") {
    FallbackTest test(cpu().function(*find_row("diopiAdd")));
    Call call = add_on(test.device);
    test.lists.only = list_of("mul");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons.empty());
    test.lists.only = list_of("add.Tensor");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons == std::vector{FallbackReason::kForced});
    test.lists.only.reset();
    test.lists.except = list_of("add");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons.size() == 1);
    test.lists.except = list_of("mul");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons.size() == 2);
    test.lists.only = list_of("add");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons.size() == 3);
    test.lists.except = list_of("add.Tensor");
    REQUIRE(test.run(call).ok());
    CHECK(test.reasons.size() == 3);
}

TEST_CASE("a tensor that is input and output at once is copied with its values", "[intercept][fallback]") {
    FallbackTest test(nullptr);
    Call call = add_on(test.device);
    call["out"] = call["input"];
    REQUIRE(test.run(call).ok());
    CHECK(floats_of(test.chip->context(), *call.tensor("input")) == std::vector<float>{11, 22});
}

TEST_CASE("results go back into views without touching what lies between", "[intercept][fallback]") {
    FallbackTest test(nullptr);
    Call call(*find_row("diopiAddInp"));
    const TensorPtr whole = floats_on(test.device, {1, 2, 3, 4, 5});
    auto view = std::make_shared<Tensor>(*whole);
    view->shape = {2};
    view->strides = {2};
    view->offset = 1;
    call["input"] = view;
    call["other"] = floats_on(test.device, {10, 20});
    call["alpha"] = Scalar::of(1.0);
    REQUIRE(test.run(call).ok());
    CHECK(floats_of(test.chip->context(), *whole) == std::vector<float>{1, 12, 3, 24, 5});
}

TEST_CASE("a generator that fell back goes on where the other backend left it", "[intercept][fallback]") {
    FallbackTest test(nullptr);
    Generator generator{7, 4};
    Call call(*find_row("diopiNormalInp"));
    call["inout"] = floats_on(test.device, std::vector<float>(16, 0));
    call["mean"] = 0.0;
    call["std"] = 1.0;
    call["generator"] = diopiGeneratorHandle_t{&generator};
    REQUIRE(test.run(call).ok());
    CHECK(generator.offset > 4);
}

TEST_CASE("a call that nobody implements stays not implemented", "[intercept][fallback]") {
    FallbackTest test(nullptr);
    Call call(*find_row("diopiConvexIouMmcv"));
    const Outcome outcome = test.run(call);
    CHECK(outcome.error == diopiNoImplement);
    CHECK(test.reasons.empty());
}

namespace {

/// Attention with dropout in the device's memory, of four queries and keys of two elements.
Call attention_on(Device& device, Generator& generator) {
    const auto heads = [&](const std::vector<float>& values) {
        TensorPtr tensor = floats_on(device, values);
        tensor->shape = {1, 4, 1, 2};
        tensor->strides = contiguous_strides(tensor->shape);
        return tensor;
    };
    Call call(*find_row("diopiCustomizedFlashAttention"));
    call["attention_out"] = heads(std::vector<float>(8));
    call["q"] = heads({1, 2, 3, 4, 5, 6, 7, 8});
    call["k"] = heads({2, 1, 4, 3, 6, 5, 8, 7});
    call["v"] = heads({1, 0, 0, 1, 1, 1, 2, 1});
    for (const char* made : {"dropout_mask", "softmax_max", "softmax_sum", "softmax_out"}) {
        call[made] = TensorList{nullptr};
    }
    call["gen"] = diopiGeneratorHandle_t{&generator};
    call["p_dropout"] = 0.5;
    call["softmax_scale"] = 0.1;
    call["is_causal"] = false;
    call["window_size_left"] = call["window_size_right"] = int64_t{-1};
    call["head_num"] = int64_t{1};
    call["input_layout"] = std::string("BSND");
    return call;
}

Call gradients_of(const Call& forward, Device& device) {
    Call call(*find_row("diopiCustomizedFlashAttentionBackward"));
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const int from = forward.row->find(arg.name);
        if (from < 0) {
            TensorPtr tensor = floats_on(device, {1, 2, 3, 4, 4, 3, 2, 1});
            tensor->shape = {1, 4, 1, 2};
            tensor->strides = contiguous_strides(tensor->shape);
            call.args[i] = tensor;
        } else if (arg.is_opaque) {
            call.set_tensor(ArgPlace(i), forward.tensor_at(ArgPlace(static_cast<size_t>(from))));
        } else {
            call.args[i] = forward.args[static_cast<size_t>(from)];
        }
    }
    return call;
}

}  // namespace

TEST_CASE("what a fallback of attention made goes to a fallback of its gradients", "[intercept][fallback]") {
    const auto gradients = [](Device& device, Context& context, const auto& run) {
        Generator generator{7, 4};
        Call forward = attention_on(device, generator);
        REQUIRE(run(forward).ok());
        REQUIRE(forward.tensor_at(ArgPlace(static_cast<size_t>(forward.row->find("dropout_mask")))) != nullptr);
        Call backward = gradients_of(forward, device);
        const Outcome outcome = run(backward);
        INFO(outcome.message);
        REQUIRE(outcome.ok());
        return floats_of(context, *backward.tensor("grad_v"));
    };
    FallbackTest test(nullptr);
    const auto fallen = gradients(test.device, test.chip->context(), [&](Call& call) { return test.run(call); });
    Context host(cpu_device());
    const auto direct = gradients(cpu_device(), host, [&](Call& call) { return Chain(cpu()).run(call, host); });
    CHECK(fallen == direct);
}

TEST_CASE("what a device made for its gradients is nothing to another backend", "[intercept][fallback]") {
    FallbackTest test(nullptr);
    Generator generator{7, 4};
    Call forward = attention_on(test.device, generator);
    forward["p_dropout"] = 0.0;
    REQUIRE(test.run(forward).ok());
    const auto gradient = [&](const std::vector<const char*>& replaced) {
        Call call = gradients_of(forward, test.device);
        // Sums in a form that only the device knows.
        for (const char* made : replaced) call[made] = floats_on(test.device, {1, 2, 3, 4});
        REQUIRE(test.run(call).ok());
        return floats_of(test.chip->context(), *call.tensor("grad_q"));
    };
    CHECK_THAT(gradient({"softmax_max", "softmax_sum"}), Catch::Approx(gradient({})).epsilon(1e-4));
}

}  // namespace diopi
