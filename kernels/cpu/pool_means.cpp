#include "kernels/cpu/pool_means.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/sum_lanes.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

size_t index_of(int64_t i) { return static_cast<size_t>(i); }
int64_t length(Span span) { return span.last - span.first; }

/// The windows of the columns, with divisors in the type of the sums.
template <class T>
struct Columns {
    const std::vector<Span>& inside;
    std::vector<T> divisors;
    int64_t stride, kernel, padding;

    explicit Columns(const MeanWindows& w)
        : inside(w.inside[2]),
          divisors(w.divisors[2].begin(), w.divisors[2].end()),
          stride(w.stride),
          kernel(w.kernel),
          padding(w.padding) {}
    [[nodiscard]] int64_t count() const { return std::ssize(inside); }
};

template <class T>
void add(const T* __restrict from, int64_t n, T* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

/// out[x] = sums of row over window x, one tap of all windows after the other.
template <class T, int64_t kStride>
void slide(const Columns<T>& columns, int64_t size, const T* __restrict row, T* __restrict out) {
    std::fill_n(out, columns.count(), T{0});
    for (int64_t tap = 0; tap < columns.kernel; ++tap) {
        const int64_t offset = tap - columns.padding;
        const Span places = inside(columns.count(), kStride, offset, size);
        const T* __restrict from = row + offset;
        for (int64_t x = places.first; x < places.last; ++x) out[x] += from[x * kStride];
    }
}

/// The same, one window after the other, of `lanes` channels each.
template <class T>
void sum_windows(const Columns<T>& columns, int64_t lanes, const T* row, T* out) {
    for (const Span& window : columns.inside) {
        if (window.first >= window.last) {
            std::fill_n(out, lanes, T{0});
        } else if (lanes == 1) {
            const T* from = row + window.first;
            const int64_t n = length(window);
            *out = n < 2 * kSumLanes ? std::accumulate(from + 1, from + n, *from)
                                     : sum_lanes<false, T>(from, n, std::identity());
        } else {
            std::copy_n(row + window.first * lanes, lanes, out);
            for (int64_t c = window.first + 1; c < window.last; ++c) add(row + c * lanes, lanes, out);
        }
        out += lanes;
    }
}

/// to[x] = from[x] / (divisor of the row * divisor of column x).
template <class T>
void divide(const Columns<T>& columns, int64_t lanes, T row_divisor, const T* from, T* to) {
    if (lanes == 1) {
        for (int64_t x = 0; x < columns.count(); ++x) to[x] = from[x] / (row_divisor * columns.divisors[index_of(x)]);
        return;
    }
    for (const T column : columns.divisors) {
        const T divisor = row_divisor * column;
        for (int64_t c = 0; c < lanes; ++c) to[c] = from[c] / divisor;
        from += lanes, to += lanes;
    }
}

/// One row of means: the rows of a window are added to `sums`, then its columns.
template <class T>
void mean_row(const PoolShape& s, const MeanWindows& w, const Columns<T>& columns, const T* plane, int64_t z, int64_t y,
              T* sums, T* out) {
    const int64_t size = s.in[2] * s.lanes;
    const Span layers = w.inside[0][index_of(z)], rows = w.inside[1][index_of(y)];
    const T divisor = static_cast<T>(w.divisors[0][index_of(z)] * w.divisors[1][index_of(y)]);
    const T* row = sums;
    const int64_t first = layers.first * s.in[1] + rows.first;
    if (layers.first >= layers.last || rows.first >= rows.last) {
        std::fill_n(sums, size, T{0});
    } else if (length(layers) == 1 && length(rows) == 1) {
        row = plane + first * size;
    } else {
        std::copy_n(plane + first * size, size, sums);
        for (int64_t deep = layers.first; deep < layers.last; ++deep) {
            for (int64_t down = rows.first; down < rows.last; ++down) {
                const int64_t at = deep * s.in[1] + down;
                if (at != first) add(plane + at * size, size, sums);
            }
        }
    }
    if (s.lanes == 1 && columns.stride == 1) {
        slide<T, 1>(columns, s.in[2], row, out);
    } else if (s.lanes == 1 && columns.stride == 2) {
        slide<T, 2>(columns, s.in[2], row, out);
    } else {
        sum_windows(columns, s.lanes, row, out);
    }
    divide(columns, s.lanes, divisor, out, out);
}

/// For each element of a side the windows that hold it, which follow one another.
std::vector<Span> holders_of(const std::vector<Span>& windows, int64_t size) {
    std::vector<Span> holders(index_of(size), {std::ssize(windows), 0});
    for (int64_t i = 0; i < std::ssize(windows); ++i) {
        for (int64_t at = windows[index_of(i)].first; at < windows[index_of(i)].last; ++at) {
            Span& own = holders[index_of(at)];
            own = {std::min(own.first, i), i + 1};
        }
    }
    return holders;
}

/// The windows that hold a row of the input. Rows that the same ones hold have the same gradient.
struct HeldRow {
    Span layers, rows;
    int64_t run = 1;  ///< such rows from this one on
};

std::vector<HeldRow> held_rows(const PoolShape& s, const MeanWindows& w) {
    const std::vector<Span> layers = holders_of(w.inside[0], s.in[0]), rows = holders_of(w.inside[1], s.in[1]);
    std::vector<HeldRow> held;
    held.reserve(layers.size() * rows.size());
    for (const Span& layer : layers) {
        for (const Span& row : rows) held.push_back({layer, row});
        for (size_t i = held.size() - 1; i-- > held.size() - rows.size();) {
            const Span own = held[i].rows, next = held[i + 1].rows;
            if (own.first == next.first && own.last == next.last) held[i].run = held[i + 1].run + 1;
        }
    }
    return held;
}

/// to = for each column of the input the sum of what the windows give that hold it.
template <class T>
void spread(const PoolShape& s, const Columns<T>& columns, const T* given, T* to) {
    std::fill_n(to, s.in[2] * s.lanes, T{0});
    if (s.lanes > 1 || columns.stride == 0) {
        for (const Span& window : columns.inside) {
            for (int64_t c = window.first; c < window.last; ++c) {
                if (s.lanes == 1)
                    to[c] += *given;
                else
                    add(given, s.lanes, to + c * s.lanes);
            }
            given += s.lanes;
        }
        return;
    }
    for (int64_t tap = 0; tap < columns.kernel; ++tap) {
        const int64_t offset = tap - columns.padding;
        const Span places = inside(columns.count(), columns.stride, offset, s.in[2]);
        if (columns.stride == 1) {
            add(given + places.first, length(places), to + places.first + offset);
            continue;
        }
        for (int64_t x = places.first; x < places.last; ++x) to[x * columns.stride + offset] += given[x];
    }
}

/// The gradient of a row of the input: what the rows of windows give that hold it, spread over its columns. `work` has
/// two rows of windows.
template <class T>
void row_gradient(const PoolShape& s, const MeanWindows& w, const Columns<T>& columns, const HeldRow& held,
                  const T* grad_out, T* work, T* to) {
    const int64_t size = s.out_row();
    T *const given = work, *const shares = work + size;
    bool is_first = true;
    for (int64_t z = held.layers.first; z < held.layers.last; ++z) {
        for (int64_t y = held.rows.first; y < held.rows.last; ++y) {
            const T divisor = static_cast<T>(w.divisors[0][index_of(z)] * w.divisors[1][index_of(y)]);
            const T* from = grad_out + (z * s.out[1] + y) * size;
            divide(columns, s.lanes, divisor, from, is_first ? given : shares);
            if (!is_first) add(shares, size, given);
            is_first = false;
        }
    }
    if (is_first) std::fill_n(given, size, T{0});
    spread(s, columns, given, to);
}

template <class T>
diopiError_t run_means(diopiContextHandle_t ctx, const PoolImages& p, const MeanWindows& w) {
    const Layout layout = common_layout(p.in, p.out);
    const PoolShape s = pool_shape(p.in, p.out, layout);
    const int64_t rows = s.out[0] * s.out[1];
    const Columns<T> columns(w);
    const auto make_row = best<mean_row<T>>();
    const auto make = [&](int64_t planes, const T* x, T* y) {
        parallel_for(planes * rows, s.in_size() / rows, [&](int64_t first, int64_t last) {
            std::vector<T> sums(index_of(s.in[2] * s.lanes));
            for (int64_t at = first; at < last; ++at) {
                const int64_t n = at / rows, z = (at - n * rows) / s.out[1], down = at - n * rows - z * s.out[1];
                make_row(s, w, columns, x + n * s.in_size(), z, down, sums.data(), y + at * s.out_row());
            }
        });
    };
    return run_planes<T>(ctx, p.in.view(), p.out.view(), layout, s.count, make);
}

template <class T>
diopiError_t run_means_backward(diopiContextHandle_t ctx, const PoolImages& p, const MeanWindows& w) {
    const Layout layout = common_layout(p.in, p.out);
    const PoolShape s = pool_shape(p.in, p.out, layout);
    const int64_t size = s.in[2] * s.lanes;
    const std::vector<HeldRow> held = held_rows(s, w);
    const auto rows = std::ssize(held);
    const Columns<T> columns(w);
    const auto make_row = best<row_gradient<T>>();
    const auto make = [&](int64_t planes, const T* g, T* grad) {
        parallel_for(planes * rows, size, [&](int64_t first, int64_t last) {
            std::vector<T> work(index_of(2 * s.out_row()));
            for (int64_t at = first; at < last;) {
                const int64_t n = at / rows;
                const HeldRow& row = held[index_of(at - n * rows)];
                const int64_t run = std::min(row.run, last - at);
                T* to = grad + at * size;
                make_row(s, w, columns, row, g + n * s.out_size(), work.data(), to);
                for (int64_t done = 1; done < run; done *= 2) {
                    std::copy_n(to, std::min(done, run - done) * size, to + done * size);
                }
                at += run;
            }
        });
    };
    return run_planes<T>(ctx, p.out.view(), p.in.view(), layout, s.count, make);
}

}  // namespace

