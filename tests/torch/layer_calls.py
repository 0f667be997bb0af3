"""Calls of products, convolution, pooling, norms, losses, optimisers and resampling, for calls.py."""


def linear(c):
    c.call("diopiMm", out=c.to(3, 5), input=c.normal(3, 4), mat2=c.strided(4, 5))
    c.call("diopiBmm", out=c.to(2, 3, 5), input=c.normal(2, 3, 4), mat2=c.normal(2, 4, 5))
    c.call("diopiAddmm", out=c.to(3, 5), input=c.normal(5), mat1=c.normal(3, 4), mat2=c.normal(4, 5), beta=0.5,
           alpha=2.0)
    c.call("diopiBaddbmm", out=c.to(2, 3, 5), input=c.normal(2, 3, 5), batch1=c.normal(2, 3, 4), batch2=c.normal(2, 4,
           5), beta=0.5, alpha=2.0)
    c.call("diopiBaddbmmInp", input=c.normal(2, 3, 5), batch1=c.normal(2, 3, 4), batch2=c.normal(2, 4, 5), beta=0.5,
           alpha=2.0)
    c.call("diopiMatmul", out=c.to(2, 3, 5), input=c.normal(2, 3, 4), other=c.normal(4, 5))
    c.call("diopiMatmul", out=c.to(3), input=c.normal(3, 4), other=c.normal(4))
    c.call("diopiMatmul", out=c.to(), input=c.normal(4), other=c.normal(4))
    c.call("diopiMatmulBackward", grad_input=c.to(2, 3, 4), grad_other=c.to(4, 5), grad_out=c.normal(2, 3, 5),
           input=c.normal(2, 3, 4), other=c.normal(4, 5))
    for bias in (True, False):
        c.call("diopiLinear", out=c.to(2, 3, 5), input=c.normal(2, 3, 4), weight=c.normal(5, 4),
               bias=c.normal(5) if bias else None)
        c.call("diopiLinearBackward", grad_input=c.to(3, 4), grad_weight=c.to(5, 4),
               grad_bias=c.to(5) if bias else None, grad_output=c.normal(3, 5), input=c.normal(3, 4),
                   weight=c.normal(5, 4))
    for mode in (None, 0, 1, 2):
        c.call("diopiCdist", out=c.to(3, 4), input1=c.normal(3, 5), input2=c.normal(4, 5), p=2.0, compute_mode=mode)
    one, other, distances = c.normal(3, 5), c.normal(4, 5), c.to(3, 4)
    c.call("diopiCdist", out=distances, input1=one, input2=other, p=1.0, compute_mode=None)
    c.call("diopiCdistBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 4), input1=one, input2=other, p=1.0,
           cdist=distances)
    factor, product = c.normal(4, 7), c.to(4, 4)
    c.call("diopiMm", out=product, input=factor, mat2=c.transposed(factor))
    for upper in (False, True):
        c.call("diopiCholesky", out=c.to(4, 4), info=c.to(dtype="int32"), mat=product, upper=upper, checkerror=True)
        for unit in (False, True):
            c.call("diopiTriangularSolve", out=c.to(4, 3), cloned_mat=c.to(4, 4), b=c.normal(4, 3), mat=product,
                   upper=upper, transpose=unit, unitriangular=unit)
    solution, right = c.to(4, 3), c.normal(4, 3)
    c.call("diopiTriangularSolve", out=solution, cloned_mat=c.to(4, 4), b=right, mat=product, upper=True,
           transpose=False, unitriangular=False)
    c.call("diopiTriangularSolveBackward", grad_b=c.to(4, 3), grad_mat=c.to(4, 4), grad_x=c.normal(4, 3),
           grad_cloned_mat=None, x=solution, b=right, mat=product, upper=True, transpose=False, unitriangular=False)
    c.call("diopiLinalgQR", A=c.normal(5, 3), mode="reduced", Q=c.to(5, 3), R=c.to(3, 3))
    c.call("diopiLinalgQR", A=c.normal(5, 3), mode="complete", Q=c.to(5, 5), R=c.to(5, 3))


