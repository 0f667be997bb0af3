#include "capture/bundle.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "capture/call_file.hpp"
#include "capture/capture_json.hpp"
#include "core/strided.hpp"
#include "file/test_folder.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

/// 0, 1, 2, ... in row-major order.
TensorPtr numbered(const TensorSpec& spec, int64_t offset, int64_t extent) {
    auto dense = make_tensor(cpu_device(), {spec.shape, Dtype::float32, {}});
    auto view = make_view(cpu_device(), spec, offset, extent);
    REQUIRE((dense.ok() && view.ok()));
    std::iota((*dense)->data_as<float>(), (*dense)->data_as<float>() + (*dense)->numel(), 0.0f);
    copy_strided(**dense, **view);
    return *view;
}

TensorPtr doubles(const Shape& shape) {
    auto tensor = make_tensor(cpu_device(), {shape, Dtype::float64, {}});
    std::fill_n((*tensor)->data_as<double>(), (*tensor)->numel(), 0.5);
    return *tensor;
}

Call bundled_add() {
    Call call(*find_row("diopiAdd"));
    call["input"] = numbered({{2, 3}, Dtype::float32, {1, 4}}, 3, 16);
    call["other"] = call["input"];
    call["alpha"] = Scalar::of(2.0);
    return call;
}

Bundle some_bundle() {
    Bundle bundle({bundled_add(), {}});
    bundle.case_id = "ops/g.add.17";
    bundle.seed = UINT64_MAX;
    bundle.step = "forward";
    bundle.function = "add";
    bundle.verdict = Verdict::kTimeout;
    bundle.reason = "no answer within 1.0 s";
    bundle.repeat = "diopi test --case ops/g.add.17";
    bundle.outputs = {{0, {{2, 3}, Dtype::float32, {}}}};
    bundle.layouts.storages = {{"input", int64_t{1} << 34, {}}};
    bundle.layouts.add_tensor("input", 0, {{2, 3}, Dtype::float32, {6, 2}}, 3);
    bundle.expected = {{0, doubles({2, 3})}};
    bundle.actual = {{0, numbered({{2, 3}, Dtype::float32, {}}, 0, 6)}};
    bundle.tolerance = {1e-3, 1e-4, 0.5, true, Tolerance::Instead::kUlp, 2.5};
    bundle.legacy = bundle.exact = true;
    bundle.checks = "all pages";
    bundle.origin = {"cpu", "lib/libx.so", "0123456789abcdef", "diopi 1.0.0", {{"cpu", "fast"}, {"kernel", "Linux"}}};
    return bundle;
}

/// Reads a valid bundle's file after `change`.
Result<Bundle> after(const TestFolder& folder, void (*change)(Hdf5File&)) {
    const std::string path = folder / "changed.h5";
    auto file = Hdf5File::create(path);
    REQUIRE(file.ok());
    change(*file);
    REQUIRE(file->finish().ok());
    return read_bundle(path);
}

}  // namespace

TEST_CASE("a call's tensors come back from a file with their layouts, a shared one as one", "[store][bundle]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "call.h5");
    REQUIRE(file.ok());
    const Call call = bundled_add();
    REQUIRE(write_call(*file, "/calls/0", call).ok());
    CHECK(file->children("/calls/0/tensors") == std::vector<std::string>{"input"});
    REQUIRE(file->finish().ok());
    const auto opened = Hdf5File::open(folder / "call.h5");
    const auto stored = read_call(*opened, "/calls/0");
    REQUIRE(stored.ok());
    const auto& input = std::get<TensorPtr>(stored->call["input"]);
    CHECK(input == std::get<TensorPtr>(stored->call["other"]));
    CHECK(input->strides == Shape{1, 4});
    CHECK(input->offset == 3);
    CHECK(input->storage.nbytes == 64);
    const auto dense = to_host(cpu_device(), nullptr, *input);
    CHECK((*dense)->data_as<float>()[5] == 5);
    CHECK(input->data_as<float>()[1 + 2 * 4] == 5);
}

