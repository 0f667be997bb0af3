"""What PyTorch computes for the functions of the standard: products, convolution, pooling, norms, losses, optimisers,
resampling."""
import torch
import torch.nn.functional as F

from functions import gradient

aten = torch.ops.aten
REDUCTIONS = ["none", "mean", "sum"]
CDIST_MODES = [None, "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"]


def wanted(*gradients):
    return [each is not None for each in gradients]


def layer_gradients(function, grad_output, input, weight, bias_sizes=None):
    """Gradients of input, weight and, where it has sizes, bias; its values do not matter."""
    if bias_sizes is None or 0 in bias_sizes:
        return gradient(lambda x, w: function(x, w, None), input, weight, incoming=grad_output)
    bias = torch.zeros(bias_sizes, dtype=input.dtype)
    return gradient(function, input, weight, bias, incoming=grad_output)


def convolutions():
    found = {}
    for rank in (2, 3):
        for kind, op in ((f"Convolution{rank}d", getattr(F, f"conv{rank}d")),
                         (f"ConvTranspose{rank}d", getattr(F, f"conv_transpose{rank}d"))):
            def forward(input, weight, bias, stride, padding, dilation, groups, output_padding=None, op=op):
                more = {} if output_padding is None else {"output_padding": output_padding}
                return op(input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups, **more)

            def backward(grad_output, input, weight, bias_sizes, op=forward, **how):
                return layer_gradients(lambda x, w, b: op(x, w, b, **how), grad_output, input, weight, bias_sizes)

            found[f"diopi{kind}"] = forward
            found[f"diopi{kind}Backward"] = backward
    return found


def pool(rank, input, mode, ksize=None, stride=None, padding=None, dilation=None, ceil_mode=False, exclusive=False,
         adaptive=False, output_size=None):
    """The function for all poolings over the last dims."""
    if adaptive:
        return getattr(F, f"adaptive_{mode}_pool{rank}d")(input, output_size)
    if mode == "max":
        return getattr(F, f"max_pool{rank}d")(input, ksize, stride, padding, dilation, ceil_mode)
    return getattr(F, f"avg_pool{rank}d")(input, ksize, stride, padding, ceil_mode, not exclusive)


def pools():
    found = {}
    for rank in (1, 2, 3):
        maximum, average = getattr(F, f"max_pool{rank}d"), getattr(F, f"avg_pool{rank}d")
        adaptive = {kind: getattr(F, f"adaptive_{kind}_pool{rank}d") for kind in ("max", "avg")}

        def max_forward(input, kernel_size, stride, padding, dilation, ceil_mode, op=maximum, wants_indices=False):
            return op(input, kernel_size, stride, padding, dilation, ceil_mode, wants_indices)

        def max_indices(op=max_forward, **how):
            return op(**how, wants_indices=True)

        def max_backward(grad_output, input, indices, op=max_forward, **how):
            return gradient(lambda x: op(x, **how), input, incoming=grad_output)

        def avg_forward(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None,
                        op=average):
            more = () if divisor_override is None else (divisor_override,)
            return op(input, kernel_size, stride, padding, ceil_mode, count_include_pad, *more)

        def avg_backward(grad_output, input, op=avg_forward, **how):
            return gradient(lambda x: op(x, **how), input, incoming=grad_output)

        def any_forward(rank=rank, **how):
            return pool(rank, **how)

        def any_backward(grad_output, input, indices, rank=rank, **how):
            sizes = list(grad_output.shape[-rank:])
            return gradient(lambda x: pool(rank, x, output_size=sizes, **how), input, incoming=grad_output)

        found |= {f"diopiMaxPool{rank}d": max_forward, f"diopiMaxPool{rank}dWithIndices": max_indices,
                  f"diopiMaxPool{rank}dBackward": max_backward, f"diopiAvgPool{rank}d": avg_forward,
                  f"diopiAvgPool{rank}dBackward": avg_backward, f"diopiPool{rank}d": any_forward,
                  f"diopiPool{rank}dBackward": any_backward}
        for kind, op in adaptive.items():
            name = f"diopiAdaptive{kind.capitalize()}Pool{rank}d"
            found[name] = lambda input, output_size, op=op: op(input, output_size)
            found[f"{name}Backward"] = lambda grad_output, input, rank=rank, op=op: gradient(
                lambda x: op(x, grad_output.shape[-rank:]), input, incoming=grad_output)
        found[f"diopiAdaptiveMaxPool{rank}dWithIndices"] = lambda input, output_size, op=adaptive["max"]: op(
            input, output_size, True)
    return found


