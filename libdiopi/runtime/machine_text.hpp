/// Where results were made, for their records.
#pragma once

#include <string>

namespace diopi {

/// The program and the machine: "diopi 1.0.0, AMD EPYC 7763, x86_64, 2 processors, 24 GiB".
[[nodiscard]] std::string machine_text();

}  // namespace diopi
