#include "kernels/cpu/vision_taps.hpp"

#include "core/instruction_sets.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

size_t index_of(int64_t i) { return static_cast<size_t>(i); }

template <class T>
void scale(const T* __restrict from, T weight, int64_t n, T* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i] = weight * from[i];
}

template <class T>
void add_scaled(const T* __restrict from, T weight, int64_t n, T* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i] += weight * from[i];
}

/// The rows of the input under row (z, y) of the output, added up in `sums`; or the only one, where its weight is 1.
/// Null: there is none.
template <class T>
const T* combined_rows(const Resample<T>& r, const T* plane, int64_t z, int64_t y, T* sums) {
    const Taps<T>&deep = r.taps[0], &down = r.taps[1];
    const int64_t size = r.columns < 0 ? r.in[2] * r.lanes : r.columns * r.lanes;
    bool is_first = true;
    for (int64_t i = deep.begin[index_of(z)]; i < deep.begin[index_of(z + 1)]; ++i) {
        for (int64_t k = down.begin[index_of(y)]; k < down.begin[index_of(y + 1)]; ++k) {
            const T weight = deep.weight[index_of(i)] * down.weight[index_of(k)];
            const int64_t at = (deep.at[index_of(i)] * r.in[1] + down.at[index_of(k)]) * r.in[2] + r.first;
            const T* row = plane + at * r.lanes;
            const bool is_only = deep.begin[index_of(z + 1)] - deep.begin[index_of(z)] == 1 &&
                                 down.begin[index_of(y + 1)] - down.begin[index_of(y)] == 1;
            if (is_only && weight == 1) return row;
            if (is_first)
                scale(row, weight, size, sums);
            else
                add_scaled(row, weight, size, sums);
            is_first = false;
        }
    }
    return is_first ? nullptr : sums;
}

/// to[x] = the sum of N taps of row.
template <int64_t N, class T>
void gather_columns(const Taps<T>& along, const T* row, T* to) {
    const int64_t* at = along.at.data();
    const T* weight = along.weight.data();
    for (int64_t x = 0, n = along.count(); x < n; ++x, at += N, weight += N) {
        T sum = weight[0] * row[at[0]];
        for (int64_t k = 1; k < N; ++k) sum += weight[k] * row[at[k]];
        to[x] = sum;
    }
}

/// The same where each has its own number of taps.
template <class T>
void gather_columns(const Taps<T>& along, const T* row, T* to) {
    const int64_t* begin = along.begin.data();
    for (int64_t x = 0, n = along.count(); x < n; ++x) {
        T sum{0};
        for (int64_t k = begin[x]; k < begin[x + 1]; ++k) sum += along.weight[index_of(k)] * row[along.at[index_of(k)]];
        to[x] = sum;
    }
}

template <class T>
void gather_columns(const Taps<T>& along, int64_t lanes, bool adds, const T* row, T* to) {
    if (lanes == 1 && !adds) return gather_columns(along, row, to);
    for (int64_t x = 0; x < along.count(); ++x, to += lanes) {
        if (!adds) std::fill_n(to, lanes, T{0});
        for (int64_t k = along.begin[index_of(x)]; k < along.begin[index_of(x + 1)]; ++k) {
            add_scaled(row + along.at[index_of(k)] * lanes, along.weight[index_of(k)], lanes, to);
        }
    }
}

/// Row (z, y) of the output from a plane of the input. `common`: the number of taps of each column, or 0; `sums` has
/// room for a row of the input.
template <class T>
void resample_row(const Resample<T>& r, int64_t common, const T* plane, int64_t z, int64_t y, T* sums, T* to) {
    const T* row = combined_rows(r, plane, z, y, sums);
    if (row == nullptr) {
        if (!r.adds) std::fill_n(to, r.out[2] * r.lanes, T{0});
    } else if (common == 1) {
        gather_columns<1>(r.taps[2], row, to);
    } else if (common == 2) {
        gather_columns<2>(r.taps[2], row, to);
    } else if (common == 4) {
        gather_columns<4>(r.taps[2], row, to);
    } else {
        gather_columns(r.taps[2], r.lanes, r.adds, row, to);
    }
}

}  // namespace

template <class T>
void resample(const Resample<T>& r, int64_t planes, const T* x, T* y) {
    const int64_t rows = r.out[0] * r.out[1], row_size = r.out[2] * r.lanes;
    const int64_t plane_size = operands::area_of(r.in) * r.lanes;
    const int64_t common = r.lanes == 1 && !r.adds ? r.taps[2].common() : 0;
    const int64_t work = row_size + std::ssize(r.taps[1].at) / std::max<int64_t>(r.out[1], 1) * r.in[2] * r.lanes;
    const auto make_row = best<resample_row<T>>();
    parallel_for(planes * rows, work, [&](int64_t first, int64_t last) {
        std::vector<T> sums(index_of((r.columns < 0 ? r.in[2] : r.columns) * r.lanes));
        for (int64_t i = first; i < last; ++i) {
            const int64_t plane = i / rows, z = i % rows / r.out[1], down = i % r.out[1];
            make_row(r, common, x + plane * plane_size, z, down, sums.data(), y + i * row_size);
        }
    });
}

template void resample<float>(const Resample<float>&, int64_t, const float*, float*);
template void resample<double>(const Resample<double>&, int64_t, const double*, double*);

}  // namespace diopi::cpu
