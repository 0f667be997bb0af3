/// The arguments of functions that take or replace elements by their places, checked. Shared by the backends cpu and
/// cuda.
#pragma once

#include <string_view>

#include "kernels/operands/shape_order.hpp"

namespace diopi::operands {

/// Regular positions of one dim; one position without the dim for a number.
struct Part {
    size_t dim = 0;
    int64_t start = 0, count = 0, step = 1;
    bool removes_dim = false;

    /// That part of a view, which must not be empty unless the part is; `own` is changed, and its view returned.
    View of(OwnView& own) const {
        own.take(dim, start, count, step);
        if (removes_dim) own.remove(dim);
        return own.view();
    }
};

struct Slice {
    int64_t start, end, step;
};

/// Refuses a dim or a position that does not exist.
[[nodiscard]] diopiError_t read_position(std::string_view op, ShapeView shape, int64_t dim, int64_t index, Part& part);
/// Refuses a dim that does not exist, and a step below 1. Start and end are cut to the dim.
[[nodiscard]] diopiError_t read_slice(std::string_view op, ShapeView shape, int64_t dim, const Slice& slice,
                                      Part& part);

/// A tensor as (outer, size, inner) around a dim; 0-dim as one element.
struct AroundDim {
    int64_t outer = 1, size = 1, inner = 1;
    AroundDim(ShapeView shape, size_t dim) {
        if (shape.empty()) return;
        outer = numel(shape.first(dim));
        size = shape[dim];
        inner = numel(shape.subspan(dim + 1));
    }
};

/// Refuses a list of positions that is no vector of int64, or int32 where the function takes it.
[[nodiscard]] diopiError_t check_positions(std::string_view op, const View& index, bool takes_int32);
/// Refuses an index tensor for elements along `dim` of another dtype than int64, or larger than `shape` elsewhere.
[[nodiscard]] diopiError_t check_element_index(std::string_view op, const View& index, ShapeView shape, size_t dim);
/// Refuses a src of another dtype, or smaller than index.
[[nodiscard]] diopiError_t check_element_source(std::string_view op, const View& src, const View& index, Dtype dtype);

enum class Scatter : uint8_t { replace, add, multiply };
/// Refuses words other than "add" and "multiply"; null and "" replace.
[[nodiscard]] diopiError_t read_reduce(std::string_view op, const char* text, Scatter& scatter);

}  // namespace diopi::operands