def losses():
    """Losses whose arguments are PyTorch's, and their gradients."""
    found = {}
    for name, op in (("MSELoss", F.mse_loss), ("SmoothL1Loss", F.smooth_l1_loss), ("CrossEntropyLoss", F.cross_entropy),
                     ("NLLLoss", F.nll_loss), ("BCELoss", F.binary_cross_entropy),
                     ("BCEWithLogits", F.binary_cross_entropy_with_logits)):
        def forward(input, reduction, op=op, **how):
            return op(input, reduction=REDUCTIONS[reduction], **how)

        def backward(grad_output, input, op=forward, **how):
            return gradient(lambda x: op(x, **how), input, incoming=grad_output)

        found |= {f"diopi{name}": forward, f"diopi{name}Backward": backward}
    return found


def nll_loss_with_weight(input, target, weight, reduction, ignore_index):
    """PyTorch gives the total weight of classes alone, and before two dims."""
    loss = F.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])
    if input.dim() == 2:
        return loss, aten.nll_loss_forward(input, target, weight, reduction, ignore_index)[1]
    image, of_image = input.flatten(2).unsqueeze(3), target.flatten(1).unsqueeze(2)
    return loss, aten.nll_loss2d_forward(image, of_image, weight, reduction, ignore_index)[1]


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)


def optimiser_step(kind, param, grad, state, **options):
    """One step of a fused optimiser of torch.optim on the tensors' own memory."""
    parameter = torch.nn.Parameter(param)
    parameter.grad = grad
    optimiser = getattr(torch.optim, kind)([parameter], fused=True, **options)
    optimiser.state[parameter] = state
    optimiser.step()


def single(number):
    """The number as the C argument has it."""
    return torch.tensor(number, dtype=torch.float32).item()


def adam(kind):
    def run(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, lr, beta1, beta2, eps, weight_decay, step, amsgrad):
        state = {"step": torch.tensor(float(step - 1)), "exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}
        if amsgrad:
            state["max_exp_avg_sq"] = max_exp_avg_sq
        optimiser_step(kind, param, grad, state, lr=single(lr), betas=(single(beta1), single(beta2)), eps=single(eps),
                       weight_decay=single(weight_decay), amsgrad=amsgrad)
    return run


def fused_adamw(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, eps, weight_decay,
                amsgrad, maximize):
    for i, param in enumerate(params):
        state = {"step": state_steps[i] - 1, "exp_avg": exp_avgs[i], "exp_avg_sq": exp_avg_sqs[i]}
        if amsgrad:
            state["max_exp_avg_sq"] = max_exp_avg_sqs[i]
        optimiser_step("AdamW", param, grads[i], state, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay,
                       amsgrad=amsgrad, maximize=maximize)


LINEAR = {
    "diopiMm": torch.mm, "diopiBmm": torch.bmm, "diopiMatmul": torch.matmul,
    "diopiMatmulBackward": lambda grad_out, input, other: gradient(torch.matmul, input, other, incoming=grad_out),
    "diopiAddmm": lambda input, mat1, mat2, beta, alpha: torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha),
    "diopiBaddbmm": lambda input, batch1, batch2, beta, alpha: torch.baddbmm(input, batch1, batch2, beta=beta,
                                                                             alpha=alpha),
    "diopiBaddbmmInp": lambda input, batch1, batch2, beta, alpha:
        input.baddbmm_(batch1, batch2, beta=beta, alpha=alpha),
    "diopiLinear": lambda input, weight, bias: F.linear(input, weight, bias),
    "diopiLinearBackward": lambda grad_bias, grad_output, input, weight: layer_gradients(
        F.linear, grad_output, input, weight, None if grad_bias is None else grad_bias.shape),
    "diopiCdist": lambda input1, input2, p, compute_mode: torch.cdist(
        input1, input2, p, **({} if not compute_mode else {"compute_mode": CDIST_MODES[compute_mode]})),
    "diopiCdistBackward": lambda grad_output, input1, input2, p: gradient(
        lambda x: torch.cdist(x, input2, p), input1, incoming=grad_output),
    "diopiCholesky": lambda mat, upper, checkerror: torch.linalg.cholesky_ex(mat, upper=upper, check_errors=checkerror),
    "diopiTriangularSolve": lambda b, mat, upper, transpose, unitriangular: torch.triangular_solve(
        b, mat, upper, transpose, unitriangular),
    "diopiTriangularSolveBackward": lambda grad_x, b, mat, upper, transpose, unitriangular: gradient(
        lambda x, a: torch.triangular_solve(x, a, upper, transpose, unitriangular)[0], b, mat, incoming=grad_x),
    "diopiLinalgQR": torch.linalg.qr,
    "diopiIm2Col": lambda input, kernel_size, dilation, padding, stride: F.unfold(input, kernel_size, dilation, padding,
                                                                                  stride),
    "diopiCol2Im": lambda input, output_size, kernel_size, dilation, padding, stride: F.fold(
        input, output_size, kernel_size, dilation, padding, stride),
}

