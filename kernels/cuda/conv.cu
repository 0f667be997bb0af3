/// Convolution by cuDNN; the bias's gradient by a sum of our own.
#include "kernels/cuda/conv.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/cuda/conv_library.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product/copies.hpp"
#include "kernels/cuda/product/sums.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

/// The library counts elements and places with 32 bits.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

/// A tensor of images or weights, which may be moved to new memory.
struct Moving : Images {
    using Images::Images;

    [[nodiscard]] std::array<int64_t, 5> dense_strides(bool channels_last) const {
        const int64_t width = sizes[4], plane = sizes[3] * width;
        if (channels_last) return {sizes[1] * area(), 1, plane * sizes[1], width * sizes[1], sizes[1]};
        return {sizes[1] * area(), area(), plane, width, 1};
    }
    /// Strides of dimensions of size 1 do not matter.
    [[nodiscard]] bool is_dense(bool channels_last) const {
        const auto dense = dense_strides(channels_last);
        for (size_t d = 0; d < sizes.size(); ++d) {
            if (sizes[d] != 1 && strides[d] != dense[d]) return false;
        }
        return true;
    }
    [[nodiscard]] bool has_channels_last() const { return is_dense(true) && !is_dense(false); }
    /// The same sizes in new memory.
    [[nodiscard]] diopiError_t move(diopiContextHandle_t ctx, Dtype to, bool channels_last) {
        const int64_t size[] = {numel()};
        View made;
        const diopiError_t error = require(ctx, size, to, made);
        data = made.data, dtype = to, strides = dense_strides(channels_last);
        return error;
    }
};

/// The operands of a convolution and its gradients, checked against each other.
struct Problem {
    ConvShape shape;
    Moving input, weight, out;
};

/// The dtype of all operands, or one that holds them.
Dtype compute_dtype(std::initializer_list<Dtype> dtypes, Dtype input) {
    if (input == Dtype::float64) return Dtype::float64;
    const bool is_one = std::ranges::all_of(dtypes, [&](Dtype dtype) { return dtype == input; });
    return is_one ? input : Dtype::float32;
}

/// How many images the library can count at a time; 0: not even one.
int64_t images_per_call(const ConvShape& s) {
    return kMostElements / std::max(s.channels * s.area(), s.out_channels * s.out_area());
}

/// Chooses dtype and layout: the channels stay last where input or weight have them so and the library supports it.
diopiError_t choose_form(std::string_view op, const Problem& p, std::initializer_list<Dtype> dtypes, Convolution& c) {
    c.dtype = compute_dtype(dtypes, p.input.dtype);
    const bool adds_calls = c.pass == ConvPass::kWeightGradient && images_per_call(c.shape) < c.shape.count;
    if (adds_calls && is_half(c.dtype)) c.dtype = Dtype::float32;  // the sum is rounded once
    c.channels_last = c.dtype != Dtype::float64 && (p.input.has_channels_last() || p.weight.has_channels_last());
    if (c.channels_last) {
        const diopiError_t error = find_convolution(op, c);
        if (error != diopiNoImplement) return error;
        forget_failure();
        c.channels_last = false;
    }
    return diopiSuccess;
}

/// One pass: operands are brought into its form, and the result out of it.
class Pass {
 public:
    Pass(diopiContextHandle_t ctx, std::string_view op, const Problem& p, const Convolution& c)
        : ctx_(ctx), op_(op), c_(c), input_(p.input), weight_(p.weight), out_(p.out) {}

    /// `result` is written instead of the problem's own tensor. The library may refuse a layout with the channels last
    /// that it proposed: then the channels are moved.
    [[nodiscard]] diopiError_t run(const Moving& result, const View* bias) {
        const diopiError_t error = run_in_form(result, bias);
        if (error != diopiNoImplement || !c_.channels_last) return error;
        forget_failure();
        c_.channels_last = false;
        return run_in_form(result, bias);
    }

 private:
    [[nodiscard]] diopiError_t run_in_form(const Moving& result, const View* bias) {
        Moving& written = c_.pass == ConvPass::kForward ? out_ : c_.pass == ConvPass::kInputGradient ? input_ : weight_;
        written = result;
        for (Moving* x : {&input_, &weight_, &out_}) {
            if (x->dtype == c_.dtype && x->is_dense(c_.channels_last)) continue;
            const Moving given = *x;
            diopiError_t error = x->move(ctx_, c_.dtype, c_.channels_last);
            if (error == diopiSuccess && x != &written) error = assign(ctx_, op_, x->view(), given.view());
            if (error != diopiSuccess) return error;
        }
        diopiError_t error = bias == nullptr ? diopiSuccess : assign(ctx_, op_, written.view(), *bias);
        if (error == diopiSuccess) error = run_chunks(bias == nullptr ? 0 : 1);
        if (error != diopiSuccess || written.data == result.data) return error;
        return assign(ctx_, op_, result.view(), written.view());
    }

