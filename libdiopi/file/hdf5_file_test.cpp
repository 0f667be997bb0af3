#include "file/hdf5_file.hpp"

#include <hdf5.h>
#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "file/hdf5_types.hpp"
#include "file/test_folder.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using testing::FullDisk;
using testing::names_in;
using testing::TestFolder;

TensorPtr filled_bytes(const TensorSpec& spec) {
    auto tensor = make_tensor(cpu_device(), spec);
    REQUIRE(tensor.ok());
    auto* bytes = static_cast<unsigned char*>((*tensor)->storage.memory.get());
    for (size_t i = 0; i < (*tensor)->storage.nbytes; ++i) {
        bytes[i] = static_cast<unsigned char>(spec.dtype == Dtype::boolean ? i % 2 : i * 37 + 11);
    }
    return *tensor;
}

void check_equal(const Tensor& read, const Tensor& written) {
    CHECK(read.shape == written.shape);
    CHECK(read.dtype == written.dtype);
    CHECK(read.is_contiguous());
    const auto packed = to_host(cpu_device(), nullptr, written);
    REQUIRE(packed.ok());
    if (written.nbytes() > 0) CHECK(std::memcmp(read.data(), (*packed)->data(), written.nbytes()) == 0);
}

void write_one(const std::string& path, const Tensor& tensor) {
    auto file = Hdf5File::create(path);
    REQUIRE(file.ok());
    REQUIRE(file->write_tensor("/a/b", "x", tensor).ok());
    REQUIRE(file->finish().ok());
}

std::string open_error(const std::string& path) {
    const auto file = Hdf5File::open(path);
    REQUIRE_FALSE(file.ok());
    CHECK(file.error().code == Errc::kBadInput);
    return file.error().message;
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every dtype comes back from the file bit by bit", "[store][hdf5]") {
    const TestFolder folder;
    for (const Dtype dtype : all_dtypes()) {
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 0, 3}, Shape{7}, Shape{3, 4, 5}, Shape{40, 50}}) {
            INFO(name(dtype) << " " << to_string(shape));
            const TensorPtr tensor = filled_bytes({shape, dtype, {}});
            write_one(folder / "x.h5", *tensor);
            const auto file = Hdf5File::open(folder / "x.h5");
            REQUIRE(file.ok());
            const auto read = file->read_tensor("/a/b", "x");
            REQUIRE(read.ok());
            check_equal(**read, *tensor);
        }
    }
}

TEST_CASE("every half comes back as a part of complex32", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr tensor = filled_bytes({{32768}, Dtype::complex32, {}});
    for (int i = 0; i < 65536; ++i) tensor->data_as<uint16_t>()[i] = static_cast<uint16_t>(i);
    write_one(folder / "x.h5", *tensor);
    const auto file = Hdf5File::open(folder / "x.h5");
    const auto read = file->read_tensor("/a/b", "x");
    REQUIRE(read.ok());
    check_equal(**read, *tensor);
    CHECK((*file->read_stored("/a/b", "x"))->dtype == Dtype::complex64);
}

TEST_CASE("float32 marked as bfloat16 is converted to it", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr tensor = filled_bytes({{1}, Dtype::float32, {}});
    tensor->data_as<float>()[0] = 1.5f;
    auto file = Hdf5File::create(folder / "x.h5");
    REQUIRE(file->write_tensor("/a", "x", *tensor).ok());
    REQUIRE(file->write_attribute("/a/x", "dtype", "bfloat16").ok());
    REQUIRE(file->finish().ok());
    const auto read = Hdf5File::open(folder / "x.h5")->read_tensor("/a", "x");
    REQUIRE(read.ok());
    CHECK((*read)->dtype == Dtype::bfloat16);
    CHECK((*read)->data_as<uint16_t>()[0] == 0x3fc0);
}

TEST_CASE("a strided tensor is stored by its elements", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr tensor = filled_bytes({{3, 4}, Dtype::float32, {1, 5}});
    write_one(folder / "x.h5", *tensor);
    const auto read = Hdf5File::open(folder / "x.h5")->read_tensor("/a/b", "x");
    REQUIRE(read.ok());
    check_equal(**read, *tensor);
}

