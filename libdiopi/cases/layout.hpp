/// The layout of a tensor in a device's memory: that of the case, or a variant of it. Pure arithmetic;
/// values are drawn contiguous and placed afterwards.
#pragma once

#include <cstdint>

#include "cases/case.hpp"
#include "core/tensor.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// Strides and offset in elements, and the number of elements of the storage.
struct Layout {
    Shape strides;
    int64_t offset = 0;
    int64_t extent = 0;
    bool is_vector = false;  ///< an output of shape (1) instead of a 0-dim one

    [[nodiscard]] Shape shape(const Shape& own) const { return is_vector ? Shape{1} : own; }
    bool operator==(const Layout&) const = default;
};

/// The layout of one tensor of the argument. No two elements overlap.
///
/// strided: `salt` chooses among transposed (the last two dims swapped in memory), sliced with step 2 (along every dim,
/// the innermost, or the outermost), a slice of columns (moved by 3 elements, and padding behind each row), or all but
/// the padding; a tensor that cannot be transposed is sliced, one without rows and a single element are moved. wide:
/// the outermost dim that has 2 elements or more gets a stride that puts its last element behind 2^31 others. nhwc: the
/// channels of an argument that the schema marks for it (`@`) are innermost, if the tensor has nhwc_min_dim dims; they
/// precede the spatial dims that the mark counts, else they are at dim 1. Options add up, except that channels-last
/// tensors are not transposed. A tensor that no option changes keeps its own strides, and so does an empty one without
/// `host`. unaligned: the first element is one behind the start of the storage, unless `strided` chooses. results:
/// outputs, and the gradients of results, have the first dim innermost, and inputs their own layout. host: strides that
/// reach no second element may be any number. An empty tensor has those of a row-major one with its sizes multiplied as
/// they are, such as (0, 1) for (16, 0); a dim of size 1 has by `salt` 0, 1, or a stride that leads out of the storage,
/// and never what it has otherwise.
[[nodiscard]] Layout layout_of(const Arg& arg, const TensorSpec& tensor, uint64_t salt, const LayoutOptions& options);
[[nodiscard]] Layout layout_of(const Arg& arg, const Tensor& tensor, uint64_t salt, const LayoutOptions& options);

/// Row-major strides with 0 along those dims.
[[nodiscard]] Shape repeating_strides(const Shape& shape, Repeats repeats);

/// Whether the function may get an output of shape (1) for a 0-dim result, like in PyTorch: a reduction.
[[nodiscard]] bool takes_vector(const Row& row);

/// The salt of a tensor, from the case, the argument's C name, and the position in a list (0 for a single tensor).
[[nodiscard]] uint64_t layout_salt(const Case& c, std::string_view arg, int64_t position);

/// Whether these options change the layout of some input of the case when `row` is called, or with `host` may change
/// that of an output.
[[nodiscard]] bool applies(const Row& row, const Case& c, const LayoutOptions& options);

}  // namespace diopi
