#include "png_file.hpp"

#include <fmt/format.h>
#include <png.h>

namespace diopi {

Status write_png(const std::string& path, const Picture& picture) {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(picture.width);
    image.height = static_cast<png_uint_32>(picture.height);
    image.format = PNG_FORMAT_RGB;
    // No filters: areas of one colour become small without.
    image.flags = PNG_IMAGE_FLAG_FAST;
    // A negative stride: the last row of the bytes is the first of the file.
    if (png_image_write_to_file(&image, path.c_str(), 0, picture.bytes.data(), -3 * picture.width, nullptr) != 0) {
        return {};
    }
    return failed(fmt::format("cannot write {}: {}", path, image.message));
}

}  // namespace diopi
