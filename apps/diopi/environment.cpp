#include "environment.hpp"

#include <cstdlib>
#include <string_view>

namespace diopi {

namespace {

bool is_on(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

Environment read_environment() { return {is_on("DIPU_MEM_CHECK"), is_on("DIPU_MEM_CHECK_ENABLE_BACKTRACE")}; }

}  // namespace diopi
