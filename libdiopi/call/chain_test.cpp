/// Boxing, the checks before a call, and the chain around it.
#include "call/chain.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "backend/testing.hpp"
#include "call/invoke.hpp"

namespace diopi {

namespace {

TensorPtr floats(const std::vector<float>& values) {
    auto made = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, Dtype::float32, {}});
    REQUIRE(made.ok());
    std::copy(values.begin(), values.end(), (*made)->data_as<float>());
    return *made;
}

Call add_call() {
    Call call(*find_row("diopiAdd"));
    call["out"] = floats({0, 0});
    call["input"] = floats({1, 2});
    call["other"] = floats({10, 20});
    call["alpha"] = Scalar::of(int64_t{2});
    return call;
}

using testing::cpu;

/// A table with one function, which the test chooses.
struct OneFunction {
    OneFunction(std::string_view function, AnyFunction address) : table(rows().size(), nullptr) {
        table[find_row(function)->index()] = address;
    }
    std::vector<AnyFunction> table;
    [[nodiscard]] Backend backend() const { return {"test", cpu_device(), table}; }
};

/// Notes its name before and after the rest of the chain.
class Note : public Interceptor {
 public:
    Note(std::string name, std::string& log) : name_(std::move(name)), log_(log) {}
    Outcome around(Call& call, Context& context, const Next& next) override {
        log_ += name_ + "(";
        Outcome outcome = next(call, context);
        log_ += ")";
        return outcome;
    }

 private:
    std::string name_;
    std::string& log_;
};

class Answer : public Interceptor {
 public:
    Outcome around(Call&, Context&, const Next&) override { return {diopiForceFallbackToCPU, "answered"}; }
};

diopiError_t equal_stub(diopiContextHandle_t, bool* out, diopiConstTensorHandle_t, diopiConstTensorHandle_t) {
    *out = true;
    return diopiSuccess;
}

diopiError_t nonzero_stub(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t) {
    const int64_t two = 2;
    const diopiSize_t size{&two, 1};
    return diopiRequireTensor(ctx, out, &size, nullptr, diopi_dtype_int64, diopi_host);
}

int64_t g_seen = 0;
diopiError_t argmax_stub(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, const int64_t* dim,
                         bool keepdim) {
    g_seen = dim == nullptr ? -100 : *dim * 10 + (keepdim ? 1 : 0);
    return diopiSuccess;
}

int64_t g_wanted = 0, g_lent = 0;
diopiError_t ffn_stub(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                      diopiConstTensorHandle_t, diopiTensorHandle_t workspace, int64_t* workspace_size, int64_t) {
    if (*workspace_size < 0) {
        *workspace_size = g_wanted;
        return diopiSuccess;
    }
    g_lent = workspace == nullptr ? -1 : workspace->numel();
    return *workspace_size == g_lent ? diopiSuccess : diopiErrorOccurred;
}

Call ffn_call() {
    Call call(*find_row("diopiFusedSiluFfnInp"));
    for (const char* tensor : {"inoutput", "weight1", "weight2", "weight3"}) call[tensor] = floats({1});
    call["workspace_size"] = int64_t{-1};
    call["fusion_level"] = int64_t{0};
    return call;
}

}  // namespace

TEST_CASE("an empty chain is a direct call") {
    Call call = add_call();
    Context context(cpu_device());
    const Outcome outcome = Chain(cpu()).run(call, context);
    CHECK(outcome.ok());
    const auto* out = call.tensor("out")->data_as<float>();
    CHECK((out[0] == 21 && out[1] == 42));
}

TEST_CASE("interceptors are around the call in their order, and one may answer it") {
    std::string log;
    Note outer("a", log);
    Note inner("b", log);
    Answer answer;
    Chain chain(cpu());
    chain.add(outer);
    chain.add(inner);
    Call call = add_call();
    Context context(cpu_device());
    CHECK(chain.run(call, context).ok());
    CHECK(log == "a(b())");
    chain.add(answer);
    const Outcome outcome = chain.run(call, context);
    CHECK(outcome.error == diopiForceFallbackToCPU);
    CHECK(outcome.message == "answered");
}

int g_set = 0;

