#include "store/capture.hpp"

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
    for (size_t i = 0; i < call.call->args.size(); ++i) {
        const Arg& arg = call.call->row->args()[i];
        const auto add = [&](const TensorPtr& tensor, std::string place) {
            if (tensor == nullptr) return;
            uses.push_back(
                {capture.position(*tensor), std::move(place), !arg.is_output, arg.is_output || arg.is_inout});
        };
        if (const auto* tensor = std::get_if<TensorPtr>(&call.call->args[i])) add(*tensor, std::string(arg.name));
        const auto* list = std::get_if<TensorList>(&call.call->args[i]);
        for (size_t k = 0; list != nullptr && k < list->size(); ++k) {
            add((*list)[k], std::string(arg.name) + "." + std::to_string(k));
        }
    }
    return uses;
}

}  // namespace diopi
