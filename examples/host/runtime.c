#include "runtime.h"

#include <stdlib.h>

/* Bytes of an element, 0 for an unknown dtype. */
static int64_t size_of(diopiDtype_t dtype) {
    static const int64_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 1, 2, 4, 4, 8, 16};
    const size_t index = (size_t)dtype;
    return index < sizeof sizes / sizeof *sizes ? sizes[index] : 0;
}

const char* diopiGetVersion(void) { return "1.0.0"; }

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** pptr) {
    *pptr = th->data;
    return diopiSuccess;
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** pptr) {
    *pptr = th->data;
    return diopiSuccess;
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
    *size = (diopiSize_t){th->sizes, th->rank};
    return diopiSuccess;
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
    *stride = (diopiSize_t){th->strides, th->rank};
    return diopiSuccess;
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
    *dtype = th->dtype;
    return diopiSuccess;
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
    *device = th->place;
    return diopiSuccess;
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
    *numel = th->numel;
    return diopiSuccess;
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
    *itemsize = size_of(th->dtype);
    return diopiSuccess;
}

diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
    *stream = ctx->stream;
    return diopiSuccess;
}

/* Sets shape, strides and bytes; contiguous if `stride` is null. False if the shape is not possible. */
static bool lay_out(struct diopiTensor* tensor, const diopiSize_t* size, const diopiSize_t* stride) {
    int64_t last = 0;
    tensor->rank = size->len;
    tensor->numel = 1;
    for (int64_t dim = size->len - 1; dim >= 0; --dim) {
        const int64_t n = size->data[dim];
        const int64_t step = stride != NULL ? stride->data[dim] : tensor->numel;
        int64_t reach = 0;
        if (n < 0 || step < 0 || __builtin_mul_overflow(tensor->numel, n, &tensor->numel)) return false;
        if (n > 0 && (__builtin_mul_overflow(n - 1, step, &reach) || __builtin_add_overflow(last, reach, &last))) {
            return false;
        }
        tensor->sizes[dim] = n;
        tensor->strides[dim] = step;
    }
    const int64_t elements = tensor->numel == 0 ? 0 : last + 1;
    return !__builtin_mul_overflow(elements, size_of(tensor->dtype), &tensor->nbytes);
}

diopiError_t diopiRequireTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t device) {
    if (size->len > MAX_RANK || size_of(dtype) == 0) return diopiErrorOccurred;
    struct diopiTensor* made = calloc(1, sizeof *made);
    if (made == NULL) return diopiErrorOccurred;
    made->dtype = dtype;
    made->place = device;
    made->device = ctx->device;
    bool is_there = lay_out(made, size, stride);
    if (is_there && made->nbytes > 0) {
        made->data = device == diopi_host ? malloc(made->nbytes) : ctx->device->allocate(made->nbytes);
        is_there = made->data != NULL;
    }
    if (!is_there) {
        free(made);
        return diopiErrorOccurred;
    }
    made->next = ctx->tensors;
    ctx->tensors = made;
    *tensor = made;
    return diopiSuccess;
}

diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes,
                                diopiDevice_t device) {
    const diopiSize_t size = {&num_bytes, 1};
    return diopiRequireTensor(ctx, tensor, &size, NULL, diopi_dtype_uint8, device);
}

void release_tensors(struct diopiContext* ctx) {
    while (ctx->tensors != NULL) {
        struct diopiTensor* tensor = ctx->tensors;
        ctx->tensors = tensor->next;
        if (tensor->data != NULL && tensor->place == diopi_host) free(tensor->data);
        if (tensor->data != NULL && tensor->place == diopi_device) ctx->device->release(tensor->data);
        free(tensor);
    }
}

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* seed, uint64_t* offset) {
    *seed = th->seed;
    *offset = th->offset;
    return diopiSuccess;
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
    *th = (struct diopiGenerator){seed, offset};
    return diopiSuccess;
}

diopiError_t write_tensor(struct diopiContext* ctx, struct diopiTensor* tensor, const void* values) {
    const diopiError_t error = ctx->device->copy_in(ctx->stream, tensor->data, values, tensor->nbytes);
    return error == diopiSuccess ? ctx->device->synchronize(ctx->stream) : error;
}

diopiError_t read_tensor(struct diopiContext* ctx, const struct diopiTensor* tensor, void* values) {
    const diopiError_t error = ctx->device->copy_out(ctx->stream, values, tensor->data, tensor->nbytes);
    return error == diopiSuccess ? ctx->device->synchronize(ctx->stream) : error;
}