def conv(c):
    """Whole numbers, of which every sum is exact: the kernel that PyTorch takes depends on the process."""
    for rank in (2, 3):
        sides = [6] * rank
        how = {"stride": [2] * rank, "padding": [1] * rank, "dilation": [1] * rank, "groups": 2}
        for bias in (True, False):
            inputs = {"input": c.whole(2, 4, *sides), "weight": c.whole(6, 2, *[3] * rank)}
            c.call(f"diopiConvolution{rank}d", out=c.to(2, 6, *[3] * rank), **inputs,
                   bias=c.whole(6) if bias else None, **how)
            c.call(f"diopiConvolution{rank}dBackward", grad_input=c.to(2, 4, *sides),
                   grad_weight=c.to(6, 2, *[3] * rank), grad_bias=c.to(6) if bias else None,
                   grad_output=c.whole(2, 6, *[3] * rank), **inputs, bias_sizes=[6] if bias else None, **how)
            inputs = {"input": c.whole(2, 4, *[3] * rank), "weight": c.whole(4, 3, *[3] * rank)}
            back = {**how, "output_padding": [1] * rank}
            c.call(f"diopiConvTranspose{rank}d", out=c.to(2, 6, *sides), **inputs, bias=c.whole(6) if bias else None,
                   **back)
            c.call(f"diopiConvTranspose{rank}dBackward", grad_input=c.to(2, 4, *[3] * rank),
                   grad_weight=c.to(4, 3, *[3] * rank), grad_bias=c.to(6) if bias else None,
                   grad_output=c.whole(2, 6, *sides), **inputs, bias_sizes=[6] if bias else None, **back)
    windows = {"kernel_size": [2, 3], "dilation": [1, 1], "padding": [1, 0], "stride": [2, 1]}
    c.call("diopiIm2Col", out=c.to(2, 18, 16), input=c.normal(2, 3, 6, 6), **windows)
    c.call("diopiCol2Im", out=c.to(2, 3, 6, 6), input=c.normal(2, 18, 16), output_size=[6, 6], **windows)


def pool(c):
    for rank in (1, 2, 3):
        big, small, two = [2, 3, *[6] * rank], [2, 3, *[3] * rank], [2, 3, *[2] * rank]
        window = {"kernel_size": [2] * rank, "stride": [2] * rank, "padding": [0] * rank}
        maximum = {**window, "dilation": [1] * rank, "ceil_mode": False}
        average = {"kernel_size": [3] * rank, "stride": [2] * rank, "padding": [1] * rank, "ceil_mode": False,
                   "count_include_pad": False}
        if rank > 1:
            average["divisor_override"] = 5
        image, indices = c.normal(*big), c.to(*small, dtype="int64")
        c.call(f"diopiMaxPool{rank}d", out=c.to(*small), input=c.normal(*big), **maximum)
        c.call(f"diopiMaxPool{rank}dWithIndices", out=c.to(*small), indices=indices, input=image, **maximum)
        c.call(f"diopiMaxPool{rank}dBackward", grad_input=c.to(*big), grad_output=c.normal(*small), input=image,
               **maximum, indices=indices)
        c.call(f"diopiAvgPool{rank}d", out=c.to(*small), input=c.normal(*big), **average)
        c.call(f"diopiAvgPool{rank}dBackward", grad_input=c.to(*big), grad_output=c.normal(*small),
               input=c.normal(*big), **average)
        if rank > 1:
            c.call(f"diopiAvgPool{rank}d", out=c.to(*small), input=c.normal(*big),
                   **{**average, "divisor_override": None, "count_include_pad": True})
        adaptive_pools(c, rank, big, two)
        all_pools(c, rank, big, small, two)


def adaptive_pools(c, rank, big, small):
    image, indices, size = c.normal(*big), c.to(*small, dtype="int64"), {"output_size": [2] * rank}
    c.call(f"diopiAdaptiveAvgPool{rank}d", out=c.to(*small), input=c.normal(*big), **size)
    c.call(f"diopiAdaptiveAvgPool{rank}dBackward", grad_input=c.to(*big), grad_output=c.normal(*small),
           input=c.normal(*big))
    c.call(f"diopiAdaptiveMaxPool{rank}d", out=c.to(*small), input=c.normal(*big), **size)
    c.call(f"diopiAdaptiveMaxPool{rank}dWithIndices", out=c.to(*small), indices=indices, input=image, **size)
    c.call(f"diopiAdaptiveMaxPool{rank}dBackward", grad_input=c.to(*big), grad_output=c.normal(*small), input=image,
           indices=indices)