TEST_CASE("a storage much larger than its elements is neither written nor read", "[store][bundle]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "call.h5");
    Call call = bundled_add();
    call["input"] = numbered({{2}, Dtype::float32, {1 << 20}}, 0, (1 << 20) + 1);
    CHECK_THAT(write_call(*file, "/call", call).message(), Contains("is a small part of a storage"));
    call["input"] = numbered({{2}, Dtype::float32, {}}, 0, 2);
    REQUIRE(write_call(*file, "/other", call).ok());
    std::string text = *file->read_string("/other", "call");
    const std::string part = R"("nbytes": 8)";
    REQUIRE(text.find(part) != std::string::npos);
    text.replace(text.find(part), part.size(), R"("nbytes": 1099511627776)");
    REQUIRE(file->write_attribute("/other", "call", text).ok());
    CHECK_THAT(
        read_call(*file, "/other").error().message,
        Contains("/other/tensors/input: a storage of 1099511627776 bytes for 8 bytes of elements is not plausible"));
    text.replace(text.find("1099511627776"), 13, "16");
    text.replace(text.find("float32"), 7, "float64");
    REQUIRE(file->write_attribute("/other", "call", text).ok());
    CHECK_THAT(read_call(*file, "/other").error().message,
               Contains("/other/tensors/input: is stored as float32 (2,), not as float64 (2,)"));
}

TEST_CASE("tensors that share memory come back with shared memory", "[store][bundle]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "call.h5");
    Call call = bundled_add();
    const auto view = std::make_shared<Tensor>(*std::get<TensorPtr>(call["input"]));
    view->shape = {3};
    view->strides = {4};
    call["other"] = view;
    REQUIRE(write_call(*file, "/call", call).ok());
    const auto stored = read_call(*file, "/call");
    if (!stored.ok()) FAIL(stored.error().message);
    const auto &input = std::get<TensorPtr>(stored->call["input"]), &other = std::get<TensorPtr>(stored->call["other"]);
    CHECK(input->storage.memory == other->storage.memory);
    CHECK(input->data() == other->data());
    CHECK((input->data_as<float>()[1 + 2 * 4] == 5 && other->data_as<float>()[2 * 4] == 2));
}

TEST_CASE("the text of a call must be a capture of one", "[store][bundle]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "call.h5");
    const auto refused = [&](Capture capture) {
        REQUIRE(file->create_group("/call").ok());
        REQUIRE(file->write_attribute("/call", "call", *capture_to_json(capture)).ok());
        return read_call(*file, "/call").error().message;
    };
    Capture capture;
    CHECK_THAT(refused(capture), Contains("attribute `call` of /call: /calls: expected one call of a function"));
    capture.calls = {{"mystery", "", {}, "", "", {}, {}, {}}};
    CHECK_THAT(refused(capture), Contains("expected one call of a function"));
    REQUIRE(file->write_attribute("/call", "call", std::string_view("{}")).ok());
    CHECK_THAT(read_call(*file, "/call").error().message, Contains("no capture: the key 'diopi_capture' is missing"));
}

TEST_CASE("a call with a sparse tensor is not written", "[store][bundle]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "call.h5");
    Call call = bundled_add();
    const auto sparse = numbered({{2, 2}, Dtype::float32, {}}, 0, 4);
    sparse->values = numbered({{1}, Dtype::float32, {}}, 0, 1);
    call["input"] = sparse;
    const Status status = write_call(*file, "/call", call);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == Errc::kNotImplemented);
    CHECK_THAT(status.message(), Contains("diopiAdd: input is sparse"));
}

TEST_CASE("a bundle gives back all its contents", "[store][bundle]") {
    const TestFolder folder;
    const Bundle bundle = some_bundle();
    const std::string path = bundle_path(folder / "bad", bundle.case_id, bundle.step);
    CHECK(path == folder / "bad/ops-g-add-17-forward.h5");
    REQUIRE(write_bundle(path, bundle).ok());
    const auto back = read_bundle(path);
    REQUIRE(back.ok());
    CHECK(back->case_id == bundle.case_id);
    CHECK(back->seed == bundle.seed);
    CHECK(back->step == bundle.step);
    CHECK(back->function == bundle.function);
    CHECK(back->verdict == bundle.verdict);
    CHECK(back->reason == bundle.reason);
    CHECK(back->repeat == bundle.repeat);
    CHECK(back->stored.call.row == bundle.stored.call.row);
    CHECK(std::get<Scalar>(back->stored.call["alpha"]) == Scalar::of(2.0));
    REQUIRE(back->outputs.size() == 1);
    CHECK(back->outputs[0].spec == bundle.outputs[0].spec);
    CHECK(*tensors_to_json(back->layouts) == *tensors_to_json(bundle.layouts));
    CHECK(back->layouts.tensors.size() == 1);
    REQUIRE((back->expected.size() == 1 && back->actual.size() == 1));
    CHECK(back->expected[0].arg == 0);
    CHECK(back->expected[0].tensor->data_as<double>()[5] == 0.5);
    CHECK(back->actual[0].tensor->data_as<float>()[5] == 5);
    CHECK(back->tolerance.atol == 1e-3);
    CHECK(back->tolerance.rtol == 1e-4);
    CHECK(back->tolerance.mismatch_ratio == 0.5);
    CHECK(back->tolerance.stated);
    CHECK(back->tolerance.instead == Tolerance::Instead::kUlp);
    CHECK(back->tolerance.max_ulp == 2.5);
    CHECK((!back->random && back->legacy && back->exact));
    CHECK(back->checks == bundle.checks);
    CHECK(back->origin.backend == "cpu");
    CHECK(back->origin.file == "lib/libx.so");
    CHECK(back->origin.file_hash == bundle.origin.file_hash);
    CHECK(back->origin.version == "diopi 1.0.0");
    CHECK(back->origin.environment == bundle.origin.environment);
}

