#include "kernels/operands/optim.hpp"

#include <algorithm>
#include <span>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_step(std::string_view op, std::span<const StepTensor> tensors) {
    for (const auto& [v, name] : tensors) {
        if (!is_floating(v.dtype)) return unsupported(op, name, v.dtype, "a floating dtype");
        if (!std::ranges::equal(v.shape, tensors[0].view.shape)) {
            return wrong_shape(op, name, v.shape, "param's " + to_string(tensors[0].view.shape));
        }
    }
    return diopiSuccess;
}

diopiError_t read_sgd(std::string_view op, diopiTensorHandle_t param, diopiTensorHandle_t grad, diopiTensorHandle_t buf,
                      double momentum, SgdTensors& t) {
    const bool is_given = buf != nullptr;
    t = {view(param), view(grad), is_given ? view(buf) : View{}, is_given && momentum != 0.0};
    const StepTensor arguments[] = {{t.param, "param"}, {t.grad, "grad"}, {t.buf, "buf"}};
    return check_step(op, std::span(arguments).first(is_given ? 3 : 2));
}

diopiError_t read_adam(AdamArguments& a) {
    if (!a.amsgrad) a.max_exp_avg_sq = nullptr;
    if (a.amsgrad && a.max_exp_avg_sq == nullptr) {
        return refuse(a.op, "max_exp_avg_sq is null, wanted a tensor for amsgrad");
    }
    const StepTensor arguments[] = {{view(a.param), "param"},
                                    {view(a.grad), "grad"},
                                    {view(a.exp_avg), "exp_avg"},
                                    {view(a.exp_avg_sq), "exp_avg_sq"},
                                    {a.amsgrad ? view(a.max_exp_avg_sq) : View{}, "max_exp_avg_sq"}};
    return check_step(a.op, std::span(arguments).first(a.amsgrad ? 5 : 4));
}

}  // namespace diopi::operands
