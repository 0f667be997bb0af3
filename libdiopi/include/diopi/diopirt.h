/// The runtime side of the standard: handles, enumerations, error codes, and the functions that the host program
/// provides to an operator library. C and C++. Every function returns diopiSuccess or the code of its failure;
/// no function here throws or synchronises a stream.
#ifndef DIOPI_DIOPIRT_H
#define DIOPI_DIOPIRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Operator functions are weak: one that a library does not define has the address null.
#define DIOPI_API __attribute__((weak))
/// Runtime functions are strong: the host always defines them.
#define DIOPI_RT_API

#define DIOPI_VER_MAJOR 1
#define DIOPI_VER_MINOR 0
#define DIOPI_VER_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/// A borrowed list of integers: a shape, strides, dims, a kernel size. The callee never keeps `data`.
typedef struct diopiSize_s {
    const int64_t* data;
    int64_t len;
} diopiSize_t;

/// Outcome of a call. The values are part of the ABI.
typedef enum {
    diopiSuccess = 0,
    diopiErrorOccurred = 1,
    diopiNotInited = 2,
    diopiNoRegisteredStreamCreateFunction = 3,
    diopiNoRegisteredStreamDestoryFunction = 4,
    diopiNoRegisteredStreamSyncFunction = 5,
    diopiNoRegisteredDeviceMemoryMallocFunction = 6,
    diopiNoRegisteredDeviceMemoryFreeFunction = 7,
    diopiNoRegisteredDevice2DdeviceMemoryCopyFunction = 8,
    diopiNoRegisteredDevice2HostMemoryCopyFunction = 9,
    diopiNoRegisteredHost2DeviceMemoryCopyFunction = 10,
    diopiNoRegisteredGetLastErrorFunction = 11,
    diopi5DNotSupported = 12,
    diopiNoImplement = 13,
    diopiForceFallbackToCPU = 14,
    diopiDtypeNotSupported = 1000
} diopiError_t;

/// The memory of a tensor: memory that the host can read, or memory of the context's device.
typedef enum { diopi_host = 0, diopi_device = 1 } diopiDevice_t;

/// Element types. tfloat32 is stored as float32; complex32 is two float16, complex64 two float32.
typedef enum {
    diopi_dtype_int8 = 0,
    diopi_dtype_uint8 = 1,
    diopi_dtype_int16 = 2,
    diopi_dtype_uint16 = 3,
    diopi_dtype_int32 = 4,
    diopi_dtype_uint32 = 5,
    diopi_dtype_int64 = 6,
    diopi_dtype_uint64 = 7,
    diopi_dtype_float16 = 8,
    diopi_dtype_float32 = 9,
    diopi_dtype_float64 = 10,
    diopi_dtype_bool = 11,
    diopi_dtype_bfloat16 = 12,
    diopi_dtype_tfloat32 = 13,
    diopi_dtype_complex32 = 14,
    diopi_dtype_complex64 = 15,
    diopi_dtype_complex128 = 16,
    diopi_dtype_unsupported = 255
} diopiDtype_t;

/// A number with its own dtype. The value is in fval for a floating stype, in ival for an integral one or bool.
typedef struct {
    diopiDtype_t stype;
    union {
        double fval;
        int64_t ival;
    };
} diopiScalar_t;

/// Order of the dimensions in memory.
typedef enum {
    diopiMemoryFormat_Contiguous = 0,
    diopiMemoryFormat_ChannelsLast = 1,
    diopiMemoryFormat_ChannelsLast3d = 2,
    diopiMemoryFormat_Preserve = 3,
    diopiMemoryFormat_ChannelsLast1d = 4
} diopiMemoryFormat_t;

/// The reduction of a loss over its elements.
typedef enum { ReductionNone, ReductionMean, ReductionSum, ReductionEND } diopiReduction_t;

/// The rounding of a quotient: none, towards zero, towards minus infinity.
typedef enum { RoundModeNone, RoundModeTrunc, RoundModeFloor, RoundModeEND } diopiRoundMode_t;

/// Opaque objects of the host. A library only passes the pointers back.
typedef struct diopiContext* diopiContextHandle_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef struct diopiGenerator* diopiGeneratorHandle_t;
typedef const struct diopiGenerator* diopiConstGeneratorHandle_t;
typedef void* diopiStreamHandle_t;
typedef int8_t diopiDeviceIndex_t;

/// Version of the host's runtime as text, for example "1.0.0". Static storage.
DIOPI_RT_API const char* diopiGetVersion(void);

/// First element of the tensor (storage plus offset), in the memory of its device. Null for an empty tensor.
DIOPI_RT_API diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** pptr);
DIOPI_RT_API diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** pptr);
/// Sizes of the dimensions; len 0 for a 0-dim tensor. Borrowed from the tensor.
DIOPI_RT_API diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size);
/// Strides in elements, one per dimension. Borrowed from the tensor.
DIOPI_RT_API diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride);
DIOPI_RT_API diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype);
DIOPI_RT_API diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device);
/// Number of elements: the product of the sizes, 1 for a 0-dim tensor.
DIOPI_RT_API diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel);
/// Bytes of one element.
DIOPI_RT_API diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize);
/// Start of the storage, before the offset.
DIOPI_RT_API diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** storage_ptr);
/// Elements between the start of the storage and the first element of the tensor.
DIOPI_RT_API diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* offset);
DIOPI_RT_API diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* nbytes);
DIOPI_RT_API diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th, diopiDeviceIndex_t* index);
/// Parts of a CSR tensor: row starts, column indices, values. diopiErrorOccurred for a dense tensor.
DIOPI_RT_API diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* crow_indices);
DIOPI_RT_API diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* col_indices);
DIOPI_RT_API diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* values);
DIOPI_RT_API diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse);

/// Index of the device that the calling thread works on.
DIOPI_RT_API diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* index);
/// The stream on which every operation of a call must be enqueued.
DIOPI_RT_API diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream);

/// A tensor owned by the context, for workspace or for a result that the library allocates. `stride` null means
/// contiguous. It lives at least until the operator's call has ended; its contents are undefined.
DIOPI_RT_API diopiError_t diopiRequireTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor,
                                             const diopiSize_t* size, const diopiSize_t* stride,
                                             const diopiDtype_t dtype, const diopiDevice_t device);
/// Like diopiRequireTensor for num_bytes bytes of uint8.
DIOPI_RT_API diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes,
                                             diopiDevice_t device);

/// The generator's state as a host tensor of 16 uint8: seed then offset, little-endian.
DIOPI_RT_API diopiError_t diopiGeneratorGetState(diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th,
                                                 diopiTensorHandle_t* data);
DIOPI_RT_API diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th, diopiConstTensorHandle_t new_state);
/// Seed and offset of a counter-based generator. An operator that draws numbers advances the offset by at least the
/// count that it used, so that the next operator draws other numbers.
DIOPI_RT_API diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* seed, uint64_t* offset);
DIOPI_RT_API diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset);

/// Marks a named region of host time; `record` carries the region from start to end.
DIOPI_RT_API diopiError_t diopiRecordStart(const char* record_name, void** record);
DIOPI_RT_API diopiError_t diopiRecordEnd(void** record);

#ifdef __cplusplus
}
#endif

#endif
