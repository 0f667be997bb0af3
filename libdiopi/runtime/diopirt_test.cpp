/// The runtime functions of the C ABI, called like in an operator library.
#include <diopi/diopirt.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "core/strided.hpp"
#include "runtime/context.hpp"
#include "runtime/generator.hpp"

namespace diopi {

namespace {

TensorPtr tensor_of(const Shape& shape, Dtype dtype, const Shape& strides = {}) {
    auto made = make_tensor(cpu_device(), {shape, dtype, strides});
    REQUIRE(made.ok());
    return *made;
}

std::vector<int64_t> list_of(diopiSize_t size) { return {size.data, size.data + size.len}; }

}  // namespace

TEST_CASE("a library reads shape, strides, dtype, device and sizes of a tensor") {
    const TensorPtr t = tensor_of({2, 3}, Dtype::float16, {1, 2});
    diopiSize_t size{};
    REQUIRE(diopiGetTensorShape(t.get(), &size) == diopiSuccess);
    CHECK(list_of(size) == Shape{2, 3});
    REQUIRE(diopiGetTensorStride(t.get(), &size) == diopiSuccess);
    CHECK(list_of(size) == Shape{1, 2});
    diopiDtype_t dtype{};
    REQUIRE(diopiGetTensorDtype(t.get(), &dtype) == diopiSuccess);
    CHECK(dtype == diopi_dtype_float16);
    diopiDevice_t device{};
    REQUIRE(diopiGetTensorDevice(t.get(), &device) == diopiSuccess);
    CHECK(device == diopi_host);
    int64_t number = 0;
    REQUIRE(diopiGetTensorNumel(t.get(), &number) == diopiSuccess);
    CHECK(number == 6);
    REQUIRE(diopiGetTensorElemSize(t.get(), &number) == diopiSuccess);
    CHECK(number == 2);
    size_t nbytes = 0;
    REQUIRE(diopiGetTensorStorageNbytes(t.get(), &nbytes) == diopiSuccess);
    CHECK(nbytes == 12);
    diopiDeviceIndex_t index = -1;
    REQUIRE(diopiGetTensorDeviceIndex(t.get(), &index) == diopiSuccess);
    CHECK(index == 0);
    index = -1;
    REQUIRE(diopiGetCurrentDeviceIndex(&index) == diopiSuccess);
    CHECK(index == 0);
    CHECK(std::strcmp(diopiGetVersion(), "1.0.0") == 0);
}

TEST_CASE("data starts at the offset of a view, storage before it") {
    Tensor view = *tensor_of({8}, Dtype::int32);
    view.shape = {3};
    view.offset = 4;
    void* data = nullptr;
    const void* const_data = nullptr;
    void* storage = nullptr;
    int64_t offset = 0;
    REQUIRE(diopiGetTensorData(&view, &data) == diopiSuccess);
    REQUIRE(diopiGetTensorDataConst(&view, &const_data) == diopiSuccess);
    REQUIRE(diopiGetTensorStoragePtr(&view, &storage) == diopiSuccess);
    REQUIRE(diopiGetTensorStorageOffset(&view, &offset) == diopiSuccess);
    CHECK(data == const_data);
    CHECK(static_cast<char*>(data) - static_cast<char*>(storage) == 16);
    CHECK(offset == 4);
    const TensorPtr empty = tensor_of({0, 3}, Dtype::float32);
    REQUIRE(diopiGetTensorData(empty.get(), &data) == diopiSuccess);
    CHECK(data == nullptr);
}

TEST_CASE("a CSR tensor gives its parts, a dense one has none") {
    Tensor sparse = *tensor_of({2, 2}, Dtype::float32);
    diopiConstTensorHandle_t part = nullptr;
    bool is_sparse = true;
    REQUIRE(diopiIsTensorSparse(&sparse, &is_sparse) == diopiSuccess);
    CHECK_FALSE(is_sparse);
    CHECK(diopiGetTensorValues(&sparse, &part) == diopiErrorOccurred);
    sparse.crow_indices = tensor_of({3}, Dtype::int64);
    sparse.col_indices = tensor_of({1}, Dtype::int64);
    sparse.values = tensor_of({1}, Dtype::float32);
    REQUIRE(diopiIsTensorSparse(&sparse, &is_sparse) == diopiSuccess);
    CHECK(is_sparse);
    REQUIRE(diopiGetTensorCrowIndices(&sparse, &part) == diopiSuccess);
    CHECK(part == sparse.crow_indices.get());
    REQUIRE(diopiGetTensorColIndices(&sparse, &part) == diopiSuccess);
    CHECK(part == sparse.col_indices.get());
    REQUIRE(diopiGetTensorValues(&sparse, &part) == diopiSuccess);
    CHECK(part == sparse.values.get());
}

TEST_CASE("a required tensor lives until the context releases it, or longer for another owner") {
    Context context(cpu_device(), nullptr);
    const std::vector<int64_t> sizes = {4, 5};
    const diopiSize_t size{sizes.data(), 2};
    diopiTensorHandle_t handle = nullptr;
    REQUIRE(diopiRequireTensor(&context, &handle, &size, nullptr, diopi_dtype_int64, diopi_device) == diopiSuccess);
    CHECK(handle->shape == sizes);
    CHECK(handle->is_contiguous());
    const TensorPtr taken = context.take(handle);
    REQUIRE(taken != nullptr);
    diopiTensorHandle_t buffer = nullptr;
    REQUIRE(diopiRequireBuffer(&context, &buffer, 100, diopi_host) == diopiSuccess);
    CHECK(buffer->nbytes() == 100);
    context.release();
    CHECK(context.required.empty());
    CHECK(taken.use_count() == 1);
    CHECK(context.take(handle) == nullptr);
}

TEST_CASE("an impossible tensor is an error with a message, not an abort") {
    Context context(cpu_device(), nullptr);
    const std::vector<int64_t> sizes = {INT64_MAX, 4};
    const diopiSize_t size{sizes.data(), 2};
    diopiTensorHandle_t handle = nullptr;
    CHECK(diopiRequireTensor(&context, &handle, &size, nullptr, diopi_dtype_int8, diopi_host) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("9223372036854775807"));
    const std::vector<int64_t> large = {int64_t{1} << 46};
    const diopiSize_t large_size{large.data(), 1};
    CHECK(diopiRequireTensor(&context, &handle, &large_size, nullptr, diopi_dtype_float64, diopi_host) ==
          diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("out of memory"));
}

TEST_CASE("a generator's state can be saved, changed and restored") {
    Context context(cpu_device(), nullptr);
    Generator generator{7, 40};
    diopiTensorHandle_t state = nullptr;
    REQUIRE(diopiGeneratorGetState(&context, &generator, &state) == diopiSuccess);
    REQUIRE(diopiGeneratorSetSeedAndOffset(&generator, 1, 2) == diopiSuccess);
    uint64_t seed = 0;
    uint64_t offset = 0;
    REQUIRE(diopiGeneratorGetSeedAndOffset(&generator, &seed, &offset) == diopiSuccess);
    CHECK((seed == 1 && offset == 2));
    REQUIRE(diopiGeneratorSetState(&generator, state) == diopiSuccess);
    CHECK((generator.seed == 7 && generator.offset == 40));
    const TensorPtr wrong = tensor_of({3}, Dtype::uint8);
    CHECK(diopiGeneratorSetState(&generator, wrong.get()) == diopiErrorOccurred);
    CHECK(generator.seed == 7);
}

TEST_CASE("the context gives its stream, and a record is opened and closed") {
    auto stream = cpu_device().create_stream();
    REQUIRE(stream.ok());
    Context context(cpu_device(), *stream);
    diopiStreamHandle_t handle = nullptr;
    REQUIRE(diopiGetStream(&context, &handle) == diopiSuccess);
    CHECK(handle == *stream);
    CHECK(cpu_device().synchronize(handle).ok());
    CHECK(cpu_device().destroy_stream(handle).ok());
    void* record = nullptr;
    REQUIRE(diopiRecordStart("region", &record) == diopiSuccess);
    CHECK(record != nullptr);
    REQUIRE(diopiRecordEnd(&record) == diopiSuccess);
    CHECK(record == nullptr);
}

TEST_CASE("a view is copied to the host in row-major order") {
    const TensorPtr t = tensor_of({2, 3}, Dtype::int32, {1, 2});
    for (int i = 0; i < 6; ++i) static_cast<int32_t*>(t->storage.memory.get())[i] = i;
    const auto packed = to_host(cpu_device(), nullptr, *t);
    REQUIRE(packed.ok());
    const auto* values = (*packed)->data_as<int32_t>();
    CHECK(std::vector<int32_t>(values, values + 6) == std::vector<int32_t>{0, 2, 4, 1, 3, 5});
}

}  // namespace diopi
