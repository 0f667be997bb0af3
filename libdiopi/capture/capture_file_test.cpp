#include "capture/capture_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "capture/capture_json.hpp"
#include "file/atomic_file.hpp"
#include "file/test_folder.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

TensorPtr filled(const TensorSpec& spec, double value) {
    auto tensor = make_tensor(cpu_device(), spec);
    REQUIRE(tensor.ok());
    if (spec.dtype == Dtype::float32) std::fill_n((*tensor)->data_as<float>(), (*tensor)->numel(), value);
    if (spec.dtype == Dtype::float64) std::fill_n((*tensor)->data_as<double>(), (*tensor)->numel(), value);
    return *tensor;
}

/// A cat of two views of one storage, and a call without a function.
Capture some_capture() {
    Capture capture;
    capture.name = "two";
    capture.values = "two.h5";
    capture.storages = {{"s0", 24, Recipe{Recipe::Kind::kConstant, Dtype::float32, 1, 0}}, {"s1", 24, {}}};
    capture.add_tensor("t0", 0, {{2}, Dtype::float32, {2}}, 1);
    capture.add_tensor("t1", 0, {{4}, Dtype::float32, {1}}, 0);
    capture.add_tensor("t2", 1, {{6}, Dtype::float32, {}}, 0);
    CapturedCall cat{"cat", "forward", 0, "", "", Call(*find_row("diopiCat")), {}, {}};
    (*cat.call)["out"] = capture.tensors[2].tensor;
    (*cat.call)["tensors"] = TensorList{capture.tensors[0].tensor, capture.tensors[1].tensor};
    (*cat.call)["num_inputs"] = int64_t{2};
    (*cat.call)["dim"] = int64_t{0};
    capture.calls = {cat, {"mystery", "", {}, "", "", {}, {0}, {{2, {Recipe::Kind::kNormal, Dtype::float32, 0, 1}}}}};
    return capture;
}

void write_json(const TestFolder& folder, const Capture& capture) {
    const auto text = capture_to_json(capture);
    REQUIRE(text.ok());
    std::ofstream(folder / "two.json") << *text;
}

/// Writes both files of some_capture; `write` chooses the stored values.
template <class Write>
void record(const TestFolder& folder, const Capture& capture, Write&& write) {
    auto writer = CaptureValuesWriter::create(folder / "two.h5");
    REQUIRE(writer.ok());
    write(*writer);
    REQUIRE(writer->finish(capture).ok());
    write_json(folder, capture);
}

/// The values of some_capture, where `write` wrote one dataset.
template <class Write>
CaptureValues values_of(const TestFolder& folder, Write&& write) {
    record(folder, some_capture(), write);
    auto values = CaptureValues::open(folder / "two.json", some_capture());
    if (!values.ok()) FAIL(values.error().message);
    return std::move(*values);
}

/// The error for the values beside two.json after `change` has changed their root.
template <class Change>
std::string refused(const TestFolder& folder, Change&& change) {
    auto file = Hdf5File::create(folder / "two.h5");
    REQUIRE(file.ok());
    change(*file);
    REQUIRE(file->finish().ok());
    const auto values = CaptureValues::open(folder / "two.json", some_capture());
    REQUIRE_FALSE(values.ok());
    CHECK(values.error().code == Errc::kBadInput);
    return values.error().message;
}

}  // namespace

