/// The classifier of ResNet-50 against oneDNN's inner product on the same memory.
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
constexpr int64_t kRounds = 200;
constexpr int64_t kRows = 32, kIn = 2048, kOut = 1000;

memory::desc plain(const Shape& shape) {
    return {memory::dims(shape.begin(), shape.end()), memory::data_type::f32, shape.size() == 1 ? Tag::a : Tag::ab};
}

struct Operands {
    TensorPtr input = random_tensor({kRows, kIn}, 1), weight = random_tensor({kOut, kIn}, 2);
    TensorPtr bias = random_tensor({kOut}, 3), grad_out = random_tensor({kRows, kOut}, 4);
    memory::desc input_desc = plain({kRows, kIn}), weight_desc = plain({kOut, kIn});
    memory::desc bias_desc = plain({kOut}), out_desc = plain({kRows, kOut});
};

dnnl::inner_product_forward::primitive_desc forward_desc(const Operands& o, dnnl::prop_kind kind, Layouts layouts) {
    return describe<dnnl::inner_product_forward>(kind, offered(layouts, o.input_desc), offered(layouts, o.weight_desc),
                                                 o.bias_desc, offered(layouts, o.out_desc));
}

void forward(benchmark::State& state, Layouts layouts) {
    const Operands o;
    const TensorPtr out = random_tensor({kRows, kOut}, 5), expected = random_tensor({kRows, kOut}, 6);
    DirectProgram direct;
    const auto desc = forward_desc(o, dnnl::prop_kind::forward_inference, layouts);
    const DirectProgram::Operand operands[] = {{DNNL_ARG_SRC, o.input_desc, o.input.get()},
                                               {DNNL_ARG_WEIGHTS, o.weight_desc, o.weight.get()},
                                               {DNNL_ARG_BIAS, o.bias_desc, o.bias.get()},
                                               {DNNL_ARG_DST, o.out_desc, expected.get(), true}};
    direct.add(desc, dnnl::inner_product_forward(desc), operands);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(cpu::diopiLinear(&context, out.get(), o.input.get(), o.weight.get(), o.bias.get()));
        context.release();
    };
    const Rounds rounds = interleave(state, 1, ours, [&] { direct.run(); });
    if (!agree(*out, *expected)) state.SkipWithError("the results differ");
    report(state, "ratio", rounds.speed(), kGoal);
}

void backward(benchmark::State& state, Layouts layouts) {
    const Operands o;
    const TensorPtr made[] = {random_tensor({kRows, kIn}, 5), random_tensor({kOut, kIn}, 6), random_tensor({kOut}, 7)};
    const TensorPtr expected[] = {random_tensor({kRows, kIn}, 8), random_tensor({kOut, kIn}, 9),
                                  random_tensor({kOut}, 10)};
    DirectProgram direct;
    const auto hint = forward_desc(o, dnnl::prop_kind::forward_training, layouts);
    const auto data = describe_gradient<dnnl::inner_product_backward_data>(
        hint, offered(layouts, o.input_desc), offered(layouts, o.weight_desc), offered(layouts, o.out_desc));
    const auto weights = describe_gradient<dnnl::inner_product_backward_weights>(
        hint, offered(layouts, o.input_desc), offered(layouts, o.weight_desc), o.bias_desc,
        offered(layouts, o.out_desc));
    const DirectProgram::Operand data_operands[] = {{DNNL_ARG_DIFF_DST, o.out_desc, o.grad_out.get()},
                                                    {DNNL_ARG_WEIGHTS, o.weight_desc, o.weight.get()},
                                                    {DNNL_ARG_DIFF_SRC, o.input_desc, expected[0].get(), true}};
    direct.add(data, dnnl::inner_product_backward_data(data), data_operands);
    const DirectProgram::Operand weights_operands[] = {{DNNL_ARG_DIFF_DST, o.out_desc, o.grad_out.get()},
                                                       {DNNL_ARG_SRC, o.input_desc, o.input.get()},
                                                       {DNNL_ARG_DIFF_WEIGHTS, o.weight_desc, expected[1].get(), true},
                                                       {DNNL_ARG_DIFF_BIAS, o.bias_desc, expected[2].get(), true}};
    direct.add(weights, dnnl::inner_product_backward_weights(weights), weights_operands);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(cpu::diopiLinearBackward(&context, made[0].get(), made[1].get(), made[2].get(),
                                                 o.grad_out.get(), o.input.get(), o.weight.get()));
        context.release();
    };
    const Rounds rounds = interleave(state, 1, ours, [&] { direct.run(); });
    for (size_t i = 0; i < 3; ++i) {
        if (!agree(*made[i], *expected[i])) state.SkipWithError("the results differ");
    }
    report(state, "ratio", rounds.speed(), kGoal);
}

}  // namespace

void register_linear() {
    const struct {
        const char* name;
        void (*function)(benchmark::State&, Layouts);
        Layouts layouts;
    } all[] = {{"linear/forward/32x2048_1000", forward, Layouts::chosen},
               {"linear/forward_plain/32x2048_1000", forward, Layouts::plain},
               {"linear/backward/32x2048_1000", backward, Layouts::chosen},
               {"linear/backward_plain/32x2048_1000", backward, Layouts::plain}};
    for (const auto& [name, function, layouts] : all) {
        benchmark::RegisterBenchmark(name, function, layouts)
            ->UseManualTime()
            ->Iterations(kRounds)
            ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace diopi::bench
