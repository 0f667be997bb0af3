/// Pooling, planned on the host: which thread takes which element, and which elements a window holds.
#pragma once

#include "kernels/cuda/element/index.hpp"
#include "kernels/cuda/view.hpp"
#include "kernels/operands/window.hpp"

namespace diopi::cuda {

using operands::Images;
using operands::Sides;
using operands::Window;

/// Whether channels lie closer together in memory than the places of a plane.
[[nodiscard]] bool has_channels_last(const Images& images);
/// Whether element numbers and places fit 32 bits.
[[nodiscard]] bool fits_32_bits(const Images& images);
/// Whether `count` neighbouring channels can be loaded at once, 16 bytes, everywhere.
[[nodiscard]] bool has_channel_packs(const Images& images, int count);
/// Whether the arithmetic along the sides of a plane of windows fits 32 bits.
[[nodiscard]] bool fits_32_bits(const Window& window, const Sides& sides);

template <class Index>
struct PlanePlace {
    Index n, c, z, y, x;
};

/// From the number of an element, counted in about the order of memory, to its place. Counts packs of channels.
template <class Index>
struct PlaneWalk {
    using Size = std::conditional_t<std::is_same_v<Index, int32_t>, FastSize, WideSize>;
    Size channels, depth, height, width;  ///< channels: packs of them
    Index pack;
    bool channels_last;

    [[nodiscard]] static PlaneWalk of(const Images& x, bool channels_last, int pack) {
        return {Size::of(x.sizes[1] / pack), Size::of(x.sizes[2]),     Size::of(x.sizes[3]),
                Size::of(x.sizes[4]),        static_cast<Index>(pack), channels_last};
    }
    DIOPI_HOST_DEVICE PlanePlace<Index> find(Index number) const {
        PlanePlace<Index> at{};
        if (channels_last) at.c = split(number, channels);
        at.x = split(number, width);
        at.y = split(number, height);
        at.z = split(number, depth);
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
    Index n, c, z, y, x;

    [[nodiscard]] static PlaneStrides of(const Images& images) {
        const auto stride = [&](size_t d) { return static_cast<Index>(images.strides[d]); };
        return {stride(0), stride(1), stride(2), stride(3), stride(4)};
    }
    DIOPI_HOST_DEVICE Index plane(const PlanePlace<Index>& at) const { return at.n * n + at.c * c; }
    /// The place of a row in the plane that begins at `plane`.
    DIOPI_HOST_DEVICE Index row(Index plane, Index layer, Index row) const { return plane + layer * z + row * y; }
    DIOPI_HOST_DEVICE Index place(const PlanePlace<Index>& at) const { return row(plane(at), at.z, at.y) + at.x * x; }
};

template <class Index>
struct Range {
    Index first, last;  ///< last is excluded
};

/// The windows of max pooling along one side.
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

/// The windows of adaptive means along one side: `parts` of them over `size` elements, which may overlap.
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
