/// Convolution by cuDNN; the bias's gradient by a sum of our own.
#include "kernels/cuda/conv.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/cuda/conv_library.hpp"
#include "kernels/cuda/element/nest.hpp"
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
    /// Whether the library takes it as it is.
    [[nodiscard]] bool has_form(const Convolution& c) const {
        return dtype == c.dtype && is_dense(c.channels_last) && is_aligned(data, kConvAlignment);
    }
    /// The same sizes in new memory, which is aligned to more than the library needs.
    [[nodiscard]] diopiError_t move(diopiContextHandle_t ctx, const Convolution& c) {
        const int64_t size[] = {numel()};
        View made;
        const diopiError_t error = require(ctx, size, c.dtype, made);
        data = made.data, dtype = c.dtype, strides = dense_strides(c.channels_last);
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

/// How many images the library can count at a time, so that each part is aligned like the first one; 0: not even one.
int64_t images_per_call(const ConvShape& s) {
    constexpr int64_t kAligned = kConvAlignment / 2;  // elements of the smallest dtype
    const int64_t most = kMostElements / std::max(s.channels * s.area(), s.out_channels * s.out_area());
    return most >= s.count || most < kAligned ? most : most / kAligned * kAligned;
}

/// The forms in which the library may take a pass, the fastest first: the channels stay last where input or weight have
/// them so. In float32 it takes what it refuses in a half dtype.
std::vector<Convolution> forms_of(ConvPass pass, const Problem& p, std::initializer_list<Dtype> dtypes, bool has_bias) {
    Convolution c;
    c.pass = pass, c.shape = p.shape;
    c.dtype = compute_dtype(dtypes, p.input.dtype);
    const bool adds_calls = pass == ConvPass::kWeightGradient && images_per_call(c.shape) < c.shape.count;
    if (adds_calls && is_half(c.dtype)) c.dtype = Dtype::float32;  // the sum is rounded once
    std::vector<Convolution> forms;
    c.channels_last = c.dtype != Dtype::float64 && (p.input.has_channels_last() || p.weight.has_channels_last());
    if (c.channels_last) forms.push_back(c);
    c.channels_last = false;
    forms.push_back(c);
    if (is_half(c.dtype)) {
        c.dtype = Dtype::float32;
        forms.push_back(c);
    }
    for (Convolution& form : forms) {
        if (has_bias) form.addend = is_half(form.dtype) ? ConvAddend::kBias : ConvAddend::kOld;
    }
    return forms;
}

/// One pass: operands are brought into its form, and the result out of it.
class Pass {
 public:
    Pass(diopiContextHandle_t ctx, std::string_view op, const Problem& p)
        : ctx_(ctx), op_(op), input_(p.input), weight_(p.weight), out_(p.out) {}

    /// `result` is written instead of the problem's own tensor. `bias` has a number for each channel, or is null. A
    /// form that the library refuses, also where it had proposed it, gives way to the next.
    [[nodiscard]] diopiError_t run(const std::vector<Convolution>& forms, const Moving& result,
                                   const View* bias) const {
        diopiError_t error = diopiNoImplement;
        for (const Convolution& form : forms) {
            forget_failure();
            Convolution part = form;  // the library sees no more images at a time
            part.shape.count = std::min(form.shape.count, std::max<int64_t>(images_per_call(form.shape), 1));
            error = find_convolution(op_, part);
            if (error == diopiSuccess) error = run_in_form(form, result, bias);
            if (error != diopiNoImplement) break;
        }
        return error;
    }

 private:
    [[nodiscard]] diopiError_t run_in_form(const Convolution& c, const Moving& result, const View* bias) const {
        Moving input = input_, weight = weight_, out = out_;
        Moving& written = c.pass == ConvPass::kForward ? out : c.pass == ConvPass::kInputGradient ? input : weight;
        written = result;
        for (Moving* x : {&input, &weight, &out}) {
            if (x->has_form(c)) continue;
            const Moving given = *x;
            diopiError_t error = x->move(ctx_, c);
            if (error == diopiSuccess && x != &written) error = assign(ctx_, op_, x->view(), given.view());
            if (error != diopiSuccess) return error;
        }
        View run_of_bias;
        diopiError_t error = diopiSuccess;
        if (c.addend == ConvAddend::kBias) error = copy_as(ctx_, op_, *bias, c.dtype, run_of_bias);
        if (c.addend == ConvAddend::kOld) error = assign(ctx_, op_, written.view(), *bias);
        if (error == diopiSuccess) {
            error = run_chunks(c, {input.data, weight.data, out.data, run_of_bias.data}, weight.numel());
        }
        if (error != diopiSuccess || written.data == result.data) return error;
        return assign(ctx_, op_, result.view(), written.view());
    }

    /// Runs the library on as many images at a time as it can count.
    [[nodiscard]] diopiError_t run_chunks(const Convolution& c, const ConvData& data, int64_t weights) const {
        const ConvShape& s = c.shape;
        const auto item_size = static_cast<int64_t>(size_of(c.dtype));
        const int64_t of_input = s.channels * s.area() * item_size, of_out = s.out_channels * s.out_area() * item_size;
        const int64_t most = std::min(s.count, images_per_call(s));
        if (most == 0 || weights > kMostElements) {
            return fail(diopiNoImplement, std::string(op_) + ": an image or the weight has more than " +
                                              std::to_string(kMostElements) +
                                              " elements, which cuDNN cannot count: split it");
        }
        for (int64_t first = 0; first < s.count; first += most) {
            Convolution chunk = c;
            chunk.shape.count = std::min(most, s.count - first);
            ConvData at = data;
            at.input = static_cast<std::byte*>(data.input) + first * of_input;
            at.out = static_cast<std::byte*>(data.out) + first * of_out;
            if (first > 0 && c.pass == ConvPass::kWeightGradient) chunk.addend = ConvAddend::kOld;
            for (const void* start : {at.input, at.weight, at.out}) {
                if (is_aligned(start, kConvAlignment)) continue;
                return fail(diopiNoImplement, std::string(op_) +
                                                  ": an operand, or one of its images, does not start at "
                                                  "a multiple of 16 bytes: split the batch");
            }
            const diopiError_t error = convolve(ctx_, op_, chunk, at);
            if (error != diopiSuccess) return error;
        }
        return diopiSuccess;
    }

    diopiContextHandle_t ctx_;
    std::string_view op_;
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
    const View* addend = added ? &added->view : nullptr;
    const auto forms =
        forms_of(ConvPass::kForward, p, {w.dtype, y.dtype, added ? addend->dtype : x.dtype}, added.has_value());
    return Pass(ctx, op, p).run(forms, p.out, addend);
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
        const auto forms = forms_of(pass, p, {w.dtype, g.dtype, written.dtype}, false);
        return Pass(ctx, op, p).run(forms, Moving(sides, written), nullptr);
    };
    error = run(ConvPass::kInputGradient, grad_input);
    return error == diopiSuccess ? run(ConvPass::kWeightGradient, grad_weight) : error;
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::cuda
