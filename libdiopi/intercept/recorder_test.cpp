#include "intercept/recorder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "backend/testing.hpp"
#include "capture/capture_json.hpp"
#include "file/hdf5_file.hpp"
#include "file/test_folder.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

/// Calls through a chain with a recorder.
struct Recording {
    explicit Recording(CaptureSpool* spool = nullptr) : recorder(spool) { chain.add(recorder); }
    Outcome run(Call call) { return chain.run(call, context); }
    Capture take() {
        auto capture = recorder.take();
        if (!capture.ok()) FAIL(capture.error().message);
        return std::move(*capture);
    }

    Recorder recorder;
    Chain chain{cpu()};
    Context context{cpu_device()};
};

Call add_inp(const TensorPtr& input, const TensorPtr& other) {
    Call call(*find_row("diopiAddInp"));
    call["input"] = input;
    call["other"] = other;
    call["alpha"] = Scalar::of(1.0);
    return call;
}

/// Answers every call itself: its output counts up from 1.
struct Counting final : Interceptor {
    Outcome around(Call& call, Context&, const Next&) override {
        const Tensor& out = *call.tensor("out");
        for (int64_t i = 0; i < out.numel(); ++i) out.data_as<float>()[i] = static_cast<float>(i + 1);
        return {};
    }
};

TensorPtr floats(const std::vector<float>& values) { return floats_on(cpu_device(), values); }

/// The elements of a one-dim tensor from `offset` on.
TensorPtr tail_of(const TensorPtr& tensor, int64_t offset) {
    auto view = std::make_shared<Tensor>(*tensor);
    view->offset += offset;
    view->shape[0] -= offset;
    return view;
}

/// One float at an address that the test chooses.
TensorPtr float_at(float* place) {
    auto tensor = std::make_shared<Tensor>();
    tensor->storage = {std::shared_ptr<void>(place, [](void*) {}), sizeof(float), diopi_host};
    tensor->shape = {1};
    tensor->strides = {1};
    return tensor;
}

size_t storage_at(const Capture& capture, size_t call, const char* arg) {
    return capture.tensors[capture.position(*capture.calls[call].call->tensor(arg))].storage;
}

template <class T>
TensorPtr recorded_tensor(Dtype dtype, const std::vector<T>& values) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, dtype});
    REQUIRE(tensor.ok());
    std::copy(values.begin(), values.end(), (*tensor)->data_as<T>());
    return *tensor;
}

}  // namespace

TEST_CASE("calls are recorded with their storages, and only storages that are read first have a fill",
          "[intercept][recorder]") {
    Recording recording;
    const TensorPtr a = floats({1, 2, 3}), b = floats({5, 5, 5}), sum = floats({0, 0, 0});
    REQUIRE(recording.run(add_of(sum, a, b)).ok());
    REQUIRE(recording.run(add_inp(a, sum)).ok());
    const Capture capture = recording.take();
    REQUIRE(capture.calls.size() == 2);
    REQUIRE(capture.storages.size() == 3);
    REQUIRE(capture.tensors.size() == 3);
    CHECK(capture.calls[0].overload == "add.Tensor");
    CHECK(capture.calls[0].phase == "forward");
    CHECK(capture.calls[1].call->row->function == "diopiAddInp");
    CHECK(std::get<Scalar>((*capture.calls[0].call)["alpha"]) == Scalar::of(1.0));
    CHECK(storage_at(capture, 0, "out") == storage_at(capture, 1, "other"));
    CHECK(storage_at(capture, 0, "input") == storage_at(capture, 1, "input"));
    CHECK_FALSE(capture.storages[storage_at(capture, 0, "out")].fill.has_value());
    CHECK(capture.storages[storage_at(capture, 0, "input")].fill ==
          Recipe{Recipe::Kind::kUniform, Dtype::float32, 1, 3});
    CHECK(capture.storages[storage_at(capture, 0, "other")].fill ==
          Recipe{Recipe::Kind::kConstant, Dtype::float32, 5, 0});
    CHECK(recording.take().calls.empty());
}

