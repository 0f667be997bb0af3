/// Pooling, planned on the host: its windows, and which thread takes which element.
#pragma once

#include <array>

#include "kernels/cuda/index.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// A tensor (N,C,H,W), or (C,H,W) with N = 1. Strides count elements.
struct Planes {
    std::array<int64_t, 4> sizes{1, 1, 1, 1}, strides{};

    explicit Planes(const View& v);
    [[nodiscard]] static bool fits(const View& v) { return v.shape.size() == 3 || v.shape.size() == 4; }
    [[nodiscard]] int64_t numel() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
    [[nodiscard]] int64_t area() const { return sizes[2] * sizes[3]; }
    /// Whether channels lie closer together in memory than the places of a plane.
    [[nodiscard]] bool has_channels_last() const;
    /// Whether element numbers and places fit 32 bits.
    [[nodiscard]] bool fits_32_bits() const;
    /// Whether `count` neighbouring channels can be loaded at once, 16 bytes, everywhere.
    [[nodiscard]] bool has_channel_packs(const void* data, int count) const;
};

/// Height and width.
using Sides = std::array<int64_t, 2>;

/// One number serves both sides, an empty list gives `missing`.
[[nodiscard]] Sides sides_of(diopiSize_t list, Sides missing);

struct Window {
    Sides kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};

    /// Elements from the first to the last one under it.
    [[nodiscard]] int64_t extent(size_t side) const { return dilation[side] * (kernel[side] - 1) + 1; }
    /// How many of them stand along a side of `size` elements; 0 or less where none fits. With ceil_mode the last one
    /// may reach beyond the padding, but begins before it.
    [[nodiscard]] int64_t count(size_t side, int64_t size, bool ceil_mode) const;
    /// Whether the arithmetic along a side of `size` elements fits 32 bits.
    [[nodiscard]] bool fits_32_bits(size_t side, int64_t size) const;
};

/// The arguments of a max_pool2d that are not tensors.
struct WindowArguments {
    diopiSize_t kernel, stride, padding, dilation;
    bool ceil_mode;
};

/// Refuses what is no image, a window that makes no sense, and an `out` of another shape than it gives.
[[nodiscard]] diopiError_t read_window(std::string_view op, const View& in, const View& out,
                                       const WindowArguments& arguments, Window& window);

/// float16, bfloat16, float32 or float64.
[[nodiscard]] bool is_pooled(Dtype dtype);

template <class Index>
struct PlanePlace {
    Index n, c, y, x;
};

/// From the number of an element, counted in about the order of memory, to its place. Counts packs of channels.
template <class Index>
struct PlaneWalk {
    using Size = std::conditional_t<std::is_same_v<Index, int32_t>, FastSize, WideSize>;
    Size channels, height, width;  ///< channels: packs of them
    Index pack;
    bool channels_last;

    [[nodiscard]] static PlaneWalk of(const Planes& p, bool channels_last, int pack) {
        return {Size::of(p.sizes[1] / pack), Size::of(p.sizes[2]), Size::of(p.sizes[3]), static_cast<Index>(pack),
                channels_last};
    }
    DIOPI_HOST_DEVICE PlanePlace<Index> find(Index number) const {
        PlanePlace<Index> at{};
        if (channels_last) at.c = split(number, channels);
        at.x = split(number, width);
        at.y = split(number, height);
        if (!channels_last) at.c = split(number, channels);
        at.n = number;
        at.c *= pack;
        return at;
    }

 private:
    /// The rest of a division; `number` becomes the quotient.
    DIOPI_HOST_DEVICE static Index split(Index& number, const Size& size) {
        const Index quotient = size.quotient(number), rest = number - quotient * size.value();
        number = quotient;
        return rest;
    }
};

template <class Index>
struct PlaneStrides {
    Index n, c, y, x;

    [[nodiscard]] static PlaneStrides of(const Planes& p) {
        return {static_cast<Index>(p.strides[0]), static_cast<Index>(p.strides[1]), static_cast<Index>(p.strides[2]),
                static_cast<Index>(p.strides[3])};
    }
    DIOPI_HOST_DEVICE Index plane(const PlanePlace<Index>& at) const { return at.n * n + at.c * c; }
    DIOPI_HOST_DEVICE Index place(const PlanePlace<Index>& at) const { return plane(at) + at.y * y + at.x * x; }
};

template <class Index>
struct Range {
    Index first, last;  ///< last is not in it
};

/// The windows of max_pool2d along one side.
template <class Index>
struct WindowSide {
    using Size = typename PlaneWalk<Index>::Size;
    Index size, windows, extent, padding, dilation;
    Size stride;

    [[nodiscard]] static WindowSide of(const Window& w, size_t side, int64_t size, int64_t windows) {
        return {static_cast<Index>(size),
                static_cast<Index>(windows),
                static_cast<Index>(w.extent(side)),
                static_cast<Index>(w.padding[side]),
                static_cast<Index>(w.dilation[side]),
                Size::of(w.stride[side])};
    }
    /// Elements under window `at`, `dilation` apart. Where padding covers them all, `first` still is not below 0.
    DIOPI_HOST_DEVICE Range<Index> elements(Index at) const {
        Index first = at * stride.value() - padding;
        const Index end = first + extent;
        while (first < 0) first += dilation;
        return {first, end < size ? end : size};
    }
    /// Windows from the first to the last one that can hold element `at`.
    DIOPI_HOST_DEVICE Range<Index> holders(Index at) const {
        const Index before = at + padding - extent;  // a window that begins here ends just before the element
        const Index first = before < 0 ? 0 : stride.quotient(before) + 1;
        const Index last = stride.quotient(at + padding) + 1;
        return {first, last < windows ? last : windows};
    }
};

/// The windows of adaptive_avg_pool2d along one side: `parts` of them over `size` elements, which may overlap.
template <class Index>
struct PartSide {
    using Size = typename PlaneWalk<Index>::Size;
    Size size, parts;

    [[nodiscard]] static PartSide of(int64_t size, int64_t parts) { return {Size::of(size), Size::of(parts)}; }
    DIOPI_HOST_DEVICE Range<Index> elements(Index part) const { return share(part, size, parts); }
    /// The parts that hold element `at`: the same formula the other way round.
    DIOPI_HOST_DEVICE Range<Index> holders(Index at) const { return share(at, parts, size); }

 private:
    /// From floor(i * size / parts) to ceil((i + 1) * size / parts).
    DIOPI_HOST_DEVICE static Range<Index> share(Index i, const Size& size, const Size& parts) {
        const Index begin = i * size.value();
        return {parts.quotient(begin), parts.quotient(begin + size.value() + parts.value() - 1)};
    }
};

/// Whether the arithmetic of a side fits 32 bits.
[[nodiscard]] bool parts_fit_32_bits(int64_t size, int64_t parts);

/// Bits of the number of threads that share one mean, so that there are enough of them and neighbours read neighbours.
/// `window`: about its elements.
[[nodiscard]] int slice_bits(int64_t window, int64_t outputs, bool channels_last);

}  // namespace diopi::cuda
