/// The adaptor around calls on the cpu backend, on test functions, and on a simulated device.
#include "intercept/adaptor/adaptor.hpp"

#include <diopi/functions.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "intercept/call_copy.hpp"
#include "intercept/sim_backend.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::add_of;

/// A host tensor whose values count up from `first` in row-major order.
TensorPtr counted(Dtype dtype, const Shape& shape, const Shape& strides = {}, double first = 1) {
    auto wide = make_tensor(cpu_device(), {shape, Dtype::float64});
    REQUIRE(wide.ok());
    for (int64_t i = 0; i < (*wide)->numel(); ++i) {
        (*wide)->data_as<double>()[i] = first + static_cast<double>(i);
    }
    auto narrow = cast(**wide, dtype);
    REQUIRE(narrow.ok());
    auto tensor = make_tensor(cpu_device(), {shape, dtype, strides});
    REQUIRE(tensor.ok());
    REQUIRE(copy_values(cpu_device(), nullptr, **narrow, **tensor).ok());
    return *tensor;
}

std::vector<double> values_of(const Tensor& tensor) {
    auto host = to_host(cpu_device(), nullptr, tensor);
    REQUIRE(host.ok());
    auto wide = cast(**host, Dtype::float64);
    REQUIRE(wide.ok());
    const auto* values = (*wide)->data_as<double>();
    return {values, values + tensor.numel()};
}

AdaptorRule rule_of(std::string_view casts, std::vector<TensorLayout> layouts = {}, bool contiguous = false) {
    return {*parse_casts(casts), std::move(layouts), contiguous};
}

AdaptorRules common(AdaptorRule rule) { return {std::move(rule), {}}; }

/// Records the calls that the device gets.
struct Seen final : Interceptor {
    std::vector<TensorPtr> tensors;
    std::vector<std::string> places;
    int calls = 0;
    const Call* call = nullptr;  ///< the last one
    Outcome around(Call& seen, Context& context, const Next& next) override {
        ++calls;
        call = &seen;
        tensors.clear();
        places.clear();
        for_each_tensor(seen, [&](const Place& place, const TensorPtr& tensor) {
            tensors.push_back(tensor);
            places.push_back(place.name());
        });
        return next(seen, context);
    }
    [[nodiscard]] const Tensor& at(std::string_view place) const {
        const auto found = std::ranges::find(places, place);
        REQUIRE(found != places.end());
        return *tensors[static_cast<size_t>(found - places.begin())];
    }
};

/// A backend with few functions.
struct Functions {
    explicit Functions(std::initializer_list<std::pair<std::string_view, AnyFunction>> functions)
        : table(rows().size(), nullptr) {
        for (const auto& [name, function] : functions) table[find_row(name)->index()] = function;
    }
    std::vector<AnyFunction> table;
    Backend backend{"test", cpu_device(), table};
};

template <class Function>
AnyFunction any(Function* function) {
    return reinterpret_cast<AnyFunction>(function);
}

AnyFunction of_cpu(std::string_view function) { return (**find_backend("cpu")).function(*find_row(function)); }

struct Run {
    Outcome outcome;
    AdaptedCall adapted;
    Seen seen;
    std::vector<AdaptedFunction> counted;
};

Run run(Call& call, AdaptorRules rules, const Backend& backend = **find_backend("cpu")) {
    Run result;
    Adaptor adaptor(std::move(rules));
    auto totals = AdaptorTotals::create();
    REQUIRE(totals.ok());
    adaptor.count_in(&*totals);
    Context context(backend.device());
    Chain chain(backend);
    chain.add(adaptor);
    chain.add(result.seen);
    result.outcome = chain.run(call, context);
    result.adapted = adaptor.last();
    result.counted = totals->functions();
    return result;
}

diopiError_t failing_add(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t,
                         diopiConstTensorHandle_t, const diopiScalar_t*) {
    if (out->dtype == Dtype::float32) out->data_as<float>()[0] = 77;
    return diopi5DNotSupported;
}

