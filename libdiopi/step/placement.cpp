#include "step/placement.hpp"

#include <cstring>

#include "core/strided.hpp"

namespace diopi {

namespace {

/// Bytes of the patterns: NaN and 48.6 in float32, odd numbers in integers, true and false.
struct PatternRow {
    int floating, integer, boolean;
};
constexpr PatternRow kPatterns[] = {{0xff, 0xa5, 0x01}, {0x42, 0x5a, 0x00}};

/// The parts of a CSR tensor with their names in the C ABI.
struct CsrPart {
    TensorPtr Tensor::*tensor;
    const char* name;
};
constexpr CsrPart kCsrParts[] = {
    {&Tensor::crow_indices, "crow_indices"}, {&Tensor::col_indices, "col_indices"}, {&Tensor::values, "values"}};

/// Bytes of negative numbers, between the elements of a tensor that is changed in place: many functions would change
/// those, too, and few a NaN.
int negative_byte(Dtype dtype) { return dtype == Dtype::boolean ? 1 : 0xc2; }

/// Fills the whole storage, or only the elements of a spread tensor.
void poison_storage(const Tensor& tensor, int byte) {
    auto* storage = static_cast<std::byte*>(tensor.storage.memory.get());
    if (!is_spread(tensor)) {
        std::memset(storage, byte, tensor.storage.nbytes);
        return;
    }
    const auto size = static_cast<int64_t>(size_of(tensor.dtype));
    for_each_offset(tensor.shape, tensor.strides, [&](int64_t offset) {
        std::memset(storage + (tensor.offset + offset) * size, byte, static_cast<size_t>(size));
    });
}

}  // namespace

int poison_byte(Dtype dtype, Poison poison) {
    const PatternRow& row = kPatterns[static_cast<size_t>(poison)];
    if (dtype == Dtype::boolean) return row.boolean;
    return is_floating(dtype) || is_complex(dtype) ? row.floating : row.integer;
}

PoisonedWorkspace::PoisonedWorkspace(Context& context, Poison poison) : context_(&context) {
    context.fresh = static_cast<std::byte>(poison_byte(Dtype::float32, poison));
}

bool is_spread(const Tensor& tensor) { return tensor.storage.nbytes > 16 * tensor.nbytes() + (1 << 20); }

bool has_gaps(const Tensor& tensor) { return tensor.storage.nbytes != tensor.nbytes() && !is_spread(tensor); }

void Placement::name_memory(const Tensor& tensor, const std::string& name) {
    if (guards_ != nullptr) guards_->name_block(tensor.storage.memory.get(), name);
}

Result<TensorPtr> Placement::made(const TensorSpec& spec, const Place& place) const {
    Device& device = *context_->device;
    if (!layout_) return make_tensor(device, spec);
    const Layout layout = layout_(place, spec);
    return make_view(device, {layout.shape(spec.shape), spec.dtype, layout.strides}, layout.offset, layout.extent);
}

Status Placement::send(const Tensor& staged, const Tensor& tensor) {
    Device& device = *context_->device;
    Status s = device.copy_to_device(context_->stream, tensor.storage.memory.get(), staged.storage.memory.get(),
                                     tensor.storage.nbytes);
    return s.ok() ? device.synchronize(context_->stream) : s;
}

Status Placement::add_to(Checksum& checksum, const Tensor& tensor) {
    if (tensor.is_sparse()) {
        for (const CsrPart& part : kCsrParts) {
            if (Status s = add_to(checksum, *(tensor.*part.tensor)); !s.ok()) return s;
        }
        return {};
    }
    TensorPtr elements;
    std::shared_ptr<void> memory = tensor.storage.memory;
    size_t nbytes = tensor.storage.nbytes;
    Device& device = *context_->device;
    if (is_spread(tensor)) {
        auto dense = to_host(device, context_->stream, tensor);
        if (!dense.ok()) return dense.status();
        elements = *dense;
        memory = elements->storage.memory;
        nbytes = elements->storage.nbytes;
    } else if (tensor.storage.device != diopi_host && nbytes > 0) {
        auto staged = cpu_device().allocate(nbytes);
        if (!staged.ok()) return staged.status();
        Status s = device.copy_to_host(context_->stream, staged->get(), memory.get(), nbytes);
        if (s.ok()) s = device.synchronize(context_->stream);
        if (!s.ok()) return s;
        memory = std::move(*staged);
    }
    checksum.update(memory.get(), nbytes);
    return {};
}

Result<uint64_t> Placement::checksum_of(const Tensor& tensor) {
    Checksum checksum;
    if (Status s = add_to(checksum, tensor); !s.ok()) return s.error();
    return checksum.value();
}

bool Placement::may_share() const {
    const bool are_safe = guards_ == nullptr || watch_inputs_;
    return sharing_ == Inputs::kShared && are_safe && !layout_ && context_->device->is_host();
}

Device& Placement::input_memory() const { return may_share() ? *context_->device : cpu_device(); }

Result<TensorPtr> Placement::input(const TensorPtr& host, const Place& place) {
    if (host == nullptr) return host;
    const auto [known, is_new] = inputs_.try_emplace(host.get());
    Input& input = known->second;
    if (!is_new) return input.placed;
    input = {host, host, place.name(), 0};
    const bool is_guarded = guards_ == nullptr || guards_->has_block(host->storage.memory.get());
    if (may_share() && is_guarded) {
        name_memory(*host, input.name);
    } else {
        auto copy = inout(*host, place);
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

Result<TensorPtr> Placement::copy_of(const Tensor& host, const std::string& name) {
    auto copy = to_device(*context_->device, context_->stream, host);
    if (copy.ok()) name_memory(**copy, name);
    return copy;
}

Result<TensorPtr> Placement::copy_of_csr(const Tensor& host, const Place& place) {
    auto copy = std::make_shared<Tensor>(host);
    copy->storage.device = context_->device->is_host() ? diopi_host : diopi_device;
    for (const CsrPart& part : kCsrParts) {
        auto placed = copy_of(*(host.*part.tensor), place.name() + "." + part.name);
        if (!placed.ok()) return placed;
        (*copy).*part.tensor = std::move(*placed);
    }
    return copy;
}

Result<TensorPtr> Placement::inout(const Tensor& host, const Place& place) {
    if (host.is_sparse()) return copy_of_csr(host, place);
    const bool is_written = place.arg.is_inout;
    if (!layout_ && !(is_written && has_gaps(host))) return copy_of(host, place.name());
    const bool is_host = context_->device->is_host();
    auto copy = made({host.shape, host.dtype, host.strides}, place);
    if (!copy.ok()) return copy;
    name_memory(**copy, place.name());
    auto staged = is_host ? copy : staging_for(**copy);
    if (!staged.ok()) return staged;
    const Storage& storage = (*staged)->storage;
    if (storage.nbytes > 0 && !is_spread(**staged)) {
        const int byte = is_written ? negative_byte(host.dtype) : poison_byte(host.dtype, Poison::kFirst);
        std::memset(storage.memory.get(), byte, storage.nbytes);
    }
    copy_strided(host, **staged);
    if (is_host) return copy;
    if (Status s = send(**staged, **copy); !s.ok()) return s.error();
    return copy;
}

Result<TensorPtr> Placement::output(const TensorSpec& spec, const Place& place, Poison poison) {
    const bool is_host = context_->device->is_host();
    auto output = made(spec, place);
    if (!output.ok() || (*output)->storage.nbytes == 0) return output;
    name_memory(**output, place.name());
    auto staged = is_host ? output : staging_for(**output);
    if (!staged.ok()) return staged;
    poison_storage(**staged, poison_byte(spec.dtype, poison));
    if (is_host) return output;
    if (Status s = send(**staged, **output); !s.ok()) return s.error();
    return output;
}

Failure Placement::check_input(const TensorPtr& host) {
    const auto found = inputs_.find(host.get());
    if (!watch_inputs_ || found == inputs_.end()) return {};
    auto now = checksum_of(*found->second.placed);
    if (!now.ok()) return failure_of(now.error());
    found->second.is_checked = true;
    if (*now == found->second.checksum) return {};
    const std::string name = found->second.name;
    has_lost_inputs_ = has_lost_inputs_ || found->second.placed == host;
    inputs_.erase(found);
    return {FailureKind::kInputModified, "input " + name + " was modified"};
}

void Placement::note_call() {
    for (auto& [host, input] : inputs_) input.is_checked = false;
}

Failure Placement::find_lost_inputs() {
    std::vector<TensorPtr> unchecked;
    for (const auto& [host, input] : inputs_) {
        if (input.placed == input.host && !input.is_checked) unchecked.push_back(input.host);
    }
    Failure first;
    for (const TensorPtr& host : unchecked) {
        Failure failure = check_input(host);
        if (first.ok()) first = std::move(failure);
    }
    return first;
}

void Placement::release_inputs() {
    for (const auto& [host, input] : inputs_) {
        if (input.placed == input.host) name_memory(*input.host, input.name + " of another step");
    }
    inputs_.clear();
}

void Placement::set_read_only(bool is_read_only) {
    if (guards_ == nullptr) return;
    for (const auto& [host, input] : inputs_) {
        if (input.placed != nullptr && !input.placed->is_sparse()) {
            guards_->set_read_only(input.placed->storage.memory.get(), is_read_only);
        }
    }
}

Result<std::vector<std::string>> Placement::damage() {
    if (guards_ == nullptr) return std::vector<std::string>{};
    return guards_->damage(context_->stream);
}

Failure Placement::check_guards() {
    const auto found = damage();
    if (!found.ok()) return failure_of(found.error());
    return found->empty() ? Failure() : Failure{FailureKind::kStrayWrite, found->front()};
}

}  // namespace diopi
