/* The host's side of the standard: the functions of diopirt.h, which the program defines. */
#ifndef HOST_RUNTIME_H
#define HOST_RUNTIME_H

#include <diopi/diopirt.h>

enum { MAX_RANK = 8 };

/* The library's device functions, under their names. */
struct device {
    void* (*allocate)(uint64_t);                                                 /* device_malloc */
    void (*release)(void*);                                                      /* device_free */
    diopiError_t (*copy_in)(diopiStreamHandle_t, void*, const void*, uint64_t);  /* device_memcpy_h2d_async */
    diopiError_t (*copy_out)(diopiStreamHandle_t, void*, const void*, uint64_t); /* device_memcpy_d2h_async */
    diopiError_t (*make_stream)(diopiStreamHandle_t*);                           /* device_make_stream */
    diopiError_t (*destroy_stream)(diopiStreamHandle_t);                         /* device_destroy_stream */
    diopiError_t (*synchronize)(diopiStreamHandle_t);                            /* device_synchronize_stream */
};

struct diopiTensor {
    void* data; /* null when it has no elements */
    diopiDtype_t dtype;
    diopiDevice_t place;
    int64_t rank, numel, sizes[MAX_RANK], strides[MAX_RANK];
    uint64_t nbytes;
    const struct device* device;
    struct diopiTensor* next; /* in its context's list */
};

struct diopiContext {
    const struct device* device;
    diopiStreamHandle_t stream;
    struct diopiTensor* tensors; /* every tensor that was made in it */
};

struct diopiGenerator {
    uint64_t seed, offset;
};

/* diopiRequireTensor makes the program's own tensors, too. All of a context are freed together, once its stream is
 * idle. */
void release_tensors(struct diopiContext* ctx);

/* Copy whole tensors to and from the device; they return when the copy is done. */
diopiError_t write_tensor(struct diopiContext* ctx, struct diopiTensor* tensor, const void* values);
diopiError_t read_tensor(struct diopiContext* ctx, const struct diopiTensor* tensor, void* values);

#endif
