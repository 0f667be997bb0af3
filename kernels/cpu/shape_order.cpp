/// Joined, cut, turned, padded and repeated tensors: copies of views. A row of padding by reflection, replication or
/// from the other end takes its long run at once.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/item.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

diopiError_t stack(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t* tensors, int64_t count, int64_t dim) {
    const View y = view(out);
    size_t d = 0;
    const diopiError_t error = check_stack(op, y, tensors, count, dim, d);
    for (int64_t k = 0; error == diopiSuccess && k < count; ++k) {
        copy(view(tensors[k]), OwnView(y).take(d, k, 1).remove(d).view());
    }
    return error;
}

diopiError_t split(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t* outs, int64_t num_outs,
                   diopiConstTensorHandle_t input, diopiSize_t sizes, int64_t dim) {
    const View x = view(input);
    size_t d = 0;
    const diopiError_t error = check_split(op, outs, num_outs, x, list_of(sizes), dim, d);
    int64_t start = 0;
    for (int64_t k = 0; error == diopiSuccess && k < num_outs; start += sizes.data[k++]) {
        copy(OwnView(x).take(d, start, sizes.data[k]).view(), view(outs[k]));
    }
    return error;
}

diopiError_t meshgrid(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t* outs,
                      diopiConstTensorHandle_t* inputs, int64_t count) {
    const diopiError_t error = check_meshgrid(op, outs, inputs, count);
    for (int64_t k = 0; error == diopiSuccess && k < count; ++k) {
        OwnView line(view(inputs[k]));
        if (line.shape().empty()) line.insert(0, 1, 0);
        while (static_cast<int64_t>(line.shape().size()) < count - k) line.insert(line.shape().size(), 1, 0);
        copy(line.view(), view(outs[k]));
    }
    return error;
}

/// out = the dims of input in that order.
diopiError_t reorder(std::string_view op, const View& y, const View& x, const std::vector<size_t>& order) {
    OwnView turned(x);
    for (const size_t d : order) turned.insert(turned.shape().size(), x.shape[d], x.strides[d]);
    for (size_t d = 0; d < order.size(); ++d) turned.remove(0);
    const View from = turned.view();
    const diopiError_t error = check_like(op, "out", y, from.shape, x.dtype);
    if (error == diopiSuccess) copy(from, y);
    return error;
}

diopiError_t permute(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiSize_t dims) {
    const View x = view(input);
    std::vector<size_t> order;
    const diopiError_t error = read_order(op, list_of(dims), x.rank(), order);
    return error != diopiSuccess ? error : reorder(op, view(out), x, order);
}

diopiError_t transpose(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, int64_t dim0, int64_t dim1) {
    const View x = view(input);
    size_t first = 0, second = 0;
    diopiError_t error = read_dim(op, dim0, x.rank(), first);
    if (error == diopiSuccess) error = read_dim(op, dim1, x.rank(), second);
    if (error != diopiSuccess) return error;
    std::vector<size_t> order;
    for (size_t d = 0; d < x.shape.size(); ++d) order.push_back(d);
    if (!order.empty()) std::swap(order[first], order[second]);
    return reorder(op, view(out), x, order);
}

/// Copies both parts of each dim from `d` on, which stand in the other order in the result.
void copy_rolled(const OwnView& from, const OwnView& to, ShapeView shifts, size_t d) {
    while (d < shifts.size() && shifts[d] == 0) ++d;
    if (d == shifts.size()) return copy(from.view(), to.view());
    const int64_t size = from.size(d), shift = shifts[d];
    copy_rolled(OwnView(from).take(d, 0, size - shift), OwnView(to).take(d, shift, size - shift), shifts, d + 1);
    copy_rolled(OwnView(from).take(d, size - shift, shift), OwnView(to).take(d, 0, shift), shifts, d + 1);
}