TEST_CASE("attributes keep their values and can be replaced", "[store][hdf5]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "x.h5");
    REQUIRE(file.ok());
    REQUIRE(file->create_group("/g").ok());
    REQUIRE(file->write_attribute("/g", "text", "alt").ok());
    REQUIRE(file->write_attribute("/g", "text", std::string(100'000, 'n')).ok());
    REQUIRE(file->write_attribute("/g", "count", int64_t{-5}).ok());
    REQUIRE(file->write_attribute("/g", "ratio", 0.1).ok());
    REQUIRE(file->finish().ok());
    const auto read = Hdf5File::open(folder / "x.h5");
    REQUIRE(read.ok());
    CHECK(*read->read_string("/g", "text") == std::string(100'000, 'n'));
    CHECK(*read->read_int("/g", "count") == -5);
    CHECK(*read->read_double("/g", "ratio") == 0.1);
    CHECK(read->attributes("/g") == std::vector<std::string>{"count", "ratio", "text"});
    CHECK_THAT(read->read_int("/g", "text").error().message, Contains("not a number"));
    CHECK_THAT(read->read_string("/g", "count").error().message, Contains("not a string"));
    CHECK_THAT(read->read_int("/g", "none").error().message, Contains("no attribute `none`"));
    CHECK_FALSE(read->has("/h/deeper"));
    CHECK(read->children("/h").empty());
}

TEST_CASE("equal contents give equal bytes", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr tensor = filled_bytes({{40, 50}, Dtype::float64, {}});
    write_one(folder / "a.h5", *tensor);
    write_one(folder / "b.h5", *tensor);
    CHECK(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));
}

TEST_CASE("an unfinished file keeps the former one in place", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr tensor = filled_bytes({{4}, Dtype::float32, {}});
    write_one(folder / "x.h5", *tensor);
    {
        auto file = Hdf5File::create(folder / "x.h5");
        REQUIRE(file.ok());
        REQUIRE(file->write_tensor("/a", "y", *tensor).ok());
        // A kill would leave these files now.
        const bool nameless = PendingFile::create(folder / "z")->open_path() != folder / "z.part";
        CHECK(names_in(folder.path()).size() == (nameless ? 1 : 2));
    }
    CHECK(names_in(folder.path()) == std::vector<std::string>{"x.h5"});
    CHECK(Hdf5File::open(folder / "x.h5")->has("/a/b/x"));
}

TEST_CASE("missing, empty, other, truncated and foreign files have different errors", "[store][hdf5]") {
    const TestFolder folder;
    CHECK_THAT(open_error(folder / "none.h5"), Contains("No such file"));
    CHECK_THAT(open_error(folder.path()), Contains("not a file"));
    std::ofstream(folder / "empty.h5").close();
    CHECK_THAT(open_error(folder / "empty.h5"), Contains("empty (0 bytes)"));
    std::ofstream(folder / "text.h5") << "no HDF5 at all";
    CHECK_THAT(open_error(folder / "text.h5"), Contains("not an HDF5 file"));

    write_one(folder / "cut.h5", *filled_bytes({{1000}, Dtype::float64, {}}));
    fs::resize_file(folder / "cut.h5", fs::file_size(folder / "cut.h5") / 2);
    CHECK_THAT(open_error(folder / "cut.h5"), Contains("truncated or damaged"));

    H5Fclose(H5Fcreate((folder / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    CHECK_THAT(open_error(folder / "foreign.h5"), Contains("no attribute `diopi_format`"));

    auto newer = Hdf5File::create(folder / "newer.h5");
    REQUIRE(newer->write_attribute("/", "diopi_format", kHdf5Format + 1).ok());
    REQUIRE(newer->finish().ok());
    CHECK_THAT(open_error(folder / "newer.h5"), Contains("format 2") && Contains("newer diopi"));
}

TEST_CASE("no prefix of a file opens as a whole file", "[store][hdf5]") {
    const TestFolder folder;
    write_one(folder / "x.h5", *filled_bytes({{100}, Dtype::float64, {}}));
    const std::string whole = bytes_of(folder / "x.h5");
    for (size_t size = 0; size < whole.size(); size += 97) {
        std::ofstream(folder / "cut.h5", std::ios::binary) << whole.substr(0, size);
        CHECK_FALSE(Hdf5File::open(folder / "cut.h5").ok());
    }
}

TEST_CASE("shapes larger than the file's bytes are refused before memory is allocated", "[store][hdf5]") {
    const TestFolder folder;
    auto made = Hdf5File::create(folder / "x.h5");
    REQUIRE(made->finish().ok());
    const hid_t file = H5Fopen((folder / "x.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const auto plant = [&](const char* dataset, std::vector<hsize_t> sizes, bool chunked) {
        const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE));
        const std::vector<hsize_t> chunk(sizes.size(), 1000);
        if (chunked) H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
        const hdf5::Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
        const hdf5::Handle planted(
            H5Dcreate2(file, dataset, H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
        INFO(dataset);
        REQUIRE(planted.ok());
    };
    plant("unbacked", {hsize_t{1} << 40}, false);
    plant("bomb", {hsize_t{1} << 40}, true);
    H5Fclose(file);
    const auto read = Hdf5File::open(folder / "x.h5");
    REQUIRE(read.ok());
    CHECK_THAT(read->read_tensor("/", "unbacked").error().message, Contains("only 0 are stored"));
    CHECK_THAT(read->read_tensor("/", "bomb").error().message, Contains("only 0 are stored"));
    CHECK_THAT(read->read_tensor("/", "none").error().message, Contains("not a dataset"));
}

TEST_CASE("a shape whose product overflows is refused", "[store][hdf5]") {
    const TestFolder folder;
    const std::string path = folder / "x.h5";
    {
        // The old format has no checksums, so that its sizes can be changed to values that the library would not write.
        const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle scalar(H5Screate(H5S_SCALAR));
        const hdf5::Handle format(
            H5Acreate2(file.get(), "diopi_format", H5T_STD_I64LE, scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
        REQUIRE(H5Awrite(format.get(), H5T_STD_I64LE, &kHdf5Format) >= 0);
        const std::array<hsize_t, 3> sizes = {0x71727374, 0x71727374, 2};
        const hdf5::Handle space(H5Screate_simple(3, sizes.data(), nullptr));
        const hdf5::Handle planted(
            H5Dcreate2(file.get(), "x", H5T_STD_I8LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        REQUIRE(planted.ok());
    }
    std::string bytes = bytes_of(path);
    const std::string size("tsrq\0\0\0\0", 8);
    size_t changed = 0;
    for (size_t at = 0; (at = bytes.find(size, at)) != std::string::npos; ++changed) bytes[at + 5] = 1;
    REQUIRE(changed == 4);
    std::ofstream(path, std::ios::binary) << bytes;
    const auto read = Hdf5File::open(path);
    REQUIRE(read.ok());
    CHECK_THAT(read->read_tensor("/", "x").error().message, Contains("too many elements"));
}

TEST_CASE("a full disk names the file and the bytes, and keeps the former file", "[store][hdf5]") {
    const TestFolder folder;
    write_one(folder / "x.h5", *filled_bytes({{4}, Dtype::float32, {}}));
    const std::string before = bytes_of(folder / "x.h5");
    const TensorPtr large = filled_bytes({{100'000}, Dtype::float64, {}});
    std::string message;
    {
        const FullDisk full(64 * 1024);
        auto file = Hdf5File::create(folder / "x.h5");
        REQUIRE(file.ok());
        Status status = file->write_tensor("/a", "large", *large);
        if (status.ok()) status = file->finish();
        REQUIRE_FALSE(status.ok());
        CHECK(status.error().code == Errc::kFailed);
        message = status.message();
    }
    CHECK_THAT(message, Contains(folder / "x.h5") && Contains("800000 bytes") && Contains("too large"));
    CHECK(names_in(folder.path()) == std::vector<std::string>{"x.h5"});
    CHECK(bytes_of(folder / "x.h5") == before);
}

TEST_CASE("a disk that small datasets fill is an error at finish", "[store][hdf5]") {
    const TestFolder folder;
    const TensorPtr small = filled_bytes({{64}, Dtype::float64, {}});
    {
        const FullDisk full(64 * 1024);
        auto file = Hdf5File::create(folder / "x.h5");
        Status status;
        for (int i = 0; i < 1000 && status.ok(); ++i) status = file->write_tensor("/a", std::to_string(i), *small);
        if (status.ok()) status = file->finish();
        REQUIRE_FALSE(status.ok());
        CHECK_THAT(status.message(), Contains(folder / "x.h5"));
    }
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("names that HDF5 would read as paths are refused", "[store][hdf5]") {
    const TestFolder folder;
    auto file = Hdf5File::create(folder / "x.h5");
    const TensorPtr tensor = filled_bytes({{4}, Dtype::float32, {}});
    CHECK_FALSE(file->write_tensor("/a", "b/c", *tensor).ok());
    CHECK_FALSE(file->write_tensor("/a", "", *tensor).ok());
    REQUIRE(file->write_tensor("/a", "x", *tensor).ok());
    CHECK_THAT(file->write_tensor("/a", "x", *tensor).message(), Contains("written twice"));
}

}  // namespace diopi