diopiError_t failing_cast(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiErrorOccurred;
}

diopiError_t declining_cast(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const bool fits = out->strides == contiguous_strides(out->shape) && input->is_contiguous();
    if (!fits) return diopiNoImplement;
    return reinterpret_cast<decltype(&::diopiCastDtype)>(of_cpu("diopiCastDtype"))(ctx, out, input);
}

/// Returns the first of two elements.
diopiError_t making_nonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    const int64_t one = 1;
    const diopiSize_t size{&one, 1};
    const diopiError_t error = diopiRequireTensor(ctx, out, &size, nullptr, diopi_dtype_int64, diopi_host);
    (*out)->data_as<int64_t>()[0] = static_cast<int64_t>(input->data_as<float>()[0]);
    return error;
}

diopiError_t equal_of_floats(diopiContextHandle_t, bool* out, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t) {
    *out = input->dtype == Dtype::float32;
    return diopiSuccess;
}

diopiError_t making_contiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                               diopiMemoryFormat_t format) {
    if (format != diopiMemoryFormat_Contiguous) return diopiNoImplement;
    const diopiSize_t size{input->shape.data(), input->rank()};
    const diopiError_t error = diopiRequireTensor(ctx, out, &size, nullptr, to_c(input->dtype), diopi_host);
    if (error != diopiSuccess) return error;
    return copy_values(cpu_device(), nullptr, *input, **out).ok() ? diopiSuccess : diopiErrorOccurred;
}

}  // namespace

TEST_CASE("inputs are cast, outputs are made in the device's dtype and cast back", "[intercept][adaptor]") {
    Call call =
        add_of(counted(Dtype::float64, {3}), counted(Dtype::float64, {3}), counted(Dtype::float64, {3}, {}, 10));
    const TensorPtr out = std::get<TensorPtr>(call["out"]);
    const Run result = run(call, common(rule_of("float64->float32")));
    REQUIRE(result.outcome.ok());
    for (const TensorPtr& tensor : result.seen.tensors) CHECK(tensor->dtype == Dtype::float32);
    CHECK(std::get<TensorPtr>(call["out"]) == out);
    CHECK(out->dtype == Dtype::float64);
    CHECK(values_of(*out) == std::vector<double>{11, 13, 15});
    CHECK(result.adapted.tensors == 3);
    CHECK(result.adapted.in.count == 2);
    CHECK(result.adapted.in.nbytes == 2 * 3 * 8);
    CHECK(result.adapted.out.count == 1);
    CHECK(result.adapted.out.nbytes == 3 * 4);
    CHECK(result.adapted.in.by_host + result.adapted.out.by_host == 0);
    CHECK(to_string(result.adapted.casts) == "float64 in float32");
}

TEST_CASE("a call without a rule is not changed", "[intercept][adaptor]") {
    Call call = add_of(counted(Dtype::float32, {3}), counted(Dtype::float32, {3}), counted(Dtype::float32, {3}));
    const std::vector<TensorPtr> own{std::get<TensorPtr>(call["out"]), std::get<TensorPtr>(call["input"]),
                                     std::get<TensorPtr>(call["other"])};
    for (AdaptorRules rules : {common(rule_of("float64->float32", {TensorLayout::kNd}, true)), AdaptorRules()}) {
        const Run result = run(call, std::move(rules));
        REQUIRE(result.outcome.ok());
        CHECK(result.seen.tensors == own);
        CHECK(result.seen.call == &call);
        CHECK_FALSE(result.adapted.is_adapted());
        CHECK(result.counted.empty());
    }
}

