/// Text for tensors and arguments in dumps and comparisons.
#pragma once

#include <string>

#include "call/call.hpp"

namespace diopi {

/// "numel:100, sizes:[4, 5, 5], stride:[25, 5, 1], is_view:0, TensorOptions(dtype=float, device=cpu),
/// data_ptr:0x9d1e480"
[[nodiscard]] std::string seed_text(const Tensor& tensor);
/// "float32[4, 5, 5]"
[[nodiscard]] std::string short_text(const Tensor& tensor);
/// Text for any argument: short_text for a tensor, numbers, lists, or "none".
[[nodiscard]] std::string argument_text(const Value& value);
/// The first values of a host tensor: "[1, 2.5, ...]".
[[nodiscard]] std::string values_text(const Tensor& host, int64_t most);

}  // namespace diopi
