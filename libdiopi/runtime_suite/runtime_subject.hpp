/// The subject of the checks of the runtime suite.
#pragma once

#include <diopi/diopirt.h>

#include <functional>
#include <memory>

#include "backend/backend.hpp"
#include "runtime/async_device.hpp"
#include "runtime/memory_checker.hpp"

namespace diopi {

/// The functions of diopirt.h that the checks call, so that a test can replace one by a faulty one.
struct RuntimeFunctions {
    decltype(&::diopiGetTensorData) get_data = ::diopiGetTensorData;
    decltype(&::diopiGetTensorDataConst) get_data_const = ::diopiGetTensorDataConst;
    decltype(&::diopiGetTensorShape) get_shape = ::diopiGetTensorShape;
    decltype(&::diopiGetTensorStride) get_stride = ::diopiGetTensorStride;
    decltype(&::diopiGetTensorDtype) get_dtype = ::diopiGetTensorDtype;
    decltype(&::diopiGetTensorDevice) get_device = ::diopiGetTensorDevice;
    decltype(&::diopiGetTensorNumel) get_numel = ::diopiGetTensorNumel;
    decltype(&::diopiGetTensorElemSize) get_elem_size = ::diopiGetTensorElemSize;
    decltype(&::diopiGetTensorStoragePtr) get_storage_ptr = ::diopiGetTensorStoragePtr;
    decltype(&::diopiGetTensorStorageOffset) get_storage_offset = ::diopiGetTensorStorageOffset;
    decltype(&::diopiGetTensorStorageNbytes) get_storage_nbytes = ::diopiGetTensorStorageNbytes;
    decltype(&::diopiGetTensorDeviceIndex) get_device_index = ::diopiGetTensorDeviceIndex;
    decltype(&::diopiGetCurrentDeviceIndex) get_current_device_index = ::diopiGetCurrentDeviceIndex;
    decltype(&::diopiGetTensorCrowIndices) get_crow_indices = ::diopiGetTensorCrowIndices;
    decltype(&::diopiGetTensorColIndices) get_col_indices = ::diopiGetTensorColIndices;
    decltype(&::diopiGetTensorValues) get_values = ::diopiGetTensorValues;
    decltype(&::diopiIsTensorSparse) is_sparse = ::diopiIsTensorSparse;
    decltype(&::diopiGetStream) get_stream = ::diopiGetStream;
    decltype(&::diopiRequireTensor) require_tensor = ::diopiRequireTensor;
    decltype(&::diopiRequireBuffer) require_buffer = ::diopiRequireBuffer;
    decltype(&::diopiGeneratorGetState) generator_get_state = ::diopiGeneratorGetState;
    decltype(&::diopiGeneratorSetState) generator_set_state = ::diopiGeneratorSetState;
    decltype(&::diopiGeneratorGetSeedAndOffset) generator_get_seed_and_offset = ::diopiGeneratorGetSeedAndOffset;
    decltype(&::diopiGeneratorSetSeedAndOffset) generator_set_seed_and_offset = ::diopiGeneratorSetSeedAndOffset;
};

/// The subject of the checks: a backend, and our own parts, each of which a test may replace by a broken one.
struct RuntimeSubject {
    const Backend* backend = nullptr;
    RuntimeFunctions functions = {};
    std::function<std::unique_ptr<AsyncDevice>()> async_device = [] { return std::make_unique<AsyncDevice>(); };
    std::function<std::unique_ptr<MemoryChecker>(Device&)> memory_checker = [](Device& device) {
        return std::make_unique<MemoryChecker>(device, true);
    };
};

}  // namespace diopi
