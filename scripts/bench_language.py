#!/usr/bin/env python3
"""Compares the operators of language models with PyTorch's on the same cores, with the shapes of benchmarks/language.json.

    scripts/bench_language.py build/release/bin/diopi [--rounds N] [--only OP]

Attention against scaled_dot_product_attention, all else against the composite that a model would write. Both are
measured in turns; a figure is the median of the rounds' ratios, PyTorch's time / ours. Needs PyTorch 2.5 or newer.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CASES = pathlib.Path(__file__).resolve().parent.parent / "benchmarks" / "language.json"
SECONDS = 0.5  # of each measurement


def attention(torch, group, q, k, v):
    heads = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=group == "causal")


def rms_norm(torch, group, x, weight):
    def forward():
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight
    return forward


def rotary(torch, group, x, cos, sin):
    def forward():
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    return forward


def silu_ffn(torch, group, x, weight1, weight2, weight3):
    return lambda: (torch.nn.functional.silu(x @ weight1) * (x @ weight3)) @ weight2


EAGER = {"flash_attention": attention, "rms_norm": rms_norm, "rotary_emb": rotary, "fused_silu_ffn": silu_ffn}


def median_time(call):
    times, end = [], time.perf_counter() + SECONDS
    call()
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def eager_time(torch, call):
    """The time of PyTorch for what a call of `diopi profile` did."""
    has_gradients = call["phase"] == "backward"
    dtype = getattr(torch, call["dtype"])
    tensors = [torch.randn(shape, dtype=torch.float32).to(dtype).requires_grad_(has_gradients)
               for shape in call["inputs"]]
    forward = EAGER[call["op"]](torch, call["group"], *tensors)
    if not has_gradients:
        with torch.no_grad():
            return median_time(forward)
    out = forward()
    gradient = torch.ones_like(out)
    return median_time(lambda: torch.autograd.grad(out, tensors, gradient, retain_graph=True))


def profiled(program, op, folder):
    """The calls of all cases of an operator, each with its group, operator and the shapes of its forward inputs."""
    done = subprocess.run([program, "profile", "--cases", CASES, "--fname", op, "--no-roofs", "--json"], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"diopi profile: exit code {done.returncode}\n{done.stderr}")
    calls, inputs = json.loads(done.stdout)["calls"], {}
    for call in calls:
        if "error" in call:
            sys.exit(f"{call['case']}: {call['error']}")
        call["group"], call["op"] = call["case"].split("/")[1].split(".")[:2]
        if call["phase"] != "backward":
            inputs[call["case"]] = call["shapes"]
        call["inputs"] = inputs[call["case"]]
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=EAGER)
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads must not use the processors of the other side
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count())

    ratios, medians = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for op in [options.only] if options.only else EAGER:
            for _ in range(options.rounds):
                for call in profiled(options.program.resolve(), op, folder):
                    key = (op, call["group"], call["phase"], call["dtype"], "x".join(map(str, call["inputs"][0])))
                    eager = eager_time(torch, call)
                    ratios.setdefault(key, []).append((eager / call["median_s"], call["median_s"], eager))
    print(f"PyTorch {torch.__version__}, {os.cpu_count()} threads, median of {options.rounds} rounds")
    for key, values in ratios.items():
        ratio, ours, eager = (statistics.median(column) for column in zip(*values))
        medians.append(ratio)
        print(f"{key[0]:<16}{key[1]:<8}{key[2]:<9}{key[3]:<9}{key[4]:<16}{ours * 1e3:>10.3f} ms{eager * 1e3:>10.3f} ms"
              f"{ratio:>7.2f}")
    print(f"geometric mean of PyTorch's time / ours: {math.exp(statistics.fmean(map(math.log, medians))):.2f}")


if __name__ == "__main__":
    main()
