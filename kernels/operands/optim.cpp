#include "kernels/operands/optim.hpp"

#include <algorithm>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_step(std::string_view op, std::span<const Argument> arguments) {
    for (const auto& [v, name] : arguments) {
        if (!is_floating(v.dtype)) return unsupported(op, name, v.dtype, "a floating dtype");
        if (!std::ranges::equal(v.shape, arguments[0].view.shape)) {
            return wrong_shape(op, name, v.shape, "param's " + to_string(arguments[0].view.shape));
        }
    }
    return diopiSuccess;
}

diopiError_t read_adam(std::string_view op, bool amsgrad, AdamTensors& t) {
    if (!amsgrad) t.max_exp_avg_sq = nullptr;
    if (amsgrad && t.max_exp_avg_sq == nullptr) {
        return refuse(op, "max_exp_avg_sq is null, wanted a tensor for amsgrad");
    }
    const Argument arguments[] = {{view(t.param), "param"},
                                  {view(t.grad), "grad"},
                                  {view(t.exp_avg), "exp_avg"},
                                  {view(t.exp_avg_sq), "exp_avg_sq"},
                                  {amsgrad ? view(t.max_exp_avg_sq) : View{}, "max_exp_avg_sq"}};
    return check_step(op, std::span(arguments).first(amsgrad ? 5 : 4));
}

}  // namespace diopi::operands
