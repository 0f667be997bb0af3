/// Reductions that fold the elements of each result into an accumulator. A fold F is a formula:
///
///     Element                    the type of the input's tiles
///     Accumulator start          of no elements
///     Accumulator step(a, x)     with one more element; step(a, x, centre) where each result has a centre
///     Accumulator join(a, b)     of two parts
///     Result finish(a)
///     kVectors                   in folds in any order: a row has so many vectors of accumulators, whose steps do not
///                                wait for each other
///     take(V& a, V x)            the step of such a vector, in place
///     take_number(V& a, V x)     where elements may be NaN: the same for those that are not, in less time
///     X term(X x)                in sums: what step adds, computed in float32 or float64
///     bool may_group(sum)        in folds with a term: whether the sum of a row, whose terms were computed and added
///                                up by four in float32, is exact enough; else it is formed again by steps
///
/// Rows are folded in lanes and blocks, columns in levels: sums are as exact as pairwise ones.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/read_ahead.hpp"
#include "kernels/cpu/sum_lanes.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cpu {

namespace fold {

/// Measured on an AMD EPYC (Zen 5) guest.
constexpr int64_t kLanes = 16;
constexpr int64_t kBlock = 16;  ///< parts that one level joins before it passes them on
constexpr int kLevels = 4;
constexpr int64_t kChunk = 1 << 16;   ///< elements of a part of a long row: parts do not depend on the threads
constexpr int64_t kManyResults = 16;  ///< from so many on the results are shared among threads

template <bool kCentred, class F, class A, class X>
[[gnu::always_inline]] inline A stepped(const F& f, A a, X x, [[maybe_unused]] double centre) {
    if constexpr (kCentred)
        return f.step(a, x, centre);
    else
        return f.step(a, x);
}

/// The type of registers: GCC lowers larger vectors before it knows of better instructions.
template <class Element>
using Register [[gnu::vector_size(32)]] = Element;

/// take(accumulators, elements, number of the register) is called for each register of elements.
template <class F, class Take>
[[gnu::always_inline]] inline typename F::Accumulator row_by(const typename F::Element* x, int64_t n, Take&& take) {
    using Element = typename F::Element;
    using Vector = Register<Element>;
    constexpr int64_t kPer = sizeof(Vector) / sizeof(Element), kAll = kPer * F::kVectors;
    Vector parts[F::kVectors];
    for (Vector& part : parts) part = F::start() - Vector{};
    int64_t i = 0;
    for (; i + kAll <= n; i += kAll) {
        read_ahead(x + i, kAll);
#pragma GCC unroll 8
        for (int64_t k = 0; k < F::kVectors; ++k) {
            Vector own;
            std::memcpy(&own, x + i + k * kPer, sizeof own);
            take(parts[k], own, k);
        }
    }
    for (int64_t k = 1; k < F::kVectors; ++k) F::take(parts[0], parts[k]);
    Element all = F::start();
    for (int64_t l = 0; l < kPer; ++l) all = F::step(all, Element{parts[0][l]});
    for (; i < n; ++i) all = F::step(all, x[i]);
    return all;
}

template <class F>
[[gnu::always_inline]] inline typename F::Accumulator row_in_vectors(const typename F::Element* x, int64_t n) {
    using Vector = Register<typename F::Element>;
    if constexpr (requires(Vector & a) { F::take_number(a, a); }) {
        // Elements among which there is NaN have no sum, and few others have none.
        Vector sums[4] = {};
        const auto all = row_by<F>(
            x, n, [&](Vector & a, const Vector& own, int64_t k) __attribute__((always_inline)) {
                F::take_number(a, own);
                sums[k % 4] += own;
            });
        const Vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        bool is_number = true;
        for (size_t l = 0; l < sizeof sum / sizeof sum[0]; ++l) is_number = is_number && sum[l] == sum[l];
        if (is_number) return all;
    }
    return row_by<F>(
        x, n, [](Vector & a, const Vector& own, int64_t) __attribute__((always_inline)) { F::take(a, own); });
}

template <class F, bool kCentred>
typename F::Accumulator row(const typename F::Element* x, int64_t n, double centre, const F& given) {
    if constexpr (requires { F::kVectors; }) return row_in_vectors<F>(x, n);
    if constexpr (requires { F::may_group(0.0); }) {
        const auto term = [](auto wide) { return F::term(wide); };
        if (const double sum = sum_lanes<true, double>(x, n, term); F::may_group(sum)) return sum;
    }
    const F f = given;
    typename F::Accumulator lanes[kLanes];
    std::fill_n(lanes, kLanes, f.start());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        read_ahead(x + i, kLanes);
#pragma GCC unroll 1  // a loop of its own becomes vectors for every step
        for (int64_t l = 0; l < kLanes; ++l) lanes[l] = stepped<kCentred>(f, lanes[l], x[i + l], centre);
    }
    for (int64_t l = 0; i < n; ++i, ++l) lanes[l] = stepped<kCentred>(f, lanes[l], x[i], centre);
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes[l] = f.join(lanes[l], lanes[l + half]);
    }
    return lanes[0];
}

