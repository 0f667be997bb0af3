#include "kernels/cpu/patch.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace diopi::cpu {

namespace {

struct Wide {
    uint64_t words[2];
};

template <class T>
void gather(const Patch& from, std::byte* to) {
    const T* a = reinterpret_cast<const T*>(from.data);
    T* o = reinterpret_cast<T*>(to);
    if (from.stride == 1) {
        for (int64_t r = 0; r < from.rows; ++r) std::copy_n(a + r * from.row_stride, from.n, o + r * from.n);
    } else if (from.stride == 0) {
        for (int64_t r = 0; r < from.rows; ++r) std::fill_n(o + r * from.n, from.n, a[r * from.row_stride]);
    } else if (from.stride == -1) {
        for (int64_t r = 0; r < from.rows; ++r) {
            for (int64_t i = 0; i < from.n; ++i) o[r * from.n + i] = a[r * from.row_stride - i];
        }
    } else if (std::abs(from.row_stride) < std::abs(from.stride)) {
        // The loop runs along the shorter stride, so that each cache line is read once.
        const int64_t span = (from.rows - 1) * from.row_stride;
        for (int64_t i = 0; i < from.n; ++i) {
            const T* next = a + (i + from.n) * from.stride;
            hwy::Prefetch(next);
            hwy::Prefetch(next + span);
            for (int64_t r = 0; r < from.rows; ++r) o[r * from.n + i] = a[r * from.row_stride + i * from.stride];
        }
    } else {
        for (int64_t r = 0; r < from.rows; ++r) {
            for (int64_t i = 0; i < from.n; ++i) o[r * from.n + i] = a[r * from.row_stride + i * from.stride];
        }
    }
}

template <class T>
void scatter(const std::byte* from, const Patch& to) {
    const T* a = reinterpret_cast<const T*>(from);
    T* o = reinterpret_cast<T*>(to.data);
    for (int64_t r = 0; r < to.rows; ++r) {
        if (to.stride == 1) {
            std::copy_n(a + r * to.n, to.n, o + r * to.row_stride);
        } else {
            for (int64_t i = 0; i < to.n; ++i) o[r * to.row_stride + i * to.stride] = a[r * to.n + i];
        }
    }
}

/// Index of an element width (1, 2, 4, 8, 16 bytes) in the tables.
size_t width_index(Dtype dtype) { return static_cast<size_t>(__builtin_ctzll(size_of(dtype))); }
constexpr Gather kGather[] = {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>, gather<Wide>};
constexpr Scatter kScatter[] = {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>,
                                scatter<Wide>};

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kVector = HWY_LANES(uint8_t);

bool is_aligned(const std::byte* p) { return reinterpret_cast<uintptr_t>(p) % kVector == 0; }

/// Writes past the caches; both addresses are aligned.
HWY_ATTR void stream_out(const std::byte* from, std::byte* to, int64_t bytes) {
    const hn::ScalableTag<uint8_t> d;
    int64_t i = 0;
    for (; i + kVector <= bytes; i += kVector) {
        hn::Stream(hn::Load(d, reinterpret_cast<const uint8_t*>(from + i)), d, reinterpret_cast<uint8_t*>(to + i));
    }
    std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

}  // namespace

void Loader::init(Dtype dtype, Dtype compute, Buffers& buffers) {
    gather_ = kGather[width_index(dtype)];
    convert_ = dtype == compute ? nullptr : converter(dtype, compute);
    buffers_ = &buffers;
}

const void* Loader::load(const Patch& patch) {
    const bool direct = patch.contiguous();
    if (direct && convert_ == nullptr) return patch.data;
    // A broadcast operand stays the same while the others advance.
    if (patch == last_) return ready_;
    last_ = patch;
    const std::byte* raw = patch.data;
    if (!direct) {
        gather_(patch, buffers_->raw);
        raw = buffers_->raw;
    }
    ready_ = raw;
    if (convert_ != nullptr) {
        convert_(raw, buffers_->tile, patch.count());
        ready_ = buffers_->tile;
    }
    return ready_;
}

void Storer::init(Dtype dtype, Dtype compute, bool stream, Buffers& buffers) {
    scatter_ = kScatter[width_index(dtype)];
    convert_ = dtype == compute ? nullptr : converter(compute, dtype);
    item_size_ = static_cast<int64_t>(size_of(dtype));
    stream_ = stream;
    buffers_ = &buffers;
}

void Storer::store(const void* result, const Patch& patch) {
    if (result == patch.data) return;
    const bool contiguous = patch.contiguous();
    const auto* bytes = static_cast<const std::byte*>(result);
    if (convert_ != nullptr) {
        std::byte* converted = contiguous && !stream_ ? patch.data : buffers_->raw;
        convert_(result, converted, patch.count());
        if (converted == patch.data) return;
        bytes = converted;
    }
    if (!contiguous) {
        scatter_(bytes, patch);
    } else if (stream_ && is_aligned(bytes) && is_aligned(patch.data)) {
        stream_out(bytes, patch.data, patch.count() * item_size_);
    } else {
        std::memcpy(patch.data, bytes, static_cast<size_t>(patch.count() * item_size_));
    }
}

}  // namespace diopi::cpu