TEST_CASE("inputs and outputs get a layout, and outputs are converted back", "[intercept][adaptor]") {
    const Shape shape{2, 3, 2, 2}, last{12, 1, 6, 3};
    Call call = add_of(counted(Dtype::float32, shape, {}, 0), counted(Dtype::float32, shape, last),
                       counted(Dtype::float32, shape));
    const Run result = run(call, common(rule_of("", {TensorLayout::kNhwc})));
    REQUIRE(result.outcome.ok());
    for (const TensorPtr& tensor : result.seen.tensors) CHECK(tensor->strides == last);
    CHECK(result.adapted.in.count == 1);
    CHECK(result.adapted.out.count == 1);
    const Tensor& out = *call.tensor("out");
    CHECK(out.is_contiguous());
    CHECK(values_of(out).front() == 2);
    CHECK(values_of(out).back() == 48);
    CHECK(to_string(result.adapted.casts).empty());
}

TEST_CASE("dtype and layout change together, in both directions", "[intercept][adaptor]") {
    const Shape shape{2, 3, 2, 2}, last{12, 1, 6, 3}, gaps{96, 32, 8, 2};
    // A cast that takes only contiguous tensors needs a copy before it on the way in, and after it on the way out.
    const Functions restricted{{"diopiAdd", of_cpu("diopiAdd")},
                               {"diopiCopyInp", of_cpu("diopiCopyInp")},
                               {"diopiCastDtype", any(&declining_cast)}};
    const Functions none{{"diopiAdd", of_cpu("diopiAdd")}};
    const Backend& cpu = **find_backend("cpu");
    for (const Backend* backend : {&cpu, &restricted.backend, &none.backend}) {
        Call call = add_of(counted(Dtype::float64, shape, gaps, 0), counted(Dtype::float64, shape, last),
                           counted(Dtype::float64, shape, gaps));
        const Run result = run(call, common(rule_of("float64->float32", {TensorLayout::kNd}, true)), *backend);
        REQUIRE(result.outcome.ok());
        for (const TensorPtr& tensor : result.seen.tensors) {
            CHECK(tensor->dtype == Dtype::float32);
            CHECK(tensor->is_contiguous());
        }
        const Tensor& out = *call.tensor("out");
        CHECK(out.strides == gaps);
        const std::vector<double> values = values_of(out);
        for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == 2 * static_cast<double>(i + 1));
        CHECK(result.adapted.in.by_host + result.adapted.out.by_host == (backend == &none.backend ? 3 : 0));
        CHECK(result.adapted.in.count + result.adapted.out.count == 3);
    }
}

TEST_CASE("contiguity uses diopiContiguous if the device has it", "[intercept][adaptor]") {
    const Functions functions{{"diopiNeg", of_cpu("diopiNeg")}, {"diopiContiguous", any(&making_contiguous)}};
    Call call(*find_row("diopiNeg"));
    call["out"] = counted(Dtype::float32, {2, 2});
    call["input"] = counted(Dtype::float32, {2, 2}, {1, 2});
    const Run result = run(call, common(rule_of("", {}, true)), functions.backend);
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.at("input").is_contiguous());
    CHECK(result.adapted.in.count == 1);
    CHECK(result.adapted.in.by_host == 0);
    CHECK(values_of(*call.tensor("out")) == std::vector<double>{-1, -2, -3, -4});
    // It declines channels-last, and there is no diopiCopyInp.
    Call images(*find_row("diopiNeg"));
    images["out"] = counted(Dtype::float32, {1, 2, 2, 2}, {8, 1, 4, 2});
    images["input"] = counted(Dtype::float32, {1, 2, 2, 2});
    const Run declined = run(images, common(rule_of("", {TensorLayout::kNhwc})), functions.backend);
    REQUIRE(declined.outcome.ok());
    CHECK(declined.adapted.in.by_host == 1);
    CHECK(values_of(*images.tensor("out")).back() == -8);
}

TEST_CASE("an in-out tensor is converted both ways", "[intercept][adaptor]") {
    Call call(*find_row("diopiAddInp"));
    call["input"] = counted(Dtype::float64, {2}, {2});
    call["other"] = counted(Dtype::float64, {2});
    call["alpha"] = Scalar::of(2.0);
    const Run result = run(call, common(rule_of("float64->float32", {}, true)));
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.at("input").dtype == Dtype::float32);
    CHECK(result.adapted.in.count == 2);
    CHECK(result.adapted.out.count == 1);
    CHECK(values_of(*call.tensor("input")) == std::vector<double>{3, 6});
}

