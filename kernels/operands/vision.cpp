#include "kernels/operands/vision.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

diopiError_t read_images(std::string_view op, std::string_view in_name, const View& in, std::string_view out_name,
                         const View& out, diopiSize_t size, Resizing& r) {
    diopiError_t error = check_computable(op, in_name, in);
    if (error == diopiSuccess) error = check_computable(op, out_name, out);
    if (error != diopiSuccess) return error;
    if (in.rank() < 3 || in.rank() > static_cast<int64_t>(2 + kMostSides)) {
        return wrong_shape(op, in_name, in.shape, "(N, C, *) with one to three sides");
    }
    r.sides = in.shape.size() - 2;
    if (size.data == nullptr || (size.len != 1 && size.len != static_cast<int64_t>(r.sides))) {
        return refuse(op, "the list of sizes has " + std::to_string(size.len) + " numbers, wanted 1 or " +
                              std::to_string(r.sides));
    }
    Shape wanted(in.shape.begin(), in.shape.begin() + 2);
    for (size_t d = 0; d < r.sides; ++d) wanted.push_back(size.data[size.len == 1 ? 0 : d]);
    error = check_shape(op, out_name, out, wanted);
    if (error != diopiSuccess) return error;
    for (const auto& [name, image] : {std::pair{in_name, &in}, std::pair{out_name, &out}}) {
        if (std::ranges::find(image->shape.last(r.sides), 0) != image->shape.end()) {
            return wrong_shape(op, name, image->shape, "sides of at least 1");
        }
    }
    r.in = Images(r.sides, in), r.out = Images(r.sides, out);
    return diopiSuccess;
}

}  // namespace

diopiError_t read_resize(std::string_view op, const View& out, const View& input, diopiSize_t size,
                         Resizing& resizing) {
    return read_images(op, "input", input, "out", out, size, resizing);
}

diopiError_t read_resize_backward(std::string_view op, const View& grad_input, const View& grad_output,
                                  diopiSize_t out_size, diopiSize_t in_size, Resizing& resizing) {
    const diopiError_t error = check_shape(op, "grad_input", grad_input, list_of(in_size));
    if (error != diopiSuccess) return error;
    return read_images(op, "grad_input", grad_input, "grad_output", grad_output, out_size, resizing);
}

diopiError_t read_mode(std::string_view op, const char* mode, size_t sides, bool& is_cubic) {
    constexpr std::string_view kModes[] = {"linear", "bilinear", "trilinear"};
    const std::string_view given = mode == nullptr ? "" : mode;
    is_cubic = given == "bicubic" && sides == 2;
    if (is_cubic || given == kModes[sides - 1]) return diopiSuccess;
    return refuse(op, "mode is '" + std::string(given) + "', wanted " + std::string(kModes[sides - 1]) +
                          (sides == 2 ? " or bicubic" : "") + " for " + std::to_string(sides) + " sides");
}

diopiError_t read_grid(std::string_view op, const View& out, const View& input, const View& grid,
                       std::string_view mode) {
    for (const auto& [name, v] : {std::pair{"input", &input}, {"grid", &grid}, {"out", &out}}) {
        if (const diopiError_t error = check_computable(op, name, *v); error != diopiSuccess) return error;
    }
    const int64_t sides = input.rank() - 2;
    if (sides != 2 && sides != 3) return wrong_shape(op, "input", input.shape, "(N, C, H, W) or (N, C, D, H, W)");
    if (mode != "bilinear" && mode != "nearest" && (mode != "bicubic" || sides != 2)) {
        return refuse(op, "mode is '" + std::string(mode) + "', wanted bilinear, nearest, or bicubic for two sides");
    }
    if (numel(input.shape.last(static_cast<size_t>(sides))) == 0) {
        return wrong_shape(op, "input", input.shape, "sides of at least 1");
    }
    if (grid.rank() != input.rank() || grid.shape[0] != input.shape[0] || grid.shape.back() != sides) {
        return wrong_shape(op, "grid", grid.shape, "(N, *, " + std::to_string(sides) + ") with the N of input");
    }
    Shape wanted{input.shape[0], input.shape[1]};
    wanted.insert(wanted.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
    return check_shape(op, "out", out, wanted);
}

diopiError_t read_regions(std::string_view op, RegionNames of, const View& image, const View& rois, const View& pooled,
                          int64_t height, int64_t width) {
    for (const auto& [name, v] :
         {std::pair{of.image, &image}, {std::string_view("rois"), &rois}, {of.pooled, &pooled}}) {
        if (const diopiError_t error = check_computable(op, name, *v); error != diopiSuccess) return error;
    }
    if (image.rank() != 4) return wrong_shape(op, of.image, image.shape, "(N, C, H, W)");
    if (rois.rank() != 2 || rois.shape[1] != 5) return wrong_shape(op, "rois", rois.shape, "(K, 5)");
    if (height < 1 || width < 1) return refuse(op, "the pooled sides must be positive");
    return check_shape(op, of.pooled, pooled, Shape{rois.shape[0], image.shape[1], height, width});
}

diopiError_t read_boxes(std::string_view op, const View& boxes, const View& confidence) {
    diopiError_t error = check_computable(op, "boxes", boxes);
    if (error == diopiSuccess) error = check_computable(op, "confidence", confidence);
    if (error != diopiSuccess) return error;
    if (boxes.rank() != 2 || boxes.shape[1] != 4) return wrong_shape(op, "boxes", boxes.shape, "(N, 4)");
    return check_shape(op, "confidence", confidence, Shape{boxes.shape[0]});
}

}  // namespace diopi::operands
