#include "kernels/operands/shape_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace diopi::operands {

diopiError_t check_like(std::string_view op, std::string_view argument, const View& v, ShapeView shape, Dtype dtype) {
    if (const diopiError_t error = check_rank(op, argument, v); error != diopiSuccess) return error;
    if (const diopiError_t error = check_shape(op, argument, v, shape); error != diopiSuccess) return error;
    return v.dtype == dtype ? diopiSuccess : unsupported(op, argument, v.dtype, name(dtype));
}

diopiError_t read_dim(std::string_view op, int64_t dim, int64_t rank, size_t& wrapped) {
    const auto found = wrap_dim(dim, rank);
    if (!found) {
        return refuse(op, "dim is " + std::to_string(dim) + ", but there are " + std::to_string(rank) + " dimensions");
    }
    wrapped = static_cast<size_t>(*found);
    return diopiSuccess;
}

diopiError_t check_stack(std::string_view op, const View& out, const diopiConstTensorHandle_t* tensors, int64_t count,
                         int64_t dim, size_t& wrapped) {
    if (count < 1 || tensors == nullptr) return refuse(op, "no tensors, wanted one or more");
    const View first = view(tensors[0]);
    if (const diopiError_t error = read_dim(op, dim, first.rank() + 1, wrapped); error != diopiSuccess) return error;
    for (int64_t k = 1; k < count; ++k) {
        const diopiError_t error = check_shape(op, "tensors[" + std::to_string(k) + "]", view(tensors[k]), first.shape);
        if (error != diopiSuccess) return error;
    }
    Shape shape(first.shape.begin(), first.shape.end());
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(wrapped), count);
    if (const diopiError_t error = check_rank(op, "out", out); error != diopiSuccess) return error;
    return check_shape(op, "out", out, shape);
}

