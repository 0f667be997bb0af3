/// Each check of tensors and copies fails on a device or a runtime function with the fault that it looks for.
#include <algorithm>
#include <cstring>

#include "runtime_suite/runtime_testing.hpp"

namespace diopi {

using testing::expect_failure;
using testing::TestBackend;

namespace {

/// Copies more or fewer bytes than it should, or to a shifted address.
class WrongCopies : public AsyncDevice {
 public:
    int64_t more_to_device = 0, more_to_host = 0;
    uintptr_t place_mask = ~uintptr_t{0};

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override { return AsyncDevice::allocate(nbytes + 64); }
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        auto* place = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(dst) & place_mask);
        const Status s =
            AsyncDevice::copy_to_device(stream, place, src, sum(nbytes, std::min<int64_t>(more_to_device, 0)));
        if (!s.ok() || more_to_device <= 0) return s;
        const std::vector<char> beyond(static_cast<size_t>(more_to_device), 0);
        return AsyncDevice::copy_to_device(stream, place + nbytes, beyond.data(), beyond.size());
    }
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        return AsyncDevice::copy_to_host(stream, dst, src, sum(nbytes, more_to_host));
    }

 private:
    static size_t sum(size_t nbytes, int64_t more) {
        return nbytes == 0 ? 0 : static_cast<size_t>(static_cast<int64_t>(nbytes) + more);
    }
};

/// Memory that is not aligned, or one block for all.
class WrongMemory : public AsyncDevice {
 public:
    explicit WrongMemory(bool shared) : shared_(shared) {}

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (nbytes == 0) return std::shared_ptr<void>();
        auto block = AsyncDevice::allocate(std::max<size_t>(nbytes, 4096) + 8);
        if (!block.ok()) return block;
        if (shared_ && all_ == nullptr) all_ = *block;
        if (shared_) return all_;
        return std::shared_ptr<void>(*block, static_cast<char*>(block->get()) + 8);
    }

 private:
    bool shared_;
    std::shared_ptr<void> all_;
};

template <class T, T kError, auto kRight>
diopiError_t off_by(diopiConstTensorHandle_t tensor, T* value) {
    const diopiError_t error = kRight(tensor, value);
    *value = static_cast<T>(*value + kError);
    return error;
}

diopiError_t shape_without_last(diopiConstTensorHandle_t tensor, diopiSize_t* size) {
    *size = {tensor->shape.data(), std::max<int64_t>(tensor->rank() - 1, 0)};
    return diopiSuccess;
}

diopiError_t strides_of_contiguous(diopiConstTensorHandle_t tensor, diopiSize_t* size) {
    static Shape strides;
    strides = contiguous_strides(tensor->shape);
    *size = {strides.data(), tensor->rank()};
    return diopiSuccess;
}

diopiError_t dtype_is_float32(diopiConstTensorHandle_t, diopiDtype_t* dtype) {
    *dtype = diopi_dtype_float32;
    return diopiSuccess;
}

diopiError_t device_is_host(diopiConstTensorHandle_t, diopiDevice_t* device) {
    *device = diopi_host;
    return diopiSuccess;
}

diopiError_t data_is_storage(diopiTensorHandle_t tensor, void** data) {
    *data = tensor->storage.memory.get();
    return diopiSuccess;
}

diopiError_t const_data_is_null(diopiConstTensorHandle_t, const void** data) {
    *data = nullptr;
    return diopiSuccess;
}

diopiError_t storage_is_null(diopiConstTensorHandle_t, void** storage) {
    *storage = nullptr;
    return diopiSuccess;
}

diopiError_t offset_is_zero(diopiConstTensorHandle_t, int64_t* offset) {
    *offset = 0;
    return diopiSuccess;
}

diopiError_t never_sparse(diopiConstTensorHandle_t, bool* is_sparse) {
    *is_sparse = false;
    return diopiSuccess;
}

diopiError_t always_values(diopiConstTensorHandle_t tensor, diopiConstTensorHandle_t* part) {
    *part = tensor->values.get();
    return diopiSuccess;
}

diopiError_t no_index(diopiDeviceIndex_t* index) {
    *index = -1;
    return diopiSuccess;
}

diopiError_t numel_fails(diopiConstTensorHandle_t, int64_t*) { return diopiErrorOccurred; }

diopiError_t require_contiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                const diopiSize_t*, const diopiDtype_t dtype, const diopiDevice_t device) {
    return diopiRequireTensor(ctx, tensor, size, nullptr, dtype, device);
}

diopiError_t require_on_host(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                             const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t) {
    return diopiRequireTensor(ctx, tensor, size, stride, dtype, diopi_host);
}

diopiError_t require_less(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t nbytes, diopiDevice_t device) {
    return diopiRequireBuffer(ctx, tensor, nbytes > 0 ? nbytes - 1 : 0, device);
}

