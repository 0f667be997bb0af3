/// Faults that ignore strides, offsets, shapes and dtypes, or are in code for one kind of tensor.
#include <algorithm>
#include <csignal>
#include <cstring>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

constexpr int64_t kWide = int64_t{1} << 31;

int64_t elements_of_storage(const Tensor& tensor) {
    return static_cast<int64_t>(tensor.storage.nbytes / size_of(tensor.dtype));
}

/// A contiguous tensor on the same memory; the tensor itself if the memory is too small.
TensorPtr as_contiguous(const TensorPtr& tensor) {
    if (tensor->is_contiguous() || tensor->offset + tensor->numel() > elements_of_storage(*tensor)) return tensor;
    auto other = std::make_shared<Tensor>(*tensor);
    other->strides = contiguous_strides(tensor->shape);
    return other;
}

TensorPtr without_offset(const TensorPtr& tensor) {
    auto other = std::make_shared<Tensor>(*tensor);
    other->offset = 0;
    return other;
}

template <TensorPtr (*kChange)(const TensorPtr&)>
void misread_inputs(Scene& scene) {
    scene.run_instead(scene.with([](const TensorPtr& tensor, const Arg& arg) {
        return arg.is_output || arg.is_inout ? tensor : kChange(tensor);
    }));
}

template <TensorPtr (*kChange)(const TensorPtr&)>
void miswrite_results(Scene& scene) {
    const auto acts = [](const Scene::Result& result) {
        const TensorPtr other = kChange(result.tensor);
        return other->strides != result.tensor->strides || other->offset != result.tensor->offset;
    };
    if (std::ranges::none_of(scene.results(), acts)) return;
    scene.run_instead(scene.with([](const TensorPtr& tensor, const Arg& arg) {
        return arg.is_output || arg.is_inout ? kChange(tensor) : tensor;
    }));
}

// ---- dtypes and shapes ----

/// The dtype whose numbers are stored in the memory of another one.
Dtype packed_dtype(Dtype dtype) {
    switch (dtype) {
        case Dtype::float64:
            return Dtype::float32;
        case Dtype::float32:
            return Dtype::float16;
        case Dtype::float16:
            return Dtype::bfloat16;
        case Dtype::bfloat16:
            return Dtype::float16;
        case Dtype::int64:
            return Dtype::int32;
        case Dtype::int32:
            return Dtype::int16;
        default:
            return Dtype::unsupported;
    }
}

void wrong_representation(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->is_inout) return;
    const Tensor& tensor = *result->tensor;
    const Dtype other = packed_dtype(tensor.dtype);
    if (other == Dtype::unsupported) return;
    const TensorPtr bytes = dense_copy(*result->before);
    if (is_floating(other)) {
        Tensor packed = *bytes;
        packed.dtype = other;
        put_values(values_of(*result->right), packed);
    } else {
        const size_t size = size_of(other);
        for (int64_t i = 0; i < tensor.numel(); ++i) {
            std::memcpy(bytes->data_as<std::byte>() + static_cast<size_t>(i) * size, element(*result->right, i), size);
        }
    }
    put(*bytes, tensor);
}

void wrong_dtype(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->is_inout) return;
    Dtype& dtype = result->tensor->dtype;
    const bool same_size = size_of(dtype) == 4 || size_of(dtype) == 8;
    if (!same_size) return;
    dtype = size_of(dtype) == 4 ? (dtype == Dtype::int32 ? Dtype::float32 : Dtype::int32)
                                : (dtype == Dtype::int64 ? Dtype::float64 : Dtype::int64);
    scene.act();
}

void wrong_shape(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->is_inout || result->tensor->rank() < 2) return;
    Tensor& tensor = *result->tensor;
    const size_t last = tensor.shape.size() - 1;
    if (tensor.shape[last] == tensor.shape[last - 1]) return;
    std::swap(tensor.shape[last], tensor.shape[last - 1]);
    std::swap(tensor.strides[last], tensor.strides[last - 1]);
    scene.act();
}

// ---- wrong for one kind of tensor ----

