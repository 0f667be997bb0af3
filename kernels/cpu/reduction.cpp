/// sum and mean. Sums are formed in float64, int64 or complex128, in blocks, so that rounding errors stay small; a few
/// neighbours of float32 or bfloat16 are added up in float32 before.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <functional>
#include <type_traits>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/sum_lanes.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cpu {

namespace {

using Complex = std::complex<double>;

/// Measured on an AMD EPYC (Zen 4) guest.
constexpr int64_t kBlockOfTiles = 16;  ///< partial sums joined before the next level takes over
constexpr int kLevels = 4;
constexpr int64_t kWide = 64;  ///< from so many columns on, kRows rows are added up at once
constexpr int64_t kRows = 8;
constexpr int64_t kStrip = 256;       ///< columns that are added up in float32 at once
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

/// Whether a few elements are added up in float32 before they join a sum in float64.
template <class Element, class Sum>
constexpr bool kGroups = std::is_same_v<Sum, double> && !std::is_same_v<Element, double>;
constexpr uint32_t kInfinity = 0x7f800000;  ///< the bits of the float

template <class Sum, class Element>
Sum summand(Element x) {
    return static_cast<Sum>(widened(x));
}

template <class Element, class Sum>
Sum sum_row(const Element* x, int64_t n) {
    if (n < kSumLanes) {
        Sum sum{};
        for (int64_t i = 0; i < n; ++i) sum += summand<Sum>(x[i]);
        return sum;
    }
    if constexpr (kGroups<Element, Sum>) {
        const Sum sum = sum_lanes<true, Sum>(x, n, std::identity());
        if (std::isfinite(sum)) return sum;
    }
    return sum_lanes<false, Sum>(x, n, std::identity());
}

/// sums[i] += x[i]
template <class Element, class Sum>
void add_row(Sum* sums, const Element* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) sums[i] += summand<Sum>(x[i]);
}

/// The sum of column i of kRows rows, each element as an X.
template <class X, class Element>
X column_of(const Element* x, int64_t row_stride, int64_t i) {
    static_assert(kRows == 8);
    const auto at = [&](int64_t r) { return static_cast<X>(widened(x[r * row_stride + i])); };
    return ((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(5)) + (at(6) + at(7)));
}

