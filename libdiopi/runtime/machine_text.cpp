#include "runtime/machine_text.hpp"

#include <fmt/format.h>

#include "runtime/cpu_info.hpp"

namespace diopi {

std::string machine_text() {
    const std::string program = "diopi " DIOPI_PROGRAM_VERSION;
    const auto cpu = cpu_info();
    if (!cpu.ok()) return program;
    return fmt::format("{}, {}, {}, {} processor{}, {:.0f} GiB", program, cpu->name, cpu->architecture,
                       cpu->compute_units, cpu->compute_units == 1 ? "" : "s",
                       static_cast<double>(cpu->total_bytes) / (int64_t{1} << 30));
}

}  // namespace diopi