diopiError_t check_split(std::string_view op, const diopiTensorHandle_t* outs, int64_t num_outs, const View& input,
                         ShapeView sizes, int64_t dim, size_t& wrapped) {
    if (const diopiError_t error = check_rank(op, "input", input); error != diopiSuccess) return error;
    if (input.rank() == 0) return refuse(op, "input has no dimension");
    if (const diopiError_t error = read_dim(op, dim, input.rank(), wrapped); error != diopiSuccess) return error;
    const bool is_valid = std::ranges::none_of(sizes, [&](int64_t n) { return n < 0 || n > input.shape[wrapped]; });
    const int64_t total = is_valid ? std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) : -1;
    if (total != input.shape[wrapped] || num_outs != static_cast<int64_t>(sizes.size())) {
        return refuse(op, "splitSizes are " + to_string(sizes) + ", wanted " + std::to_string(num_outs) +
                              " sizes that make up " + std::to_string(input.shape[wrapped]));
    }
    Shape shape(input.shape.begin(), input.shape.end());
    for (size_t k = 0; k < sizes.size(); ++k) {
        shape[wrapped] = sizes[k];
        const diopiError_t error = check_like(op, "outs[" + std::to_string(k) + "]", view(outs[k]), shape, input.dtype);
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t check_meshgrid(std::string_view op, const diopiTensorHandle_t* outs,
                            const diopiConstTensorHandle_t* inputs, int64_t count) {
    if (count < 1 || count > kMaxRank || inputs == nullptr) return refuse(op, "wanted 1 to 16 inputs");
    Shape shape;
    const Dtype dtype = view(inputs[0]).dtype;
    for (int64_t k = 0; k < count; ++k) {
        const View input = view(inputs[k]);
        if (input.rank() > 1) return wrong_shape(op, "inputs", input.shape, "a vector or one element");
        if (input.dtype != dtype) return unsupported(op, "inputs", input.dtype, name(dtype));
        shape.push_back(input.numel);
    }
    for (int64_t k = 0; k < count; ++k) {
        const diopiError_t error = check_like(op, "outs", view(outs[k]), shape, dtype);
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t read_order(std::string_view op, ShapeView dims, int64_t rank, std::vector<size_t>& order) {
    for (const int64_t dim : dims) {
        size_t d = 0;
        if (const diopiError_t error = read_dim(op, dim, rank, d); error != diopiSuccess) return error;
        if (std::ranges::find(order, d) != order.end()) {
            return refuse(op, "dims names dimension " + std::to_string(d) + " twice");
        }
        order.push_back(d);
    }
    if (static_cast<int64_t>(order.size()) == rank) return diopiSuccess;
    return refuse(op, "dims is " + to_string(dims) + ", wanted each of " + std::to_string(rank) + " dimensions once");
}

diopiError_t read_shifts(std::string_view op, ShapeView shape, ShapeView shifts, ShapeView dims, Shape& by_dim) {
    by_dim.assign(dims.empty() ? 1 : shape.size(), 0);
    if (shifts.size() != std::max<size_t>(dims.size(), 1)) {
        return refuse(op, "shifts is " + to_string(shifts) + ", wanted a number for each of dims " + to_string(dims));
    }
    if (shape.empty() && !dims.empty()) return refuse(op, "dims names dimensions of a single element");
    for (size_t i = 0; i < shifts.size(); ++i) {
        size_t d = 0;
        if (!dims.empty()) {
            const diopiError_t error = read_dim(op, dims[i], static_cast<int64_t>(shape.size()), d);
            if (error != diopiSuccess) return error;
        }
        const int64_t size = dims.empty() ? numel(shape) : shape[d];
        if (size == 0) continue;
        by_dim[d] = (by_dim[d] + shifts[i] % size + size) % size;
    }
    return diopiSuccess;
}

int64_t Padding::source(size_t dim, int64_t at, int64_t size) const {
    const int64_t first = std::max<int64_t>(-before[dim], 0), last = size + std::min<int64_t>(after[dim], 0);
    if (at >= first && at < last) return at;
    switch (mode) {
        case PadMode::reflect:
            return at < 0 ? -at : 2 * (size - 1) - at;
        case PadMode::circular:
            return at < first ? at + (last - first) : at - (last - first);
        case PadMode::constant:
        case PadMode::replicate:
            break;
    }
    return at < 0 ? 0 : size - 1;
}

namespace {

/// Whether the mode finds `most` elements beside a dim of that size.
bool has_elements(PadMode mode, int64_t size, int64_t most) {
    if (most <= 0 || mode == PadMode::constant) return true;
    return mode == PadMode::reflect ? most < size : size > 0;
}

}  // namespace

diopiError_t read_padding(std::string_view op, const View& out, const View& input, ShapeView pad, const char* mode,
                          Padding& padding) {
    constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
    const std::string_view how = mode == nullptr ? kModes[0] : mode;
    const auto* const found = std::ranges::find(kModes, how);
    if (found == std::end(kModes)) return refuse(op, "mode is '" + std::string(how) + "', which does not exist");
    padding.mode = static_cast<PadMode>(found - std::begin(kModes));
    const size_t rank = input.shape.size();
    if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
        return refuse(
            op, "pad is " + to_string(pad) + ", wanted a pair for each padded dimension of " + to_string(input.shape));
    }
    padding.before.assign(rank, 0);
    padding.after.assign(rank, 0);
    Shape shape(input.shape.begin(), input.shape.end());
    for (size_t i = 0; i < pad.size() / 2; ++i) {
        const size_t d = rank - 1 - i;
        const int64_t before = padding.before[d] = pad[2 * i], after = padding.after[d] = pad[2 * i + 1];
        const bool beyond = __builtin_add_overflow(shape[d], before, &shape[d]) ||
                            __builtin_add_overflow(shape[d], after, &shape[d]) || shape[d] < 0;
        const int64_t kept = input.shape[d] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
        const bool wraps_twice =
            padding.mode == PadMode::circular && std::max(before, after) > std::max<int64_t>(kept, 0);
        if (beyond || wraps_twice || !has_elements(padding.mode, input.shape[d], std::max(before, after))) {
            return refuse(op, "pad is " + to_string(pad) + ", which is too much for " + to_string(input.shape) +
                                  " in mode '" + std::string(how) + "'");
        }
    }
    return check_like(op, "out", out, shape, input.dtype);
}

namespace {

/// The dims in the order of memory of channels-last tensors: dim 1 comes last.
std::vector<size_t> plain_order(size_t rank, bool channels_last) {
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    if (channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return order;
}

}  // namespace

diopiError_t read_format(std::string_view op, const View& input, int64_t format, Shape& strides) {
    const size_t rank = input.shape.size();
    const size_t ranks[] = {rank, 4, 5, rank, 3};
    if (format < 0 || format >= static_cast<int64_t>(std::size(ranks)) || ranks[format] != rank) {
        return refuse(op,
                      "there is no memory format " + std::to_string(format) + " of shape " + to_string(input.shape));
    }
    const bool keeps = format == diopiMemoryFormat_Preserve;
    std::vector<size_t> order = plain_order(rank, !keeps && format != diopiMemoryFormat_Contiguous);
    if (keeps) {
        std::ranges::stable_sort(order, [&](size_t a, size_t b) { return input.strides[a] > input.strides[b]; });
    }
    strides.resize(rank);
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        strides[order[i]] = stride;
        stride *= std::max<int64_t>(input.shape[order[i]], 1);
    }
    return diopiSuccess;
}

int64_t format_of_memory(const View& input) {
    constexpr int64_t kFormats[] = {diopiMemoryFormat_ChannelsLast1d, diopiMemoryFormat_ChannelsLast,
                                    diopiMemoryFormat_ChannelsLast3d};
    const size_t rank = input.shape.size();
    if (rank < 3 || rank > 5 || input.is_contiguous()) return diopiMemoryFormat_Contiguous;
    const std::vector<size_t> order = plain_order(rank, true);
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        const size_t d = order[i];
        if (input.shape[d] != 1 && input.strides[d] != stride) return diopiMemoryFormat_Contiguous;
        stride *= input.shape[d];
    }
    return kFormats[rank - 3];
}

diopiError_t make_output(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, ShapeView strides,
                         diopiTensorHandle_t& made) {
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    const diopiSize_t steps{strides.data(), static_cast<int64_t>(strides.size())};
    return diopiRequireTensor(ctx, &made, &size, strides.empty() ? nullptr : &steps, to_c(dtype), diopi_device);
}

}  // namespace diopi::operands
