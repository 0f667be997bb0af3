#include "baseline/baseline.hpp"

#include <catch2/catch.hpp>
#include <complex>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/half.hpp"
#include "file/checksum.hpp"
#include "file/test_folder.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

template <class T>
TensorPtr tensor_of(Dtype dtype, const std::vector<T>& values) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, dtype, {}});
    REQUIRE(tensor.ok());
    std::memcpy((*tensor)->data(), values.data(), values.size() * sizeof(T));
    return *tensor;
}

/// Writes one case whose only output is `tensor`, unchanged, under the dtype `own`, and reads it back.
Result<CaseBaseline> through_file(const TestFolder& folder, const TensorPtr& tensor, Dtype own) {
    auto writer = BaselineWriter::create(folder / "x.h5", 1, "pytorch 1.13.1");
    CaseBaseline baseline;
    baseline.expected["forward"] = {{"out", tensor, own}};
    REQUIRE(writer->add("group.op.0", baseline).ok());
    REQUIRE(writer->finish().ok());
    return BaselineReader::open(folder / "x.h5")->read("group.op.0");
}

}  // namespace

TEST_CASE("a baseline gives back inputs, hashes and outputs", "[store][baseline]") {
    const TestFolder folder;
    const std::string path = baseline_path(folder.path(), "ops", "add");
    CHECK(path == folder / "baselines/ops/add.h5");
    const TensorPtr input = tensor_of<float>(Dtype::float32, {1, 2, 3});
    CaseBaseline baseline;
    baseline.inputs = {{"input", input, Dtype::float32}};
    baseline.input_hashes = {{"input", *checksum_of_tensor(*input)}};
    baseline.expected["forward"] = {{"out", tensor_of<double>(Dtype::float64, {0.1, 0.2}), Dtype::float16}};
    baseline.expected["backward"] = {{"grad_input", tensor_of<double>(Dtype::float64, {1}), Dtype::float32},
                                     {"index", tensor_of<int64_t>(Dtype::int64, {-1}), Dtype::uint8}};
    auto writer = BaselineWriter::create(path, 42, "diopi 1.0.0 reference");
    REQUIRE(writer.ok());
    REQUIRE(writer->add("binary.add.17", baseline).ok());
    CHECK_THAT(writer->add("binary.add.17", baseline).message(), Contains("added twice"));
    CHECK_FALSE(std::filesystem::exists(path));
    REQUIRE(writer->finish().ok());
    CHECK(writer->cases() == 1);

    const auto reader = BaselineReader::open(path);
    REQUIRE(reader.ok());
    CHECK(reader->seed() == 42);
    CHECK(reader->keys() == std::vector<std::string>{"binary.add.17"});
    CHECK(reader->has(case_key("ops/binary.add.17")));
    CHECK_FALSE(reader->has("binary.add.18"));
    const auto read = reader->read("binary.add.17");
    REQUIRE(read.ok());
    CHECK(read->provenance == "diopi 1.0.0 reference");
    CHECK(read->input_hashes == baseline.input_hashes);
    REQUIRE(read->inputs.size() == 1);
    CHECK(check_input(*read, "input", *read->inputs[0].tensor).ok());
    REQUIRE(read->expected.at("forward").size() == 1);
    CHECK(read->expected.at("forward")[0].dtype == Dtype::float16);
    CHECK(read->expected.at("forward")[0].tensor->data_as<double>()[1] == 0.2);
    CHECK(read->expected.at("backward")[1].dtype == Dtype::uint8);
}

TEST_CASE("sums of magnitudes and a recipe, which older files may have, are ignored", "[store][baseline]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "old.h5");
    REQUIRE(file.ok());
    const TensorPtr out = tensor_of<double>(Dtype::float64, {3, 4});
    REQUIRE(file->write_tensor("/group.op.0/forward", "out", *out).ok());
    REQUIRE(file->write_tensor("/group.op.0/magnitude/forward", "out", *out).ok());
    REQUIRE(file->create_group("/group.op.0/inputs").ok());
    REQUIRE(file->write_attribute("/group.op.0/inputs", "recipe", "{}").ok());
    REQUIRE(file->finish().ok());
    const auto reader = BaselineReader::open(folder / "old.h5");
    REQUIRE(reader.ok());
    CHECK(reader->keys() == std::vector<std::string>{"group.op.0"});
    const auto read = reader->read("group.op.0");
    REQUIRE(read.ok());
    CHECK(read->expected.size() == 1);
    CHECK(read->input_hashes.empty());
    CHECK(read->expected.at("forward")[0].tensor->data_as<double>()[1] == 4);
}