NORM = {
    "diopiLayerNorm": lambda input, weight, bias, normalized_shape, eps: aten.native_layer_norm(
        input, normalized_shape, weight, bias, eps),
    "diopiLayerNormBackward": lambda grad_input, grad_weight, grad_bias, grad_output, input, weight, bias, mean, rstd,
        normalized_shape: aten.native_layer_norm_backward(
            grad_output, input, normalized_shape, mean, rstd, weight, bias, wanted(grad_input, grad_weight, grad_bias)),
    "diopiBatchNorm": aten.native_batch_norm,
    "diopiBatchNormBackward": lambda grad_input, grad_weight, grad_bias, grad_output, input, weight, running_mean,
        running_var, save_mean, save_invstd, training, eps: aten.native_batch_norm_backward(
            grad_output, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps,
            wanted(grad_input, grad_weight, grad_bias)),
    "diopiGroupNorm": lambda input, weight, bias, num_groups, eps: (
        F.group_norm(input, num_groups, weight, bias, eps), *torch.native_group_norm(
            input, weight, bias, input.shape[0], input.shape[1], input[0, 0].numel(), num_groups, eps)[1:]),
    "diopiGroupNormBackward": lambda grad_output, input, weight, num_groups: gradient(
        lambda x, w, b: F.group_norm(x, num_groups, w, b, 1e-5), input, weight, torch.zeros_like(weight),
        incoming=grad_output),
}

LOSS = losses() | {
    "diopiNLLLossV2": nll_loss_with_weight,
    "diopiNLLLossV2Backward": lambda grad_output, input, target, weight, reduction, ignore_index: gradient(
        lambda x: nll_loss_with_weight(x, target, weight, reduction, ignore_index)[0], input, incoming=grad_output),
    "diopiCTCLoss": lambda log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity: (
        ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity),
        *torch._ctc_loss(log_probs, targets, input_lengths.tolist(), target_lengths.tolist(), blank, zero_infinity)),
    "diopiCTCLossBackward": lambda grad_output, log_probs, targets, input_lengths, target_lengths, blank, reduction,
        zero_infinity: gradient(
            lambda x: ctc_loss(x, targets, input_lengths, target_lengths, blank, reduction, zero_infinity), log_probs,
            incoming=grad_output),
}

OPTIM = {
    "diopiAdam": adam("Adam"), "diopiAdamW": adam("AdamW"), "diopiFusedAdamW": fused_adamw,
    "diopiSgd": lambda param, grad, buf, lr, momentum, dampening, weight_decay, nesterov: optimiser_step(
        "SGD", param, grad, {"momentum_buffer": buf}, lr=lr, momentum=momentum, dampening=dampening,
        weight_decay=weight_decay, nesterov=nesterov),
    "diopiForeachaddScalar": lambda inputs, other: [[tensor + other for tensor in inputs]],
    "diopiForeachmulScalar": lambda inputs, other: [[tensor * other for tensor in inputs]],
    "diopiForeachmulTensor": lambda inputs, other: [[tensor * other for tensor in inputs]],
    "diopiForeachnormScalar": lambda inputs, ord: [[torch.linalg.vector_norm(tensor, ord) for tensor in inputs]],
    "diopiForeachaddInpScalar": lambda inputs, other: [tensor.add_(other) for tensor in inputs],
    "diopiForeachmulInpScalar": lambda inputs, other: [tensor.mul_(other) for tensor in inputs],
    "diopiForeachmulInpTensor": lambda inputs, other: [tensor.mul_(other) for tensor in inputs],
    "diopiAmpForeachNonFiniteCheckAndUnscaleInp": lambda scaled_grads, found_inf, inv_scale:
        torch._amp_foreach_non_finite_check_and_unscale_(scaled_grads, found_inf, inv_scale),
    "diopiAmpUpdateScaleInp": torch._amp_update_scale_,
}

VISION = {
    "diopiGridSample": lambda input, grid, mode: F.grid_sample(input, grid, mode, align_corners=False),
    "diopiUpsampleNearest": lambda input, size: F.interpolate(input, size),
    "diopiUpsampleNearestBackward": lambda grad_output, out_size, in_size: gradient(
        lambda x: F.interpolate(x, out_size), torch.zeros(in_size), incoming=grad_output),
    "diopiUpsampleLinear": lambda input, size, align_corners, mode: F.interpolate(input, size, mode=mode,
                                                                                  align_corners=align_corners),
    "diopiUpsampleLinearBackward": lambda grad_output, out_size, in_size, align_corners, mode: gradient(
        lambda x: F.interpolate(x, out_size, mode=mode, align_corners=align_corners), torch.zeros(in_size),
        incoming=grad_output),
}

LAYERS = LINEAR | convolutions() | pools() | NORM | LOSS | OPTIM | VISION