    /// Runs the library on as many images at a time as it can count.
    [[nodiscard]] diopiError_t run_chunks(double beta) {
        const ConvShape& s = c_.shape;
        const int64_t of_input = s.channels * s.area(), of_out = s.out_channels * s.out_area();
        const int64_t most = std::min(s.count, images_per_call(s));
        if (most == 0 || weight_.numel() > kMostElements) {
            return fail(diopiNoImplement, std::string(op_) + ": an image or the weight has more than " +
                                              std::to_string(kMostElements) +
                                              " elements, which cuDNN cannot count: split it");
        }
        for (int64_t first = 0; first < s.count; first += most) {
            Convolution chunk = c_;
            chunk.shape.count = std::min(most, s.count - first);
            const auto at = [&](const Moving& x, int64_t image) {
                return x.data + first * image * static_cast<int64_t>(size_of(c_.dtype));
            };
            const bool adds = first > 0 && c_.pass == ConvPass::kWeightGradient;
            const diopiError_t error =
                convolve(ctx_, op_, chunk, at(input_, of_input), weight_.data, at(out_, of_out), adds ? 1 : beta);
            if (error != diopiSuccess) return error;
        }
        return diopiSuccess;
    }

    diopiContextHandle_t ctx_;
    std::string_view op_;
    Convolution c_;
    Moving input_, weight_, out_;
};

/// One number for each channel, as (C, 1, 1, 1), which broadcasts to images.
struct Channels {
    std::array<int64_t, 4> shape, strides{1, 1, 1, 1};
    View view;

    /// `v` has one element for each channel; with several dimensions it is contiguous.
    explicit Channels(const View& v) : shape{v.numel, 1, 1, 1}, view(v) {
        if (v.shape.size() == 1) strides[0] = v.strides[0];
        view.shape = shape, view.strides = strides;
    }
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;

    /// Refuses one that does not fit.
    [[nodiscard]] static diopiError_t check(std::string_view op, std::string_view argument, const View& v,
                                            const ConvShape& shape) {
        const diopiError_t error = check_bias(op, argument, v, shape.out_channels);
        if (error != diopiSuccess || v.shape.size() == 1 || is_contiguous(v.shape, v.strides)) return error;
        return wrong_shape(op, argument, v.shape, to_string(Shape{shape.out_channels}));
    }
};

}  // namespace

diopiError_t convolution(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                         diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const View x = view(input), w = view(weight), y = view(out);
    ConvShape shape;
    diopiError_t error = read_convolution(op, sides, x, w, y, {stride, padding, dilation, groups}, shape);
    if (error != diopiSuccess) return error;
    std::optional<Channels> added;
    if (bias != nullptr) {
        error = Channels::check(op, "bias", view(bias), shape);
        if (error != diopiSuccess) return error;
        added.emplace(view(bias));
    }
    if (y.numel == 0) return diopiSuccess;
    const Problem p{shape, Moving(sides, x), Moving(sides, w), Moving(sides, y)};
    if (shape.is_empty()) return added ? assign(ctx, op, p.out.view(), added->view) : assign_zero(ctx, op, y);
    Convolution c;
    c.shape = shape;
    error = choose_form(op, p, {w.dtype, y.dtype, added ? added->view.dtype : x.dtype}, c);
    if (error != diopiSuccess) return error;
    return Pass(ctx, op, p, c).run(p.out, added ? &added->view : nullptr);
}

diopiError_t convolution_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                  diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                  diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                  diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const View x = view(input), w = view(weight), g = view(grad_output);
    ConvShape shape;
    diopiError_t error = read_convolution(op, sides, x, w, g, {stride, padding, dilation, groups}, shape);
    if (error == diopiSuccess) error = check_gradients(op, grad_input, x, grad_weight, w);
    if (error != diopiSuccess) return error;
    if (grad_bias != nullptr) {
        const View gb = view(grad_bias);
        error = Channels::check(op, "grad_bias", gb, shape);
        if (error == diopiSuccess) error = sum_to(ctx, op, Channels(gb).view, Images(sides, g).view());
        if (error != diopiSuccess) return error;
    }
    const auto run = [&](ConvPass pass, diopiTensorHandle_t gradient) {
        if (gradient == nullptr) return diopiSuccess;
        const View written = view(gradient);
        if (written.numel == 0) return diopiSuccess;
        if (shape.is_empty()) return assign_zero(ctx, op, written);
        const Problem p{shape, Moving(sides, x), Moving(sides, w), Moving(sides, g)};
        Convolution c;
        c.pass = pass, c.shape = shape;
        const diopiError_t failed = choose_form(op, p, {w.dtype, g.dtype, written.dtype}, c);
        return failed == diopiSuccess ? Pass(ctx, op, p, c).run(Moving(sides, written), nullptr) : failed;
    };
    error = run(ConvPass::kInputGradient, grad_input);
    return error == diopiSuccess ? run(ConvPass::kWeightGradient, grad_weight) : error;
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::cuda