def all_pools(c, rank, big, small, two):
    """diopiPool1d to 3d: every mode."""
    for adaptive in (False, True):
        for mode, exclusive in (("max", False), ("avg", False), ("avg", True)):
            how = {"mode": mode, "ksize": [3] * rank, "stride": [2] * rank, "padding": [1] * rank,
                   "dilation": [1] * rank, "ceil_mode": False, "exclusive": exclusive, "adaptive": adaptive}
            result = two if adaptive else small
            c.call(f"diopiPool{rank}d", out=c.to(*result), input=c.normal(*big), **how, output_size=[2] * rank)
            c.call(f"diopiPool{rank}dBackward", grad_input=c.to(*big), grad_output=c.normal(*result),
                   input=c.normal(*big), **how, indices=None)


def norm(c):
    image, weight = c.normal(4, 3, 5), c.normal(3)
    mean, deviation = c.to(3), c.to(3)
    c.call("diopiBatchNorm", out=c.to(4, 3, 5), save_mean=mean, save_invstd=deviation, input=image, weight=weight,
           bias=c.normal(3), running_mean=c.normal(3), running_var=c.uniform(3), training=True, momentum=0.1, eps=1e-5)
    gradients = {"grad_input": c.to(4, 3, 5), "grad_weight": c.to(3), "grad_bias": c.to(3),
                 "grad_output": c.normal(4, 3, 5)}
    c.call("diopiBatchNormBackward", **gradients, input=image, weight=weight, running_mean=None, running_var=None,
           save_mean=mean, save_invstd=deviation, training=True, eps=1e-5)
    c.call("diopiBatchNormStats", mean=c.to(3), invstd=c.to(3), input=c.normal(4, 3, 5), eps=1e-5)
    c.call("diopiBatchNormGatherStatsWithCounts", mean=c.to(3), invstd=c.to(3), input=c.normal(4, 3, 5),
           mean_all=c.normal(2, 3), invstd_all=c.uniform(2, 3), running_mean=c.normal(3), running_var=c.uniform(3),
           momentum=0.1, eps=1e-5, counts=c.constant(10, 2))
    c.call("diopiBatchNormElemt", out=c.to(4, 3, 5), input=c.normal(4, 3, 5), weight=c.normal(3), bias=c.normal(3),
           mean=c.normal(3), invstd=c.uniform(3), eps=1e-5)
    c.call("diopiBatchNormBackwardReduce", sum_dy=c.to(3), sum_dy_xmu=c.to(3), grad_weight=c.to(3), grad_bias=c.to(3),
           grad_out=c.normal(4, 3, 5), input=c.normal(4, 3, 5), mean=c.normal(3), invstd=c.uniform(3),
           weight=c.normal(3), input_g=True, weight_g=True, bias_g=True)
    c.call("diopiBatchNormBackwardElemt", grad_input=c.to(4, 3, 5), grad_out=c.normal(4, 3, 5), input=c.normal(4, 3, 5),
           mean=c.normal(3), invstd=c.uniform(3), weight=c.normal(3), sum_dy=c.normal(3), sum_dy_xmu=c.normal(3),
           count=c.constant(20, 1, dtype="int32"))
    layer_norm(c)
    image, weight, mean, deviation = c.normal(2, 6, 5), c.normal(6), c.to(2, 3), c.to(2, 3)
    c.call("diopiGroupNorm", out=c.to(2, 6, 5), save_mean=mean, save_invstd=deviation, input=image, weight=weight,
           bias=c.normal(6), num_groups=3, eps=1e-5)
    c.call("diopiGroupNormBackward", grad_input=c.to(2, 6, 5), grad_weight=c.to(6), grad_bias=c.to(6),
           grad_output=c.normal(2, 6, 5), input=image, weight=weight, mean=mean, rstd=deviation, num_groups=3)