bool is_channels_last(const Tensor& tensor) {
    if (tensor.rank() < 3 || tensor.is_contiguous()) return false;
    const size_t channels = tensor.shape.size() == 3 ? 0 : 1;
    const auto inner = [&](size_t d) { return d == channels || tensor.strides[d] >= tensor.strides[channels]; };
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
        if (!inner(d)) return false;
    }
    return tensor.shape[channels] > 1;
}

template <class Kind>
bool any_tensor(const Scene& scene, Kind kind) {
    return std::ranges::any_of(scene.tensors(), [&](const TensorPtr& tensor) { return kind(*tensor); });
}

template <class Kind>
void wrong_with(Scene& scene, Kind kind) {
    if (const auto* result = scene.first(); result != nullptr && any_tensor(scene, kind)) {
        alter(*result->tensor, result->tensor->numel() / 2);
    }
}

void wrong_noncontiguous(Scene& scene) {
    wrong_with(scene, [](const Tensor& t) { return t.numel() > 0 && !t.is_contiguous(); });
}

void wrong_zero_dim(Scene& scene) {
    wrong_with(scene, [](const Tensor& t) { return t.rank() == 0; });
}

void wrong_wide(Scene& scene) {
    wrong_with(scene, [](const Tensor& t) { return elements_of_storage(t) > kWide; });
}

void wrong_channels_last(Scene& scene) { wrong_with(scene, is_channels_last); }

void wrong_int32_index(Scene& scene) {
    const Call& call = scene.call();
    for (size_t i = 0; i < call.args.size(); ++i) {
        const auto* tensor = std::get_if<TensorPtr>(&call.args[i]);
        const bool index = call.row->args()[i].four_bytes && tensor != nullptr && *tensor != nullptr;
        if (!index || (*tensor)->dtype != Dtype::int32 || scene.first() == nullptr) continue;
        return alter(*scene.first()->tensor, scene.first()->tensor->numel() / 2);
    }
}

void crash_empty(Scene& scene) {
    if (any_tensor(scene, [](const Tensor& tensor) { return tensor.numel() == 0; })) std::raise(SIGSEGV);
}

bool has_index_in_four_bytes(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.four_bytes; });
}

bool may_come_channels_last(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.channels_last; });
}

bool takes_empty(const Row& row) { return row.traits.empty; }

constexpr Fault kLayoutFaults[] = {
    {"LI", "input_strides_ignored", "inputs are read as if they were contiguous", misread_inputs<as_contiguous>,
     has_right_values},
    {"LO", "output_strides_ignored", "results are written as if they were contiguous", miswrite_results<as_contiguous>},
    {"LF", "input_offset_ignored", "inputs are read from the start of their storage", misread_inputs<without_offset>,
     has_right_values},
    {"LG", "output_offset_ignored", "results are written to the start of their storage",
     miswrite_results<without_offset>},
    {"LR", "wrong_representation", "the bytes of an output are numbers of another dtype", wrong_representation,
     has_outputs},
    {"LD", "wrong_dtype", "an output has another dtype", wrong_dtype, has_outputs},
    {"LT", "wrong_shape", "an output has its last two dims swapped", wrong_shape, has_outputs},
    {"LN", "wrong_noncontiguous", "one element is wrong when a tensor is not contiguous", wrong_noncontiguous,
     has_right_values},
    {"LZ", "wrong_zero_dim", "one element is wrong when a tensor is 0-dim", wrong_zero_dim, has_right_values},
    {"LW", "wrong_wide", "one element is wrong when a tensor spans more than 2^31 elements", wrong_wide,
     has_right_values},
    {"LC", "wrong_channels_last", "one element is wrong when channels are innermost", wrong_channels_last,
     may_come_channels_last},
    {"L4", "wrong_int32_index", "one element is wrong when indices have 4 bytes", wrong_int32_index,
     has_index_in_four_bytes},
    {"LE", "crash_empty", "SIGSEGV when a tensor is empty", crash_empty, takes_empty, Ending::kDies},
};

}  // namespace

std::span<const Fault> layout_faults() { return kLayoutFaults; }

}  // namespace diopi::mutation
