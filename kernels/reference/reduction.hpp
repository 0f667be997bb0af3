/// The shapes of reductions, and the elements that each of their results joins.
#pragma once

#include <vector>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// Which dimensions are reduced; an empty list means all.
[[nodiscard]] std::vector<bool> reduced_dims(ShapeView shape, ShapeView dims);

/// Refuses an out whose shape is neither `shape` without its reduced dimensions nor `shape` with 1 in their place. (1,)
/// is accepted for ().
void require_reduced_shape(ShapeView out, ShapeView shape, const std::vector<bool>& reduced);

/// For each result the places of its elements in a contiguous tensor, both in row-major order.
class Groups {
 public:
    Groups(ShapeView shape, const std::vector<bool>& reduced);

    [[nodiscard]] int64_t results() const { return std::ssize(kept_); }
    [[nodiscard]] int64_t size() const { return std::ssize(joined_); }
    [[nodiscard]] int64_t place(int64_t result, int64_t k) const {
        return kept_[static_cast<size_t>(result)] + joined_[static_cast<size_t>(k)];
    }

 private:
    std::vector<int64_t> kept_, joined_;
};

}  // namespace diopi::reference