/// A faulty function that replaces a correct one, and the words of the failure.
struct PlantedFault {
    void (*plant)(RuntimeFunctions&);
    const char* words;
};

const PlantedFault kTensorFaults[] = {
    {[](RuntimeFunctions& f) { f.get_shape = shape_without_last; }, "diopiGetTensorShape says"},
    {[](RuntimeFunctions& f) { f.get_stride = strides_of_contiguous; }, "diopiGetTensorStride says (4, 1)"},
    {[](RuntimeFunctions& f) { f.get_dtype = dtype_is_float32; }, "diopiGetTensorDtype says 9"},
    {[](RuntimeFunctions& f) { f.get_device = device_is_host; }, "diopiGetTensorDevice says 0"},
    {[](RuntimeFunctions& f) { f.get_numel = off_by<int64_t, 1, diopiGetTensorNumel>; }, "diopiGetTensorNumel says"},
    {[](RuntimeFunctions& f) { f.get_numel = numel_fails; }, "diopiGetTensorNumel gives diopiErrorOccurred"},
    {[](RuntimeFunctions& f) { f.get_elem_size = off_by<int64_t, 1, diopiGetTensorElemSize>; },
     "diopiGetTensorElemSize says 2 where 1"},
    {[](RuntimeFunctions& f) { f.get_data = data_is_storage; }, "diopiGetTensorDataConst differ"},
    {[](RuntimeFunctions& f) { f.get_data_const = const_data_is_null; }, "diopiGetTensorDataConst differ"},
    {[](RuntimeFunctions& f) { f.get_storage_ptr = storage_is_null; }, "diopiGetTensorStoragePtr is null"},
    {[](RuntimeFunctions& f) { f.get_storage_offset = offset_is_zero; }, "diopiGetTensorStorageOffset says 0 where 5"},
    {[](RuntimeFunctions& f) { f.get_storage_nbytes = off_by<size_t, 1, diopiGetTensorStorageNbytes>; },
     "diopiGetTensorStorageNbytes says 2 where 1"},
    {[](RuntimeFunctions& f) { f.get_device_index = off_by<diopiDeviceIndex_t, 1, diopiGetTensorDeviceIndex>; },
     "diopiGetTensorDeviceIndex says 1 where 0"},
    {[](RuntimeFunctions& f) { f.get_current_device_index = no_index; }, "diopiGetCurrentDeviceIndex says -1"},
    {[](RuntimeFunctions& f) { f.is_sparse = never_sparse; }, "diopiIsTensorSparse says 0 where 1"},
    {[](RuntimeFunctions& f) { f.get_crow_indices = diopiGetTensorValues; }, "diopiGetTensorCrowIndices does not give"},
    {[](RuntimeFunctions& f) { f.get_col_indices = diopiGetTensorValues; }, "diopiGetTensorColIndices does not give"},
    {[](RuntimeFunctions& f) { f.get_values = diopiGetTensorColIndices; }, "diopiGetTensorValues does not give"},
    {[](RuntimeFunctions& f) { f.get_values = always_values; }, "diopiGetTensorValues succeeds on a dense tensor"},
    {[](RuntimeFunctions& f) { f.require_tensor = require_contiguous; }, "diopiGetTensorStride says (4, 1)"},
    {[](RuntimeFunctions& f) { f.require_tensor = require_on_host; }, "diopiGetTensorDevice says 0 where 1"},
    {[](RuntimeFunctions& f) { f.require_buffer = require_less; }, "diopiGetTensorShape says (0,) where (1,)"},
};

}  // namespace

TEST_CASE("tensor_construction finds every wrong runtime function") {
    AsyncDevice device;
    const TestBackend backend(device);
    for (const PlantedFault& fault : kTensorFaults) {
        RuntimeSubject subject = backend.subject();
        fault.plant(subject.functions);
        expect_failure("tensor_construction", subject, fault.words);
    }
}

TEST_CASE("tensor_construction finds memory that is shared or not aligned") {
    WrongMemory unaligned(false), shared(true);
    expect_failure("tensor_construction", TestBackend(unaligned).subject(), "is not aligned to 64 bytes");
    expect_failure("tensor_construction", TestBackend(shared).subject(), "does another tensor share it?");
}

TEST_CASE("copies finds a device that copies too little, too much, or to another place") {
    for (const int64_t more : {-1, 1}) {
        WrongCopies to_device, to_host;
        to_device.more_to_device = more;
        to_host.more_to_host = more;
        expect_failure("copies", TestBackend(to_host).subject(), "is wrong on the host");
        expect_failure("copies", TestBackend(to_device).subject(), "is wrong on the host");
    }
    WrongCopies in_words;
    in_words.place_mask = ~uintptr_t{3};
    expect_failure("copies", TestBackend(in_words).subject(), "is wrong on the host");
}

}  // namespace diopi
