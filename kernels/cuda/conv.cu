/// Two-dimensional convolution by cuDNN; the bias's gradient by a sum of our own.
#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/cuda/convolution.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product_copies.hpp"
#include "kernels/cuda/product_sums.hpp"

namespace diopi::cuda {

namespace {

/// The library counts elements and places with 32 bits.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

/// Two numbers for height and width: one number serves both, an empty list gives `missing`.
Pair pair_of(diopiSize_t list, Pair missing) {
    if (list.data == nullptr || list.len == 0) return missing;
    return {list.data[0], list.data[list.len > 1 ? 1 : 0]};
}

/// A tensor of four dimensions with its own sizes; (C,H,W) is seen as N = 1.
struct Tensor4 {
    std::array<int64_t, 4> shape{}, strides{};
    std::byte* data = nullptr;
    Dtype dtype = Dtype::float32;

    explicit Tensor4(const View& v) : data(v.data), dtype(v.dtype) {
        const size_t added = v.shape.size() == 3 ? 1 : 0;
        if (added == 1) shape[0] = 1;
        for (size_t d = added; d < 4 && d - added < v.shape.size(); ++d) {
            shape[d] = v.shape[d - added];
            strides[d] = v.strides[d - added];
        }
    }
    /// Borrows from this.
    [[nodiscard]] View view() const {
        View v;
        v.data = data, v.dtype = dtype, v.shape = shape, v.strides = strides, v.numel = numel(shape);
        return v;
    }
    [[nodiscard]] std::array<int64_t, 4> dense_strides(bool channels_last) const {
        if (channels_last) return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
        return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
    }
    /// Strides of dimensions of size 1 do not matter.
    [[nodiscard]] bool is_dense(bool channels_last) const {
        const auto dense = dense_strides(channels_last);
        for (size_t d = 0; d < 4; ++d) {
            if (shape[d] != 1 && strides[d] != dense[d]) return false;
        }
        return true;
    }
    /// The same sizes in new memory.
    [[nodiscard]] diopiError_t move(diopiContextHandle_t ctx, Dtype to, bool channels_last) {
        const int64_t size[] = {numel(shape)};
        View made;
        const diopiError_t error = require(ctx, size, to, made);
        data = made.data, dtype = to, strides = dense_strides(channels_last);
        return error;
    }
};

bool is_image(const View& v) { return v.shape.size() == 3 || v.shape.size() == 4; }

/// Places of a window along a side; 0 or less where none fits.
int64_t places(const Convolution& c, size_t side, int64_t size) {
    const int64_t room = size + 2 * c.padding[side] - c.dilation[side] * (c.kernel[side] - 1) - 1;
    return room < 0 ? 0 : room / c.stride[side] + 1;
}

bool is_sound(const Convolution& c) {
    for (size_t side = 0; side < 2; ++side) {
        if (c.kernel[side] <= 0 || c.stride[side] <= 0 || c.padding[side] < 0 || c.dilation[side] <= 0) return false;
    }
    return c.groups > 0;
}

/// The operands of a convolution and its gradients, checked against each other.
struct Problem {
    Convolution c;
    Tensor4 input, weight, out;

    [[nodiscard]] bool is_empty() const {
        return numel(input.shape) == 0 || numel(weight.shape) == 0 || numel(out.shape) == 0;
    }
};

diopiError_t read_problem(std::string_view op, const View& input, const View& weight, const View& out,
                          diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups, Problem& p) {
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (!is_image(input)) return wrong_shape(op, "input", input.shape, "(N, C, H, W) or (C, H, W)");
    if (weight.shape.size() != 4) return wrong_shape(op, "weight", weight.shape, "(out, in / groups, height, width)");
    Convolution& c = p.c;
    c.kernel = {weight.shape[2], weight.shape[3]};
    c.stride = pair_of(stride, {1, 1}), c.padding = pair_of(padding, {0, 0}), c.dilation = pair_of(dilation, {1, 1});
    c.groups = groups;
    if (!is_sound(c)) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides, dilations and groups of at least 1 and "
                                            "paddings of at least 0");
    }
    const auto& x = p.input.shape;
    c.count = x[0], c.channels = x[1], c.height = x[2], c.width = x[3];
    c.out_channels = weight.shape[0];
    c.out_height = places(c, 0, c.height), c.out_width = places(c, 1, c.width);
    if (c.channels % groups != 0 || c.out_channels % groups != 0 || weight.shape[1] != c.channels / groups) {
        return wrong_shape(op, "weight", weight.shape,
                           "(out, " + std::to_string(c.channels) + " / groups, height, width) with sides that " +
                               std::to_string(groups) + " groups divide");
    }
    const Shape wanted{c.count, c.out_channels, c.out_height, c.out_width};
    if (out.shape.size() != input.shape.size() || !std::ranges::equal(p.out.shape, wanted)) {
        return wrong_shape(op, "out", out.shape, to_string(wanted));
    }
    return diopiSuccess;
}