MeanWindows MeanWindows::adaptive(const Sides& in, const Sides& out) {
    MeanWindows w;
    for (size_t d = 0; d < kMostSides; ++d) {
        w.inside[d] = parts_of(in[d], out[d]);
        w.divisors[d].resize(w.inside[d].size());
        std::ranges::transform(w.inside[d], w.divisors[d].begin(),
                               [](Span part) { return static_cast<double>(length(part)); });
    }
    return w;
}

MeanWindows MeanWindows::sliding(const Window& window, const Sides& in, const Sides& out, bool count_include_pad,
                                 const int64_t* divisor) {
    MeanWindows w;
    w.stride = window.stride[2], w.kernel = window.kernel[2], w.padding = window.padding[2];
    for (size_t d = 0; d < kMostSides; ++d) {
        w.inside[d].reserve(index_of(out[d]));
        w.divisors[d].reserve(index_of(out[d]));
        for (int64_t i = 0; i < out[d]; ++i) {
            const int64_t start = i * window.stride[d] - window.padding[d], end = start + window.kernel[d];
            const Span inside{std::max<int64_t>(start, 0), std::min(end, in[d])};
            const int64_t padded = std::min(end, in[d] + window.padding[d]) - start;
            const int64_t own = count_include_pad ? padded : std::max<int64_t>(length(inside), 1);
            w.inside[d].push_back(inside);
            w.divisors[d].push_back(static_cast<double>(divisor == nullptr ? own : d == 0 ? *divisor : 1));
        }
    }
    return w;
}

diopiError_t pool_means(diopiContextHandle_t ctx, const PoolImages& p, const MeanWindows& windows) {
    return (p.in.dtype == Dtype::float64 ? run_means<double> : run_means<float>)(ctx, p, windows);
}

diopiError_t pool_means_backward(diopiContextHandle_t ctx, const PoolImages& p, const MeanWindows& windows) {
    return (p.in.dtype == Dtype::float64 ? run_means_backward<double> : run_means_backward<float>)(ctx, p, windows);
}

}  // namespace diopi::cpu
