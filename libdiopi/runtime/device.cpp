#include "runtime/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/strided.hpp"

namespace diopi {

Result<TensorPtr> make_tensor(Device& device, const TensorSpec& spec) {
    const std::optional<int64_t> count = checked_numel(spec.shape);
    if (!count) return bad_input("a tensor of shape " + to_string(spec.shape) + " has no valid number of elements");
    const Shape strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
    return make_view(device, spec, 0, storage_extent(spec.shape, strides));
}

Result<TensorPtr> make_view(Device& device, const TensorSpec& spec, int64_t offset, int64_t extent) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = spec.shape;
    tensor->strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
    tensor->dtype = spec.dtype;
    tensor->offset = offset;
    size_t nbytes = 0;
    if (__builtin_mul_overflow(static_cast<size_t>(extent), size_of(spec.dtype), &nbytes)) {
        return bad_input("a tensor of shape " + to_string(spec.shape) + " is larger than the address space");
    }
    auto memory = device.allocate(nbytes);
    if (!memory.ok()) return memory.error();
    tensor->storage = {std::move(*memory), nbytes, device.is_host() ? diopi_host : diopi_device};
    return tensor;
}

Result<TensorPtr> staging_for(const Tensor& tensor) {
    auto memory = cpu_device().allocate(tensor.storage.nbytes);
    if (!memory.ok()) return memory.error();
    auto staged = std::make_shared<Tensor>(tensor);
    staged->storage = {std::move(*memory), tensor.storage.nbytes, diopi_host};
    return staged;
}

Result<TensorPtr> to_host(Device& device, diopiStreamHandle_t stream, const Tensor& tensor) {
    auto out = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!out.ok() || tensor.numel() == 0) return out;
    if (device.is_host() || tensor.storage.device == diopi_host) {
        copy_strided(tensor, **out);
        return out;
    }
    // A tensor without gaps is copied as its elements alone, another one with the bytes between them.
    const bool dense = tensor.is_contiguous();
    auto staged = dense ? out : staging_for(tensor);
    if (!staged.ok()) return staged;
    const void* source = dense ? tensor.data() : tensor.storage.memory.get();
    Status s = device.copy_to_host(stream, (*staged)->storage.memory.get(), source, (*staged)->storage.nbytes);
    if (s.ok()) s = device.synchronize(stream);
    if (!s.ok()) return s.error();
    if (!dense) copy_strided(**staged, **out);
    return out;
}

Result<TensorPtr> to_device(Device& device, diopiStreamHandle_t stream, const Tensor& host) {
    auto out = make_tensor(device, {host.shape, host.dtype, host.strides});
    if (!out.ok()) return out;
    const size_t nbytes = (*out)->storage.nbytes;
    if (nbytes == 0) return out;
    const auto* source = static_cast<const std::byte*>(host.storage.memory.get()) +
                         host.offset * static_cast<int64_t>(size_of(host.dtype));
    if (Status s = device.copy_to_device(stream, (*out)->storage.memory.get(), source, nbytes); !s.ok()) {
        return s.error();
    }
    return out;
}

Status copy_values(Device& device, diopiStreamHandle_t stream, const Tensor& host, const Tensor& to) {
    if (to.numel() == 0) return {};
    if (device.is_host()) {
        copy_strided(host, to);
        return {};
    }
    Status s;
    if (to.is_contiguous() && host.is_contiguous()) {
        s = device.copy_to_device(stream, to.data(), host.data(), to.nbytes());
        return s.ok() ? device.synchronize(stream) : s;
    }
    const auto staged = staging_for(to);
    if (!staged.ok()) return staged.status();
    void* storage = to.storage.memory.get();
    s = device.copy_to_host(stream, (*staged)->storage.memory.get(), storage, to.storage.nbytes);
    if (s.ok()) s = device.synchronize(stream);
    if (!s.ok()) return s;
    copy_strided(host, **staged);
    s = device.copy_to_device(stream, storage, (*staged)->storage.memory.get(), to.storage.nbytes);
    return s.ok() ? device.synchronize(stream) : s;
}

Status write_now(Device& device, void* dst, const void* src, size_t nbytes) {
    if (device.is_host()) {
        std::memcpy(dst, src, nbytes);
        return {};
    }
    const Status s = device.copy_to_device(nullptr, dst, src, nbytes);
    return s.ok() ? device.synchronize(nullptr) : s;
}

Status fill_now(Device& device, const Tensor& tensor, std::byte byte) {
    auto* storage = static_cast<std::byte*>(tensor.storage.memory.get());
    const size_t nbytes = tensor.storage.nbytes;
    if (device.is_host()) {
        if (nbytes > 0) std::memset(storage, std::to_integer<int>(byte), nbytes);
        return {};
    }
    const std::vector<std::byte> piece(std::min(nbytes, size_t{1} << 20), byte);
    for (size_t at = 0; at < nbytes; at += piece.size()) {
        const Status s = write_now(device, storage + at, piece.data(), std::min(piece.size(), nbytes - at));
        if (!s.ok()) return s;
    }
    return {};
}

Status check_health(Device& device) {
    std::array<unsigned char, 64> sent, received = {};
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(0xa5 ^ i);
    auto stream = device.create_stream();
    if (!stream.ok()) return stream.status();
    auto memory = device.allocate(sent.size());
    Status status = memory.status();
    if (status.ok()) status = device.copy_to_device(*stream, memory->get(), sent.data(), sent.size());
    if (status.ok()) status = device.copy_to_host(*stream, received.data(), memory->get(), received.size());
    if (status.ok()) status = device.synchronize(*stream);
    if (Status s = device.destroy_stream(*stream); status.ok()) status = s;
    if (!status.ok() || sent == received) return status;
    return failed(std::string(device.name()) + " gives back other bytes than were copied to it");
}

}  // namespace diopi