TEST_CASE("a tensor that occurs twice in a call occurs twice in the adapted one", "[intercept][adaptor]") {
    const TensorPtr both = counted(Dtype::float64, {2});
    Call call = add_of(both, both, both);
    const Run result = run(call, common(rule_of("float64->float32")));
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.tensors[0] == result.seen.tensors[1]);
    CHECK(result.adapted.in.count == 1);
    CHECK(values_of(*both) == std::vector<double>{2, 4});
}

TEST_CASE("an argument can have its own rule", "[intercept][adaptor]") {
    std::map<std::string, OperatorRule> operators;
    operators["add"].args["other"] = rule_of("float64->float32");
    Call call = add_of(counted(Dtype::float64, {2}), counted(Dtype::float64, {2}), counted(Dtype::float64, {2}));
    const Run result = run(call, AdaptorRules(AdaptorRule(), operators));
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.at("input").dtype == Dtype::float64);
    CHECK(result.seen.at("other").dtype == Dtype::float32);
    CHECK(result.adapted.out.count == 0);
}

TEST_CASE("each tensor of a list is converted, and an absent one stays absent", "[intercept][adaptor]") {
    Call call(*find_row("diopiCat"));
    call["out"] = counted(Dtype::float64, {4});
    call["tensors"] = TensorList{counted(Dtype::float64, {2}), counted(Dtype::float64, {2}, {}, 5)};
    call["num_inputs"] = int64_t{2};
    call["dim"] = int64_t{0};
    const Run result = run(call, common(rule_of("float64->float32")));
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.at("tensors.1").dtype == Dtype::float32);
    CHECK(values_of(*call.tensor("out")) == std::vector<double>{1, 2, 5, 6});
    CHECK(std::get<TensorList>(call["tensors"])[1]->dtype == Dtype::float64);
}

TEST_CASE("an error of the function is the call's, and nothing is copied back", "[intercept][adaptor]") {
    const Functions functions{{"diopiAdd", any(&failing_add)}};
    Call call = add_of(counted(Dtype::float64, {2}), counted(Dtype::float64, {2}), counted(Dtype::float64, {2}));
    const Run result = run(call, common(rule_of("float64->float32")), functions.backend);
    CHECK(result.outcome.error == diopi5DNotSupported);
    CHECK(result.adapted.out.count == 0);
    CHECK(values_of(*call.tensor("out")) == std::vector<double>{1, 2});
}

TEST_CASE("the error of a failed conversion names it", "[intercept][adaptor]") {
    const Functions functions{{"diopiAdd", of_cpu("diopiAdd")}, {"diopiCastDtype", any(&failing_cast)}};
    Call call = add_of(counted(Dtype::float64, {2}), counted(Dtype::float64, {2}), counted(Dtype::float64, {2}));
    const Run result = run(call, common(rule_of("float64->float32")), functions.backend);
    CHECK(result.outcome.error == diopiErrorOccurred);
    CHECK_THAT(result.outcome.message, Contains("adaptor: diopiAdd: input, float64 (2,), cannot be converted to "
                                                "float32: diopiCastDtype: "));
    CHECK(result.seen.calls == 0);
}

