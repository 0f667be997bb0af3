#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// Number of windows. With ceil_mode the last window may extend past the end, but never start in the right padding.
int64_t windows(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
    const int64_t count = window_count(size, kernel, stride, padding, dilation, ceil_mode ? stride - 1 : 0);
    return ceil_mode && count > 0 && (count - 1) * stride >= size + padding ? count - 1 : count;
}

/// Spatial dims of a pooling of rank `spatial`: input is (C, *) or (N, C, *).
Result<size_t> leading_dims(const Call& call, size_t spatial) {
    const Tensor& input = *call.tensor("input");
    const size_t rank = input.shape.size();
    if (rank != spatial + 1 && rank != spatial + 2) {
        return contradiction(call, "input " + to_string(input.shape) + " must have " + std::to_string(spatial + 1) +
                                       " or " + std::to_string(spatial + 2) + " dims");
    }
    return rank - spatial;
}

}  // namespace

Specs max_pool(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const size_t spatial = call.row->spatial_dims;
    auto& stride = std::get<IntList>(call["stride"]);
    if (stride.empty()) stride = *call.ints("kernel_size");
    for (const char* arg : {"kernel_size", "stride", "padding", "dilation"}) {
        if (Status s = spread(call, arg, spatial); !s.ok()) return s.error();
    }
    auto leading = leading_dims(call, spatial);
    if (!leading.ok()) return leading.error();
    Shape shape(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(*leading));
    for (size_t i = 0; i < spatial; ++i) {
        const int64_t kernel = (*call.ints("kernel_size"))[i];
        const int64_t step = (*call.ints("stride"))[i];
        const int64_t padding = (*call.ints("padding"))[i];
        const int64_t dilation = (*call.ints("dilation"))[i];
        if (kernel <= 0 || step <= 0 || dilation <= 0 || padding < 0 || padding > kernel / 2) {
            return contradiction(call,
                                 "kernel_size, stride and dilation must be positive and padding at most half of "
                                 "kernel_size");
        }
        const int64_t size =
            windows(input.shape[*leading + i], kernel, step, padding, dilation, call.flag("ceil_mode"));
        if (size <= 0) return contradiction(call, "input " + to_string(input.shape) + " is smaller than the kernel");
        shape.push_back(size);
    }
    std::vector<OutputSpec> specs = one(call, "out", {shape, input.dtype, {}});
    if (call.has("indices")) specs.push_back(one(call, "indices", {shape, Dtype::int64, {}})[0]);
    return specs;
}

Specs adaptive_pool(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const size_t spatial = call.row->spatial_dims;
    if (Status s = spread(call, "output_size", spatial); !s.ok()) return s.error();
    auto leading = leading_dims(call, spatial);
    if (!leading.ok()) return leading.error();
    auto& sizes = std::get<IntList>(call["output_size"]);
    Shape shape(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(*leading));
    for (size_t i = 0; i < spatial; ++i) {
        if (sizes[i] == kFromInput) sizes[i] = input.shape[*leading + i];
        if (sizes[i] < 0) return contradiction(call, "output_size must not be negative");
        shape.push_back(sizes[i]);
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
