/// cat and flip: kernels that move elements and compute nothing.
#include <algorithm>
#include <array>
#include <string>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/index.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/nest.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/units.hpp"

namespace diopi::cuda {

namespace {

/// torch.cat passes over tensors of shape (0,), whatever the others' rank.
bool is_skipped(const View& v) { return v.shape.size() == 1 && v.shape[0] == 0; }

bool is_dense(const View& v) { return is_contiguous(v.shape, v.strides); }

/// Sizes agree with out's everywhere but along `dim`.
bool agrees(const View& v, const View& out, size_t dim) {
    if (v.shape.size() != out.shape.size()) return false;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (d != dim && v.shape[d] != out.shape[d]) return false;
    }
    return true;
}

std::string dim_error(std::string_view op, int64_t dim, size_t rank) {
    return std::string(op) + ": dim is " + std::to_string(dim) + ", but there are " + std::to_string(rank) +
           " dimensions";
}

/// Tensors that one launch puts next to each other.
constexpr int kMostParts = 32;

/// Dense rows of each part, and the column of the output behind its last one.
struct CatParts {
    const void* data[kMostParts];
    int64_t ends[kMostParts];
    int count = 0;
};

/// The parts' rows side by side, as columns [first, first + width) of an output with rows of `pitch`. Counts units.
template <class T, class Size>
__global__ void cat_kernel(T* out, CatParts parts, Size width, int64_t pitch, int64_t n) {
    using Index = decltype(width.value());
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
        const Index row = width.quotient(static_cast<Index>(at));
        const int64_t column = static_cast<Index>(at) - row * width.value();
        int k = 0;
        while (column >= parts.ends[k]) ++k;
        const int64_t begin = k == 0 ? 0 : parts.ends[k - 1];
        const T* from = static_cast<const T*>(parts.data[k]);
        out[row * pitch + column] = from[row * (parts.ends[k] - begin) + column - begin];
    }
}

/// What cat does with dense tensors of out's dtype.
class DenseCat {
 public:
    DenseCat(diopiContextHandle_t ctx, std::string_view op, const View& out, size_t dim) : ctx_(ctx), op_(op) {
        row_bytes_ = out.item_size();
        for (size_t d = dim; d < out.shape.size(); ++d) row_bytes_ *= out.shape[d];
        rows_ = out.numel * out.item_size() / row_bytes_;
        to_ = out.data;
    }

    [[nodiscard]] diopiError_t add(const View& part) {
        if (part.numel == 0) return diopiSuccess;
        width_ += part.numel * part.item_size() / rows_;
        parts_.data[parts_.count] = part.data;
        parts_.ends[parts_.count++] = width_;
        return parts_.count == kMostParts ? finish() : diopiSuccess;
    }

    /// Launches what has been added.
    [[nodiscard]] diopiError_t finish() {
        if (parts_.count == 0) return diopiSuccess;
        UnitSize unit;
        unit.divides(to_).divides(row_bytes_);
        for (int k = 0; k < parts_.count; ++k) unit.divides(parts_.data[k]).divides(parts_.ends[k]);
        const int64_t nbytes = unit.nbytes(), width = width_ / nbytes, n = rows_ * width;
        for (int k = 0; k < parts_.count; ++k) parts_.ends[k] /= nbytes;
        const diopiError_t error = with_bits(nbytes, [&]<class T>() {
            const auto run = [&]<class Size>(Size size) {
                return launch(ctx_, op_, launch_for(n, 1), cat_kernel<T, Size>, reinterpret_cast<T*>(to_), parts_, size,
                              row_bytes_ / nbytes, n);
            };
            return n <= INT32_MAX ? run(FastSize::of(width)) : run(WideSize::of(width));
        });
        to_ += width_;
        width_ = 0;
        parts_.count = 0;
        return error;
    }

 private:
    diopiContextHandle_t ctx_;
    std::string_view op_;
    CatParts parts_{};
    std::byte* to_ = nullptr;  ///< where the first part's rows go
    int64_t row_bytes_ = 0, rows_ = 0, width_ = 0;
};