TEST_CASE("an integer that does not fit is declined, and the message has its value", "[intercept][adaptor]") {
    const auto with = [](int64_t last) {
        Call call = add_of(counted(Dtype::int64, {2}), counted(Dtype::int64, {2}), counted(Dtype::int64, {2}));
        std::get<TensorPtr>(call["other"])->data_as<int64_t>()[1] = last;
        return call;
    };
    const AdaptorRule to_int32 = rule_of("int64->int32");
    Call small = with(INT32_MIN);
    CHECK(run(small, common(to_int32)).outcome.ok());
    CHECK(values_of(*small.tensor("out"))[1] == static_cast<double>(INT32_MIN) + 2);
    Call large = with(int64_t{1} << 31);
    const Run result = run(large, common(to_int32));
    CHECK(result.outcome.error == diopiDtypeNotSupported);
    CHECK_THAT(result.outcome.message,
               Contains("other, int64 (2,), holds 2147483648, which int32 cannot hold") && Contains("\"no_cast\""));
    CHECK(values_of(*large.tensor("out")) == std::vector<double>{1, 2});
    AdaptorRules unchecked = common(to_int32);
    unchecked.check_range = false;
    CHECK(run(large, std::move(unchecked)).outcome.ok());
    // A float does not hold every integer either.
    Call odd = with((1 << 24) + 1);
    CHECK_THAT(run(odd, common(rule_of("int64->float32"))).outcome.message, Contains("16777217, which float32"));
}

TEST_CASE("a tensor that a function makes itself stays unchanged if its dtype is the right one",
          "[intercept][adaptor]") {
    const Functions functions{{"diopiNonzero", any(&making_nonzero)}, {"diopiEqual", any(&equal_of_floats)}};
    Call call(*find_row("diopiNonzero"));
    call["out"] = TensorList{nullptr};
    call["input"] = counted(Dtype::float64, {2}, {}, 5);
    const Run result = run(call, common(rule_of("(int64,float64)->float32")), functions.backend);
    REQUIRE(result.outcome.ok());
    const TensorPtr& made = std::get<TensorList>(call["out"]).front();
    REQUIRE(made != nullptr);
    CHECK(made->dtype == Dtype::int64);
    CHECK(made->data_as<int64_t>()[0] == 5);
    CHECK(result.adapted.out.count == 0);
    Call equal(*find_row("diopiEqual"));
    equal["out"] = false;
    equal["input"] = counted(Dtype::float64, {2});
    equal["other"] = counted(Dtype::float64, {2});
    REQUIRE(run(equal, common(rule_of("float64->float32")), functions.backend).outcome.ok());
    CHECK(std::get<bool>(equal["out"]));
}

TEST_CASE("empty and 0-dim tensors are adapted, too", "[intercept][adaptor]") {
    Call none =
        add_of(counted(Dtype::float64, {0, 3}), counted(Dtype::float64, {0, 3}), counted(Dtype::float64, {0, 3}));
    const Run empty = run(none, common(rule_of("float64->float32")));
    REQUIRE(empty.outcome.ok());
    CHECK(empty.seen.at("input").dtype == Dtype::float32);
    CHECK(empty.adapted.in.count == 0);
    Call one = add_of(counted(Dtype::float64, {}), counted(Dtype::float64, {}), counted(Dtype::float64, {}));
    REQUIRE(run(one, common(rule_of("float64->float32"))).outcome.ok());
    CHECK(values_of(*one.tensor("out")) == std::vector<double>{2});
}

