/// For tests: backends by name.
#pragma once

#include "backend/backend.hpp"

namespace diopi::testing {

inline const Backend& cpu() { return **find_backend("cpu"); }

}  // namespace diopi::testing
