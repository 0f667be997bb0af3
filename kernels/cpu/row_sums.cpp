#include "kernels/cpu/row_sums.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <ranges>
#include <vector>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Forms parts of rows, which it converts a tile at a time.
template <class T>
class RowTiles {
 public:
    RowTiles(const View& grad, const View& out, int64_t size) : grad_(grad), out_(out), size_(size) {
        loader_.init(grad.dtype, kComputeDtype<T>, in_);
        storer_.init(out.dtype, kComputeDtype<T>, sums_);
    }
    RowTiles(const RowTiles&) = delete;
    RowTiles& operator=(const RowTiles&) = delete;

    /// Row `row` of out, which has terms; they are counted from row `first` of grad. The sum of one -0 is 0.
    void sum(int64_t row, int64_t first, Positions terms, T factor) {
        for (int64_t i = 0; i < size_; i += kTile) {
            const int64_t n = std::min(kTile, size_ - i);
            const Patch to = Patch::of(out_, row * size_ + i, n);
            T* sums = static_cast<T*>(storer_.target(to));
            const auto part = [&](int64_t term) {
                return static_cast<const T*>(loader_.load(Patch::of(grad_, (first + term) * size_ + i, n)));
            };
            const T* start = part(terms[0]);
            std::transform(start, start + n, sums, [](T x) { return T{0} + x; });
            for (const int64_t term : terms.subspan(1)) {
                const T* x = part(term);
                for (int64_t k = 0; k < n; ++k) sums[k] += x[k];
            }
            if (factor != 1) std::transform(sums, sums + n, sums, [=](T x) { return x * factor; });
            storer_.store(sums, to);
        }
    }

    /// Row `row` of out: each term of the same row of grad goes to its place.
    void sum_elements(int64_t row, Positions places) {
        totals_.assign(static_cast<size_t>(size_), 0);
        const auto terms = static_cast<int64_t>(places.size());
        for (int64_t i = 0; i < terms; i += kTile) {
            const int64_t n = std::min(kTile, terms - i);
            const T* x = static_cast<const T*>(loader_.load(Patch::of(grad_, row * terms + i, n)));
            const int64_t* at = places.data() + i;
            for (int64_t k = 0; k < n; ++k) totals_[static_cast<size_t>(at[k])] += static_cast<double>(x[k]);
        }
        for (int64_t i = 0; i < size_; i += kTile) {
            const int64_t n = std::min(kTile, size_ - i);
            const Patch to = Patch::of(out_, row * size_ + i, n);
            T* sums = static_cast<T*>(storer_.target(to));
            std::transform(&totals_[static_cast<size_t>(i)], &totals_[static_cast<size_t>(i)] + n, sums,
                           [](double total) { return static_cast<T>(total); });
            storer_.store(sums, to);
        }
    }

 private:
    const View &grad_, &out_;
    int64_t size_;
    Loader loader_;
    Storer storer_;
    Buffers in_, sums_;
    std::vector<double> totals_;
};

template <class T>
void sum_dense_rows(const View& grad, const View& out, int64_t size, int64_t picked, const RowTerms& terms,
                    bool divided) {
    const int64_t rows = terms.rows(), outer = out.numel / (rows * size), work = terms.work();
    const auto row_from = [&](int64_t at) { return at / work * rows + terms.row_from(at % work); };
    // The terms may all have the same few rows.
    parallel_for(outer * work, size, [&](int64_t first, int64_t last) {
        const auto tiles = std::make_unique<RowTiles<T>>(grad, out, size);
        const int64_t row_bytes = size * out.item_size(), end = row_from(last);
        for (int64_t r = row_from(first); r < end; ++r) {
            const int64_t empty = r;
            while (r < end && terms.of(r % rows).empty()) ++r;
            if (r > empty) std::memset(out.data + empty * row_bytes, 0, static_cast<size_t>((r - empty) * row_bytes));
            if (r == end) break;
            const Positions own = terms.of(r % rows);
            const T factor = divided && own.size() > 1 ? T{1} / static_cast<T>(own.size()) : T{1};
            tiles->sum(r, r / rows * picked, own, factor);
        }
    });
}

}  // namespace

RowTerms::RowTerms(Positions places, int64_t count, int64_t skipped)
    : first_(static_cast<size_t>(count) + 1), order_(places.size()) {
    for (const int64_t place : places) {
        if (place != skipped) ++first_[static_cast<size_t>(place) + 1];
    }
    for (size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
    std::vector<int64_t> next(first_.begin(), first_.end() - 1);
    for (size_t k = 0; k < places.size(); ++k) {
        if (places[k] == skipped) continue;
        order_[static_cast<size_t>(next[static_cast<size_t>(places[k])]++)] = static_cast<int64_t>(k);
    }
}

int64_t RowTerms::row_from(int64_t work) const {
    const auto all = std::views::iota(int64_t{0}, rows());
    return std::ranges::lower_bound(all, work, {}, [this](int64_t row) { return work_before(row); }) - all.begin();
}

diopiError_t sum_rows(diopiContextHandle_t ctx, const View& grad, const View& out, int64_t size, const RowTerms& terms,
                      bool divided) {
    if (out.numel == 0) return diopiSuccess;
    View from, to;
    diopiError_t error = contiguous(ctx, grad, from);
    if (error == diopiSuccess) error = require_dense(ctx, out, to);
    if (error != diopiSuccess) return error;
    const int64_t picked = grad.numel / (out.numel / terms.rows());
    const bool is_wide = grad.dtype == Dtype::float64 || out.dtype == Dtype::float64;
    (is_wide ? sum_dense_rows<double> : sum_dense_rows<float>)(from, to, size, picked, terms, divided);
    if (to.data != out.data) copy(to, out);
    return diopiSuccess;
}

diopiError_t sum_elements(diopiContextHandle_t ctx, const View& grad, const View& out, int64_t size, Positions places) {
    View from, to;
    diopiError_t error = contiguous(ctx, grad, from);
    if (error == diopiSuccess) error = require_dense(ctx, out, to);
    if (error != diopiSuccess) return error;
    const int64_t rows = out.numel / size, terms = grad.numel / rows;
    const bool shared = std::ssize(places) == terms;
    const auto sum = [&]<class T>() {
        parallel_for(rows, size + terms, [&](int64_t begin, int64_t end) {
            const auto tiles = std::make_unique<RowTiles<T>>(from, to, size);
            for (int64_t row = begin; row < end; ++row) {
                const int64_t first = shared ? 0 : row * terms;
                tiles->sum_elements(row, places.subspan(static_cast<size_t>(first), static_cast<size_t>(terms)));
            }
        });
    };
    const bool is_double = grad.dtype == Dtype::float64 || out.dtype == Dtype::float64;
    is_double ? sum.template operator()<double>() : sum.template operator()<float>();
    if (to.data != out.data) copy(to, out);
    return diopiSuccess;
}

}  // namespace diopi::cpu