TEST_CASE("on a device other than the host conversions are its own, or copies", "[intercept][adaptor]") {
    for (const bool converts : {true, false}) {
        SimOptions options;
        options.dtypes = {Dtype::float32};
        options.contiguous = true;
        options.converts = converts;
        SimBackend sim(std::move(options));
        auto side = Side::create(sim.backend());
        REQUIRE(side.ok());
        Context& context = (*side)->context();
        const auto placed = [&](const TensorPtr& host) {
            auto tensor = to_device(sim.device(), context.stream, *host);
            REQUIRE(tensor.ok());
            return *tensor;
        };
        Call call = add_of(placed(counted(Dtype::float64, {2, 2}, {1, 2})), placed(counted(Dtype::float64, {2, 2})),
                           placed(counted(Dtype::float64, {2, 2}, {1, 2})));
        Adaptor adaptor(common(rule_of("float64->float32", {TensorLayout::kNd}, true)), &sim);
        auto totals = AdaptorTotals::create();
        REQUIRE(totals.ok());
        adaptor.count_in(&*totals);
        Chain chain(sim.backend());
        chain.add(adaptor);
        chain.add(sim);
        const Outcome outcome = chain.run(call, context);
        INFO(outcome.message);
        REQUIRE(outcome.ok());
        auto host = to_host(sim.device(), context.stream, *call.tensor("out"));
        REQUIRE(host.ok());
        CHECK(values_of(**host) == std::vector<double>{2, 4, 6, 8});
        const auto functions = totals->functions();
        REQUIRE(functions.size() == 1);
        CHECK(functions[0].row->function == "diopiAdd");
        CHECK(functions[0].calls == 1);
        CHECK(functions[0].in.count == 2);
        CHECK(functions[0].in.by_host == (converts ? 0 : 2));
        CHECK(functions[0].out.by_host == (converts ? 0 : 1));
        CHECK(functions[0].in.seconds > 0);
        CHECK(functions[0].casts == std::vector<DtypeCast>{{Dtype::float64, Dtype::float32}});
    }
}

TEST_CASE("a large tensor is cast on the host like a small one", "[intercept][adaptor]") {
    const Shape shape{3, 20001};
    const TensorPtr from = counted(Dtype::float64, shape);
    auto narrow = cast(*from, Dtype::int32);
    REQUIRE(narrow.ok());
    bool same = (*narrow)->shape == shape;
    for (int64_t i = 0; i < (*narrow)->numel(); ++i) same = same && (*narrow)->data_as<int32_t>()[i] == i + 1;
    CHECK(same);
}

TEST_CASE("a number beside integers keeps their dtype when they are cast", "[adaptor]") {
    Call quotient(*find_row("diopiDivScalar"));
    quotient["out"] = counted(Dtype::uint8, {2});
    quotient["input"] = counted(Dtype::uint8, {2}, {}, 254);
    quotient["other"] = Scalar::of(int64_t{-1});  // 255 in uint8
    quotient["rounding_mode"] = int64_t{RoundModeFloor};
    REQUIRE(run(quotient, common(rule_of("uint8->int32"))).outcome.ok());
    CHECK(values_of(*std::get<TensorPtr>(quotient["out"])) == std::vector<double>{0, 1});

    Call larger(*find_row("diopiMaximum"));
    larger["out"] = counted(Dtype::int8, {2});
    larger["input"] = counted(Dtype::int32, {}, {}, 300);  // 44 in int8
    larger["other"] = counted(Dtype::int8, {2}, {}, 43);
    const Run done = run(larger, common(rule_of("int8->int32")));
    REQUIRE(done.outcome.ok());
    CHECK(values_of(*std::get<TensorPtr>(larger["out"])) == std::vector<double>{44, 44});
    CHECK(done.seen.at("input").dtype == Dtype::int32);
}

TEST_CASE("a tensor that a function makes in the dtype of the device is cast back", "[intercept][adaptor]") {
    Call call(*find_row("diopiMaskedSelect"));
    call["out"] = TensorList{nullptr};
    call["input"] = counted(Dtype::float16, {3});
    call["mask"] = counted(Dtype::boolean, {3}, {}, 0);  // false, true, true
    const Run result = run(call, common(rule_of("float16->float32")));
    REQUIRE(result.outcome.ok());
    const TensorPtr& made = std::get<TensorList>(call["out"]).front();
    REQUIRE(made != nullptr);
    CHECK(made->dtype == Dtype::float16);
    CHECK(values_of(*made) == std::vector<double>{2, 3});
    CHECK(result.adapted.out.count == 1);
}

TEST_CASE("a made tensor that is cast back keeps its layout", "[intercept][adaptor]") {
    Call call(*find_row("diopiContiguous"));
    call["out"] = TensorList{nullptr};
    call["input"] = counted(Dtype::float16, {1, 2, 2, 2});
    call["memoryFormat"] = int64_t{diopiMemoryFormat_ChannelsLast};
    REQUIRE(run(call, common(rule_of("float16->float32"))).outcome.ok());
    const TensorPtr& made = std::get<TensorList>(call["out"]).front();
    CHECK(made->dtype == Dtype::float16);
    CHECK(made->strides == Shape{8, 1, 4, 2});
}