TEST_CASE("views of one memory share its storage, and equal views are one tensor", "[intercept][recorder]") {
    Recording recording;
    const TensorPtr whole = floats({1, 2, 3, 4}), out = floats({0, 0});
    REQUIRE(recording.run(add_of(out, tail_of(whole, 2), tail_of(whole, 2))).ok());
    REQUIRE(recording.run(add_inp(whole, whole)).ok());
    const Capture capture = recording.take();
    CHECK(capture.storages.size() == 2);
    CHECK(capture.tensors.size() == 3);
    CHECK(storage_at(capture, 0, "input") == storage_at(capture, 1, "input"));
    CHECK(capture.calls[0].call->tensor("input")->offset == 2);
    CHECK(capture.calls[0].call->tensor("input") == capture.calls[0].call->tensor("other"));
}

TEST_CASE("memory that is freed and used again is another storage", "[intercept][recorder]") {
    Recording recording;
    float place = 1;
    for (int i = 0; i < 2; ++i) {
        const TensorPtr there = float_at(&place);
        REQUIRE(recording.run(add_inp(there, floats({1}))).ok());
    }
    const TensorPtr again = float_at(&place);
    REQUIRE(recording.run(add_inp(again, again)).ok());
    const Capture capture = recording.take();
    CHECK(storage_at(capture, 0, "input") != storage_at(capture, 1, "input"));
    CHECK(capture.storages[storage_at(capture, 1, "input")].fill->first == 2);
    CHECK(storage_at(capture, 2, "input") == storage_at(capture, 2, "other"));
}

TEST_CASE("a backward call is marked, with the id of its forward call", "[intercept][recorder]") {
    Recording recording;
    const TensorPtr x = floats({1, -2}), y = floats({0, 0}), z = floats({0, 0});
    REQUIRE(recording.run(add_of(z, x, x)).ok());
    Call forward(*find_row("diopiSigmoid"));
    forward["out"] = y;
    forward["input"] = x;
    REQUIRE(recording.run(forward).ok());
    REQUIRE(recording.run(add_of(z, x, x)).ok());
    Call backward(*find_row("diopiSigmoidBackward"));
    backward["grad_input"] = floats({0, 0});
    backward["grad_output"] = floats({1, 1});
    backward["output"] = y;
    REQUIRE(recording.run(backward).ok());
    const Capture capture = recording.take();
    CHECK(capture.calls[1].forward_id == 1);
    CHECK(capture.calls[2].forward_id == 2);
    CHECK(capture.calls[3].forward_id == 1);
    CHECK(capture.calls[3].phase == "backward");
}

TEST_CASE("a captured call keeps its known members", "[intercept][recorder]") {
    Recording recording;
    const CallOrigin origin{"aten.add", "optimizer", 7, "layer1", "model.py:3"};
    Call call = add_inp(floats({1}), floats({2}));
    call.origin = &origin;
    REQUIRE(recording.run(call).ok());
    const Capture capture = recording.take();
    const CapturedCall& captured = capture.calls[0];
    CHECK(captured.overload == "aten.add");
    CHECK(captured.phase == "optimizer");
    CHECK(captured.forward_id == 7);
    CHECK(captured.layer == "layer1");
    CHECK(captured.source == "model.py:3");
    CHECK(captured.call->origin == nullptr);
}

TEST_CASE("a generator is recorded in its state before the call", "[intercept][recorder]") {
    Recording recording;
    Generator generator{3, 4};
    Call call(*find_row("diopiNormalInp"));
    call["inout"] = floats({0, 0});
    call["mean"] = 0.0;
    call["std"] = 1.0;
    call["generator"] = diopiGeneratorHandle_t{&generator};
    REQUIRE(recording.run(call).ok());
    const Capture capture = recording.take();
    const auto recorded = std::get<diopiGeneratorHandle_t>((*capture.calls[0].call)["generator"]);
    CHECK(recorded != &generator);
    CHECK(recorded->seed == 3);
    CHECK(recorded->offset == 4);
    CHECK(generator.offset != 4);
}