diopiError_t check_cat(std::string_view op, const View& to, diopiConstTensorHandle_t* tensors, int64_t count,
                       size_t dim, bool& is_all_dense) {
    int64_t total = 0;
    is_all_dense = is_dense(to);
    for (int64_t i = 0; i < count; ++i) {
        const View from = view(tensors[i]);
        if (is_skipped(from)) continue;
        if (!agrees(from, to, dim)) {
            return wrong_shape(op, "tensors[" + std::to_string(i) + "]", from.shape,
                               "the sizes of out's " + to_string(to.shape) + " but along dim");
        }
        total += from.shape[dim];
        is_all_dense = is_all_dense && from.dtype == to.dtype && is_dense(from);
    }
    if (total == to.shape[dim]) return diopiSuccess;
    return wrong_shape(op, "out", to.shape, std::to_string(total) + " along dim, the sum of the inputs");
}

/// One copy for each tensor: any strides and dtypes.
diopiError_t cat_one_by_one(diopiContextHandle_t ctx, std::string_view op, const View& to,
                            diopiConstTensorHandle_t* tensors, int64_t count, size_t dim) {
    View part = to;
    for (int64_t i = 0; i < count; ++i) {
        const View from = view(tensors[i]);
        if (is_skipped(from)) continue;
        part.shape = from.shape;
        part.numel = from.numel;
        if (const diopiError_t error = copy_into(ctx, op, from, part); error != diopiSuccess) return error;
        part.data += from.shape[dim] * to.strides[dim] * to.item_size();
    }
    return diopiSuccess;
}

}  // namespace

diopiError_t diopiCat(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t dim) {
    constexpr std::string_view kOp = "diopiCat";
    const View to = view(out);
    if (num_inputs < 1) return fail(diopiErrorOccurred, "diopiCat: no tensors, wanted one or more");
    if (const diopiError_t error = check_views(kOp, to, {}); error != diopiSuccess) return error;
    const auto wrapped = wrap_dim(dim, static_cast<int64_t>(to.shape.size()));
    if (to.shape.empty() || !wrapped) return fail(diopiErrorOccurred, dim_error(kOp, dim, to.shape.size()));
    const auto d = static_cast<size_t>(*wrapped);
    bool is_all_dense = false;
    const diopiError_t refused = check_cat(kOp, to, tensors, num_inputs, d, is_all_dense);
    if (refused != diopiSuccess || to.numel == 0) return refused;
    if (!is_all_dense) return cat_one_by_one(ctx, kOp, to, tensors, num_inputs, d);
    DenseCat cat(ctx, kOp, to, d);
    for (int64_t i = 0; i < num_inputs; ++i) {
        if (const diopiError_t error = cat.add(view(tensors[i])); error != diopiSuccess) return error;
    }
    return cat.finish();
}

diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dims) {
    constexpr std::string_view kOp = "diopiFlip";
    const View to = view(out);
    View from = view(input);
    const size_t rank = to.shape.size();
    if (const diopiError_t error = check_views(kOp, to, {}); error != diopiSuccess) return error;
    if (!std::ranges::equal(to.shape, from.shape)) return wrong_shape(kOp, "out", to.shape, to_string(from.shape));
    Shape strides(from.strides.begin(), from.strides.end());
    std::array<bool, kMaxRank> flipped{};
    for (int64_t i = 0; i < dims.len; ++i) {
        const auto wrapped = wrap_dim(dims.data[i], static_cast<int64_t>(rank));
        if (!wrapped) return fail(diopiErrorOccurred, dim_error(kOp, dims.data[i], rank));
        if (rank == 0 || to.numel == 0) continue;
        const auto d = static_cast<size_t>(*wrapped);
        if (flipped[d]) {
            return fail(diopiErrorOccurred, "diopiFlip: dims names dimension " + std::to_string(d) + " twice");
        }
        flipped[d] = true;
        from.data += (from.shape[d] - 1) * strides[d] * from.item_size();
        strides[d] = -strides[d];
    }
    from.strides = strides;
    return copy_into(ctx, kOp, from, to);
}

}  // namespace diopi::cuda
