#include "capture/capture.hpp"

#include "call/tensors.hpp"

namespace diopi {

Call CapturedCall::with_origin() const {
    Call known = *call;
    known.origin = this;
    return known;
}

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

std::vector<TensorUse> uses_of(const Capture& capture, const CapturedCall& call) {
    std::vector<TensorUse> uses;
    for (const size_t tensor : call.reads) uses.push_back({tensor, capture.tensors[tensor].id, true, false});
    for (const auto& [tensor, recipe] : call.writes) uses.push_back({tensor, capture.tensors[tensor].id, false, true});
    if (!call.call) return uses;
    for_each_tensor(*call.call, [&](const Place& place, const TensorPtr& tensor) {
        uses.push_back({capture.position(*tensor), place.name(), place.is_read(), place.is_written()});
    });
    return uses;
}

}  // namespace diopi
