/// sum and mean. Sums are formed in float64, int64 or complex128, in blocks, so that rounding errors stay small.
#include <algorithm>
#include <complex>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cpu {

namespace {

using Complex = std::complex<double>;

/// Measured on an AMD EPYC (Zen 4) guest.
constexpr int64_t kLanes = 32;         ///< partial sums of a row: 8 AVX registers of double
constexpr int64_t kBlockOfTiles = 16;  ///< partial sums joined before the next level takes over
constexpr int kLevels = 4;
constexpr int64_t kColumns = 4096;  ///< columns summed at once: rows far apart are then read in long runs
constexpr int64_t kFarRow = 256;    ///< least number of columns whose next row is prefetched
constexpr int64_t kCacheLine = 64;
constexpr int64_t kChunk = 1 << 16;   ///< elements of a part of a long sum: parts do not depend on the threads
constexpr int64_t kManyResults = 16;  ///< from so many on the results are shared among threads

/// Adds up numbers in levels: each passes its sum on after kBlockOfTiles additions.
template <class Sum>
class Cascade {
 public:
    void add(Sum x) {
        for (int level = 0;; ++level) {
            sums_[level] += x;
            if (level + 1 == kLevels || ++counts_[level] < kBlockOfTiles) return;
            x = sums_[level];
            sums_[level] = Sum{};
            counts_[level] = 0;
        }
    }
    [[nodiscard]] Sum total() const {
        Sum total{};
        for (const Sum& x : sums_) total += x;
        return total;
    }

 private:
    Sum sums_[kLevels] = {};
    int64_t counts_[kLevels] = {};
};

template <class Element, class Sum>
Sum sum_row(const Element* x, int64_t n) {
    if (n < kLanes) {
        Sum sum{};
        for (int64_t i = 0; i < n; ++i) sum += static_cast<Sum>(x[i]);
        return sum;
    }
    Sum lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<Sum>(x[i + l]);
    }
    for (int64_t l = 0; i < n; ++i, ++l) lanes[l] += static_cast<Sum>(x[i]);
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    return lanes[0];
}

/// Computes a reduction. Element: the type of the input's tiles; Sum: the type of the sums.
template <class Element, class Sum>
class Summation {
 public:
    /// element, sum: the dtypes of Element and Sum. divisor: 0 for a plain sum. columns: the innermost size of all
    /// results, of which the plan may have a part: the order of additions depends on it.
    Summation(const Reduction& plan, const View& out, const View& in, Dtype element, Dtype sum, double divisor,
              int64_t columns)
        : plan_(plan), out_(out), in_(in), element_(element), sum_(sum), divisor_(divisor), columns_(columns) {
        loader_.init(in.dtype, element, in_buffers_);
        storer_.init(out.dtype, sum, false, out_buffers_);
    }

    void run() {
        if (plan_.count == 0) return fill_empty();
        if (plan_.runs_across_results()) return each_kept_row([this](int64_t in, int64_t out) { columns(in, out); });
        if (plan_.joined.rank == 1 && plan_.count <= kTile / 2) {
            return each_kept_row([this](int64_t in, int64_t out) { short_rows(in, out); });
        }
        for_each_outer(plan_.kept, 0, [this](const auto& at) {
            results_[0] = long_sum(at[0]);
            store(at[1], 1, 0);
        });
    }

 private:
    template <class Visit>
    void each_kept_row(Visit&& visit) {
        for_each_outer(plan_.kept, 1, [&](const auto& at) { visit(at[0], at[1]); });
    }

    [[nodiscard]] const Element* load(int64_t offset, int64_t rows, int64_t row_stride, int64_t n, int64_t stride) {
        std::byte* data = in_.data + offset * in_.item_size();
        return static_cast<const Element*>(loader_.load({data, rows, n, row_stride, stride}));
    }

    /// Writes n results from element `offset` of out on.
    void store(int64_t offset, int64_t n, int64_t stride) {
        if (divisor_ != 0) {
            for (int64_t i = 0; i < n; ++i) results_[i] = divided(results_[i]);
        }
        for (int64_t i = 0; i < n; i += kTile) {
            std::byte* to = out_.data + (offset + i * stride) * out_.item_size();
            storer_.store(results_ + i, {to, 1, std::min(kTile, n - i), 0, stride});
        }
    }

    [[nodiscard]] Sum divided(Sum x) const {
        if constexpr (std::is_integral_v<Sum>) {
            return x;
        } else {
            return x / divisor_;
        }
    }