/// Adds kRows elements, row_stride apart, to each of n accumulators.
template <int64_t kRows, class F, bool kCentred>
[[gnu::always_inline]] inline void add_rows(typename F::Accumulator* a, const typename F::Element* x,
                                            int64_t row_stride, const double* centres, int64_t n, const F& f) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const double centre = kCentred ? centres[i] : 0;
        typename F::Accumulator own = a[i];
#pragma GCC unroll 8
        for (int64_t r = 0; r < kRows; ++r) own = stepped<kCentred>(f, own, x[r * row_stride + i], centre);
        a[i] = own;
    }
}

/// Adds `rows` elements, row_stride apart, to each of n accumulators.
template <class F, bool kCentred>
void columns(typename F::Accumulator* a, const typename F::Element* x, int64_t rows, int64_t row_stride,
             const double* centres, int64_t n, const F& given) {
    constexpr int64_t kAtOnce = 4;  // an accumulator is read and written once for these
    const F f = given;
    for (; rows >= kAtOnce; rows -= kAtOnce, x += kAtOnce * row_stride) {
        add_rows<kAtOnce, F, kCentred>(a, x, row_stride, centres, n, f);
    }
    for (; rows > 0; --rows, x += row_stride) add_rows<1, F, kCentred>(a, x, row_stride, centres, n, f);
}

/// Joins n accumulators with those of the next level, and starts again.
template <class F>
void pass_on(typename F::Accumulator* next, typename F::Accumulator* own, int64_t n, const F& given) {
    const F f = given;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        next[i] = f.join(next[i], own[i]);
        own[i] = f.start();
    }
}

}  // namespace fold

/// plan.kept: operands input, centres (kCentred only), out.
template <class F, bool kCentred>
class Fold {
 public:
    using Element = typename F::Element;
    using Accumulator = typename F::Accumulator;

    /// element, result: the dtypes of F's Element and Result. centres: of float64; ignored unless kCentred.
    Fold(const Reduction& plan, const View& out, const View& in, const View& centres, Dtype element, Dtype result,
         const F& f)
        : plan_(plan), out_(out), in_(in), centres_(centres), element_(element), result_(result), f_(f) {
        loader_.init(in.dtype, element, in_buffers_);
        storer_.init(out.dtype, result, out_buffers_);
    }

    void run() {
        for_each_outer(plan_.kept, 1, [this](const Offsets& at) {
            const int64_t results = plan_.kept.inner_size();
            for (int64_t first = 0; first < results; first += kColumnsAtOnce) {
                fold(at, first, std::min(kColumnsAtOnce, results - first));
            }
        });
    }

 private:
    using Offsets = std::array<int64_t, kMaxOperands>;
    static constexpr int kOut = kCentred ? 2 : 1;

    /// Results `first` to `first` + n of the row at these offsets.
    void fold(const Offsets& at, int64_t first, int64_t n) {
        if constexpr (kCentred) {
            const double* from = centres_.as<double>() + at[1];
            for (int64_t i = 0; i < n; ++i) centre_[i] = from[(first + i) * plan_.kept.inner_stride(1)];
        }
        const int64_t stride = plan_.kept.inner_stride(0), offset = at[0] + first * stride;
        if (plan_.count == 0) {
            std::fill_n(levels_[0], n, f_.start());
        } else if (plan_.runs_across_results()) {
            fold_columns(offset, n);
        } else if (plan_.joined.rank == 1 && plan_.count <= kTile / 2) {
            fold_short_rows(offset, n);
        } else {
            for (int64_t i = 0; i < n; ++i) levels_[0][i] = long_row(offset + i * stride, centre_of(i));
        }
        const int64_t out_stride = plan_.kept.inner_stride(kOut);
        for (int64_t i = 0; i < n; i += kTile) {
            const int64_t m = std::min(kTile, n - i);
            for (int64_t k = 0; k < m; ++k) results_[k] = f_.finish(levels_[0][i + k]);
            std::byte* to = out_.data + (at[kOut] + (first + i) * out_stride) * out_.item_size();
            storer_.store(results_, {to, 1, m, 0, out_stride});
        }
    }