TEST_CASE("a capture and its values come back from their files", "[store][capture_file]") {
    const TestFolder folder;
    record(folder, some_capture(), [](CaptureValuesWriter& writer) {
        REQUIRE(writer.storage("s0", *filled({{6}, Dtype::float32, {}}, 1.5)).ok());
        REQUIRE(writer.result(0, "out", *filled({{6}, Dtype::float32, {}}, 2.5)).ok());
        REQUIRE(writer.result(0, "tensors.1", *filled({{4}, Dtype::float32, {}}, 3.5)).ok());
        REQUIRE(writer.result(1, "t2", *filled({{6}, Dtype::float32, {}}, 4.5)).ok());
    });
    CHECK(testing::names_in(folder.path()) == std::vector<std::string>{"two.h5", "two.json"});
    const auto capture = read_capture(folder / "two.json");
    if (!capture.ok()) FAIL(capture.error().message);
    CHECK(capture->calls.size() == 2);
    const auto values = CaptureValues::open(folder / "two.json", *capture);
    if (!values.ok()) FAIL(values.error().message);
    CHECK(values->any());
    CHECK((**values->storage("s0")).data_as<float>()[5] == 1.5f);
    CHECK((**values->result(0, "out")).data_as<float>()[5] == 2.5f);
    CHECK((**values->result(0, "tensors.1")).data_as<float>()[3] == 3.5f);
    CHECK((**values->result(1, "t2")).data_as<float>()[5] == 4.5f);
    for (const auto& none : {values->storage("s1"), values->storage("s9"), values->result(0, "tensors.0"),
                             values->result(0, "tensors.2"), values->result(0, "dim"), values->result(0, "nothing"),
                             values->result(0, "out.0"), values->result(1, "out"), values->result(2, "out")}) {
        REQUIRE(none.ok());
        CHECK(*none == nullptr);
    }
}

TEST_CASE("a strided result is kept dense", "[store][capture_file]") {
    const TestFolder folder;
    const auto view = make_view(cpu_device(), {{2}, Dtype::float32, {2}}, 1, 4);
    for (int i = 0; i < 4; ++i) static_cast<float*>((*view)->storage.memory.get())[i] = static_cast<float>(i);
    const auto values =
        values_of(folder, [&](CaptureValuesWriter& writer) { REQUIRE(writer.result(0, "tensors.0", **view).ok()); });
    const auto result = values.result(0, "tensors.0");
    REQUIRE((result.ok() && *result != nullptr));
    CHECK((*result)->is_contiguous());
    CHECK(((*result)->data_as<float>()[0] == 1 && (*result)->data_as<float>()[1] == 3));
}

TEST_CASE("a capture without values has none", "[store][capture_file]") {
    Capture capture = some_capture();
    capture.values.clear();
    const auto values = CaptureValues::open("/nowhere/two.json", capture);
    REQUIRE(values.ok());
    CHECK_FALSE(values->any());
    CHECK(*values->storage("s0") == nullptr);
    CHECK(*values->result(0, "out") == nullptr);
}

TEST_CASE("a capture's file that cannot be read is refused with the reason", "[store][capture_file]") {
    const TestFolder folder;
    CHECK_THAT(read_capture(folder / "none.json").error().message,
               Contains("none.json") && Contains("No such file") && Contains("name the JSON file of a capture"));
    CHECK(read_capture(folder / "none.json").error().code == Errc::kBadInput);
    std::ofstream(folder / "half.json") << "{\"diopi_capture\": 1,";
    CHECK_THAT(read_capture(folder / "half.json").error().message, Contains("half.json:1:20: malformed JSON"));
}

TEST_CASE("values that are missing or belong to another capture are refused", "[store][capture_file]") {
    const TestFolder folder;
    write_json(folder, some_capture());
    CHECK_THAT(CaptureValues::open(folder / "two.json", some_capture()).error().message,
               Contains("two.h5 is not there, which " + (folder / "two.json") + " names as its values"));
    const auto attributes = [](int64_t format, const char* name, int64_t calls) {
        return [=](Hdf5File& file) {
            REQUIRE(file.write_attribute("/", "diopi_capture", format).ok());
            REQUIRE(file.write_attribute("/", "name", std::string_view(name)).ok());
            REQUIRE(file.write_attribute("/", "calls", calls).ok());
        };
    };
    CHECK_THAT(refused(folder, [](Hdf5File&) {}), Contains("holds no values of a capture"));
    CHECK_THAT(refused(folder, attributes(2, "two", 2)), Contains("format 2, this program reads 1; use a newer diopi"));
    CHECK_THAT(refused(folder, attributes(1, "three", 2)),
               Contains("belongs to another capture, 'three' with 2 calls instead of 'two' with 2"));
    CHECK_THAT(refused(folder, attributes(1, "two", 3)), Contains("'two' with 3 calls instead of 'two' with 2"));
    CHECK_THAT(
        refused(folder, [](Hdf5File& file) { REQUIRE(file.write_attribute("/", "diopi_capture", int64_t{1}).ok()); }),
        Contains("/ has no attribute `name`"));
    std::ofstream(folder / "two.h5") << "not HDF5";
    CHECK_THAT(CaptureValues::open(folder / "two.json", some_capture()).error().message,
               Contains("is not an HDF5 file"));
}

