/// fill, cat, flip: kernels that move elements and compute nothing.
#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

namespace {

/// A part of another view with its own sizes and strides.
struct Part {
    Shape shape, strides;
    View view;

    explicit Part(const View& whole)
        : shape(whole.shape.begin(), whole.shape.end()),
          strides(whole.strides.begin(), whole.strides.end()),
          view(whole) {}
    const View& finish() {
        view.shape = shape;
        view.strides = strides;
        view.numel = numel(shape);
        return view;
    }
};

/// torch.cat passes over tensors of shape (0,), whatever the others' rank.
bool is_skipped(const View& v) { return v.rank() == 1 && v.shape[0] == 0; }

diopiError_t check_rank(std::string_view op, const View& v) {
    return v.rank() <= kMaxRank ? diopiSuccess : wrong_shape(op, "input", v.shape, "at most 16 dimensions");
}

/// Sizes agree with out's everywhere but along `dim`.
bool agrees(const View& v, const View& out, size_t dim) {
    if (v.rank() != out.rank()) return false;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (d != dim && v.shape[d] != out.shape[d]) return false;
    }
    return true;
}

std::string dim_error(std::string_view op, int64_t dim, int64_t rank) {
    return std::string(op) + ": dim is " + std::to_string(dim) + ", but there are " + std::to_string(rank) +
           " dimensions";
}

}  // namespace

diopiError_t diopiFill(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* value) {
    const View to = view(input);
    if (const diopiError_t error = check_rank("diopiFill", to); error != diopiSuccess) return error;
    diopiScalar_t scalar = *value;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, to.dtype);
    copy(element(scalar), converted);
    copy(converted, to);
    return diopiSuccess;
}

diopiError_t diopiCat(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t dim) {
    const View to = view(out);
    if (num_inputs < 1) return fail(diopiErrorOccurred, "diopiCat: no tensors, wanted one or more");
    if (const diopiError_t error = check_rank("diopiCat", to); error != diopiSuccess) return error;
    const auto wrapped = wrap_dim(dim, to.rank());
    if (to.rank() == 0 || !wrapped) return fail(diopiErrorOccurred, dim_error("diopiCat", dim, to.rank()));
    const auto d = static_cast<size_t>(*wrapped);
    int64_t total = 0;
    for (int64_t i = 0; i < num_inputs; ++i) {
        const View from = view(tensors[i]);
        if (is_skipped(from)) continue;
        if (!agrees(from, to, d)) {
            return wrong_shape("diopiCat", "tensors[" + std::to_string(i) + "]", from.shape,
                               "the sizes of out's " + to_string(to.shape) + " but along dim");
        }
        total += from.shape[d];
    }
    if (total != to.shape[d]) {
        return wrong_shape("diopiCat", "out", to.shape, std::to_string(total) + " along dim, the sum of the inputs");
    }
    Part part(to);
    for (int64_t i = 0; i < num_inputs; ++i) {
        const View from = view(tensors[i]);
        if (is_skipped(from)) continue;
        part.shape[d] = from.shape[d];
        copy(from, part.finish());
        if (part.view.data != nullptr) part.view.data += from.shape[d] * to.strides[d] * to.item_size();
    }
    return diopiSuccess;
}

diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dims) {
    const View to = view(out);
    Part from(view(input));
    if (const diopiError_t error = check_rank("diopiFlip", to); error != diopiSuccess) return error;
    if (!std::ranges::equal(to.shape, from.shape)) {
        return wrong_shape("diopiFlip", "out", to.shape, to_string(from.shape));
    }
    if (to.data != nullptr && to.data == from.view.data) {
        View other;
        if (const diopiError_t error = require(ctx, from.shape, to.dtype, other); error != diopiSuccess) return error;
        copy(from.view, other);
        from = Part(other);
    }
    std::array<bool, kMaxRank> flipped{};
    for (int64_t i = 0; i < dims.len; ++i) {
        const auto wrapped = wrap_dim(dims.data[i], to.rank());
        if (!wrapped) return fail(diopiErrorOccurred, dim_error("diopiFlip", dims.data[i], to.rank()));
        if (to.rank() == 0 || to.numel == 0) continue;
        const auto d = static_cast<size_t>(*wrapped);
        if (flipped[d]) {
            return fail(diopiErrorOccurred, "diopiFlip: dims names dimension " + std::to_string(d) + " twice");
        }
        flipped[d] = true;
        from.view.data += (from.shape[d] - 1) * from.strides[d] * from.view.item_size();
        from.strides[d] = -from.strides[d];
    }
    copy(from.finish(), to);
    return diopiSuccess;
}

}  // namespace diopi::cpu
