#include "step/slices.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "call/tensors.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

/// Elements of a slice: its tensors of float64 take half a megabyte each.
constexpr int64_t kSlice = int64_t{1} << 16;

/// Whether the row's functions work on each element alone. Softmax is an activation, too, along a dim.
bool is_elementwise(const Row& row) {
    const bool is_family = row.family == Family::elementwise || row.family == Family::activation;
    return is_family && row.find("dim") < 0 && row.law.output < 0;
}

}  // namespace

std::optional<SlicedCall> SlicedCall::create(const Call& call, const std::vector<OutputSpec>& outputs, int64_t least) {
    if (!is_elementwise(*call.row)) return std::nullopt;
    const Shape* shape = nullptr;
    bool is_plain = true;
    const auto look = [&](const Shape& each) {
        if (numel(each) == 1) return;
        is_plain = is_plain && (shape == nullptr || *shape == each);
        shape = &each;
    };
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read()) return;
        is_plain = is_plain && !place.arg.is_tensor_list() && !tensor->is_sparse() && tensor->is_contiguous();
        look(tensor->shape);
    });
    for (const OutputSpec& output : outputs) {
        is_plain = is_plain && !call.row->args()[output.arg].is_made && numel(output.spec.shape) != 1;
        look(output.spec.shape);
    }
    if (!is_plain || shape == nullptr || numel(*shape) <= least) return std::nullopt;
    return SlicedCall(call, outputs, *shape);
}

int64_t SlicedCall::slices() const { return (elements_ + kSlice - 1) / kSlice; }

int64_t SlicedCall::size(int64_t slice) const { return std::min(kSlice, elements_ - slice * kSlice); }

Call SlicedCall::call(int64_t slice) const {
    Call part = *call_;
    for_each_tensor(part, [&](const Place& place, TensorPtr& tensor) {
        if (!place.is_read()) return;
        const bool is_one = tensor->numel() == 1;
        if (is_one && tensor->rank() == 0) return;
        auto view = std::make_shared<Tensor>(*tensor);
        view->shape = {is_one ? 1 : size(slice)};
        view->strides = {1};
        if (!is_one) view->offset += slice * kSlice;
        tensor = std::move(view);
    });
    return part;
}

std::vector<OutputSpec> SlicedCall::outputs(int64_t slice) const {
    std::vector<OutputSpec> parts = *outputs_;
    for (OutputSpec& part : parts) {
        part.spec.shape = {size(slice)};
        part.spec.strides = {};
    }
    return parts;
}

Status SlicedCall::store(int64_t slice, const std::vector<ArgTensor>& results, std::vector<ArgTensor>& all) const {
    const bool is_first = all.empty();
    for (size_t i = 0; i < results.size(); ++i) {
        const Tensor& part = *results[i].tensor;
        if (is_first) {
            auto made = make_tensor(cpu_device(), {shape_, part.dtype, {}});
            if (!made.ok()) return made.status();
            all.push_back({results[i].arg, *made, results[i].position});
        }
        auto* to = all[i].tensor->data_as<std::byte>();
        std::memcpy(to + slice * kSlice * static_cast<int64_t>(size_of(part.dtype)), part.data(), part.nbytes());
    }
    return {};
}

}  // namespace diopi
