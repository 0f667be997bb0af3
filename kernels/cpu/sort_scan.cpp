/// Running sums. Those of floating numbers are formed in float64; those of float64 carry their rounding errors along.
#include <algorithm>
#include <complex>
#include <memory>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/sort.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct RunningSum {
    T sum{};
    template <class X>
    T add(X x) {
        return sum += static_cast<T>(x);
    }
};

/// Source: T. Ogita, S. Rump, S. Oishi, Accurate sum and dot product, algorithm 4.4.
struct CarefulSum {
    double sum = 0, rounded_off = 0;
    double add(double x) {
        const double total = sum + x, added = total - sum;
        rounded_off += (sum - (total - added)) + (x - added);
        sum = total;
        const double careful = sum + rounded_off;
        return careful == careful ? careful : sum;
    }
};

/// Element: the type of the input's tiles; Result: that of the sums.
template <class Element, class Running, class Result>
class Scan {
 public:
    Scan(const AlongDim& plan, const View& out, const View& in, Dtype element, Dtype result, bool backward)
        : plan_(plan), out_(out), in_(in), backward_(backward) {
        loader_.init(in.dtype, element, in_buffers_);
        storer_.init(out.dtype, result, out_buffers_);
    }

    void run(int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) row(plan_.offset(0, r), plan_.offset(1, r));
    }

 private:
    void row(int64_t in, int64_t out) {
        Running sum;
        for (int64_t done = 0; done < plan_.n; done += kTile) {
            const int64_t n = std::min(kTile, plan_.n - done), first = backward_ ? plan_.n - done - n : done;
            const auto patch = [&](const View& view, int64_t offset, int64_t stride) {
                return Patch{view.data + (offset + first * stride) * view.item_size(), 1, n, 0, stride};
            };
            const auto* x = static_cast<const Element*>(loader_.load(patch(in_, in, plan_.strides[0])));
            for (int64_t i = 0; i < n; ++i) {
                const int64_t k = backward_ ? n - 1 - i : i;
                sums_[k] = sum.add(x[k]);
            }
            storer_.store(sums_, patch(out_, out, plan_.strides[1]));
        }
    }

    const AlongDim& plan_;
    const View out_, in_;
    bool backward_;
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
    Result sums_[kTile];
};

template <class Element, class Running, class Result>
diopiError_t scan(const AlongDim& plan, const View& out, const View& in, Dtype element, Dtype result, bool backward) {
    parallel_for(plan.rows, plan.n, Loop::sum, [&](int64_t begin, int64_t end) {
        std::make_unique<Scan<Element, Running, Result>>(plan, out, in, element, result, backward)->run(begin, end);
    });
    return diopiSuccess;
}

/// Elements become whole numbers first where out holds such.
diopiError_t running(diopiContextHandle_t ctx, std::string_view op, const View& out, View in, int64_t dim,
                     bool backward) {
    if (is_complex(in.dtype) && !is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a complex dtype");
    const bool whole = !is_floating(out.dtype) && !is_complex(out.dtype);
    if (whole && is_floating(in.dtype)) {
        if (const diopiError_t error = contiguous_as(ctx, in, Dtype::int64, in); error != diopiSuccess) return error;
    }
    AlongDim plan;
    const diopiError_t error = plan_along(op, in, {&out}, dim, -1, plan);
    if (error != diopiSuccess || out.numel == 0) return error;
    using Complex = std::complex<double>;
    if (is_complex(out.dtype)) {
        return scan<Complex, RunningSum<Complex>, Complex>(plan, out, in, Dtype::complex128, Dtype::complex128,
                                                           backward);
    }
    if (whole) {
        return scan<uint64_t, RunningSum<uint64_t>, uint64_t>(plan, out, in, Dtype::int64, Dtype::int64, backward);
    }
    if (wide(in.dtype) == Dtype::float32) {
        return scan<float, RunningSum<double>, double>(plan, out, in, Dtype::float32, Dtype::float64, backward);
    }
    return scan<double, CarefulSum, double>(plan, out, in, Dtype::float64, Dtype::float64, backward);
}

diopiError_t cumsum(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, int64_t dim) {
    return running(ctx, op, view(out), view(input), dim, false);
}

diopiError_t cumsum_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, int64_t dim) {
    return running(ctx, op, view(grad_input), view(grad_output), dim, true);
}

}  // namespace

#include "kernels/entries/sort_scan.inc"

}  // namespace diopi::cpu