TEST_CASE("a call with a sparse tensor is recorded without a function", "[intercept][recorder]") {
    Recording recording;
    const auto csr = std::make_shared<Tensor>();
    csr->shape = {2, 2};
    csr->crow_indices = recorded_tensor<int64_t>(Dtype::int64, {0, 1, 2});
    csr->col_indices = recorded_tensor<int64_t>(Dtype::int64, {0, 1});
    csr->values = floats({1, 2});
    const auto matrix = [](const TensorPtr& tensor) {
        tensor->shape = {2, 2};
        tensor->strides = {2, 1};
        return tensor;
    };
    Call call(*find_row("diopiSpMM"));
    call["out"] = matrix(floats({0, 0, 0, 0}));
    call["input"] = csr;
    call["mat2"] = matrix(floats({1, 2, 3, 4}));
    Counting counting;
    recording.chain.add(counting);
    REQUIRE(recording.run(call).ok());
    const Capture capture = recording.take();
    REQUIRE(capture.calls.size() == 1);
    CHECK(capture.calls[0].overload == "spmm");
    CHECK_FALSE(capture.calls[0].call.has_value());
    CHECK(capture.calls[0].reads.size() == 4);
    REQUIRE(capture.calls[0].writes.size() == 1);
    CHECK(capture.calls[0].writes[0].second == Recipe{Recipe::Kind::kUniform, Dtype::float32, 1, 4});
    CHECK(capture_to_json(capture).ok());
}

TEST_CASE("recipes describe the values", "[intercept][recorder]") {
    using Kind = Recipe::Kind;
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    CHECK(recipe_like(*floats({2, 2})) == Recipe{Kind::kConstant, Dtype::float32, 2, 0});
    CHECK(recipe_like(*floats({})) == Recipe{Kind::kConstant, Dtype::float32, 0, 0});
    CHECK(recipe_like(*floats({0, 3, 1})) == Recipe{Kind::kUniform, Dtype::float32, 0, 3});
    CHECK(recipe_like(*floats({-1, 1})) == Recipe{Kind::kNormal, Dtype::float32, 0, 1});
    CHECK(recipe_like(*floats({nan, 1, inf, 3})) == Recipe{Kind::kUniform, Dtype::float32, 1, 3});
    CHECK(recipe_like(*floats({inf, inf})) == Recipe{Kind::kConstant, Dtype::float32, inf, 0});
    CHECK(recipe_like(*recorded_tensor<int64_t>(Dtype::int64, {4, -2})) ==
          Recipe{Kind::kIntegers, Dtype::int64, -2, 5});
    CHECK(recipe_like(*recorded_tensor<uint8_t>(Dtype::uint8, {0, 255})) ==
          Recipe{Kind::kIntegers, Dtype::uint8, 0, 256});
    CHECK(recipe_like(*recorded_tensor<bool>(Dtype::boolean, {true, false})) ==
          Recipe{Kind::kIntegers, Dtype::boolean, 0, 2});
    const int64_t most = std::numeric_limits<int64_t>::max();
    CHECK(recipe_like(*recorded_tensor<int64_t>(Dtype::int64, {most, most})).first == 0x1p53);
    CHECK(recipe_like(*recorded_tensor<int64_t>(Dtype::int64, {-most, most})) ==
          Recipe{Kind::kIntegers, Dtype::int64, -0x1p53, -0x1p53 + 0x1p32});
    const double huge = std::numeric_limits<double>::max();
    CHECK(recipe_like(*recorded_tensor<double>(Dtype::float64, {-huge, -huge, 1})) ==
          Recipe{Kind::kNormal, Dtype::float64, 0, 1});
}

