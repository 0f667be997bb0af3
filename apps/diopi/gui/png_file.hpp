/// Pictures as PNG files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// 3 bytes per point: red, green, blue. The lowest row is first, as OpenGL gives it.
struct Picture {
    int width = 0, height = 0;
    std::vector<uint8_t> bytes;
};

Status write_png(const std::string& path, const Picture& picture);

}  // namespace diopi