    void fill_empty() {
        for_each_outer(plan_.kept, 0, [this](const auto& at) {
            results_[0] = Sum{};
            if constexpr (!std::is_integral_v<Sum>) {
                if (divisor_ != 0) results_[0] = Sum{} / 0.0;
            }
            storer_.store(results_, {out_.data + at[1] * out_.item_size(), 1, 1, 0, 0});
        });
    }

    /// One result, from all elements of `joined`.
    [[nodiscard]] Sum long_sum(int64_t offset) {
        const Nest& nest = plan_.joined;
        const int64_t size = nest.sizes[0], step = std::max<int64_t>(1, kChunk / (plan_.count / size));
        if (step >= size) return sum_of(nest, offset);
        std::vector<Sum> parts(static_cast<size_t>((size + step - 1) / step));
        parallel_for(std::ssize(parts), kChunk, [&](int64_t first, int64_t last) {
            Summation own(plan_, out_, in_, element_, sum_, divisor_, columns_);
            Nest part = nest;
            for (int64_t at = first; at < last; ++at) {
                part.sizes[0] = std::min(step, size - at * step);
                parts[static_cast<size_t>(at)] = own.sum_of(part, offset + at * step * nest.strides[0][0]);
            }
        });
        Cascade<Sum> sum;
        for (const Sum& part : parts) sum.add(part);
        return sum.total();
    }

    [[nodiscard]] Sum sum_of(const Nest& nest, int64_t offset) {
        const int64_t n = nest.inner_size();
        const int64_t stride = nest.inner_stride(0);
        const bool nested = nest.rank > 1;
        const int64_t rows = nested ? nest.sizes[static_cast<size_t>(nest.rank - 2)] : 1;
        const int64_t row_stride = nested ? nest.strides[0][static_cast<size_t>(nest.rank - 2)] : 0;
        const int64_t step = std::max<int64_t>(1, std::min(rows, kTile / n));
        Cascade<Sum> sum;
        for_each_outer(nest, nested ? 2 : 1, [&](const auto& at) {
            for (int64_t r = 0; r < rows; r += step) {
                const int64_t m = std::min(step, rows - r);
                for (int64_t i = 0; i < n; i += kTile) {
                    const int64_t width = std::min(kTile, n - i);
                    const Element* x = load(offset + at[0] + r * row_stride + i * stride, m, row_stride, width, stride);
                    sum.add(sum_row<Element, Sum>(x, m * width));
                }
            }
        });
        return sum.total();
    }

    /// A row of results, each from one short run: several runs make a tile.
    void short_rows(int64_t in, int64_t out) {
        const int64_t results = plan_.kept.inner_size();
        const int64_t in_stride = plan_.kept.inner_stride(0);
        const int64_t out_stride = plan_.kept.inner_stride(1);
        const int64_t n = plan_.count;
        const int64_t step = kTile / n;
        for (int64_t r = 0; r < results; r += step) {
            const int64_t rows = std::min(step, results - r);
            const Element* x = load(in + r * in_stride, rows, in_stride, n, plan_.joined.inner_stride(0));
            for (int64_t k = 0; k < rows; ++k) results_[k] = sum_row<Element, Sum>(x + k * n, n);
            store(out + r * out_stride, rows, out_stride);
        }
    }

    /// A row of results that lie side by side: rows of the input are added to an array of sums.
    void columns(int64_t in, int64_t out) {
        const int64_t results = plan_.kept.inner_size();
        for (int64_t c = 0; c < results; c += kColumns) {
            const int64_t n = std::min(kColumns, results - c);
            sum_columns(in + c * plan_.kept.inner_stride(0), n);
            store(out + c * plan_.kept.inner_stride(1), n, plan_.kept.inner_stride(1));
        }
    }

    /// results_[0..n) = sums of n neighbouring columns. Few columns are summed in several groups at once.
    void sum_columns(int64_t offset, int64_t n) {
        const Nest& nest = plan_.joined;
        const int64_t rows = nest.inner_size();
        const int64_t groups = std::max<int64_t>(1, kLanes / columns_);
        const int64_t width = n * groups;
        const int64_t step = std::max<int64_t>(1, kTile / (std::min(kColumns, columns_) * groups)) * groups;
        for (auto& level : levels_) std::fill_n(level, width, Sum{});
        int64_t counts[kLevels] = {};
        for_each_outer(nest, 1, [&](const auto& at) {
            for (int64_t r = 0; r < rows; r += step) {
                add_rows(offset + at[0] + r * nest.inner_stride(0), std::min(step, rows - r), n, width);
                prefetch_row(offset + at[0] + (r + step) * nest.inner_stride(0), n);
                pass_on(counts, width);
            }
        });
        for (int level = 1; level < kLevels; ++level) {
            for (int64_t i = 0; i < width; ++i) levels_[0][i] += levels_[level][i];
        }
        for (int64_t i = 0; i < n; ++i) {
            results_[i] = levels_[0][i];
            for (int64_t g = 1; g < groups; ++g) results_[i] += levels_[0][g * n + i];
        }
    }