def layer_norm(c):
    image, weight, bias, mean, deviation = c.normal(4, 3, 5), c.normal(3, 5), c.normal(3, 5), c.to(4, 1, 1), c.to(4,
                                                                                                                  1, 1)
    c.call("diopiLayerNorm", out=c.to(4, 3, 5), save_mean=mean, save_invstd=deviation, input=image, weight=weight,
           bias=bias, normalized_shape=[3, 5], eps=1e-5)
    c.call("diopiLayerNormBackward", grad_input=c.to(4, 3, 5), grad_weight=c.to(3, 5), grad_bias=c.to(3, 5),
           grad_output=c.normal(4, 3, 5), input=image, weight=weight, bias=bias, mean=mean, rstd=deviation,
           normalized_shape=[3, 5])


def loss(c):
    for reduction in (0, 1, 2):
        grid, scalar = ([4, 3], []) if reduction == 0 else ([], [])
        row = [4] if reduction == 0 else scalar
        for name, target, more in (("MSELoss", c.normal(4, 3), {}), ("SmoothL1Loss", c.normal(4, 3), {"beta": 0.7}),
                                   ("BCELoss", c.uniform(4, 3), {"weight": c.uniform(4, 3)}),
                                   ("BCEWithLogits", c.uniform(4, 3), {"weight": c.uniform(3),
                                                                       "pos_weight": c.uniform(3)})):
            c.call(f"diopi{name}", out=c.to(*grid), input=c.uniform(4, 3), target=target, reduction=reduction, **more)
            c.call(f"diopi{name}Backward", grad_input=c.to(4, 3), grad_output=c.normal(*grid), input=c.uniform(4, 3),
                   target=target, reduction=reduction, **more)
        for name, more in (("CrossEntropyLoss", {"label_smoothing": 0.1}), ("NLLLoss", {})):
            how = {"target": c.integers(4, high=3), "weight": c.uniform(3), "reduction": reduction, "ignore_index": 1}
            c.call(f"diopi{name}", out=c.to(*row), input=c.normal(4, 3), **how, **more)
            c.call(f"diopi{name}Backward", grad_input=c.to(4, 3), grad_output=c.normal(*row), input=c.normal(4, 3),
                   **how, **more)
        nll_loss_with_weight(c, reduction)


def nll_loss_with_weight(c, reduction):
    """diopiNLLLossV2 with classes alone, and before one to three dims."""
    for sides in ([], [5], [5, 2], [5, 2, 3]):
        shape = [4, *sides] if reduction == 0 else []
        how = {"target": c.integers(4, *sides, high=3), "weight": c.uniform(3), "reduction": reduction,
               "ignore_index": 1}
        total = c.to()
        c.call("diopiNLLLossV2", out=c.to(*shape), totalWeight=total, input=c.normal(4, 3, *sides), **how)
        c.call("diopiNLLLossV2Backward", grad_input=c.to(4, 3, *sides), grad_output=c.normal(*shape),
               input=c.normal(4, 3, *sides), **how, totalWeight=total)