TEST_CASE("kept values are the storages before a call, and its results after it", "[intercept][recorder]") {
    const TestFolder folder;
    auto spool = CaptureSpool::create(folder / "x.json");
    REQUIRE(spool.ok());
    Recording recording(&*spool);
    const TensorPtr whole = floats({1, 2, 3}), sum = floats({0, 0});
    REQUIRE(recording.run(add_of(sum, tail_of(whole, 1), tail_of(whole, 1))).ok());
    REQUIRE(recording.run(add_inp(whole, whole)).ok());
    REQUIRE(spool->add(0, recording.take()).ok());
    Capture head;
    head.name = "x";
    REQUIRE(spool->publish(head, true).ok());
    const auto capture = read_capture(folder / "x.json");
    REQUIRE(capture.ok());
    const auto values = CaptureValues::open(folder / "x.json", *capture);
    if (!values.ok()) FAIL(values.error().message);
    const std::string storage = capture->storages[storage_at(*capture, 0, "input")].id;
    CHECK(floats_of(recording.context, **values->storage(storage)) == std::vector<float>{1, 2, 3});
    CHECK(floats_of(recording.context, **values->result(0, "out")) == std::vector<float>{4, 6});
    CHECK(floats_of(recording.context, **values->result(1, "input")) == std::vector<float>{2, 4, 6});
    CHECK(*values->result(1, "other") == nullptr);
}

/// A function that makes its first argument.
struct Making final : Interceptor {
    explicit Making(Value made) : value(std::move(made)) {}
    Outcome around(Call& call, Context&, const Next&) override {
        call.args[0] = value;
        return {};
    }
    Value value;
};

TEST_CASE("numbers and tensors that a function makes are recorded as they are after the call",
          "[intercept][recorder]") {
    const TestFolder folder;
    auto spool = CaptureSpool::create(folder / "x.json");
    REQUIRE(spool.ok());
    Recorder recorder(&*spool);
    Context context{cpu_device()};
    const auto run = [&](const char* function, Value before, Value after) {
        Making making(std::move(after));
        Chain chain(cpu());
        chain.add(recorder);
        chain.add(making);
        Call call(*find_row(function));
        call.args[0] = std::move(before);
        call["input"] = floats({1, 2});
        call[std::string_view(function) == "diopiEqual" ? "other" : "mask"] = floats({1, 0});
        REQUIRE(chain.run(call, context).ok());
    };
    run("diopiEqual", false, true);
    run("diopiMaskedSelect", TensorList(1), TensorList{floats({1})});
    auto recorded = recorder.take();
    REQUIRE(recorded.ok());
    CHECK(std::get<bool>((*recorded->calls[0].call)["out"]));
    CHECK(std::get<TensorList>((*recorded->calls[1].call)["out"])[0] == nullptr);
    REQUIRE(spool->add(0, std::move(*recorded)).ok());
    Capture head;
    head.name = "x";
    REQUIRE(spool->publish(head, true).ok());
    const auto file = Hdf5File::open(folder / "x.h5");
    REQUIRE(file.ok());
    const auto made = file->read_tensor("calls/1", "out.0");
    REQUIRE(made.ok());
    CHECK(floats_of(context, **made) == std::vector<float>{1});
}

TEST_CASE("a recording that fails does not change the calls, and reports the error", "[intercept][recorder]") {
    const TestFolder folder;
    auto spool = CaptureSpool::create(folder / "x.json");
    REQUIRE(spool.ok());
    Recording recording(&*spool);
    const TensorPtr a = floats(std::vector<float>(1000, 1));
    {
        const FullDisk full(1 << 10);
        CHECK(recording.run(add_inp(a, a)).ok());
    }
    CHECK(recording.run(add_inp(a, a)).ok());
    CHECK(floats_of(recording.context, *a) == std::vector<float>(1000, 4));
    const auto capture = recording.recorder.take();
    REQUIRE_FALSE(capture.ok());
    CHECK_THAT(capture.error().message, Contains("cannot record to"));
}

}  // namespace diopi