    /// The hardware does not prefetch rows that lie far apart.
    void prefetch_row(int64_t offset, int64_t n) const {
        if (n < kFarRow || plan_.kept.inner_stride(0) != 1 || plan_.joined.inner_stride(0) <= 2 * n) return;
        const std::byte* row = in_.data + offset * in_.item_size();
        for (int64_t at = 0; at < n * in_.item_size(); at += kCacheLine) __builtin_prefetch(row + at);
    }

    /// Adds `rows` rows of n columns to the first level, `width` elements at a time; longer rows in parts of a tile.
    void add_rows(int64_t offset, int64_t rows, int64_t n, int64_t width) {
        const int64_t stride = plan_.kept.inner_stride(0);
        for (int64_t c = 0; c < n; c += kTile) {
            const int64_t part = std::min(kTile, n - c);
            const int64_t count = rows * part;
            const Element* x = load(offset + c * stride, rows, plan_.joined.inner_stride(0), part, stride);
            for (int64_t i = 0; i < count; i += width) add_row(levels_[0] + c, x + i, std::min(width, count - i));
        }
    }

    static void add_row(Sum* sums, const Element* x, int64_t n) {
        for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<Sum>(x[i]);
    }

    /// After kBlockOfTiles additions the sums of a level are added to those of the next one.
    void pass_on(int64_t (&counts)[kLevels], int64_t width) {
        for (int level = 0; level + 1 < kLevels && ++counts[level] == kBlockOfTiles; ++level) {
            counts[level] = 0;
            for (int64_t i = 0; i < width; ++i) levels_[level + 1][i] += levels_[level][i];
            std::fill_n(levels_[level], width, Sum{});
        }
    }

    const Reduction& plan_;
    const View out_, in_;
    Dtype element_, sum_;
    double divisor_;
    int64_t columns_;
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
    Sum results_[kColumns];
    Sum levels_[kLevels][kColumns];
};

/// Shares the results among threads; few results are computed one after the other, each in threads.
template <class Element, class Sum>
void run(const Reduction& plan, const View& out, const View& in, Dtype element, Dtype sum, double divisor) {
    const Nest& kept = plan.kept;
    const int64_t results = plan.results >= kManyResults ? kept.sizes[0] : 1;
    parallel_for(results, plan.results / results * plan.count, [&](int64_t begin, int64_t end) {
        Reduction part = plan;
        View from = in, to = out;
        if (results > 1) {
            part.kept.sizes[0] = end - begin;
            from.data += begin * kept.strides[0][0] * in.item_size();
            to.data += begin * kept.strides[1][0] * out.item_size();
        }
        Summation<Element, Sum>(part, to, from, element, sum, divisor, kept.inner_size()).run();
    });
}

diopiError_t sum(std::string_view op, const View& out, const View& in, ShapeView dims, bool mean) {
    Reduction plan;
    const diopiError_t error = plan_sum(op, out, in, dims, mean, plan);
    if (error != diopiSuccess || out.numel == 0) return error;
    // Over no elements the mean is 0/0; any divisor marks it as a mean.
    const double divisor = mean ? std::max(1.0, static_cast<double>(plan.count)) : 0.0;
    if (is_complex(in.dtype)) {
        run<Complex, Complex>(plan, out, in, Dtype::complex128, Dtype::complex128, divisor);
    } else if (in.dtype == Dtype::float64 || (mean && !is_floating(in.dtype))) {
        run<double, double>(plan, out, in, Dtype::float64, Dtype::float64, divisor);
    } else if (is_floating(in.dtype)) {
        run<float, double>(plan, out, in, Dtype::float32, Dtype::float64, divisor);
    } else {
        run<uint64_t, uint64_t>(plan, out, in, Dtype::int64, Dtype::int64, divisor);
    }
    return diopiSuccess;
}

template <bool kMean>
diopiError_t sum_along(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dim) {
    return sum(op, view(out), view(input), list_of(dim), kMean);
}

}  // namespace

#include "kernels/entries/reduction.inc"

}  // namespace diopi::cpu
