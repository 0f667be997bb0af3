/// Values for the storages of a capture without kept values.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/capture.hpp"
#include "core/status.hpp"

namespace diopi {

/// Key of the random numbers of one storage or tensor of a capture.
[[nodiscard]] uint64_t recipe_key(std::string_view capture, std::string_view id, uint64_t seed);

/// Contiguous host memory with that shape and the recipe's dtype. Numbers come from core/normal.hpp: element i depends
/// on the key and i alone. A range without a value, or one that the dtype cannot hold, is bad input.
[[nodiscard]] Result<TensorPtr> draw_recipe(const Recipe& recipe, const Shape& shape, uint64_t key);

}  // namespace diopi
