/// Convolutions of ResNet-50 against oneDNN's primitive on the same memory.
#include <fmt/format.h>

#include <string>

#include "direct_onednn.hpp"
#include "interleave.hpp"
#include "kernels/cpu/operators.hpp"
#include "operands.hpp"
#include "suites.hpp"

namespace diopi::bench {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr double kGoal = 0.9;

/// Square images and kernels; one stride and one padding for both directions.
struct Layer {
    int64_t count, channels, side, out_channels, kernel, stride, padding;

    [[nodiscard]] int64_t out_side() const { return (side + 2 * padding - kernel) / stride + 1; }
    [[nodiscard]] Shape input() const { return {count, channels, side, side}; }
    [[nodiscard]] Shape weight() const { return {out_channels, channels, kernel, kernel}; }
    [[nodiscard]] Shape out() const { return {count, out_channels, out_side(), out_side()}; }
};

constexpr Layer kLayers[] = {
    {16, 256, 14, 256, 3, 1, 1}, {16, 256, 14, 1024, 1, 1, 0}, {32, 64, 56, 64, 3, 1, 1}, {32, 3, 224, 64, 7, 2, 3}};

/// The layer's operands as our functions take them.
struct Operands {
    explicit Operands(const Layer& layer)
        : input(random_tensor(layer.input(), 1)),
          weight(random_tensor(layer.weight(), 2)),
          grad_out(random_tensor(layer.out(), 3)),
          stride{layer.stride, layer.stride},
          padding{layer.padding, layer.padding} {}

    TensorPtr input, weight, grad_out;
    std::array<int64_t, 2> stride, padding, dilation{1, 1};
};

diopiSize_t list(const std::array<int64_t, 2>& pair) { return {pair.data(), 2}; }

/// Plain descriptors of the three tensors.
struct Descs {
    explicit Descs(const Layer& layer)
        : input(plain(layer.input())), weight(plain(layer.weight())), out(plain(layer.out())) {}
    static memory::desc plain(const Shape& shape) {
        return {memory::dims(shape.begin(), shape.end()), memory::data_type::f32, Tag::abcd};
    }
    memory::desc input, weight, out;
};

dnnl::convolution_forward::primitive_desc forward_desc(const Layer& layer, dnnl::prop_kind kind, Layouts layouts) {
    const Descs user(layer);
    const memory::dims stride{layer.stride, layer.stride}, padding{layer.padding, layer.padding};
    return describe<dnnl::convolution_forward>(kind, dnnl::algorithm::convolution_direct, offered(layouts, user.input),
                                               offered(layouts, user.weight), offered(layouts, user.out), stride,
                                               padding, padding);
}

void forward(benchmark::State& state, const Layer& layer, Layouts layouts) {
    const Operands o(layer);
    const TensorPtr out = random_tensor(layer.out(), 4), expected = random_tensor(layer.out(), 5);
    DirectProgram direct;
    const Descs user(layer);
    const auto desc = forward_desc(layer, dnnl::prop_kind::forward_inference, layouts);
    const DirectProgram::Operand operands[] = {{DNNL_ARG_SRC, user.input, o.input.get()},
                                               {DNNL_ARG_WEIGHTS, user.weight, o.weight.get()},
                                               {DNNL_ARG_DST, user.out, expected.get(), true}};
    direct.add(desc, dnnl::convolution_forward(desc), operands);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(cpu::diopiConvolution2d(&context, out.get(), o.input.get(), o.weight.get(), nullptr,
                                                list(o.stride), list(o.padding), list(o.dilation), 1));
        context.release();
    };
    const Rounds rounds = interleave(state, 1, ours, [&] { direct.run(); });
    if (!agree(*out, *expected)) state.SkipWithError("the results differ");
    report(state, "ratio", rounds.speed(), kGoal);
}