TEST_CASE("an input that differs from the baseline's is found", "[store][baseline]") {
    const TensorPtr input = tensor_of<float>(Dtype::float32, {1, 2, 3});
    CaseBaseline baseline;
    baseline.input_hashes = {{"input", *checksum_of_tensor(*input)}};
    CHECK(check_input(baseline, "input", *input).ok());
    CHECK(check_input(baseline, "without_hash", *input).ok());
    input->data_as<float>()[2] = 4;
    CHECK_THAT(check_input(baseline, "input", *input).message(), Contains("not the one that the baseline"));
}

TEST_CASE("outputs stored in their own dtype become the oracle's", "[store][baseline]") {
    const TestFolder folder;
    const auto half = through_file(folder, tensor_of<Half>(Dtype::float16, {to_half(0.1), {0x0001}}), Dtype::float16);
    REQUIRE(half.ok());
    CHECK(half->expected.at("forward")[0].tensor->dtype == Dtype::float64);
    CHECK(half->expected.at("forward")[0].tensor->data_as<double>()[0] == 0.0999755859375);
    CHECK(half->expected.at("forward")[0].tensor->data_as<double>()[1] == 0x1p-24);
    const auto bfloat16 = through_file(folder, tensor_of<Bfloat16>(Dtype::bfloat16, {{0x3f80}}), Dtype::bfloat16);
    CHECK(bfloat16->expected.at("forward")[0].tensor->data_as<double>()[0] == 1);
    const auto bytes = through_file(folder, tensor_of<uint8_t>(Dtype::uint8, {200}), Dtype::uint8);
    CHECK(bytes->expected.at("forward")[0].tensor->data_as<int64_t>()[0] == 200);
    const auto truths = through_file(folder, tensor_of<uint8_t>(Dtype::uint8, {2, 0}), Dtype::boolean);
    CHECK(truths->expected.at("forward")[0].tensor->dtype == Dtype::boolean);
    CHECK(truths->expected.at("forward")[0].tensor->data_as<bool>()[0]);
    const auto numbers =
        through_file(folder, tensor_of<std::complex<float>>(Dtype::complex64, {{1, -2}}), Dtype::complex64);
    CHECK(numbers->expected.at("forward")[0].tensor->data_as<std::complex<double>>()[0] == std::complex<double>(1, -2));
}

TEST_CASE("values that cannot stand for the output are refused", "[store][baseline]") {
    const TestFolder folder;
    const auto read = through_file(folder, tensor_of<float>(Dtype::float32, {1.5f}), Dtype::int32);
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(read.error().message, Contains("forward/out") && Contains("cannot stand for"));
}

TEST_CASE("cases without expected outputs, unknown cases and bad names are errors", "[store][baseline]") {
    const TestFolder folder;
    auto writer = BaselineWriter::create(folder / "x.h5", 1, "test");
    REQUIRE(writer->add("empty", {}).ok());
    CHECK_FALSE(writer->add("a/b", {}).ok());
    CHECK_FALSE(writer->add("", {}).ok());
    REQUIRE(writer->finish().ok());
    const auto reader = BaselineReader::open(folder / "x.h5");
    CHECK_THAT(reader->read("empty").error().message, Contains("none of the groups"));
    CHECK_THAT(reader->read("none").error().message, Contains("no baseline of case none"));
}

TEST_CASE("a full disk breaks the writer but not the former baseline", "[store][baseline]") {
    const TestFolder folder;
    const TensorPtr small = tensor_of<double>(Dtype::float64, {1});
    REQUIRE(through_file(folder, small, Dtype::float64).ok());
    CaseBaseline large;
    large.expected["forward"] = {{"out", tensor_of(Dtype::float64, std::vector<double>(100'000, 1.0)), Dtype::float64}};
    {
        const testing::FullDisk full(16 * 1024);
        auto writer = BaselineWriter::create(folder / "x.h5", 1, "test");
        REQUIRE(writer.ok());
        const Status added = writer->add("case", large);
        const Status finished = writer->finish();
        CHECK_FALSE((added.ok() && finished.ok()));
    }
    CHECK(BaselineReader::open(folder / "x.h5")->has("group.op.0"));
}

}  // namespace diopi
