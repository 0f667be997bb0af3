/// The functions of diopirt.h.
#include <diopi/diopirt.h>

#include <chrono>
#include <cstring>

#include "runtime/context.hpp"
#include "runtime/generator.hpp"

namespace diopi {

namespace {

thread_local std::string t_last_error;

diopiError_t fail(std::string message) {
    set_last_error(std::move(message));
    return diopiErrorOccurred;
}

struct Record {
    std::string name;
    std::chrono::steady_clock::time_point start;
};

constexpr size_t kGeneratorStateBytes = 16;

template <class Member>
diopiError_t sparse_part(diopiConstTensorHandle_t tensor, Member member, diopiConstTensorHandle_t* out) {
    if (!tensor->is_sparse()) return fail("the tensor is dense: it has no CSR parts");
    *out = (tensor->*member).get();
    return diopiSuccess;
}

}  // namespace

const std::string& last_error() { return t_last_error; }
void set_last_error(std::string message) { t_last_error = std::move(message); }

}  // namespace diopi

diopi::TensorPtr diopiContext::take(diopiConstTensorHandle_t handle) const {
    for (const diopi::TensorPtr& tensor : required) {
        if (tensor.get() == handle) return tensor;
    }
    return nullptr;
}

using diopi::fail;

extern "C" {

const char* diopiGetVersion() { return "1.0.0"; }

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** pptr) {
    *pptr = th->data();
    return diopiSuccess;
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** pptr) {
    *pptr = th->data();
    return diopiSuccess;
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
    *size = {th->shape.data(), th->rank()};
    return diopiSuccess;
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
    *stride = {th->strides.data(), th->rank()};
    return diopiSuccess;
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
    *dtype = diopi::to_c(th->dtype);
    return diopiSuccess;
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
    *device = th->storage.device;
    return diopiSuccess;
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
    *numel = th->numel();
    return diopiSuccess;
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
    *itemsize = static_cast<int64_t>(diopi::size_of(th->dtype));
    return diopiSuccess;
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** storage_ptr) {
    *storage_ptr = th->storage.memory.get();
    return diopiSuccess;
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* offset) {
    *offset = th->offset;
    return diopiSuccess;
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* nbytes) {
    *nbytes = th->storage.nbytes;
    return diopiSuccess;
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t, diopiDeviceIndex_t* index) {
    *index = 0;
    return diopiSuccess;
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* crow_indices) {
    return diopi::sparse_part(th, &diopiTensor::crow_indices, crow_indices);
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* col_indices) {
    return diopi::sparse_part(th, &diopiTensor::col_indices, col_indices);
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* values) {
    return diopi::sparse_part(th, &diopiTensor::values, values);
}

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
    *is_sparse = th->is_sparse();
    return diopiSuccess;
}

diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* index) {
    *index = 0;
    return diopiSuccess;
}

diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
    *stream = ctx->stream;
    return diopiSuccess;
}

diopiError_t diopiRequireTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t device) {
    diopi::TensorSpec spec{diopi::Shape(size->data, size->data + size->len), diopi::from_c(dtype), {}};
    if (stride != nullptr && stride->data != nullptr) spec.strides.assign(stride->data, stride->data + stride->len);
    diopi::Device& where = device == diopi_host ? diopi::cpu_device() : *ctx->device;
    auto made = diopi::make_tensor(where, spec);
    if (!made.ok()) return fail(made.error().message);
    if (ctx->fresh) {
        if (diopi::Status s = diopi::fill_now(where, **made, *ctx->fresh); !s.ok()) return fail(s.error().message);
    }
    *tensor = made->get();
    ctx->required.push_back(std::move(*made));
    return diopiSuccess;
}

diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes,
                                diopiDevice_t device) {
    const diopiSize_t size{&num_bytes, 1};
    return diopiRequireTensor(ctx, tensor, &size, nullptr, diopi_dtype_uint8, device);
}

diopiError_t diopiGeneratorGetState(diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th,
                                    diopiTensorHandle_t* data) {
    const diopiError_t error = diopiRequireBuffer(ctx, data, diopi::kGeneratorStateBytes, diopi_host);
    if (error != diopiSuccess) return error;
    auto* bytes = (*data)->data_as<std::byte>();
    std::memcpy(bytes, &th->seed, sizeof th->seed);
    std::memcpy(bytes + sizeof th->seed, &th->offset, sizeof th->offset);
    return diopiSuccess;
}

diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th, diopiConstTensorHandle_t new_state) {
    if (new_state->storage.device != diopi_host || new_state->nbytes() != diopi::kGeneratorStateBytes ||
        !new_state->is_contiguous()) {
        return fail("a generator's state is a contiguous host tensor of 16 bytes");
    }
    const auto* bytes = new_state->data_as<std::byte>();
    std::memcpy(&th->seed, bytes, sizeof th->seed);
    std::memcpy(&th->offset, bytes + sizeof th->seed, sizeof th->offset);
    return diopiSuccess;
}

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* seed, uint64_t* offset) {
    *seed = th->seed;
    *offset = th->offset;
    return diopiSuccess;
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
    *th = {seed, offset};
    return diopiSuccess;
}

diopiError_t diopiRecordStart(const char* record_name, void** record) {
    *record = new diopi::Record{record_name, std::chrono::steady_clock::now()};
    return diopiSuccess;
}

diopiError_t diopiRecordEnd(void** record) {
    delete static_cast<diopi::Record*>(*record);
    *record = nullptr;
    return diopiSuccess;
}

}  // extern "C"
