/// The tensor behind diopiTensorHandle_t: a strided view of a reference-counted storage.
#pragma once

#include <cstddef>
#include <memory>

#include "core/dtype.hpp"
#include "core/shape.hpp"

namespace diopi {

/// A block of memory on the host or on a device. Copies share the block; the last one frees it.
struct Storage {
    std::shared_ptr<void> memory;
    size_t nbytes = 0;
    diopiDevice_t device = diopi_host;
};

}  // namespace diopi

/// The object that the C ABI calls diopiTensor. Strides and offset count elements.
struct diopiTensor {
    diopi::Storage storage;
    int64_t offset = 0;
    diopi::Shape shape;
    diopi::Shape strides;
    diopi::Dtype dtype = diopi::Dtype::float32;
    /// Parts of a CSR tensor, all null for a dense one.
    std::shared_ptr<diopiTensor> crow_indices, col_indices, values;

    /// First element, null for an empty tensor.
    [[nodiscard]] void* data() const {
        if (numel() == 0 || storage.memory == nullptr) return nullptr;
        return static_cast<std::byte*>(storage.memory.get()) + offset * static_cast<int64_t>(diopi::size_of(dtype));
    }
    template <class T>
    [[nodiscard]] T* data_as() const {
        return static_cast<T*>(data());
    }
    [[nodiscard]] int64_t numel() const { return diopi::numel(shape); }
    [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(shape.size()); }
    [[nodiscard]] size_t nbytes() const { return static_cast<size_t>(numel()) * diopi::size_of(dtype); }
    [[nodiscard]] bool is_contiguous() const { return diopi::is_contiguous(shape, strides); }
    [[nodiscard]] bool is_sparse() const { return values != nullptr; }
};

namespace diopi {

using Tensor = ::diopiTensor;
using TensorPtr = std::shared_ptr<Tensor>;

/// The description of a tensor, without its data.
struct TensorSpec {
    Shape shape;
    Dtype dtype = Dtype::float32;
    /// Strides in elements; empty means contiguous.
    Shape strides = {};
    bool operator==(const TensorSpec&) const = default;
};

}  // namespace diopi
