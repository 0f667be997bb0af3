#include "timing/eviction.hpp"

#include <cstring>

#include "runtime/stream_copies.hpp"

namespace diopi {

Eviction::Eviction(Context& context, int64_t cache_bytes)
    : context_(&context), bytes_(static_cast<size_t>(kCacheRounds * static_cast<double>(cache_bytes))) {}

Result<bool> Eviction::is_possible() {
    if (is_possible_) return *is_possible_;
    is_possible_ = true;
    if (context_->device->is_host()) return true;
    is_possible_ = dynamic_cast<StreamCopies*>(context_->device) != nullptr;
    if (!*is_possible_) return false;
    // The rest of a device may work without this copy.
    const Status s = copy_halves();
    is_possible_ = s.ok();
    if (!s.ok() && s.error().code != Errc::kNotImplemented) return s.error();
    return s.ok();
}

Status Eviction::operator()() {
    if (!context_->device->is_host()) return copy_halves();
    constexpr size_t kLine = 64;
    if (memory_ == nullptr) {
        auto memory = cpu_device().allocate(bytes_);
        if (!memory.ok()) return memory.status();
        memory_ = std::move(*memory);
        std::memset(memory_.get(), 0, bytes_);
    }
    auto* bytes = static_cast<unsigned char*>(memory_.get());
    for (size_t i = 0; i < bytes_; i += kLine) ++bytes[i];
    return {};
}

Status Eviction::copy_halves() {
    if (memory_ == nullptr) {
        auto memory = context_->device->allocate(bytes_);
        if (!memory.ok()) return memory.status();
        memory_ = std::move(*memory);
    }
    auto* bytes = static_cast<std::byte*>(memory_.get());
    const size_t half = bytes_ / 2;
    return dynamic_cast<StreamCopies&>(*context_->device).copy_on_device(context_->stream, bytes + half, bytes, half);
}

}  // namespace diopi
