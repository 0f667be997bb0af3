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

/// out and, where the function gives them, the places of its elements.
std::vector<OutputSpec> pooled(const Call& call, Shape shape) {
    std::vector<OutputSpec> specs = one(call, "out", {shape, call.tensor("input")->dtype, {}});
    if (call.row->find("indices") >= 0) specs.push_back(one(call, "indices", {std::move(shape), Dtype::int64, {}})[0]);
    return specs;
}

}  // namespace

/// Maxima and means over windows; the functions that do both or adaptive windows state which. Only maxima have a
/// dilation.
Specs pool(Call& call, const ResultHints& hints) {
    if (call.flag("adaptive")) return adaptive_pool(call, hints);
    const Tensor& input = *call.tensor("input");
    const size_t spatial = call.row->spatial_dims;
    const auto* mode = call.row->find("mode") < 0 ? nullptr : std::get_if<std::string>(&call["mode"]);
    if (mode != nullptr && *mode != "max" && *mode != "avg") {
        return contradiction(call, "mode is '" + *mode + "', wanted max or avg");
    }
    const bool dilates = call.row->find("dilation") >= 0 && (mode == nullptr || *mode == "max");
    const char* const kernel_size = mode != nullptr ? "ksize" : "kernel_size";
    auto& stride = std::get<IntList>(call["stride"]);
    if (stride.empty()) stride = *call.ints(kernel_size);
    for (const char* arg : {kernel_size, "stride", "padding", "dilation"}) {
        if (arg == std::string_view("dilation") && !dilates) continue;
        if (Status s = spread(call, arg, spatial); !s.ok()) return s.error();
    }
    auto leading = leading_dims(call, spatial);
    if (!leading.ok()) return leading.error();
    Shape shape(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(*leading));
    for (size_t i = 0; i < spatial; ++i) {
        const int64_t kernel = (*call.ints(kernel_size))[i];
        const int64_t step = (*call.ints("stride"))[i];
        const int64_t padding = (*call.ints("padding"))[i];
        const int64_t dilation = dilates ? (*call.ints("dilation"))[i] : 1;
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
    return pooled(call, std::move(shape));
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
    return pooled(call, std::move(shape));
}

}  // namespace diopi::infer_rules
