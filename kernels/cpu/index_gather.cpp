/// Elements along one dim, by an index for each: loops over the elements of the index, in which the dim of the indexed
/// tensor has stride 0.
#include <algorithm>
#include <atomic>
#include <string>

#include "kernels/cpu/item.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/positions.hpp"
#include "kernels/cpu/row_sums.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index_places.hpp"

namespace diopi::cpu {

namespace {

/// The walk over an index: operand 0 is the tensor with an element for each of the index, operand 1 the dense index,
/// operand 2 the indexed tensor without its dim.
struct Walk {
    Nest nest;
    const int64_t* positions = nullptr;
    int64_t stride = 0;  ///< of the dim in the indexed tensor

    /// Calls visit(element of operand 0, element of operand 2) for each index; visit writes the latter. Parts run in
    /// threads where no two of them can reach one element.
    template <class Visit>
    void for_each(Visit&& visit) const {
        if (nest.rank == 1 || nest.strides[2][0] == 0) return run(0, nest.sizes[0], visit);
        in_parts([&](int64_t first, int64_t last) { run(first, last, visit); });
    }

    /// The same for an index that is not checked yet, of a dim of `size`; visit only reads the latter element. Whether
    /// all numbers were places: blocks of them are checked just before their use, while the nearest cache holds them.
    template <class Visit>
    [[nodiscard]] bool for_each_sound(int64_t size, Visit&& visit) const {
        constexpr int64_t kBlock = 512;
        const int64_t each = nest.numel / std::max<int64_t>(nest.sizes[0], 1);
        const bool has_long_runs = nest.inner_size() > kBlock && nest.inner_stride(1) == 1;
        const bool is_in_order = nest.strides[1][0] == each;
        const int64_t rows = is_in_order ? std::max<int64_t>(kBlock / std::max<int64_t>(each, 1), 1) : nest.sizes[0];
        std::atomic<bool> is_sound = true;
        const auto check = [&](const int64_t* block, int64_t count) {
            if (!are_places({block, static_cast<size_t>(count)}, size)) is_sound = false;
            return is_sound.load(std::memory_order_relaxed);
        };
        const auto use_blocks = [&](int64_t a, int64_t b, const int64_t* index, int64_t n) {
            for (int64_t i = 0; i < n; i += kBlock) {
                const int64_t count = std::min(kBlock, n - i);
                if (!check(index + i, count)) return;
                use(a + i * nest.inner_stride(0), b + i * nest.inner_stride(2), index + i, count, visit);
            }
        };
        if (!has_long_runs && !is_in_order && !check(positions, nest.numel)) return false;
        in_parts([&](int64_t begin, int64_t end) {
            if (has_long_runs) return for_each_run(begin, end, use_blocks);
            for (int64_t first = begin; first < end; first += rows) {
                const int64_t last = std::min(first + rows, end);
                if (is_in_order && !check(positions + first * each, (last - first) * each)) return;
                run(first, last, visit);
            }
        });
        return is_sound;
    }

 private:
    /// Calls body(first, last) for parts of the outermost dim, each in its own thread.
    template <class Body>
    void in_parts(const Body& body) const {
        const int64_t size = nest.sizes[0];
        parallel_for(size, size > 0 ? nest.numel / size : 0, Loop::arithmetic, body);
    }

    /// Calls body(offset of operand 0, offset of operand 2, numbers, their count) for each run of the innermost dim.
    template <class Body>
    void for_each_run(int64_t first, int64_t last, Body&& body) const {
        Nest part = nest;
        part.sizes[0] = last - first;
        std::array<int64_t, 3> start;
        for (size_t k = 0; k < 3; ++k) start[k] = first * nest.strides[k][0];
        for_each_outer(part, 1, [&](const std::array<int64_t, kMaxOperands>& offsets) {
            body(offsets[0] + start[0], offsets[2] + start[2], positions + offsets[1] + start[1], part.inner_size());
        });
    }

    /// Visits the first n elements of a run.
    template <class Visit>
    void use(int64_t a, int64_t b, const int64_t* index, int64_t n, Visit&& visit) const {
        const int64_t to = nest.inner_stride(0), at = nest.inner_stride(1), from = nest.inner_stride(2);
        if (to == 1 && at == 1 && from == 0 && stride == 1) {
            for (int64_t i = 0; i < n; ++i) visit(a + i, b + index[i]);
        } else {
            for (int64_t i = 0; i < n; ++i) visit(a + i * to, b + i * from + index[i * at] * stride);
        }
    }

