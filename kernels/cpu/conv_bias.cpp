#include "kernels/cpu/conv_bias.hpp"

namespace diopi::cpu {

template <class T>
void add_bias(const ChannelShape& s, const T* bias, T* images) {
    const int64_t length = s.run_length();
    parallel_for(s.runs(), length, [&](int64_t first, int64_t last) {
        for (int64_t run = first; run < last; ++run) {
            T* to = images + run * length;
            if (s.layout == Layout::plain) {
                const T b = bias[run % s.channels];
                for (int64_t i = 0; i < length; ++i) to[i] += b;
            } else {
                for (int64_t c = 0; c < length; ++c) to[c] += bias[c];
            }
        }
    });
}
template void add_bias(const ChannelShape& s, const float* bias, float* images);
template void add_bias(const ChannelShape& s, const double* bias, double* images);

diopiError_t bias_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_bias, const View& images) {
    Staging staging(ctx);
    auto* sums = staging.out<double>(grad_bias);
    const ChannelShape shape{images.shape[0], images.shape[1], numel(images.shape.subspan(2)), layout_of(images)};
    if (images.dtype == Dtype::float64) {
        const auto* g = staging.in<double>(images, shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    } else {
        const auto* g = staging.in<float>(images, shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    }
    return staging.finish();
}

}  // namespace diopi::cpu
