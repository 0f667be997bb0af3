#include "core/input_file.hpp"

#include <filesystem>
#include <system_error>

namespace diopi {

Status check_input_file(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) return bad_input(path + " is a folder, not a file");
    if (std::filesystem::is_other(status)) return bad_input(path + " is a pipe or a device, not a file");
    return {};
}

}  // namespace diopi
