/// Views for tests of plans on the host.
#pragma once

#include "core/tensor.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::operands::testing {

/// A view without memory: its data is an address that is never read.
struct Layout {
    Shape shape, strides;
    Dtype dtype = Dtype::float32;
    std::byte* data = reinterpret_cast<std::byte*>(uintptr_t{1} << 40);

    [[nodiscard]] View view() const { return view(dtype); }
    [[nodiscard]] View view(Dtype as) const { return {data, as, shape, strides, diopi::numel(shape)}; }
};

inline Layout contiguous(Shape shape, Dtype dtype = Dtype::float32) {
    Layout layout{std::move(shape), {}, dtype};
    layout.strides = contiguous_strides(layout.shape);
    return layout;
}

}  // namespace diopi::operands::testing