TEST_CASE("a backend's settings are made before each function, in the mode of the called backend") {
    const OneFunction one("diopiAdd", cpu().function(*find_row("diopiAdd")));
    const Backend plain("test", cpu_device(), one.table, nullptr, [] { g_set = 1; });
    const Backend tf32 = plain.in_tf32("test+tf32", [] { g_set = 2; });
    CHECK_FALSE(plain.is_tf32());
    CHECK(tf32.is_tf32());
    CHECK(tf32.name() == "test+tf32");
    Call call = add_call();
    Context context(cpu_device());
    CHECK(Chain(plain).run(call, context).ok());
    CHECK(g_set == 1);
    CHECK(Chain(tf32).run(call, context).ok());
    CHECK(g_set == 2);
    CHECK(Chain(plain.on(cpu_device())).run(call, context).ok());
    CHECK(g_set == 1);
}

TEST_CASE("a function that the backend lacks is reported as not implemented, by name") {
    const OneFunction none("diopiAdd", nullptr);
    Call call = add_call();
    Context context(cpu_device());
    const Outcome outcome = Chain(none.backend()).run(call, context);
    CHECK(outcome.error == diopiNoImplement);
    CHECK_THAT(outcome.message, Catch::Contains("diopiAdd"));
}

TEST_CASE("values that a function writes through pointers come back into the call") {
    Context context(cpu_device());
    const OneFunction equal("diopiEqual", reinterpret_cast<AnyFunction>(&equal_stub));
    Call call(*find_row("diopiEqual"));
    call["out"] = false;
    call["input"] = floats({1});
    call["other"] = floats({1});
    REQUIRE(Chain(equal.backend()).run(call, context).ok());
    CHECK(std::get<bool>(call["out"]));

    const OneFunction nonzero("diopiNonzero", reinterpret_cast<AnyFunction>(&nonzero_stub));
    Call made(*find_row("diopiNonzero"));
    made["out"] = TensorList{nullptr};
    made["input"] = floats({1});
    REQUIRE(Chain(nonzero.backend()).run(made, context).ok());
    context.release();
    const TensorPtr& result = std::get<TensorList>(made["out"]).front();
    REQUIRE(result != nullptr);
    CHECK(result->shape == Shape{2});
}

TEST_CASE("an absent number is a null pointer, a present one is not") {
    Context context(cpu_device());
    const OneFunction argmax("diopiArgmax", reinterpret_cast<AnyFunction>(&argmax_stub));
    Call call(*find_row("diopiArgmax"));
    call["out"] = floats({0});
    call["input"] = floats({0});
    call["keepdim"] = true;
    REQUIRE(Chain(argmax.backend()).run(call, context).ok());
    CHECK(g_seen == -100);
    call["dim"] = int64_t{3};
    REQUIRE(Chain(argmax.backend()).run(call, context).ok());
    CHECK(g_seen == 31);
}

TEST_CASE("a function is asked for the size of a workspace that the call leaves out, and is lent one") {
    Context context(cpu_device());
    const OneFunction ffn("diopiFusedSiluFfnInp", reinterpret_cast<AnyFunction>(&ffn_stub));
    for (const int64_t wanted : {48, 0}) {
        g_wanted = wanted;
        Call call = ffn_call();
        REQUIRE(validate(call).ok());
        REQUIRE(Chain(ffn.backend()).run(call, context).ok());
        CHECK(g_lent == wanted);
        // Another backend is asked for its own size.
        CHECK(is_null(call["workspace"]));
        CHECK(std::get<int64_t>(call["workspace_size"]) == -1);
    }
    Call call = ffn_call();
    call["workspace"] = floats({0, 0, 0});
    call["workspace_size"] = int64_t{3};
    REQUIRE(Chain(ffn.backend()).run(call, context).ok());
    CHECK(g_lent == 3);
    CHECK_FALSE(is_null(call["workspace"]));
}

TEST_CASE("a function that does not tell the size of its workspace fails") {
    Context context(cpu_device());
    const OneFunction ffn("diopiFusedSiluFfnInp", reinterpret_cast<AnyFunction>(&ffn_stub));
    g_wanted = -1;
    Call call = ffn_call();
    const Outcome outcome = Chain(ffn.backend()).run(call, context);
    CHECK(outcome.error == diopiErrorOccurred);
    CHECK_THAT(outcome.message, Catch::Contains("it left workspace_size at -1"));
}

TEST_CASE("a call with a missing or wrong argument is refused before it is made") {
    Call call = add_call();
    CHECK(validate(call).ok());
    call["other"] = Value();
    CHECK_THAT(validate(call).message(), Catch::Contains("diopiAdd: argument other is missing"));
    call["other"] = int64_t{3};
    CHECK_THAT(validate(call).message(), Catch::Contains("argument other must be a tensor"));
}

}  // namespace diopi