TEST_CASE("files that are not bundles are refused with the reason", "[store][bundle]") {
    const TestFolder folder;
    CHECK_THAT(read_bundle(folder / "none.h5").error().message, Contains("No such file"));
    CHECK_THAT(after(folder, [](Hdf5File&) {}).error().message,
               Contains("is no replay bundle: its root has no attribute `diopi_bundle`"));
    CHECK_THAT(after(folder, [](Hdf5File& f) { REQUIRE(f.write_attribute("/", "diopi_bundle", int64_t{3}).ok()); })
                   .error()
                   .message,
               Contains("is a replay bundle of format 3, this program reads 2; use a newer diopi"));
    CHECK_THAT(after(folder, [](Hdf5File& f) { REQUIRE(f.write_attribute("/", "diopi_bundle", int64_t{1}).ok()); })
                   .error()
                   .message,
               Contains("is a replay bundle of format 1, this program reads 2; save it again with diopi test "
                        "--save-failures"));
    CHECK_THAT(after(folder, [](Hdf5File& f) { REQUIRE(f.write_attribute("/", "diopi_bundle", int64_t{2}).ok()); })
                   .error()
                   .message,
               Contains("/call has no attribute `call`"));
    const auto half = after(folder, [](Hdf5File& f) {
        REQUIRE(f.write_attribute("/", "diopi_bundle", int64_t{2}).ok());
        REQUIRE(write_call(f, "/call", bundled_add()).ok());
    });
    CHECK_THAT(half.error().message, Contains("/ has no attribute `case`"));
    std::ofstream(folder / "text.h5") << "not HDF5";
    CHECK_THAT(read_bundle(folder / "text.h5").error().message, Contains("is not an HDF5 file"));
}

TEST_CASE("a truncated bundle is refused, at any length", "[store][bundle]") {
    const TestFolder folder;
    const std::string path = folder / "whole.h5";
    REQUIRE(write_bundle(path, some_bundle()).ok());
    const auto size = std::filesystem::file_size(path);
    for (const double share : {0.0, 0.1, 0.5, 0.99}) {
        std::filesystem::copy_file(path, folder / "cut.h5", std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(folder / "cut.h5", static_cast<uintmax_t>(share * static_cast<double>(size)));
        const auto cut = read_bundle(folder / "cut.h5");
        REQUIRE_FALSE(cut.ok());
        CHECK(cut.error().code == Errc::kBadInput);
    }
}

TEST_CASE("members that contradict the format are refused", "[store][bundle]") {
    const TestFolder folder;
    Bundle bundle = some_bundle();
    bundle.step = "sideways";
    REQUIRE(write_bundle(folder / "a.h5", bundle).ok());
    CHECK_THAT(read_bundle(folder / "a.h5").error().message, Contains("`step` is 'sideways', not forward"));
    bundle = some_bundle();
    bundle.verdict = Verdict::kPassed;
    REQUIRE(write_bundle(folder / "b.h5", bundle).ok());
    CHECK_THAT(read_bundle(folder / "b.h5").error().message, Contains("`verdict` is 'passed'"));
    bundle = some_bundle();
    bundle.expected[0].arg = 3;
    REQUIRE(write_bundle(folder / "c.h5", bundle).ok());
    CHECK_THAT(read_bundle(folder / "c.h5").error().message, Contains("diopiAdd has no tensor 'alpha'"));
}

TEST_CASE("a full disk leaves no bundle and no part of one", "[store][bundle]") {
    const TestFolder folder;
    Status status;
    {
        const testing::FullDisk full(4096);
        status = write_bundle(folder / "bad/x.h5", some_bundle());
    }
    CHECK_FALSE(status.ok());
    CHECK(std::filesystem::is_empty(folder / "bad"));
}

}  // namespace diopi
