#include "store/capture.hpp"

namespace diopi {

size_t Capture::add_tensor(std::string id, size_t storage, const TensorSpec& spec, int64_t offset) {
    auto tensor = std::make_shared<Tensor>();
    tensor->storage.nbytes = static_cast<size_t>(storages[storage].nbytes);
    tensor->offset = offset;
    tensor->shape = spec.shape;
    tensor->strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
    tensor->dtype = spec.dtype;
    positions_.emplace(tensor.get(), tensors.size());
    tensors.push_back({std::move(id), storage, std::move(tensor), {}, {}});
    return tensors.size() - 1;
}

}  // namespace diopi