    [[nodiscard]] double centre_of(int64_t i) const { return kCentred ? centre_[i] : 0; }

    [[nodiscard]] const Element* load(int64_t offset, int64_t rows, int64_t row_stride, int64_t n, int64_t stride) {
        std::byte* data = in_.data + offset * in_.item_size();
        return static_cast<const Element*>(loader_.load({data, rows, n, row_stride, stride}));
    }

    void fold_columns(int64_t offset, int64_t n) {
        const Nest& nest = plan_.joined;
        const int64_t item = in_.item_size(), row_stride = nest.inner_stride(0), stride = plan_.kept.inner_stride(0);
        const bool in_place = in_.dtype == element_ && stride == 1;
        // The processor does not read the next rows ahead where they are short and lie in other pages.
        const bool reads_soon = stride == 1 && std::abs(row_stride * item) >= kPage && n * item < kPage;
        for (auto& level : levels_) std::fill_n(level, n, f_.start());
        int64_t counts[fold::kLevels] = {};
        for_each_outer(nest, 1, [&](const Offsets& at) {
            for (int64_t r = 0, rows = 0; r < nest.inner_size(); r += rows) {
                rows = std::min(nest.inner_size() - r, fold::kBlock - counts[0]);
                const int64_t from = offset + at[0] + r * row_stride;
                for (int64_t k = rows; reads_soon && k < 2 * rows; ++k) {
                    read_soon(in_.data + (from + k * row_stride) * item, n * item);
                }
                if (in_place) {
                    const Element* x = reinterpret_cast<const Element*>(in_.data) + from;
                    columns_(levels_[0], x, rows, row_stride, centre_, n, f_);
                } else {
                    const int64_t width = kTile / rows;
                    for (int64_t i = 0; i < n; i += width) {
                        const int64_t m = std::min(width, n - i);
                        const Element* x = load(from + i * stride, rows, row_stride, m, stride);
                        columns_(levels_[0] + i, x, rows, m, centre_ + (kCentred ? i : 0), m, f_);
                    }
                }
                pass_on(counts, rows, n);
            }
        });
        for (int level = 1; level < fold::kLevels; ++level) pass_on_(levels_[0], levels_[level], n, f_);
    }

    /// A level's accumulators are joined with those of the next one after kBlock additions: of rows, then of a level.
    void pass_on(int64_t (&counts)[fold::kLevels], int64_t rows, int64_t n) {
        counts[0] += rows;
        for (int level = 0; level + 1 < fold::kLevels && counts[level] == fold::kBlock; ++level) {
            counts[level] = 0;
            ++counts[level + 1];
            pass_on_(levels_[level + 1], levels_[level], n, f_);
        }
    }

    void fold_short_rows(int64_t offset, int64_t n) {
        const int64_t size = plan_.count, stride = plan_.kept.inner_stride(0), step = kTile / size;
        for (int64_t r = 0; r < n; r += step) {
            const int64_t rows = std::min(step, n - r);
            const Element* x = load(offset + r * stride, rows, stride, size, plan_.joined.inner_stride(0));
            for (int64_t k = 0; k < rows; ++k) levels_[0][r + k] = row_(x + k * size, size, centre_of(r + k), f_);
        }
    }

    /// One result of many elements; its parts are folded in threads and joined pairwise.
    [[nodiscard]] Accumulator long_row(int64_t offset, double centre) {
        const Nest& nest = plan_.joined;
        const int64_t size = nest.sizes[0], inner = std::max<int64_t>(plan_.count / size, 1);
        const int64_t step = std::max<int64_t>(fold::kChunk / inner, 1);
        if (step >= size) return part_of_row(nest, offset, centre);
        std::vector<Accumulator> parts(static_cast<size_t>((size + step - 1) / step));
        parallel_for(std::ssize(parts), fold::kChunk, Loop::sum, [&](int64_t first, int64_t last) {
            Fold own(plan_, out_, in_, centres_, element_, result_, f_);
            Nest part = nest;
            for (int64_t at = first; at < last; ++at) {
                part.sizes[0] = std::min(step, size - at * step);
                const int64_t from = offset + at * step * nest.strides[0][0];
                parts[static_cast<size_t>(at)] = own.part_of_row(part, from, centre);
            }
        });
        return joined_pairwise(parts);
    }