    template <class Visit>
    void run(int64_t first, int64_t last, Visit&& visit) const {
        for_each_run(first, last,
                     [&](int64_t a, int64_t b, const int64_t* index, int64_t n) { use(a, b, index, n, visit); });
    }
};

/// The walk over `positions`, the numbers of `index`. `own` has an element for each of them, or stride 0.
Walk make_walk(const View& index, Positions positions, const View& own, const View& indexed, size_t dim) {
    Walk walk;
    walk.positions = positions.data();
    const Shape dense = contiguous_strides(index.shape);
    Shape strides(index.shape.size(), 0), own_strides(index.shape.size(), 0);
    for (size_t d = 0; d < index.shape.size(); ++d) {
        if (own.rank() > 0) own_strides[d] = own.strides[d];
        if (d != dim && indexed.rank() > 0) strides[d] = indexed.strides[d];
    }
    if (indexed.rank() > 0) walk.stride = indexed.strides[dim];
    walk.nest = make_nest(index.shape, {own_strides.data(), dense.data(), strides.data()});
    return walk;
}

int64_t size_of_dim(const View& indexed, size_t dim) { return indexed.rank() == 0 ? 1 : indexed.shape[dim]; }

/// The numbers of `index` in the dim of `indexed`.
diopiError_t read_places(diopiContextHandle_t ctx, std::string_view op, const View& index, const View& indexed,
                         size_t dim, Positions& positions) {
    return read_positions(ctx, op, index, size_of_dim(indexed, dim), Negative::refused, positions);
}

diopiError_t gather(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    const View x = view(input), y = view(out), at = view(index);
    size_t d = 0;
    Positions positions;
    diopiError_t error = read_dim(op, dim, x.rank(), d);
    if (error == diopiSuccess) error = check_element_index(op, at, x.shape, d);
    if (error == diopiSuccess) error = check_like(op, "out", y, at.shape, x.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    error = read_numbers(ctx, at, positions);
    if (error != diopiSuccess) return error;
    const Walk walk = make_walk(at, positions, y, x, d);
    const int64_t size = size_of_dim(x, d);
    bool is_sound = false;
    with_item(x.dtype, [&]<class E>() {
        auto* to = y.as<E>();
        const auto* from = x.as<const E>();
        is_sound = walk.for_each_sound(size, [=](int64_t a, int64_t b) { to[a] = from[b]; });
    });
    return is_sound ? diopiSuccess : refuse_places(op, positions, size);
}

/// The most elements of the index that can name one place.
int64_t most_on_one_place(const View& index, size_t dim) { return index.rank() == 0 ? 1 : index.shape[dim]; }

/// A dense copy of a tensor in another dtype, or the tensor itself.
diopiError_t in_dtype(diopiContextHandle_t ctx, const View& tensor, Dtype dtype, View& made) {
    made = tensor;
    if (tensor.dtype == dtype) return diopiSuccess;
    const diopiError_t error = require(ctx, tensor.shape, dtype, made);
    if (error == diopiSuccess) copy(tensor, made);
    return error;
}

/// Whether the index has places in the last dim of a tensor, with a list for each of its rows.
bool has_lists_of_last_dim(const View& index, const View& tensor, size_t dim) {
    return index.rank() > 0 && static_cast<int64_t>(dim) + 1 == tensor.rank() &&
           std::ranges::equal(index.shape.first(dim), tensor.shape.first(dim));
}

diopiError_t gather_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input, int64_t dim,
                             diopiConstTensorHandle_t index) {
    const View y = view(grad_input), g = view(grad_output), at = view(index), x = view(input);
    size_t d = 0;
    diopiError_t error = read_dim(op, dim, x.rank(), d);
    if (error == diopiSuccess) error = check_element_index(op, at, x.shape, d);
    if (error == diopiSuccess) error = check_shape(op, "grad_input", y, x.shape);
    if (error == diopiSuccess) error = check_like(op, "grad_output", g, at.shape, y.dtype);
    if (error == diopiSuccess) error = check_computable(op, "grad_output", g);
    Positions positions;
    if (error == diopiSuccess) error = read_places(ctx, op, at, y, d, positions);
    if (error != diopiSuccess) return error;
    if (y.numel > 0 && has_lists_of_last_dim(at, y, d)) return sum_elements(ctx, g, y, y.shape[d], positions);
    View sums, terms;
    error = in_dtype(ctx, y, dtype_of_sum(y.dtype, most_on_one_place(at, d)), sums);
    if (error == diopiSuccess) error = in_dtype(ctx, g, wide(g.dtype), terms);
    if (error != diopiSuccess) return error;
    const Walk walk = make_walk(at, positions, terms, sums, d);
    fill(sums, {diopi_dtype_float64, {.fval = 0}});
    const auto add = [&]<class Sum, class Term>() {
        walk.for_each([to = sums.as<Sum>(), from = terms.as<const Term>()](int64_t a, int64_t b) {
            to[b] += static_cast<Sum>(from[a]);
        });
    };
    if (terms.dtype == Dtype::float64) {
        add.operator()<double, double>();
    } else if (sums.dtype == Dtype::float64) {
        add.operator()<double, float>();
    } else {
        add.operator()<float, float>();
    }
    if (sums.data != y.data) copy(sums, y);
    return diopiSuccess;
}

/// y[place] = y[place] + x, or * x, in the type that both compute in.
template <class T>
void reduce_into(const Walk& walk, Scatter scatter, const View& y, const View& x) {
    auto* to = y.as<T>();
    const auto* from = x.as<const T>();
    if (scatter == Scatter::add)
        walk.for_each([=](int64_t a, int64_t b) { to[b] += from[a]; });
    else
        walk.for_each([=](int64_t a, int64_t b) { to[b] *= from[a]; });
}

/// y changes at the places of the index; x has an element for each of them, or is one.
diopiError_t scatter_into(diopiContextHandle_t ctx, const View& y, size_t dim, const View& x, const View& index,
                          Positions positions, Scatter scatter) {
    if (scatter == Scatter::replace) {
        const Walk walk = make_walk(index, positions, x, y, dim);
        with_item(y.dtype, [&]<class E>() {
            walk.for_each([to = y.as<E>(), from = x.as<const E>()](int64_t a, int64_t b) { to[b] = from[a]; });
        });
        return diopiSuccess;
    }
    View sums, terms;
    const bool adds = scatter == Scatter::add;
    const Dtype dtype = adds ? dtype_of_sum(y.dtype, most_on_one_place(index, dim)) : wide(y.dtype);
    diopiError_t error = in_dtype(ctx, y, dtype, sums);
    if (error == diopiSuccess) error = in_dtype(ctx, x, dtype, terms);
    if (error != diopiSuccess) return error;
    const Walk walk = make_walk(index, positions, terms, sums, dim);
    error = with_wrapping_type(sums.dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, Bool>) reduce_into<T>(walk, scatter, sums, terms);
        return diopiSuccess;
    });
    if (error == diopiSuccess && sums.data != y.data) copy(sums, y);
    return error;
}