TEST_CASE("a storage's values must be all of it, in its dtype", "[store][capture_file]") {
    const TestFolder folder;
    const auto storage = [&](const TensorSpec& spec) {
        const auto values = values_of(
            folder, [&](CaptureValuesWriter& writer) { REQUIRE(writer.storage("s0", *filled(spec, 0)).ok()); });
        const auto tensor = values.storage("s0");
        return tensor.ok() ? std::string() : tensor.error().message;
    };
    CHECK(storage({{6}, Dtype::float32, {}}).empty());
    CHECK_THAT(
        storage({{5}, Dtype::float32, {}}),
        Contains("two.h5: /storages/s0 holds float32 (5,), 20 bytes, and the storage has 24 in one dim; record"));
    CHECK_THAT(storage({{7}, Dtype::float32, {}}), Contains("28 bytes, and the storage has 24"));
    CHECK_THAT(storage({{3}, Dtype::float64, {}}), Contains("holds float64, and the storage's recipe says float32"));
    const auto square = [&](Hdf5File& file) {
        REQUIRE(file.write_attribute("/", "diopi_capture", int64_t{1}).ok());
        REQUIRE(file.write_attribute("/", "name", std::string_view("two")).ok());
        REQUIRE(file.write_attribute("/", "calls", int64_t{2}).ok());
        REQUIRE(file.write_tensor("/storages", "s0", *filled({{2, 3}, Dtype::float32, {}}, 0)).ok());
    };
    auto file = Hdf5File::create(folder / "two.h5");
    square(*file);
    REQUIRE(file->finish().ok());
    const auto values = CaptureValues::open(folder / "two.json", some_capture());
    REQUIRE(values.ok());
    CHECK_THAT(values->storage("s0").error().message,
               Contains("float32 (2, 3), 24 bytes, and the storage has 24 in one"));
}

TEST_CASE("a result must have its tensor's shape and dtype", "[store][capture_file]") {
    const TestFolder folder;
    const auto result = [&](size_t call, const char* place, const TensorSpec& spec) {
        const auto values = values_of(
            folder, [&](CaptureValuesWriter& writer) { REQUIRE(writer.result(call, place, *filled(spec, 0)).ok()); });
        const auto tensor = values.result(call, place);
        return tensor.ok() ? std::string() : tensor.error().message;
    };
    CHECK(result(0, "out", {{6}, Dtype::float32, {}}).empty());
    CHECK_THAT(result(0, "out", {{2, 3}, Dtype::float32, {}}),
               Contains("two.h5: /calls/0/out holds float32 (2, 3), and the tensor is float32 (6,); record"));
    CHECK_THAT(result(0, "tensors.1", {{4}, Dtype::float64, {}}), Contains("holds float64 (4,), and the tensor is fl"));
    CHECK_THAT(result(1, "t2", {{5}, Dtype::float32, {}}), Contains("/calls/1/t2 holds float32 (5,)"));
}

TEST_CASE("mistakes of the program while it records values are internal errors", "[store][capture_file]") {
    const TestFolder folder;
    auto writer = CaptureValuesWriter::create(folder / "two.h5");
    REQUIRE(writer.ok());
    CHECK_THAT(writer->storage("s0", *filled({{2, 3}, Dtype::float32, {}}, 0)).message(), Contains("not in one dim"));
    Capture capture = some_capture();
    capture.values = "three.h5";
    CHECK_THAT(writer->finish(capture).message(),
               Contains("capture 'two' names its values 'three.h5', and they are written to 'two.h5'"));
    writer = failed("given up");
    CHECK(testing::names_in(folder.path()).empty());
    capture = some_capture();
    (*capture.calls[0].call)["dim"] = 1.0;
    CHECK_THAT(capture_to_json(capture).error().message, Contains("diopiCat: argument dim holds no integer"));
}

}  // namespace diopi
