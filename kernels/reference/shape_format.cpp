/// The order of a tensor's dims in memory.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

/// The dims in the order of memory, the outermost first: as they are; the channels, dim 1, last; or as input has them.
std::vector<size_t> order_of(const View& input, int64_t format) {
    const size_t rank = input.shape.size();
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t ranks[] = {rank, 4, 5, rank, 3};
    if (format < 0 || format >= static_cast<int64_t>(std::size(ranks)) || ranks[format] != rank) {
        refuse("there is no memory format " + std::to_string(format) + " of shape " + to_string(input.shape));
    }
    if (format == diopiMemoryFormat_Preserve) {
        std::ranges::stable_sort(order, [&](size_t a, size_t b) { return input.strides[a] > input.strides[b]; });
    } else if (format != diopiMemoryFormat_Contiguous) {
        std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    }
    return order;
}

void copy_in_format(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                    int64_t format) {
    const View from = view_of(input);
    const std::vector<size_t> order = order_of(from, format);
    Shape strides(order.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= std::max<int64_t>(from.shape[order[i]], 1);
    }
    const diopiTensorHandle_t made = make_output(ctx, from.shape, from.dtype, strides);
    in_kind(from.dtype, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> y(made, "out");
        std::copy_n(x.data(), x.numel(), y.data());
        y.store();
    });
    *out = made;
}

diopiError_t contiguous(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out,
                        diopiConstTensorHandle_t input, diopiMemoryFormat_t format) {
    return kernel([&] { copy_in_format(ctx, out, input, format); });
}

/// The numbers of this device's own layouts are those of diopiMemoryFormat_t.
diopiError_t cast_format(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out, diopiTensorHandle_t in,
                         int64_t format) {
    return kernel([&] { copy_in_format(ctx, out, in, format); });
}

/// Row-major tensors, and those in no format, have number 0.
diopiError_t get_format(diopiContextHandle_t, std::string_view, diopiConstTensorHandle_t input, int64_t* format) {
    return kernel([&] {
        const View from = view_of(input);
        const int64_t formats[] = {0,
                                   0,
                                   0,
                                   diopiMemoryFormat_ChannelsLast1d,
                                   diopiMemoryFormat_ChannelsLast,
                                   diopiMemoryFormat_ChannelsLast3d};
        *format = diopiMemoryFormat_Contiguous;
        if (from.shape.size() >= std::size(formats) || is_contiguous(from.shape, from.strides)) return;
        const int64_t last = formats[from.shape.size()];
        if (last == 0) return;
        int64_t stride = 1;
        for (const size_t d : [&] {
                 auto o = order_of(from, last);
                 std::ranges::reverse(o);
                 return o;
             }()) {
            if (from.shape[d] != 1 && from.strides[d] != stride) return;
            stride *= from.shape[d];
        }
        *format = last;
    });
}

/// This backend keeps no records about memory.
diopiError_t forget_memory(diopiContextHandle_t, std::string_view, void*) { return diopiSuccess; }

}  // namespace

#include "kernels/entries/shape_format.inc"

}  // namespace diopi::reference
