#include "run/placement.hpp"

#include <cstring>

#include "store/checksum.hpp"

namespace diopi {

namespace {

/// Bytes of the patterns: NaN and 48.6 in float32, odd numbers in integers, true and false.
struct PatternRow {
    int floating, integer, boolean;
};
constexpr PatternRow kPatterns[] = {{0xff, 0xa5, 0x01}, {0x42, 0x5a, 0x00}};

}  // namespace

int poison_byte(Dtype dtype, Poison poison) {
    const PatternRow& row = kPatterns[static_cast<size_t>(poison)];
    if (dtype == Dtype::boolean) return row.boolean;
    return is_floating(dtype) || is_complex(dtype) ? row.floating : row.integer;
}

void Placement::name_memory(const Tensor& tensor, std::string name) {
    if (guards_ != nullptr) guards_->name_block(tensor.storage.memory.get(), std::move(name));
}

Result<uint64_t> Placement::checksum_of(const Tensor& tensor) {
    std::shared_ptr<void> memory = tensor.storage.memory;
    if (tensor.storage.device != diopi_host && tensor.storage.nbytes > 0) {
        auto staged = cpu_device().allocate(tensor.storage.nbytes);
        if (!staged.ok()) return staged.error();
        Device& device = *context_->device;
        Status s = device.copy_to_host(context_->stream, staged->get(), memory.get(), tensor.storage.nbytes);
        if (s.ok()) s = device.synchronize(context_->stream);
        if (!s.ok()) return s.error();
        memory = std::move(*staged);
    }
    Checksum checksum;
    checksum.update(memory.get(), tensor.storage.nbytes);
    return checksum.value();
}

Result<TensorPtr> Placement::input(const TensorPtr& host, const std::string& name) {
    if (host == nullptr) return host;
    const auto [known, is_new] = inputs_.try_emplace(host.get());
    Input& input = known->second;
    if (!is_new) return input.placed;
    input = {host, host, name, 0};
    if (guards_ != nullptr || !context_->device->is_host()) {
        auto copy = inout(*host, name);
        if (!copy.ok()) {
            inputs_.erase(known);
            return copy;
        }
        input.placed = std::move(*copy);
    }
    if (watch_inputs_) {
        auto checksum = checksum_of(*input.placed);
        if (!checksum.ok()) return checksum.error();
        input.checksum = *checksum;
    }
    return input.placed;
}

Result<TensorPtr> Placement::inout(const Tensor& host, const std::string& name) {
    auto copy = to_device(*context_->device, context_->stream, host);
    if (copy.ok()) name_memory(**copy, name);
    return copy;
}

Result<TensorPtr> Placement::output(const TensorSpec& spec, const std::string& name, Poison poison) {
    Device& device = *context_->device;
    auto made = make_tensor(device, spec);
    if (!made.ok()) return made;
    const Storage& storage = (*made)->storage;
    if (storage.nbytes == 0) return made;
    name_memory(**made, name);
    const int pattern = poison_byte(spec.dtype, poison);
    if (device.is_host()) {
        std::memset(storage.memory.get(), pattern, storage.nbytes);
        return made;
    }
    auto staged = cpu_device().allocate(storage.nbytes);
    if (!staged.ok()) return staged.error();
    std::memset(staged->get(), pattern, storage.nbytes);
    Status s = device.copy_to_device(context_->stream, storage.memory.get(), staged->get(), storage.nbytes);
    // The staging memory is gone when this returns.
    if (s.ok()) s = device.synchronize(context_->stream);
    if (!s.ok()) return s.error();
    return made;
}

Status Placement::unchanged(const TensorPtr& host) {
    const auto found = inputs_.find(host.get());
    if (!watch_inputs_ || found == inputs_.end()) return {};
    auto now = checksum_of(*found->second.placed);
    if (!now.ok()) return now.status();
    if (*now == found->second.checksum) return {};
    const std::string name = found->second.name;
    inputs_.erase(found);
    return failed("input " + name + " was modified");
}

Result<std::vector<std::string>> Placement::damage() {
    if (guards_ == nullptr) return std::vector<std::string>{};
    return guards_->damage(context_->stream);
}

}  // namespace diopi