    [[nodiscard]] Accumulator joined_pairwise(std::vector<Accumulator>& parts) const {
        for (size_t n = parts.size(); n > 1; n = (n + 1) / 2) {
            for (size_t i = 0; i < n / 2; ++i) parts[i] = f_.join(parts[2 * i], parts[2 * i + 1]);
            if (n % 2 == 1) parts[n / 2] = parts[n - 1];
        }
        return parts.empty() ? f_.start() : parts[0];
    }

    [[nodiscard]] Accumulator part_of_row(const Nest& nest, int64_t offset, double centre) {
        std::vector<Accumulator> tiles;
        for_each_outer(nest, 1, [&](const Offsets& at) {
            for (int64_t i = 0; i < nest.inner_size(); i += kTile) {
                const int64_t n = std::min(kTile, nest.inner_size() - i);
                const int64_t from = offset + at[0] + i * nest.inner_stride(0);
                tiles.push_back(row_(load(from, 1, 0, n, nest.inner_stride(0)), n, centre, f_));
            }
        });
        return joined_pairwise(tiles);
    }

    const Reduction& plan_;
    const View out_, in_, centres_;
    Dtype element_, result_;
    const F f_;
    decltype(best<fold::row<F, kCentred>>()) row_ = best<fold::row<F, kCentred>>();
    decltype(best<fold::columns<F, kCentred>>()) columns_ = best<fold::columns<F, kCentred>>();
    decltype(best<fold::pass_on<F>>()) pass_on_ = best<fold::pass_on<F>>();
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
    Accumulator levels_[fold::kLevels][kColumnsAtOnce];
    decltype(std::declval<F>().finish({})) results_[kTile];
    double centre_[kCentred ? kColumnsAtOnce : 1];
};

/// Runs the fold, many results in threads.
template <bool kCentred, class F>
void run_fold(const Reduction& plan, const View& out, const View& in, const View& centres, Dtype element, Dtype result,
              const F& f) {
    const Nest& kept = plan.kept;
    const int64_t results = plan.results >= fold::kManyResults ? kept.sizes[0] : std::min<int64_t>(plan.results, 1);
    parallel_for(results, plan.results / std::max<int64_t>(results, 1) * plan.count, Loop::sum,
                 [&](int64_t begin, int64_t end) {
                     Reduction part = plan;
                     const auto moved = [&](View view, size_t operand) {
                         view.data += begin * kept.strides[operand][0] * view.item_size();
                         return view;
                     };
                     if (results <= 1) return Fold<F, kCentred>(plan, out, in, centres, element, result, f).run();
                     part.kept.sizes[0] = end - begin;
                     Fold<F, kCentred>(part, moved(out, kCentred ? 2 : 1), moved(in, 0),
                                       kCentred ? moved(centres, 1) : View(), element, result, f)
                         .run();
                 });
}

/// The same for a fold without centres, over dims (empty: all).
template <class F>
diopiError_t fold_along(std::string_view op, const View& out, const View& in, ShapeView dims, Dtype element,
                        Dtype result, const F& f) {
    Reduction plan;
    const diopiError_t error = plan_reduction(op, out, in, dims, plan);
    if (error == diopiSuccess && out.numel > 0) run_fold<false>(plan, out, in, View(), element, result, f);
    return error;
}

/// The same with a centre for each result: a tensor of float64 that a reduction over dims gives.
template <class F>
diopiError_t fold_around(std::string_view op, const View& out, const View& in, const View& centres, ShapeView dims,
                         Dtype element, Dtype result, const F& f) {
    std::array<int64_t, kMaxRank> strides;
    View spread;
    diopiError_t error = spread_result(op, "centres", centres, in, dims, strides, spread);
    Reduction plan;
    if (error == diopiSuccess) error = plan_centred(op, out, in, spread, dims, plan);
    if (error == diopiSuccess && out.numel > 0) run_fold<true>(plan, out, in, spread, element, result, f);
    return error;
}

}  // namespace diopi::cpu
