#include "store/call_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "core/strided.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr size_t kSmallStorage = size_t{1} << 20;
constexpr size_t kMostSpread = 4096;

/// Whether a file may ask for so much memory for so few elements.
bool is_justified(size_t storage, ShapeView shape, Dtype dtype) {
    return storage <= kSmallStorage || storage / kMostSpread <= static_cast<size_t>(numel(shape)) * size_of(dtype);
}

Result<TensorPtr> laid_out(const TensorPtr& dense, const TensorReference& reference) {
    auto view = make_view(cpu_device(), reference.spec, reference.offset, reference.extent);
    if (!view.ok()) return view;
    const Storage& storage = (*view)->storage;
    if (storage.nbytes <= kSmallStorage + 16 * dense->nbytes() && storage.nbytes > 0) {
        std::memset(storage.memory.get(), 0, storage.nbytes);
    }
    copy_strided(*dense, **view);
    return view;
}

/// The tensors of one group; each is read once.
class TensorReader {
 public:
    TensorReader(const Hdf5File& file, std::string group) : file_(file), group_(std::move(group)) {}

    Result<TensorPtr> find(const TensorReference& reference) {
        const auto [known, is_new] = tensors_.try_emplace(reference.tensor);
        if (!is_new) {
            if (known->second.reference == reference) return known->second.tensor;
            return bad_input(
                fmt::format("tensor '{}' stands here and elsewhere with different layouts", reference.tensor));
        }
        auto tensor = read(reference);
        if (tensor.ok()) known->second = {reference, *tensor};
        return tensor;
    }

 private:
    struct Known {
        TensorReference reference;
        TensorPtr tensor;
    };

    Result<TensorPtr> read(const TensorReference& reference) const {
        const TensorSpec& spec = reference.spec;
        const size_t storage = static_cast<size_t>(reference.extent) * size_of(spec.dtype);
        if (!is_justified(storage, spec.shape, spec.dtype)) {
            return bad_input(fmt::format("tensor '{}' of shape {} in a storage of {} elements is not believed",
                                         reference.tensor, to_string(reference.spec.shape), reference.extent));
        }
        auto dense = file_.read_tensor(group_, reference.tensor);
        if (!dense.ok()) return dense;
        if ((*dense)->dtype != reference.spec.dtype || (*dense)->shape != reference.spec.shape) {
            return bad_input(fmt::format("tensor '{}' is stored as {} {}, not as {} {}", reference.tensor,
                                         name((*dense)->dtype), to_string((*dense)->shape), name(reference.spec.dtype),
                                         to_string(reference.spec.shape)));
        }
        return reference.is_dense() ? dense : laid_out(*dense, reference);
    }

    const Hdf5File& file_;
    std::string group_;
    std::map<std::string, Known> tensors_;
};

}  // namespace

Status write_call(Hdf5File& file, const std::string& group, const Call& call) {
    const std::string folder = group + "/tensors";
    if (Status s = file.create_group(folder); !s.ok()) return s;
    Status written;
    std::map<const Tensor*, std::string> names;
    const auto name_of = [&](const Tensor& tensor, const std::string& place) {
        const auto [known, is_new] = names.try_emplace(&tensor, place);
        if (!is_new || !written.ok()) return known->second;
        if (is_justified(tensor.storage.nbytes, tensor.shape, tensor.dtype)) {
            written = file.write_tensor(folder, place, tensor);
        } else {
            written = failed(fmt::format("{} is a small part of a storage of {} bytes, which no file of ours keeps",
                                         place, tensor.storage.nbytes));
        }
        return known->second;
    };
    auto text = call_to_json(call, name_of);
    if (!text.ok()) return text.status();
    return written.ok() ? file.write_attribute(group, "call", *text) : written;
}

Result<StoredCall> read_call(const Hdf5File& file, const std::string& group) {
    const Result<std::string> text = file.read_string(group, "call");
    if (!text.ok()) return text.error();
    TensorReader reader(file, group + "/tensors");
    return call_from_json(*text, fmt::format("{}: attribute `call` of {}", file.path(), group),
                          [&](const TensorReference& reference) { return reader.find(reference); });
}

}  // namespace diopi