TEST_CASE("bytes that choose elements do not become places", "[intercept][adaptor]") {
    Call call(*find_row("diopiIndex"));
    call["out"] = TensorList{nullptr};
    call["input"] = counted(Dtype::float32, {3});
    call["indices"] = TensorList{counted(Dtype::uint8, {3}, {}, 0)};  // 0, 1, 2
    call["nums"] = int64_t{1};
    const Run result = run(call, common(rule_of("(int64,uint8)->int32")));
    REQUIRE(result.outcome.ok());
    CHECK(result.seen.at("indices.0").dtype == Dtype::boolean);
    CHECK(values_of(*std::get<TensorList>(call["out"]).front()) == std::vector<double>{2, 3});
}

TEST_CASE("random integers have the bounds of the dtype that the caller sees", "[intercept][adaptor]") {
    Generator generator{1, 0};
    const auto drawn = [&](Dtype dtype, std::string_view casts) {
        Call call(*find_row("diopiRandomInp"));
        call["inout"] = counted(dtype, {1000}, {}, 0);
        call["from"] = int64_t{0};
        call["generator"] = &generator;
        const Outcome outcome = run(call, common(rule_of(casts))).outcome;
        return std::pair(outcome, values_of(*std::get<TensorPtr>(call["inout"])));
    };
    const auto [outcome, values] = drawn(Dtype::int8, "int8->int32");
    REQUIRE(outcome.ok());
    const auto [least, most] = std::ranges::minmax(values);
    CHECK(least >= 0);
    CHECK(most <= 127);
    CHECK(most > 100);
    CHECK_THAT(drawn(Dtype::int64, "int64->int32").first.message, Contains("the numbers reach 9223372036854775807"));
}

TEST_CASE("a number beside floating elements is rounded to their dtype where both are promoted first", "[adaptor]") {
    Call rest(*find_row("diopiRemainder"));
    rest["out"] = counted(Dtype::float16, {1});
    rest["input"] = Scalar::of(4.3);  // 4.30078125 in float16
    rest["other"] = counted(Dtype::float16, {1}, {}, 4);
    REQUIRE(run(rest, common(rule_of("float16->float32"))).outcome.ok());
    CHECK(values_of(*std::get<TensorPtr>(rest["out"])) == std::vector<double>{0.30078125});
}

TEST_CASE("a bound beyond an integer dtype is its last number", "[adaptor]") {
    Call clamp(*find_row("diopiClampMaxScalar"));
    clamp["out"] = counted(Dtype::uint8, {3});
    clamp["input"] = counted(Dtype::uint8, {3});
    clamp["max"] = Scalar::of(int64_t{-24});
    REQUIRE(run(clamp, common(rule_of("uint8->int32"))).outcome.ok());
    CHECK(values_of(*clamp.tensor("out")) == std::vector<double>{0, 0, 0});
    clamp["max"] = Scalar::of(int64_t{256 + 2});
    REQUIRE(run(clamp, common(rule_of("uint8->int32"))).outcome.ok());
    CHECK(values_of(*clamp.tensor("out")) == std::vector<double>{1, 2, 3});
}

TEST_CASE("a tensor that changes in place and is promoted first gets its results", "[adaptor]") {
    Call either(*find_row("diopiLogicalOrInp"));
    either["input"] = counted(Dtype::int32, {3}, {}, 0x1000001);
    // Its layout is adapted: the call is.
    either["other"] = counted(Dtype::float32, {3}, {2});
    REQUIRE(run(either, common(rule_of("float64->float32", {}, true))).outcome.ok());
    CHECK(values_of(*either.tensor("input")) == std::vector<double>{1, 1, 1});
}

}  // namespace diopi
