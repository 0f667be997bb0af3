#include "kernels/cpu/patch.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/read_ahead.hpp"

namespace diopi::cpu {

namespace {

struct Wide {
    uint64_t words[2];
};

/// Rows of a stride that the compiler knows, so that it makes vectors.
template <class T, int64_t kStride>
void gather_rows(const Patch& from, const T* a, T* o) {
    for (int64_t r = 0; r < from.rows; ++r) {
        for (int64_t i = 0; i < from.n; ++i) o[r * from.n + i] = a[r * from.row_stride + i * kStride];
    }
}

/// Rows of kN elements, each of which has the next row's as its neighbour: columns that are interleaved.
template <class T, int64_t kN>
void interleave(const Patch& from, const T* a, T* o) {
    for (int64_t r = 0; r < from.rows; ++r) {
        for (int64_t i = 0; i < kN; ++i) o[r * kN + i] = a[r + i * from.stride];
    }
}

template <class T>
void gather(const Patch& from, std::byte* to) {
    const T* a = reinterpret_cast<const T*>(from.data);
    T* o = reinterpret_cast<T*>(to);
    if (from.row_stride == 1 && from.n == 2) {
        interleave<T, 2>(from, a, o);
    } else if (from.row_stride == 1 && from.n == 3) {
        interleave<T, 3>(from, a, o);
    } else if (from.row_stride == 1 && from.n == 4) {
        interleave<T, 4>(from, a, o);
    } else if (from.stride == 1) {
        for (int64_t r = 0; r < from.rows; ++r) std::copy_n(a + r * from.row_stride, from.n, o + r * from.n);
    } else if (from.stride == 0) {
        for (int64_t r = 0; r < from.rows; ++r) std::fill_n(o + r * from.n, from.n, a[r * from.row_stride]);
    } else if (from.stride == -1) {
        gather_rows<T, -1>(from, a, o);
    } else if (from.stride == 2) {
        gather_rows<T, 2>(from, a, o);
    } else if (from.rows > 1 && std::abs(from.row_stride) < std::abs(from.stride)) {
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
    const int64_t n = to.n, stride = to.stride;  // a store might change those of the patch
    for (int64_t r = 0; r < to.rows; ++r, a += n, o += to.row_stride) {
        if (stride == 1) {
            std::copy_n(a, n, o);
        } else {
            for (int64_t i = 0; i < n; ++i) o[i * stride] = a[i];
        }
    }
}

/// Index of an element width (1, 2, 4, 8, 16 bytes) in the tables.
size_t width_index(uint64_t width) { return static_cast<size_t>(__builtin_ctzll(width)); }
const Gather kGather[] = {best<gather<uint8_t>>(), best<gather<uint16_t>>(), best<gather<uint32_t>>(),
                          best<gather<uint64_t>>(), best<gather<Wide>>()};
constexpr Scatter kScatter[] = {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>,
                                scatter<Wide>};

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kVector = HWY_LANES(uint8_t);

/// Writes past the caches; both addresses are aligned.
HWY_ATTR void stream_out(const std::byte* from, std::byte* to, int64_t bytes) {
    const hn::ScalableTag<uint8_t> d;
    int64_t i = 0;
    for (; i + kVector <= bytes; i += kVector) {
        hn::Stream(hn::Load(d, reinterpret_cast<const uint8_t*>(from + i)), d, reinterpret_cast<uint8_t*>(to + i));
    }
    std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

template <class T>
void fill_with(const std::byte* element, std::byte* to, int64_t count) {
    T value;
    std::memcpy(&value, element, sizeof(value));
    std::fill_n(reinterpret_cast<T*>(to), count, value);
}

using Fill = void (*)(const std::byte* element, std::byte* to, int64_t count);
const Fill kFill[] = {best<fill_with<uint8_t>>(), best<fill_with<uint16_t>>(), best<fill_with<uint32_t>>(),
                      best<fill_with<uint64_t>>(), best<fill_with<Wide>>()};

}  // namespace

void fill_run(const std::byte* element, int64_t item_size, std::byte* to, int64_t count, bool stream) {
    constexpr int64_t kBlock = 4096;
    const Fill fill = kFill[width_index(static_cast<uint64_t>(item_size))];
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
    if (!stream || past % item_size != 0) return fill(element, to, count);
    // The first elements up to a cache line, then blocks of equal elements.
    alignas(kLine) std::byte block[kBlock];
    const int64_t first = past == 0 ? 0 : std::min(count, (kLine - past) / item_size);
    fill(element, to, first);
    fill(element, block, kBlock / item_size);
    const int64_t bytes = count * item_size;
    for (int64_t i = first * item_size; i < bytes; i += kBlock) stream_out(block, to + i, std::min(kBlock, bytes - i));
    hwy::FlushStream();
}

void Loader::init(Dtype dtype, Dtype compute, Buffers& buffers) {
    gather_ = kGather[width_index(size_of(dtype))];
    item_size_ = static_cast<int64_t>(size_of(dtype));
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
        // While one operand is converted, the processor stops reading ahead in the others.
        if (direct) read_soon(raw + patch.count() * item_size_, patch.count() * item_size_);
        convert_(raw, buffers_->tile, patch.count());
        ready_ = buffers_->tile;
    }
    return ready_;
}

bool Loader::load_into(const Patch& patch, void* to) {
    if (convert_ != nullptr || patch.contiguous() || patch.stride == 0) return false;
    gather_(patch, static_cast<std::byte*>(to));
    return true;
}

void Storer::init(Dtype dtype, Dtype compute, Buffers& buffers) {
    scatter_ = kScatter[width_index(size_of(dtype))];
    convert_ = dtype == compute ? nullptr : converter(compute, dtype);
    item_size_ = static_cast<int64_t>(size_of(dtype));
    buffers_ = &buffers;
}

void Storer::store(const void* result, const Patch& patch) {
    if (result == patch.data) return;
    const bool contiguous = patch.contiguous();
    const auto* bytes = static_cast<const std::byte*>(result);
    if (convert_ != nullptr) {
        std::byte* converted = contiguous ? patch.data : buffers_->raw;
        convert_(result, converted, patch.count());
        if (converted == patch.data) return;
        bytes = converted;
    }
    if (!contiguous) {
        scatter_(bytes, patch);
    } else {
        std::memcpy(patch.data, bytes, static_cast<size_t>(patch.count() * item_size_));
    }
}

}  // namespace diopi::cpu