diopiError_t scatter(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, int64_t dim, const Other& source, diopiConstTensorHandle_t index,
                     const char* reduce) {
    const View x = view(input), y = view(out), at = view(index);
    size_t d = 0;
    Scatter how = Scatter::replace;
    diopiError_t error = read_dim(op, dim, x.rank(), d);
    if (error == diopiSuccess) error = read_reduce(op, reduce, how);
    if (error == diopiSuccess) error = check_element_index(op, at, x.shape, d);
    if (error == diopiSuccess) error = check_like(op, "out", y, x.shape, x.dtype);
    alignas(16) std::byte bytes[16]{};
    View src = element(bytes, x.dtype);
    if (source.number != nullptr) {
        diopiScalar_t number = *source.number;
        copy(element(number), src);
    } else {
        src = view(source.tensor);
        if (error == diopiSuccess) error = check_element_source(op, src, at, x.dtype);
    }
    Positions positions;
    if (error == diopiSuccess && at.numel > 0) error = read_places(ctx, op, at, x, d, positions);
    if (error != diopiSuccess) return error;
    if (!same_view(x, y)) copy(x, y);
    return at.numel == 0 || y.numel == 0 ? diopiSuccess : scatter_into(ctx, y, d, src, at, positions, how);
}

}  // namespace

#include "kernels/entries/index_gather.inc"

}  // namespace diopi::cpu
