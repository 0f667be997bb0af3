#include "kernels/operands/index_places.hpp"

#include <algorithm>
#include <string>

namespace diopi::operands {

namespace {

diopiError_t read_own_dim(std::string_view op, ShapeView shape, int64_t dim, size_t& wrapped) {
    if (shape.empty()) return refuse(op, "there is no dimension to take positions of");
    if (shape.size() > kMaxRank) return refuse(op, "more than 16 dimensions");
    return read_dim(op, dim, static_cast<int64_t>(shape.size()), wrapped);
}

}  // namespace

diopiError_t read_position(std::string_view op, ShapeView shape, int64_t dim, int64_t index, Part& part) {
    if (const diopiError_t error = read_own_dim(op, shape, dim, part.dim); error != diopiSuccess) return error;
    const int64_t size = shape[part.dim];
    if (index < -size || index >= size) {
        return refuse(op,
                      "index is " + std::to_string(index) + ", but there are " + std::to_string(size) + " positions");
    }
    part = {part.dim, index < 0 ? index + size : index, 1, 1, true};
    return diopiSuccess;
}

diopiError_t read_slice(std::string_view op, ShapeView shape, int64_t dim, const Slice& slice, Part& part) {
    if (const diopiError_t error = read_own_dim(op, shape, dim, part.dim); error != diopiSuccess) return error;
    if (slice.step < 1) return refuse(op, "step is " + std::to_string(slice.step) + ", wanted 1 or more");
    const int64_t size = shape[part.dim];
    const auto from_front = [&](int64_t at) { return at < 0 ? at + size : at; };
    const int64_t start = std::clamp(from_front(slice.start), int64_t{0}, size);
    const int64_t end = std::clamp(from_front(slice.end), start, size);
    const int64_t step = std::min(slice.step, std::max<int64_t>(size, 1));
    part = {part.dim, start, (end - start + step - 1) / step, step, false};
    return diopiSuccess;
}

diopiError_t check_positions(std::string_view op, const View& index, bool takes_int32) {
    if (index.dtype != Dtype::int64 && !(takes_int32 && index.dtype == Dtype::int32)) {
        return unsupported(op, "index", index.dtype, takes_int32 ? "int32 or int64" : "int64");
    }
    return index.rank() <= 1 ? diopiSuccess : wrong_shape(op, "index", index.shape, "1 dimension");
}

namespace {

/// Whether `index` is nowhere larger but along dim `except`. A 0-dim tensor is like one of size 1.
bool fits(ShapeView index, ShapeView shape, size_t except) {
    const auto size = [](ShapeView sizes, size_t d) { return sizes.empty() ? 1 : sizes[d]; };
    const size_t rank = std::max<size_t>(index.size(), 1);
    if (rank != std::max<size_t>(shape.size(), 1)) return false;
    for (size_t d = 0; d < rank; ++d) {
        if (d != except && size(index, d) > size(shape, d)) return false;
    }
    return true;
}

}  // namespace

diopiError_t check_element_index(std::string_view op, const View& index, ShapeView shape, size_t dim) {
    if (index.dtype != Dtype::int64) return unsupported(op, "index", index.dtype, "int64");
    if (shape.size() > kMaxRank) return refuse(op, "input has more than 16 dimensions");
    if (index.numel == 0 || fits(index.shape, shape, dim)) return check_rank(op, "index", index);
    return wrong_shape(op, "index", index.shape, "one nowhere larger than " + to_string(shape) + " but along dim");
}

diopiError_t check_element_source(std::string_view op, const View& src, const View& index, Dtype dtype) {
    if (src.dtype != dtype) return unsupported(op, "src", src.dtype, name(dtype));
    if (index.numel == 0 || fits(index.shape, src.shape, static_cast<size_t>(-1))) return diopiSuccess;
    return wrong_shape(op, "src", src.shape, "one nowhere smaller than index " + to_string(index.shape));
}

diopiError_t read_reduce(std::string_view op, const char* text, Scatter& scatter) {
    const std::string_view word = text == nullptr ? "" : text;
    scatter = word == "add" ? Scatter::add : word == "multiply" ? Scatter::multiply : Scatter::replace;
    if (scatter != Scatter::replace || word.empty()) return diopiSuccess;
    return refuse(op, "reduce is '" + std::string(word) + "', wanted 'add', 'multiply' or nothing");
}

}  // namespace diopi::operands