/// Gradients of input and weight.
void backward(benchmark::State& state, const Layer& layer, Layouts layouts) {
    const Operands o(layer);
    const TensorPtr grad_input = random_tensor(layer.input(), 4), grad_weight = random_tensor(layer.weight(), 5);
    const TensorPtr expected_input = random_tensor(layer.input(), 6),
                    expected_weight = random_tensor(layer.weight(), 7);
    DirectProgram direct;
    const Descs user(layer);
    const memory::dims stride{layer.stride, layer.stride}, padding{layer.padding, layer.padding};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto hint = forward_desc(layer, dnnl::prop_kind::forward_training, layouts);
    const auto data = describe_gradient<dnnl::convolution_backward_data>(
        hint, algorithm, offered(layouts, user.input), offered(layouts, user.weight), offered(layouts, user.out),
        stride, padding, padding);
    const auto weights = describe_gradient<dnnl::convolution_backward_weights>(
        hint, algorithm, offered(layouts, user.input), offered(layouts, user.weight), offered(layouts, user.out),
        stride, padding, padding);
    const DirectProgram::Operand data_operands[] = {{DNNL_ARG_DIFF_DST, user.out, o.grad_out.get()},
                                                    {DNNL_ARG_WEIGHTS, user.weight, o.weight.get()},
                                                    {DNNL_ARG_DIFF_SRC, user.input, expected_input.get(), true}};
    direct.add(data, dnnl::convolution_backward_data(data), data_operands);
    const DirectProgram::Operand weights_operands[] = {
        {DNNL_ARG_DIFF_DST, user.out, o.grad_out.get()},
        {DNNL_ARG_SRC, user.input, o.input.get()},
        {DNNL_ARG_DIFF_WEIGHTS, user.weight, expected_weight.get(), true}};
    direct.add(weights, dnnl::convolution_backward_weights(weights), weights_operands);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(cpu::diopiConvolution2dBackward(&context, grad_input.get(), grad_weight.get(), nullptr,
                                                        o.grad_out.get(), o.input.get(), o.weight.get(), nullptr,
                                                        list(o.stride), list(o.padding), list(o.dilation), 1));
        context.release();
    };
    const Rounds rounds = interleave(state, 1, ours, [&] { direct.run(); });
    if (!agree(*grad_input, *expected_input) || !agree(*grad_weight, *expected_weight)) {
        state.SkipWithError("the results differ");
    }
    report(state, "ratio", rounds.speed(), kGoal);
}

/// Our convolution against itself: how far a ratio is from 1 by chance.
void noise(benchmark::State& state, const Layer& layer, Layouts) {
    const Operands o(layer);
    const TensorPtr out = random_tensor(layer.out(), 4);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(cpu::diopiConvolution2d(&context, out.get(), o.input.get(), o.weight.get(), nullptr,
                                                list(o.stride), list(o.padding), list(o.dilation), 1));
        context.release();
    };
    report(state, "ratio", interleave(state, 1, ours, ours).speed(), 0);
}

std::string name_of(std::string_view what, const Layer& l) {
    return fmt::format("conv2d/{}/{}x{}x{}x{}_{}x{}x{}", what, l.count, l.channels, l.side, l.side, l.out_channels,
                       l.kernel, l.kernel);
}

}  // namespace

void register_convolution() {
    const auto add = [](std::string_view what, auto function, const Layer& layer, Layouts layouts, int64_t rounds) {
        benchmark::RegisterBenchmark(name_of(what, layer).c_str(), function, layer, layouts)
            ->UseManualTime()
            ->Iterations(rounds)
            ->Unit(benchmark::kMillisecond);
    };
    for (const Layer& layer : kLayers) add("forward", forward, layer, Layouts::chosen, 40);
    add("forward_plain", forward, kLayers[1], Layouts::plain, 40);
    for (const Layer& layer : kLayers) add("backward", backward, layer, Layouts::chosen, 20);
    add("noise", noise, kLayers[0], Layouts::chosen, 40);
}

}  // namespace diopi::bench