/// The dtype of all that takes part, or one that holds them.
Dtype compute_dtype(std::initializer_list<Dtype> dtypes, Dtype input) {
    if (input == Dtype::float64) return Dtype::float64;
    const bool is_one = std::ranges::all_of(dtypes, [&](Dtype dtype) { return dtype == input; });
    return is_one ? input : Dtype::float32;
}

bool has_channels_last(const Tensor4& x) { return x.is_dense(true) && !x.is_dense(false); }

/// How many images the library can count at a time; 0: not one.
int64_t images_per_call(const Convolution& c) {
    return kMostElements / std::max(c.channels * c.height * c.width, c.out_channels * c.out_height * c.out_width);
}

/// Chooses dtype and layout: the channels stay last where input or weight have them so and the library can do it.
diopiError_t choose_form(std::string_view op, const Problem& p, std::initializer_list<Dtype> dtypes, Convolution& c) {
    c.dtype = compute_dtype(dtypes, p.input.dtype);
    const bool adds_calls = c.pass == ConvPass::kWeightGradient && images_per_call(c) < c.count;
    if (adds_calls && is_half(c.dtype)) c.dtype = Dtype::float32;  // the sum is rounded once
    c.channels_last = c.dtype != Dtype::float64 && (has_channels_last(p.input) || has_channels_last(p.weight));
    if (c.channels_last) {
        const diopiError_t error = find_convolution(op, c);
        if (error != diopiNoImplement) return error;
        c.channels_last = false;
    }
    return diopiSuccess;
}

/// One pass: operands are brought into its form, and the result out of it.
class Pass {
 public:
    Pass(diopiContextHandle_t ctx, std::string_view op, const Problem& p, const Convolution& c)
        : ctx_(ctx), op_(op), c_(c), input_(p.input), weight_(p.weight), out_(p.out) {}

    /// `result`: what is written instead of the problem's own tensor. With the channels last the library may still
    /// refuse what it proposed: then they are moved.
    [[nodiscard]] diopiError_t run(const Tensor4& result, const View* bias) {
        const diopiError_t error = run_in_form(result, bias);
        if (error != diopiNoImplement || !c_.channels_last) return error;
        c_.channels_last = false;
        return run_in_form(result, bias);
    }

 private:
    [[nodiscard]] diopiError_t run_in_form(const Tensor4& result, const View* bias) {
        Tensor4& written = c_.pass == ConvPass::kForward         ? out_
                           : c_.pass == ConvPass::kInputGradient ? input_
                                                                 : weight_;
        written = result;
        for (Tensor4* x : {&input_, &weight_, &out_}) {
            if (x->dtype == c_.dtype && x->is_dense(c_.channels_last)) continue;
            const Tensor4 given = *x;
            diopiError_t error = x->move(ctx_, c_.dtype, c_.channels_last);
            if (error == diopiSuccess && x != &written) error = assign(ctx_, op_, x->view(), given.view());
            if (error != diopiSuccess) return error;
        }
        diopiError_t error = bias == nullptr ? diopiSuccess : assign(ctx_, op_, written.view(), *bias);
        if (error == diopiSuccess) error = run_chunks(bias == nullptr ? 0 : 1);
        if (error != diopiSuccess || written.data == result.data) return error;
        return assign(ctx_, op_, result.view(), written.view());
    }

