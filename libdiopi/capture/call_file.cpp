#include "capture/call_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "capture/capture_json.hpp"
#include "core/strided.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr size_t kSmallStorage = size_t{1} << 20;
constexpr size_t kMostSpread = 4096;

/// Whether a file with so few bytes of elements may request so much memory.
bool is_justified(size_t storage, size_t elements) {
    return storage <= kSmallStorage || storage / kMostSpread <= elements;
}

/// A capture of one call, and the sources of its tensors.
class OneCall {
 public:
    explicit OneCall(const Call& call) {
        CapturedCall& captured = capture_.calls.emplace_back();
        capture_.name = call.row->op;
        captured.overload = full_name(*call.row);
        captured.call = call;
        for_each_tensor(*captured.call,
                        [&](const Place& place, TensorPtr& tensor) { tensor = added(tensor, place.name()); });
    }
    [[nodiscard]] const Capture& capture() const { return capture_; }
    /// The tensors in the order of the capture's.
    [[nodiscard]] const std::vector<TensorPtr>& sources() const { return sources_; }

 private:
    TensorPtr added(const TensorPtr& source, const std::string& place) {
        const auto [known, is_new] = tensors_.try_emplace(source.get(), sources_.size());
        if (is_new) {
            const TensorSpec spec{source->shape, source->dtype, source->strides};
            capture_.add_tensor(place, storage_of(*source, place), spec, source->offset);
            // With the values the writer refuses what it cannot write.
            capture_.tensors.back().tensor->values = source->values;
            sources_.push_back(source);
        }
        return capture_.tensors[known->second].tensor;
    }

    size_t storage_of(const Tensor& tensor, const std::string& place) {
        const void* memory = tensor.storage.memory.get();
        const auto known = storages_.find(memory);
        const auto nbytes = static_cast<int64_t>(tensor.storage.nbytes);
        if (memory != nullptr && known != storages_.end()) {
            int64_t& shared = capture_.storages[known->second].nbytes;
            shared = std::max(shared, nbytes);
            return known->second;
        }
        storages_[memory] = capture_.storages.size();
        capture_.storages.push_back({place, nbytes, {}});
        return capture_.storages.size() - 1;
    }

    Capture capture_;
    std::vector<TensorPtr> sources_;
    std::map<const Tensor*, size_t> tensors_;
    std::map<const void*, size_t> storages_;
};

/// Reads the values of a capture's tensors and gives the storages memory.
class MemoryReader {
 public:
    MemoryReader(const Hdf5File& file, std::string group, Capture& capture)
        : file_(file), group_(std::move(group)), capture_(capture) {}

    Status read() {
        std::vector<std::vector<CapturedTensor*>> users(capture_.storages.size());
        for (CapturedTensor& tensor : capture_.tensors) users[tensor.storage].push_back(&tensor);
        for (size_t i = 0; i < users.size(); ++i) {
            if (Status s = fill(capture_.storages[i], users[i]); !s.ok()) return s;
        }
        return {};
    }

 private:
    Status fill(const CapturedStorage& storage, const std::vector<CapturedTensor*>& users) const {
        if (users.empty()) return {};
        const auto nbytes = static_cast<size_t>(storage.nbytes);
        size_t elements = 0;
        for (const CapturedTensor* user : users) elements += std::min(user->tensor->nbytes(), nbytes);
        if (!is_justified(nbytes, elements)) {
            return refused(storage.id, fmt::format("a storage of {} bytes for {} bytes of elements is not plausible",
                                                   nbytes, elements));
        }
        std::vector<TensorPtr> dense;
        size_t nbytes_read = 0;
        for (const CapturedTensor* user : users) {
            auto values = read_dense(*user);
            if (!values.ok()) return values.status();
            nbytes_read += (*values)->nbytes();
            dense.push_back(std::move(*values));
        }
        Tensor& first = *users.front()->tensor;
        if (users.size() == 1 && first.offset == 0 && first.is_contiguous() && first.nbytes() == nbytes) {
            first.storage = dense.front()->storage;
            return {};
        }
        auto memory = cpu_device().allocate(nbytes);
        if (!memory.ok()) return memory.status();
        if (nbytes > 0 && nbytes <= kSmallStorage + 16 * nbytes_read) std::memset(memory->get(), 0, nbytes);
        for (size_t i = 0; i < users.size(); ++i) {
            users[i]->tensor->storage.memory = *memory;
            copy_strided(*dense[i], *users[i]->tensor);
        }
        return {};
    }

    [[nodiscard]] Result<TensorPtr> read_dense(const CapturedTensor& captured) const {
        const Tensor& wanted = *captured.tensor;
        auto dense = file_.read_tensor(group_, captured.id);
        if (!dense.ok()) return dense;
        if ((*dense)->dtype == wanted.dtype && (*dense)->shape == wanted.shape) return dense;
        return refused(captured.id,
                       fmt::format("is stored as {} {}, not as {} {}", name((*dense)->dtype),
                                   to_string((*dense)->shape), name(wanted.dtype), to_string(wanted.shape)));
    }

    [[nodiscard]] Error refused(const std::string& id, const std::string& what) const {
        return bad_input(fmt::format("{}: {}/{}: {}", file_.path(), group_, id, what));
    }

    const Hdf5File& file_;
    std::string group_;
    Capture& capture_;
};

}  // namespace

Status write_call(Hdf5File& file, const std::string& group, const Call& call) {
    const OneCall one(call);
    const auto text = capture_to_json(one.capture());
    if (!text.ok()) return Error{text.error().code, fmt::format("{}: {}", call.row->function, text.error().message)};
    const std::string folder = group + "/tensors";
    if (Status s = file.create_group(folder); !s.ok()) return s;
    std::vector<size_t> elements(one.capture().storages.size());
    for (const CapturedTensor& tensor : one.capture().tensors) elements[tensor.storage] += tensor.tensor->nbytes();
    for (size_t i = 0; i < one.sources().size(); ++i) {
        const CapturedTensor& captured = one.capture().tensors[i];
        const Tensor& source = *one.sources()[i];
        if (!is_justified(source.storage.nbytes, elements[captured.storage])) {
            return failed(fmt::format("{} is a small part of a storage of {} bytes, which diopi does not write",
                                      captured.id, source.storage.nbytes));
        }
        if (Status s = file.write_tensor(folder, captured.id, source); !s.ok()) return s;
    }
    return file.write_attribute(group, "call", *text);
}

Result<StoredCall> read_call(const Hdf5File& file, const std::string& group) {
    const Result<std::string> text = file.read_string(group, "call");
    if (!text.ok()) return text.error();
    const std::string where = fmt::format("{}: attribute `call` of {}", file.path(), group);
    auto capture = capture_from_json(*text, where);
    if (!capture.ok()) return capture.error();
    if (capture->calls.size() != 1 || !capture->calls[0].call) {
        return bad_input(where + ": /calls: expected one call of a function");
    }
    if (Status s = MemoryReader(file, group + "/tensors", *capture).read(); !s.ok()) return s.error();
    return StoredCall{std::move(*capture->calls[0].call), std::move(capture->generators)};
}

}  // namespace diopi
