#include "kernels/operands/shape.hpp"

#include <array>
#include <cmath>
#include <string>

#include "kernels/operands/promotion.hpp"

namespace diopi::operands {

namespace {

/// Sizes agree with out's everywhere but along `dim`.
bool agrees(const View& v, const View& out, size_t dim) {
    if (v.rank() != out.rank()) return false;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (d != dim && v.shape[d] != out.shape[d]) return false;
    }
    return true;
}

diopiError_t no_such_dim(std::string_view op, int64_t dim, const View& v) {
    return refuse(op, "dim is " + std::to_string(dim) + ", but there are " + std::to_string(v.rank()) + " dimensions");
}

}  // namespace

diopiError_t read_cat(std::string_view op, diopiTensorHandle_t out_tensor, const diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t dim, Cat& cat) {
    if (num_inputs < 1) return refuse(op, "no tensors, wanted one or more");
    const View out = view(out_tensor);
    if (const diopiError_t error = check_rank(op, "out", out); error != diopiSuccess) return error;
    const auto wrapped = wrap_dim(dim, out.rank());
    if (out.shape.empty() || !wrapped) return no_such_dim(op, dim, out);
    const auto d = static_cast<size_t>(*wrapped);
    cat = {out, {tensors, static_cast<size_t>(num_inputs)}, d};
    int64_t total = 0;
    for (size_t i = 0; i < cat.tensors.size(); ++i) {
        const View from = view(tensors[i]);
        if (is_passed_over(from)) continue;
        if (!agrees(from, out, d)) {
            return wrong_shape(op, "tensors[" + std::to_string(i) + "]", from.shape,
                               "the sizes of out's " + to_string(out.shape) + " but along dim");
        }
        total += from.shape[d];
    }
    if (total == out.shape[d]) return diopiSuccess;
    return wrong_shape(op, "out", out.shape, std::to_string(total) + " along dim, the sum of the inputs");
}

diopiError_t read_flip(std::string_view op, const View& out, const View& input, ShapeView dims, Flipped& flipped) {
    if (const diopiError_t error = check_shape(op, "out", out, input.shape); error != diopiSuccess) return error;
    flipped.strides.assign(input.strides.begin(), input.strides.end());
    flipped.view = input;
    std::array<bool, kMaxRank> seen{};
    for (const int64_t dim : dims) {
        const auto wrapped = wrap_dim(dim, out.rank());
        if (!wrapped) return no_such_dim(op, dim, out);
        if (out.shape.empty() || out.numel == 0) continue;
        const auto d = static_cast<size_t>(*wrapped);
        if (seen[d]) return refuse(op, "dims names dimension " + std::to_string(d) + " twice");
        seen[d] = true;
        flipped.view.data += (input.shape[d] - 1) * flipped.strides[d] * input.item_size();
        flipped.strides[d] = -flipped.strides[d];
    }
    flipped.view.strides = flipped.strides;
    return diopiSuccess;
}

diopiError_t check_source(std::string_view op, const View& from, const View& to) {
    if (broadcasts_to(from.shape, to.shape)) return diopiSuccess;
    return wrong_shape(op, "the source", from.shape, "one that broadcasts to " + to_string(to.shape));
}

diopiError_t check_triangle(std::string_view op, const View& out, const View& input) {
    if (input.rank() < 2 || input.rank() > kMaxRank) {
        return wrong_shape(op, "input", input.shape, "2 to 16 dimensions");
    }
    const diopiError_t error = check_shape(op, "out", out, input.shape);
    if (error != diopiSuccess || out.dtype == input.dtype) return error;
    return unsupported(op, "out", out.dtype, name(input.dtype));
}

diopiError_t check_steps(std::string_view op, const View& out, const diopiScalar_t& start, const diopiScalar_t& end,
                         const diopiScalar_t& step) {
    if (is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a real dtype");
    const auto as_double = [&](const diopiScalar_t& x) {
        return is_floating(out.dtype) ? number<double>(x) : static_cast<double>(number<int64_t>(x));
    };
    // Less than 0 or NaN where step does not lead to end.
    const double by = as_double(step), count = std::ceil((as_double(end) - as_double(start)) / by);
    if (by == 0 || !(count >= 0)) {
        return refuse(op, "step is " + std::to_string(by) + ", wanted one that leads from start to end");
    }
    if (out.rank() == 1 && static_cast<double>(out.numel) == count) return diopiSuccess;
    return wrong_shape(op, "out", out.shape,
                       "ceil((end - start) / step) = " + std::to_string(count) + " elements in 1 dimension");
}

}  // namespace diopi::operands