/// sums[i] += the sum of column i of kRows rows
template <class Element, class Sum>
void add_rows(Sum* sums, const Element* x, int64_t row_stride, int64_t n) {
    if constexpr (!kGroups<Element, Sum>) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) sums[i] += column_of<Sum>(x, row_stride, i);
    } else {
        float added[kStrip];
        for (int64_t first = 0; first < n; first += kStrip) {
            const int64_t m = std::min(kStrip, n - first);
            uint32_t largest = 0;
            for (int64_t i = 0; i < m; ++i) {
                added[i] = column_of<float>(x, row_stride, first + i);
                largest = std::max(largest, std::bit_cast<uint32_t>(std::fabs(added[i])));
            }
            if (largest < kInfinity) {
                for (int64_t i = 0; i < m; ++i) sums[first + i] += static_cast<Sum>(added[i]);
                continue;
            }
            for (int64_t i = 0; i < m; ++i) {
                const bool is_finite = std::isfinite(added[i]);
                sums[first + i] += is_finite ? static_cast<Sum>(added[i]) : column_of<Sum>(x, row_stride, first + i);
            }
        }
    }
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
        is_direct_ = in.dtype == element;
        storer_.init(out.dtype, sum, out_buffers_);
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
        parallel_for(std::ssize(parts), kChunk, Loop::sum, [&](int64_t first, int64_t last) {
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
                    sum.add(sum_row_(x, m * width));
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
        for (int64_t first = 0; first < results; first += kColumnsAtOnce) {
            const int64_t m = std::min(kColumnsAtOnce, results - first);
            sum_short_rows(in + first * in_stride, m, in_stride);
            store(out + first * out_stride, m, out_stride);
        }
    }

    void sum_short_rows(int64_t in, int64_t results, int64_t in_stride) {
        const int64_t n = plan_.count;
        const int64_t step = kTile / n;
        for (int64_t r = 0; r < results; r += step) {
            const int64_t rows = std::min(step, results - r);
            const Element* x = load(in + r * in_stride, rows, in_stride, n, plan_.joined.inner_stride(0));
            for (int64_t k = 0; k < rows; ++k) results_[r + k] = sum_row_(x + k * n, n);
        }
    }

    /// A row of results that lie side by side: rows of the input are added to an array of sums.
    void columns(int64_t in, int64_t out) {
        const int64_t results = plan_.kept.inner_size();
        for (int64_t c = 0; c < results; c += kColumnsAtOnce) {
            const int64_t n = std::min(kColumnsAtOnce, results - c);
            sum_columns(in + c * plan_.kept.inner_stride(0), n);
            store(out + c * plan_.kept.inner_stride(1), n, plan_.kept.inner_stride(1));
        }
    }

    /// results_[0..n) = sums of n neighbouring columns. Few columns are summed in several groups at once.
    void sum_columns(int64_t offset, int64_t n) {
        const Nest& nest = plan_.joined;
        const int64_t rows = nest.inner_size(), stride = nest.inner_stride(0);
        const bool is_wide = columns_ >= kWide;
        const int64_t groups = std::max<int64_t>(1, kSumLanes / columns_);
        const int64_t width = n * groups;
        const int64_t step = is_wide ? kRows : kTile / (columns_ * groups) * groups;
        for (auto& level : levels_) std::fill_n(level, width, Sum{});
        int64_t counts[kLevels] = {};
        for_each_outer(nest, 1, [&](const auto& at) {
            for (int64_t r = 0; r < rows; r += step) {
                const int64_t first = offset + at[0] + r * stride, m = std::min(step, rows - r);
                if (is_wide)
                    add_wide_rows(first, m, n);
                else
                    add_narrow_rows(first, m, n, width);
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

    /// Adds up to kRows rows of n columns to the first level.
    void add_wide_rows(int64_t offset, int64_t rows, int64_t n) {
        const int64_t stride = plan_.kept.inner_stride(0), row_stride = plan_.joined.inner_stride(0);
        const bool in_place = is_direct_ && stride == 1;
        const int64_t part = in_place ? n : kTile / kRows;
        for (int64_t c = 0; c < n; c += part) {
            const int64_t m = std::min(part, n - c);
            const Element* x = in_place ? reinterpret_cast<const Element*>(in_.data) + offset + c
                                        : load(offset + c * stride, rows, row_stride, m, stride);
            const int64_t next = in_place ? row_stride : m;
            if (rows == kRows) {
                add_rows_(levels_[0] + c, x, next, m);
            } else {
                for (int64_t r = 0; r < rows; ++r) add_row_(levels_[0] + c, x + r * next, m);
            }
        }
    }

    /// Adds `rows` rows of n columns to the first level, `width` elements at a time.
    void add_narrow_rows(int64_t offset, int64_t rows, int64_t n, int64_t width) {
        const int64_t count = rows * n;
        const Element* x = load(offset, rows, plan_.joined.inner_stride(0), n, plan_.kept.inner_stride(0));
        for (int64_t i = 0; i < count; i += width) add_row_(levels_[0], x + i, std::min(width, count - i));
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
    bool is_direct_ = false;  ///< the input needs no conversion
    decltype(best<sum_row<Element, Sum>>()) sum_row_ = best<sum_row<Element, Sum>>();
    decltype(best<add_row<Element, Sum>>()) add_row_ = best<add_row<Element, Sum>>();
    decltype(best<add_rows<Element, Sum>>()) add_rows_ = best<add_rows<Element, Sum>>();
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
    Sum results_[kColumnsAtOnce];
    Sum levels_[kLevels][kColumnsAtOnce];
};

/// Shares the results among threads; few results are computed one after the other, each in threads.
template <class Element, class Sum>
void run(const Reduction& plan, const View& out, const View& in, Dtype element, Dtype sum, double divisor) {
    const Nest& kept = plan.kept;
    const int64_t results = plan.results >= kManyResults ? kept.sizes[0] : 1;
    parallel_for(results, plan.results / results * plan.count, Loop::sum, [&](int64_t begin, int64_t end) {
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
    } else if (in.dtype == Dtype::float64 || out.dtype == Dtype::float64 || (mean && !is_floating(in.dtype))) {
        run<double, double>(plan, out, in, Dtype::float64, Dtype::float64, divisor);
    } else if (in.dtype == Dtype::bfloat16) {
        run<Bfloat16, double>(plan, out, in, Dtype::bfloat16, Dtype::float64, divisor);
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
