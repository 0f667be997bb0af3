/// Input and output of the tile engine: patches of an operand as contiguous arrays of the compute type.
#pragma once

#include <cstddef>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// Part of an operand that a tile covers: `rows` rows of `n` elements, at most kTile in all; strides in elements.
struct Patch {
    std::byte* data = nullptr;
    int64_t rows = 0, n = 0;
    int64_t row_stride = 0, stride = 0;

    [[nodiscard]] bool contiguous() const {
        if (n == 1) return rows == 1 || row_stride == 1;
        return stride == 1 && (rows == 1 || row_stride == n);
    }
    [[nodiscard]] int64_t count() const { return rows * n; }
    bool operator==(const Patch&) const = default;

    /// n neighbours of a dense view, from element `first` on.
    [[nodiscard]] static Patch of(const View& dense, int64_t first, int64_t n) {
        return {dense.data + first * dense.item_size(), 1, n, 0, 1};
    }
};

using Gather = void (*)(const Patch& from, std::byte* to);
using Scatter = void (*)(const std::byte* from, const Patch& to);

constexpr size_t kTileBytes = kTile * 16;

/// Repeats the element of `item_size` bytes (a power of 2, at most 16) `count` times from `to` on, past the caches if
/// `stream`.
void fill_run(const std::byte* element, int64_t item_size, std::byte* to, int64_t count, bool stream);

/// Space for one operand: `raw` in its own dtype, `tile` in the compute type.
struct Buffers {
    alignas(64) std::byte raw[kTileBytes];
    alignas(64) std::byte tile[kTileBytes];
};

/// Brings patches of one operand into the compute type.
class Loader {
 public:
    void init(Dtype dtype, Dtype compute, Buffers& buffers);
    /// patch.count() elements, valid until the next call; the operand's own memory if that needs no conversion.
    [[nodiscard]] const void* load(const Patch& patch);
    /// Brings the elements to `to`, if they lie apart and need no conversion.
    [[nodiscard]] bool load_into(const Patch& patch, void* to);

 private:
    Gather gather_ = nullptr;
    Convert convert_ = nullptr;
    int64_t item_size_ = 0;
    Patch last_;
    const void* ready_ = nullptr;
    Buffers* buffers_ = nullptr;
};

/// Stores arrays of the compute type into patches of one operand.
class Storer {
 public:
    void init(Dtype dtype, Dtype compute, Buffers& buffers);
    /// The memory in which the patch's elements are to be computed.
    [[nodiscard]] void* target(const Patch& patch) {
        const bool direct = convert_ == nullptr && patch.contiguous();
        return direct ? static_cast<void*>(patch.data) : buffers_->tile;
    }
    /// Stores `result`: the memory of target(), or any other array of the compute type.
    void store(const void* result, const Patch& patch);

 private:
    Scatter scatter_ = nullptr;
    Convert convert_ = nullptr;
    int64_t item_size_ = 0;
    Buffers* buffers_ = nullptr;
};

}  // namespace diopi::cpu
