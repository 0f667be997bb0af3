/// Rows of a table by their numbers.
#include <algorithm>
#include <cstring>
#include <span>

#include "kernels/cpu/index_embedding.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/row_sums.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"

namespace diopi::cpu {

namespace {

/// The numbers as dense int64, all of them below `count`.
diopiError_t row_numbers(diopiContextHandle_t ctx, std::string_view op, std::string_view argument, const View& indices,
                         int64_t count, View& rows) {
    if (const diopiError_t error = contiguous_as(ctx, indices, Dtype::int64, rows); error != diopiSuccess) return error;
    const std::span<const int64_t> numbers(rows.as<int64_t>(), static_cast<size_t>(rows.numel));
    const auto bad = std::ranges::find_if(numbers, [=](int64_t row) { return row < 0 || row >= count; });
    if (bad == numbers.end()) return diopiSuccess;
    return refuse(op, std::string(argument) + " holds " + std::to_string(*bad) + ", wanted 0 to " +
                          std::to_string(count - 1) + ": there are " + std::to_string(count) + " rows");
}

diopiError_t embedding(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices, int64_t, bool, bool) {
    const View y = view(out), table = view(weight), at = view(indices);
    const diopiError_t error = check_embedding(op, y, table, at);
    return error != diopiSuccess ? error : look_up_rows(ctx, op, y, table, "indices", at);
}

diopiError_t embedding_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_byfreq, bool sparse) {
    const View gw = view(out), g = view(grad), at = view(indices);
    diopiError_t error = check_embedding_gradient(op, gw, g, at, num_weights, sparse);
    View rows;
    if (error == diopiSuccess) error = row_numbers(ctx, op, "indices", at, num_weights, rows);
    if (error != diopiSuccess) return error;
    if (gw.numel == 0) return diopiSuccess;
    const RowTerms terms({rows.as<int64_t>(), static_cast<size_t>(rows.numel)}, num_weights, padding_idx);
    return sum_rows(ctx, g, gw, gw.shape[1], terms, scale_grad_byfreq);
}

}  // namespace

diopiError_t look_up_rows(diopiContextHandle_t ctx, std::string_view op, const View& out, View table,
                          std::string_view argument, const View& indices) {
    View rows, to;
    const int64_t size = table.shape[1], item = table.item_size();
    diopiError_t error = row_numbers(ctx, op, argument, indices, table.shape[0], rows);
    if (error == diopiSuccess && size > 1 && table.strides[1] != 1) error = contiguous(ctx, table, table);
    if (error == diopiSuccess) error = require_dense(ctx, out, to);
    if (error != diopiSuccess || out.numel == 0) return error;
    const int64_t pitch = table.strides[0] * item;
    const int64_t* row = rows.as<int64_t>();
    parallel_for(rows.numel, size, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            std::memcpy(to.data + i * size * item, table.data + row[i] * pitch, static_cast<size_t>(size * item));
        }
    });
    if (to.data != out.data) copy(to, out);
    return diopiSuccess;
}

#include "kernels/entries/index_embedding.inc"

}  // namespace diopi::cpu
