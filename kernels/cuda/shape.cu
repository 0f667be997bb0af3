/// cat and flip: kernels that move elements and compute nothing.
#include <algorithm>
#include <span>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/index.hpp"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/element/units.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cuda {

namespace {

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

/// cat of dense tensors of out's dtype.
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

bool is_all_dense(const Cat& cat) {
    return cat.out.is_contiguous() && std::ranges::all_of(cat.tensors, [&](diopiConstTensorHandle_t tensor) {
               const View from = view(tensor);
               return is_passed_over(from) || (from.dtype == cat.out.dtype && from.is_contiguous());
           });
}

diopiError_t cat(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                 diopiConstTensorHandle_t* tensors, int64_t num_inputs, int64_t dim) {
    Cat cat;
    const diopiError_t error = read_cat(op, out, tensors, num_inputs, dim, cat);
    if (error != diopiSuccess || cat.out.numel == 0) return error;
    if (!is_all_dense(cat)) {
        return cat.for_each_part([&](const View& from, const View& part) { return copy_into(ctx, op, from, part); });
    }
    DenseCat dense(ctx, op, cat.out, cat.dim);
    for (const diopiConstTensorHandle_t tensor : cat.tensors) {
        if (const diopiError_t failed = dense.add(view(tensor)); failed != diopiSuccess) return failed;
    }
    return dense.finish();
}

diopiError_t flip(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, diopiSize_t dims) {
    const View to = view(out);
    if (const diopiError_t error = check_views(op, to, {}); error != diopiSuccess) return error;
    Flipped flipped;
    const diopiError_t error = read_flip(op, to, view(input), list_of(dims), flipped);
    return error != diopiSuccess ? error : copy_into(ctx, op, flipped.view, to);
}

}  // namespace

#include "kernels/entries/shape.inc"

}  // namespace diopi::cuda
