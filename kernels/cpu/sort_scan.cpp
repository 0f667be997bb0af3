/// Running sums. Those of floating numbers are formed in float64; those of float64 carry their rounding errors along.
/// The order of a row's additions depends on its strides alone.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

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

/// The numbers of rows whose sums are formed side by side, because each addition of one sum waits for the one before:
/// kAdjacent for rows that are neighbours in memory, kBeside for others.
constexpr int64_t kBeside = 8, kAdjacent = 128;

/// sums[j] runs over row j; element i of it is x[i * step + j * row], its sum goes to the same place of out. kRows: the
/// number of rows where it is known, else 0.
template <int64_t kRows, class Element, class Running, class Result>
void add_rows(Running* sums, int64_t rows, int64_t row, const Element* x, Result* out, int64_t n, int64_t step,
              bool backward) {
    const int64_t count = kRows > 0 ? kRows : rows;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t first = (backward ? n - 1 - i : i) * step;
#pragma GCC ivdep
        for (int64_t j = 0; j < count; ++j) {
            out[first + j * row] = static_cast<Result>(sums[j].add(x[first + j * row]));
        }
    }
}

/// Whether four neighbours of a row are added up before the sum of all elements before them joins: then only one
/// addition of four waits for another.
template <class Running>
constexpr bool kByFours = std::is_same_v<Running, RunningSum<double>>;

/// The same as add_rows for one row without gaps.
template <class Element, class Running, class Result>
void add_row(Running* sums, int64_t, int64_t, const Element* x, Result* out, int64_t n, int64_t, bool backward) {
    constexpr int64_t kFour = 4;
    using Wide [[gnu::vector_size(32)]] = double;
    using Places [[gnu::vector_size(32)]] = int64_t;
    using Elements [[gnu::vector_size(kFour * sizeof(Element))]] = Element;
    using Results [[gnu::vector_size(kFour * sizeof(Result))]] = Result;
    const Places reversed = {3, 2, 1, 0};
    const Wide none{};
    Wide before = sums->sum - none;
    int64_t i = 0;
    for (; i + kFour <= n; i += kFour) {
        const int64_t first = backward ? n - i - kFour : i;
        Elements own;
        std::memcpy(&own, x + first, sizeof own);
        Wide four = __builtin_convertvector(own, Wide);
        if (backward) four = __builtin_shuffle(four, reversed);
        four += __builtin_shuffle(four, none, Places{4, 0, 1, 2});
        four += __builtin_shuffle(four, none, Places{4, 4, 0, 1});
        Wide all = before + four;
        before += __builtin_shuffle(four, Places{3, 3, 3, 3});
        if (backward) all = __builtin_shuffle(all, reversed);
        const Results results = __builtin_convertvector(all, Results);
        std::memcpy(out + first, &results, sizeof results);
    }
    sums->sum = before[0];
    for (; i < n; ++i) {
        const int64_t at = backward ? n - 1 - i : i;
        out[at] = static_cast<Result>(sums->add(x[at]));
    }
}

/// Element: the type of the input's tiles; Result: that of the sums.
template <class Element, class Running, class Result>
class Scan {
 public:
    Scan(const AlongDim& plan, const View& out, const View& in, Dtype element, Dtype result, bool backward)
        : plan_(plan), out_(out), in_(in), backward_(backward) {
        loader_.init(in.dtype, element, in_buffers_);
        storer_.init(out.dtype, result, out_buffers_);
        if (plan.rank == 0) return;
        row_strides_ = {plan.outer[0][plan.rank - 1], plan.outer[1][plan.rank - 1]};
        run_length_ = plan.sizes[plan.rank - 1];
    }

    void run(int64_t begin, int64_t end) {
        const bool adjacent = std::abs(plan_.strides[0]) > std::abs(row_strides_[0]);
        const int64_t most = adjacent ? kAdjacent : kByFours<Running> ? 1 : kBeside;
        for (int64_t r = begin, rows = 0; r < end; r += rows) {
            rows = std::min({most, end - r, run_length_ - r % run_length_});
            if (!adjacent && rows < kBeside) rows = 1;
            sum(rows, plan_.offset(0, r), plan_.offset(1, r), adjacent);
        }
    }

 private:
    using AddRows = void (*)(Running*, int64_t, int64_t, const Element*, Result*, int64_t, int64_t, bool);

    /// The sums of some rows with offsets that are row_strides_ apart. Tiles hold whole steps of all of them, one after
    /// the other if the rows are adjacent, else a part of each row.
    void sum(int64_t rows, int64_t in, int64_t out, bool adjacent) {
        Running sums[kAdjacent]{};
        const int64_t tile = kTile / rows;
        for (int64_t done = 0; done < plan_.n; done += tile) {
            const int64_t n = std::min(tile, plan_.n - done), first = backward_ ? plan_.n - done - n : done;
            const auto patch = [&](const View& view, size_t tensor, int64_t offset) {
                const int64_t stride = plan_.strides[tensor], row = row_strides_[tensor];
                std::byte* data = view.data + (offset + first * stride) * view.item_size();
                return adjacent ? Patch{data, n, rows, stride, row} : Patch{data, rows, n, row, stride};
            };
            const auto* x = static_cast<const Element*>(loader_.load(patch(in_, 0, in)));
            const Patch to = patch(out_, 1, out);
            auto* results = static_cast<Result*>(storer_.target(to));
            const int64_t row = adjacent ? 1 : n, step = adjacent ? rows : 1;
            const AddRows add = adjacent ? adjacent_rows_ : rows == 1 ? one_row_ : beside_;
            add(sums, rows, row, x, results, n, step, backward_);
            storer_.store(results, to);
        }
    }

    static AddRows row_function() {
        if constexpr (kByFours<Running>)
            return best<add_row<Element, Running, Result>>();
        else
            return best<add_rows<1, Element, Running, Result>>();
    }

    const AlongDim& plan_;
    const View out_, in_;
    bool backward_;
    std::array<int64_t, 2> row_strides_{};  ///< elements from one row of a run to the next, in the input and in the out
    int64_t run_length_ = 1;                ///< rows of a run
    AddRows one_row_ = row_function();
    AddRows beside_ = best<add_rows<kBeside, Element, Running, Result>>();
    AddRows adjacent_rows_ = best<add_rows<0, Element, Running, Result>>();
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
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
    if (in.dtype == Dtype::float32 && out.dtype == Dtype::float32) {
        return scan<float, RunningSum<double>, float>(plan, out, in, Dtype::float32, Dtype::float32, backward);
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