    /// As many images at a time as the library can count.
    [[nodiscard]] diopiError_t run_chunks(double beta) {
        const int64_t of_input = c_.channels * c_.height * c_.width;
        const int64_t of_out = c_.out_channels * c_.out_height * c_.out_width;
        const int64_t most = std::min(c_.count, images_per_call(c_));
        if (most == 0 || numel(weight_.shape) > kMostElements) {
            return fail(diopiNoImplement, std::string(op_) + ": an image or the weight has more than " +
                                              std::to_string(kMostElements) +
                                              " elements, which cuDNN cannot count: split it");
        }
        for (int64_t first = 0; first < c_.count; first += most) {
            Convolution chunk = c_;
            chunk.count = std::min(most, c_.count - first);
            const auto at = [&](const Tensor4& x, int64_t image) {
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
    Tensor4 input_, weight_, out_;
};

/// One number for each channel, as (C, 1, 1).
struct Channels {
    std::array<int64_t, 3> shape{}, strides{};
    View view;

    /// `v` has as many elements; of several dimensions only where it is contiguous.
    explicit Channels(const View& v) : shape{v.numel, 1, 1}, strides{1, 1, 1}, view(v) {
        if (v.shape.size() == 1) strides[0] = v.strides[0];
        view.shape = shape, view.strides = strides;
    }
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;

    [[nodiscard]] static bool fits(const View& v, int64_t channels) {
        return v.numel == channels && (v.shape.size() == 1 || is_contiguous(v.shape, v.strides));
    }
};

}  // namespace

diopiError_t diopiConvolution2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    constexpr std::string_view kOp = "diopiConvolution2d";
    const View x = view(input), w = view(weight), y = view(out);
    Problem p{{}, Tensor4(x), Tensor4(w), Tensor4(y)};
    diopiError_t error = read_problem(kOp, x, w, y, stride, padding, dilation, groups, p);
    if (error != diopiSuccess) return error;
    std::optional<Channels> added;
    if (bias != nullptr) {
        const View b = view(bias);
        if (!Channels::fits(b, p.c.out_channels)) {
            return wrong_shape(kOp, "bias", b.shape, to_string(Shape{p.c.out_channels}));
        }
        added.emplace(b);
    }
    if (y.numel == 0) return diopiSuccess;
    if (p.is_empty()) {
        return added ? assign(ctx, kOp, y, added->view) : assign_zero(ctx, kOp, y);
    }
    Convolution c = p.c;
    const Dtype of_bias = added ? added->view.dtype : x.dtype;
    error = choose_form(kOp, p, {w.dtype, y.dtype, of_bias}, c);
    if (error != diopiSuccess) return error;
    return Pass(ctx, kOp, p, c).run(p.out, added ? &added->view : nullptr);
}

diopiError_t diopiConvolution2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                        diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                        diopiConstTensorHandle_t weight, diopiSize_t*, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    constexpr std::string_view kOp = "diopiConvolution2dBackward";
    const View x = view(input), w = view(weight), g = view(grad_output);
    Problem p{{}, Tensor4(x), Tensor4(w), Tensor4(g)};
    diopiError_t error = read_problem(kOp, x, w, g, stride, padding, dilation, groups, p);
    if (error != diopiSuccess) return error;
    if (grad_bias != nullptr) {
        const View gb = view(grad_bias);
        if (!Channels::fits(gb, p.c.out_channels)) {
            return wrong_shape(kOp, "grad_bias", gb.shape, to_string(Shape{p.c.out_channels}));
        }
        error = sum_to(ctx, kOp, Channels(gb).view, g);
        if (error != diopiSuccess) return error;
    }
    const auto run = [&](ConvPass pass, diopiTensorHandle_t gradient, std::string_view argument, const View& of) {
        if (gradient == nullptr) return diopiSuccess;
        const View written = view(gradient);
        diopiError_t failed = check_shape(kOp, argument, written, of.shape);
        if (failed != diopiSuccess || written.numel == 0) return failed;
        if (p.is_empty()) return assign_zero(ctx, kOp, written);
        Convolution c = p.c;
        c.pass = pass;
        failed = choose_form(kOp, p, {w.dtype, g.dtype, written.dtype}, c);
        return failed == diopiSuccess ? Pass(ctx, kOp, p, c).run(Tensor4(written), nullptr) : failed;
    };
    error = run(ConvPass::kInputGradient, grad_input, "grad_input", x);
    return error == diopiSuccess ? run(ConvPass::kWeightGradient, grad_weight, "grad_weight", w) : error;
}

}  // namespace diopi::cuda
