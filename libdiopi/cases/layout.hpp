/// The layout of a tensor in a device's memory: that of the case, or a variant of it. Pure arithmetic;
/// values are drawn contiguous and placed afterwards.
#pragma once

#include <cstdint>

#include "cases/case.hpp"
#include "core/tensor.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// Strides and offset in elements, and how many elements the storage must have.
struct Layout {
    Shape strides;
    int64_t offset = 0;
    int64_t extent = 0;
    bool operator==(const Layout&) const = default;
};

/// The layout of one tensor of the argument. No two elements share a place.
///
/// strided: by `salt` one of transposed (the last two dims swapped in memory), sliced with step 2 (along every dim or
/// the innermost), moved by 3 elements, or all of it; what cannot be transposed is sliced, and a single element is
/// moved. wide: the outermost dim that has 2 elements or more gets a stride that lays its last element behind 2^31
/// others. nhwc: the channels of an argument that the schema marks so (`@`) are innermost, if the tensor has
/// nhwc_min_dim dims; they stand in front of the spatial dims that the mark counts, else at dim 1. Options add up, save
/// that channels-last tensors are not transposed. Where no option changes anything, strides are the tensor's own; so
/// they are of an empty tensor.
[[nodiscard]] Layout layout_of(const Arg& arg, const TensorSpec& tensor, uint64_t salt, const LayoutOptions& options);
[[nodiscard]] Layout layout_of(const Arg& arg, const Tensor& tensor, uint64_t salt, const LayoutOptions& options);

/// The salt of a tensor: of the case, the argument's C name, and the position in a list (0 for a single tensor).
[[nodiscard]] uint64_t layout_salt(const Case& c, std::string_view arg, int64_t position);

/// Whether some input of the case lies elsewhere under these options when `row` is called.
[[nodiscard]] bool applies(const Row& row, const Case& c, const LayoutOptions& options);

}  // namespace diopi