def optim(c):
    steps = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.01, "amsgrad": True}
    for name in ("Adam", "AdamW"):
        c.call(f"diopi{name}", param=c.normal(3, 5), grad=c.normal(3, 5), exp_avg=c.normal(3, 5),
               exp_avg_sq=c.uniform(3, 5), max_exp_avg_sq=c.uniform(3, 5), step=3, **steps)
        c.call(f"diopi{name}", param=c.normal(3, 5), grad=c.normal(3, 5), exp_avg=c.normal(3, 5),
               exp_avg_sq=c.uniform(3, 5), max_exp_avg_sq=None, step=3, **{**steps, "amsgrad": False})
    c.call("diopiFusedAdamW", params=[c.normal(3, 5), c.normal(4)], grads=[c.normal(3, 5), c.normal(4)],
           exp_avgs=[c.normal(3, 5), c.normal(4)], exp_avg_sqs=[c.uniform(3, 5), c.uniform(4)],
           max_exp_avg_sqs=[c.uniform(3, 5), c.uniform(4)], state_steps=[c.constant(3), c.constant(3)], maximize=False,
           **steps)
    c.call("diopiSgd", param=c.normal(3, 5), grad=c.normal(3, 5), buf=c.normal(3, 5), lr=0.1, momentum=0.9,
           dampening=0.1, weight_decay=0.01, nesterov=False)
    c.call("diopiForeachaddScalar", outs=[c.to(3, 5), c.to(4)], inputs=[c.normal(3, 5), c.normal(4)], other=0.5)
    c.call("diopiForeachaddInpScalar", inputs=[c.normal(3, 5), c.normal(4)], other=0.5)
    c.call("diopiForeachmulScalar", outs=[c.to(3, 5), c.to(4)], inputs=[c.normal(3, 5), c.normal(4)], other=0.5)
    c.call("diopiForeachmulInpScalar", inputs=[c.normal(3, 5), c.normal(4)], other=0.5)
    c.call("diopiForeachmulTensor", outs=[c.to(3, 5), c.to(4)], inputs=[c.normal(3, 5), c.normal(4)], other=c.normal())
    c.call("diopiForeachmulInpTensor", inputs=[c.normal(3, 5), c.normal(4)], other=c.normal())
    c.call("diopiForeachnormScalar", outs=[c.to(), c.to()], inputs=[c.normal(3, 5), c.normal(4)], ord=2.0)
    c.call("diopiAmpForeachNonFiniteCheckAndUnscaleInp", scaled_grads=[c.normal(3, 5), c.normal(4)],
           found_inf=c.constant(0, 1), inv_scale=c.constant(0.25, 1))
    c.call("diopiAmpUpdateScaleInp", current_scale=c.constant(8, 1), growth_tracker=c.constant(1, 1, dtype="int32"),
           found_inf=c.constant(0, 1), scale_growth_factor=2.0, scale_backoff_factor=0.5, growth_interval=2)


def vision(c):
    for mode in ("bilinear", "nearest"):
        c.call("diopiGridSample", out=c.to(2, 3, 4, 4), input=c.normal(2, 3, 6, 5), grid=c.normal(2, 4, 4, 2),
               mode=mode)
    for rank, modes in ((1, ("linear",)), (2, ("bilinear", "bicubic")), (3, ("trilinear",))):
        small, big = [2, 3, *[4] * rank], [2, 3, *[7] * rank]
        c.call("diopiUpsampleNearest", out=c.to(*big), input=c.normal(*small), size=[7] * rank)
        c.call("diopiUpsampleNearestBackward", grad_input=c.to(*small), grad_output=c.normal(*big), out_size=[7] * rank,
               in_size=small)
        for mode in modes:
            for aligned in (False, True):
                c.call("diopiUpsampleLinear", out=c.to(*big), input=c.normal(*small), size=[7] * rank,
                       align_corners=aligned, mode=mode)
                c.call("diopiUpsampleLinearBackward", grad_input=c.to(*small), grad_output=c.normal(*big),
                       out_size=[7] * rank, in_size=small, align_corners=aligned, mode=mode)


def ctc(c):
    for reduction in (0, 1, 2):
        scores, log_probs = c.normal(6, 2, 4), c.to(6, 2, 4)
        c.call("diopiLogSoftmax", out=log_probs, input=scores, dim=2)
        sizes = [2] if reduction == 0 else []
        how = {"log_probs": log_probs, "targets": c.integers(2, 2, low=1, high=4),
               "input_lengths": c.constant(6, 2, dtype="int64"), "target_lengths": c.constant(2, 2, dtype="int64"),
               "blank": 0, "reduction": reduction, "zero_infinity": False}
        likelihood, alpha = c.to(2), c.to(2, 6, 5)
        c.call("diopiCTCLoss", out=c.to(*sizes), neg_log_likelihood=likelihood, log_alpha=alpha, **how)
        c.call("diopiCTCLossBackward", grad_input=c.to(6, 2, 4), grad_output=c.normal(*sizes), **how,
               neg_log_likelihood=likelihood, log_alpha=alpha)
