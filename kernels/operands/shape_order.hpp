/// The arguments of functions that join, cut, turn, pad and repeat tensors, checked. Shared by the backends cpu and
/// cuda.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/operands/own_view.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

/// Refuses an out of another shape or dtype.
[[nodiscard]] diopiError_t check_like(std::string_view op, std::string_view argument, const View& v, ShapeView shape,
                                      Dtype dtype);
/// `dim` from the front; refuses one that a tensor of that rank does not have.
[[nodiscard]] diopiError_t read_dim(std::string_view op, int64_t dim, int64_t rank, size_t& wrapped);

/// Refuses a list without tensors, tensors of several shapes, and an out that they do not fill.
[[nodiscard]] diopiError_t check_stack(std::string_view op, const View& out, const diopiConstTensorHandle_t* tensors,
                                       int64_t count, int64_t dim, size_t& wrapped);
/// Refuses sizes that do not make up dim, and outs of other shapes.
[[nodiscard]] diopiError_t check_split(std::string_view op, const diopiTensorHandle_t* outs, int64_t num_outs,
                                       const View& input, ShapeView sizes, int64_t dim, size_t& wrapped);
/// Refuses inputs that are no vectors of one dtype, and outs that do not have a dim for each.
[[nodiscard]] diopiError_t check_meshgrid(std::string_view op, const diopiTensorHandle_t* outs,
                                          const diopiConstTensorHandle_t* inputs, int64_t count);

/// The order of dims that `dims` names; refuses one that does not name each dim once.
[[nodiscard]] diopiError_t read_order(std::string_view op, ShapeView dims, int64_t rank, std::vector<size_t>& order);
/// The shift of each dim, from 0 to its size; of the flattened tensor where dims is empty.
[[nodiscard]] diopiError_t read_shifts(std::string_view op, ShapeView shape, ShapeView shifts, ShapeView dims,
                                       Shape& by_dim);

enum class PadMode : uint8_t { constant, reflect, replicate, circular };

/// Elements before and behind each dim; negative numbers crop.
struct Padding {
    PadMode mode = PadMode::constant;
    Shape before, after;

    /// The element of a dim of that size that stands at a position in it or beside it. From the other end comes what
    /// the crop leaves.
    [[nodiscard]] int64_t source(size_t dim, int64_t at, int64_t size) const;
};
/// Refuses a mode that does not exist, pads that the mode has no elements for, and an out of another shape.
[[nodiscard]] diopiError_t read_padding(std::string_view op, const View& out, const View& input, ShapeView pad,
                                        const char* mode, Padding& padding);

/// The dims in the order of memory, the outermost first, for a diopiMemoryFormat_t.
[[nodiscard]] diopiError_t read_format(std::string_view op, const View& input, int64_t format, Shape& strides);
/// The channels-last format of a tensor's rank that its strides have; contiguous if it has none.
[[nodiscard]] int64_t format_of_memory(const View& input);

/// A tensor that the function returns, owned by the context until the host takes it.
[[nodiscard]] diopiError_t make_output(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, ShapeView strides,
                                       diopiTensorHandle_t& made);

}  // namespace diopi::operands