diopiError_t roll(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, diopiSize_t shifts, diopiSize_t dims) {
    const View x = view(input), y = view(out);
    Shape by_dim;
    diopiError_t error = read_shifts(op, x.shape, list_of(shifts), list_of(dims), by_dim);
    if (error == diopiSuccess) error = check_like(op, "out", y, x.shape, x.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    if (dims.len > 0) {
        copy_rolled(OwnView(x), OwnView(y), by_dim, 0);
        return diopiSuccess;
    }
    View from, to;
    error = contiguous(ctx, x, from);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess) return error;
    const int64_t size[] = {x.numel}, stride[] = {1};
    View flat_from = from, flat_to = to;
    flat_from.shape = flat_to.shape = size;
    flat_from.strides = flat_to.strides = stride;
    copy_rolled(OwnView(flat_from), OwnView(flat_to), by_dim, 0);
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

/// The part of a dim of out that input fills, and its start in input.
struct Inner {
    int64_t to = 0, from = 0, count = 0;
    Inner(int64_t before, int64_t size, int64_t out_size)
        : to(std::max<int64_t>(before, 0)),
          from(std::max<int64_t>(-before, 0)),
          count(std::max<int64_t>(std::min(before + size, out_size) - to, 0)) {}
};

/// Fills the border of each dim, within what the borders of the dims before it leave, and copies the rest.
void pad_with(const View& y, const View& x, const Padding& padding, double value) {
    const diopiScalar_t number{diopi_dtype_float64, {.fval = value}};
    OwnView rest(y), from(x);
    for (size_t d = 0; d < y.shape.size(); ++d) {
        const Inner inner(padding.before[d], x.shape[d], y.shape[d]);
        const int64_t end = inner.to + inner.count;
        const auto fill_part = [&](int64_t start, int64_t count) {
            if (count > 0) fill(OwnView(rest).take(d, start, count).view(), number);
        };
        fill_part(0, std::min(inner.to, y.shape[d]));
        fill_part(end, y.shape[d] - end);
        rest.take(d, inner.to, inner.count);
        from.take(d, inner.from, inner.count);
    }
    const View to = rest.view();
    if (to.numel > 0) copy(from.view(), to);
}

/// The elements of a row by their offsets, with the longest run of neighbours.
struct PaddedRow {
    Shape offsets;
    int64_t begin = 0, end = 0;
};

PaddedRow padded_row(const Padding& padding, size_t d, int64_t out_size, int64_t size, int64_t stride) {
    PaddedRow row;
    for (int64_t j = 0; j < out_size; ++j) {
        row.offsets.push_back(padding.source(d, j - padding.before[d], size) * stride);
    }
    const Inner inner(padding.before[d], size, out_size);
    if (stride == 1 && inner.count > 0) row = {std::move(row.offsets), inner.to, inner.to + inner.count};
    return row;
}

template <class E>
void copy_row(E* to, const E* from, const PaddedRow& row) {
    const auto n = static_cast<int64_t>(row.offsets.size());
    for (int64_t j = 0; j < row.begin; ++j) to[j] = from[row.offsets[static_cast<size_t>(j)]];
    for (int64_t j = row.end; j < n; ++j) to[j] = from[row.offsets[static_cast<size_t>(j)]];
    if (row.end == row.begin) return;
    const E* run = from + row.offsets[static_cast<size_t>(row.begin)];
    std::memcpy(to + row.begin, run, static_cast<size_t>(row.end - row.begin) * sizeof(E));
}

/// Each row of out is a row of input, whose position in each outer dim the padding gives.
template <class E>
void pad_from_input(const View& y, const View& x, const Padding& padding) {
    const size_t last = y.shape.size() - 1;
    std::vector<PaddedRow> dims;
    for (size_t d = 0; d <= last; ++d) {
        dims.push_back(padded_row(padding, d, y.shape[d], x.shape[d], x.strides[d]));
    }
    const int64_t n = y.shape[last];
    parallel_for(y.numel / n, n, Loop::copy, [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; ++r) {
            int64_t rest = r, offset = 0;
            for (size_t d = last; d-- > 0; rest /= y.shape[d]) {
                offset += dims[d].offsets[static_cast<size_t>(rest % y.shape[d])];
            }
            copy_row(y.as<E>() + r * n, x.as<const E>() + offset, dims[last]);
        }
    });
}

diopiError_t pad_dims(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t pads, const char* mode, const double* value) {
    const View x = view(input), y = view(out);
    Padding padding;
    diopiError_t error = read_padding(op, y, x, list_of(pads), mode, padding);
    if (error != diopiSuccess || y.numel == 0) return error;
    if (padding.mode == PadMode::constant || y.rank() == 0) {
        pad_with(y, x, padding, value == nullptr ? 0 : *value);
        return diopiSuccess;
    }
    View to;
    error = require_dense(ctx, y, to);
    if (error != diopiSuccess) return error;
    with_item(x.dtype, [&]<class E>() { pad_from_input<E>(to, x, padding); });
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

/// out as (repeats, size) for each dim, into which (1, size) of input broadcasts.
diopiError_t repeat(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiSize_t repeats) {
    const View x = view(input), y = view(out);
    const ShapeView counts = list_of(repeats);
    if (counts.size() < x.shape.size() || std::ranges::any_of(counts, [](int64_t n) { return n < 0; })) {
        return refuse(op, "repeats_size is " + to_string(counts) + ", wanted a number for each dimension of " +
                              to_string(x.shape));
    }
    const size_t added = counts.size() - x.shape.size();
    Shape shape(counts.begin(), counts.end());
    for (size_t d = 0; d < x.shape.size(); ++d) {
        if (__builtin_mul_overflow(shape[added + d], x.shape[d], &shape[added + d]))
            return refuse(op, "too many repeats");
    }
    diopiError_t error = check_like(op, "out", y, shape, x.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    OwnView from(x), to(y);
    size_t at = 0;
    for (size_t d = 0; d < counts.size(); ++d, ++at) {
        if (d < added) {
            from.insert(at, 1, 0);
        } else if (counts[d] > 1) {
            // A dim becomes two: the repeats and the elements.
            const int64_t size = x.shape[d - added], stride = to.stride(at);
            to.take(at, 0, size).insert(at, counts[d], size * stride);
            from.insert(at++, 1, 0);
        }
    }
    if (static_cast<int64_t>(to.shape().size()) > kMaxRank) return refuse(op, "too many dimensions are repeated");
    copy(from.view(), to.view());
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/shape_order.inc"

}  // namespace diopi::cpu
