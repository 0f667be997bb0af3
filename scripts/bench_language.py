#!/usr/bin/env python3
"""Compares the operators of language models with PyTorch's on the same cores, with the shapes of
benchmarks/language.json.

    scripts/bench_language.py build/release/bin/diopi [--rounds N] [--only OP]

Attention against scaled_dot_product_attention, all else against the composite that a model would write; `decoder` is
the replay of the step of scripts/capture_decoder.py against the same step in PyTorch. Both are measured in turns; a
figure is the median of the rounds' ratios, PyTorch's time / ours. Needs PyTorch 2.5 or newer.
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

SCRIPTS = pathlib.Path(__file__).resolve().parent
CASES = SCRIPTS.parent / "benchmarks" / "language.json"
SECONDS = 0.5  # of each measurement
LAYERS, HIDDEN, KEY_HEADS, HEAD, INNER, VOCABULARY, PAGE = 2, 1024, 4, 64, 2816, 4096, 128


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


class Decoder:
    """The step of scripts/capture_decoder.py: as there, each sequence's pages lie where a table says."""

    def __init__(self, torch, dtype, batch=8, cached=1024):
        self.torch, self.length, self.pages = torch, cached + 1, cached // PAGE + 1

        def weight(*shape):
            return torch.randn(shape).mul_(shape[-1] ** -0.5).to(dtype)

        self.embedding, self.head = weight(VOCABULARY, HIDDEN), weight(VOCABULARY, HIDDEN)
        self.layers = [{
            "norms": [torch.ones(HIDDEN, dtype=dtype) for _ in range(2)], "wq": weight(HIDDEN, HIDDEN),
            "wk": weight(KEY_HEADS * HEAD, HIDDEN), "wv": weight(KEY_HEADS * HEAD, HIDDEN),
            "wo": weight(HIDDEN, HIDDEN), "ffn": (weight(HIDDEN, INNER), weight(INNER, HIDDEN), weight(HIDDEN, INNER)),
            "keys": weight(batch * self.pages, PAGE, KEY_HEADS, HEAD),
            "values": weight(batch * self.pages, PAGE, KEY_HEADS, HEAD)} for _ in range(LAYERS)]
        self.table = torch.arange(batch * self.pages).flip(0).view(self.pages, batch).T
        self.tokens = torch.randint(VOCABULARY, (batch,))
        angles = torch.rand(batch, 1, HEAD // 2) * cached
        self.cos, self.sin = angles.cos().to(dtype), angles.sin().to(dtype)
        self.temperatures = (torch.rand(batch, 1) + 0.5).to(dtype)

    def norm(self, x, weight):
        return rms_norm(self.torch, "", x, weight)()

    def attention(self, x, layer):
        functional = self.torch.nn.functional
        q, k, v = (functional.linear(x, layer[name]).view(len(x), -1, HEAD) for name in ("wq", "wk", "wv"))
        q, k = (rotary(self.torch, "", each, self.cos, self.sin)() for each in (q, k))
        for name, new in (("keys", k), ("values", v)):
            layer[name][self.table[:, -1], (self.length - 1) % PAGE] = new
        keys, values = (layer[name][self.table].flatten(1, 2)[:, :self.length].transpose(1, 2)
                        for name in ("keys", "values"))
        out = functional.scaled_dot_product_attention(q.unsqueeze(2), keys, values, enable_gqa=True)
        return functional.linear(out.flatten(1), layer["wo"])

    def step(self):
        torch = self.torch
        x = torch.nn.functional.embedding(self.tokens, self.embedding)
        for layer in self.layers:
            x = x + self.attention(self.norm(x, layer["norms"][0]), layer)
            x = x + silu_ffn(torch, "", self.norm(x, layer["norms"][1]), *layer["ffn"])()
        logits = torch.nn.functional.linear(self.norm(x, self.layers[0]["norms"][0]), self.head)
        return (logits / self.temperatures).argmax(1)


EAGER = {"flash_attention": attention, "rms_norm": rms_norm, "rotary_emb": rotary, "fused_silu_ffn": silu_ffn}


def decoder_times(torch, program, folder, dtype):
    """(ours, PyTorch's) of the whole step."""
    subprocess.run([SCRIPTS / "capture_decoder.py", "--dtype", dtype, "--out", "decoder.json"], cwd=folder, check=True)
    done = run(program, folder, "--capture", "decoder.json", "--run-times", "20")
    missing = [call["name"] for call in done["calls"] if "error" in call]
    if missing:
        sys.exit(f"not implemented: {missing}")
    with torch.no_grad():
        return done["calls"][0]["median_s"], median_time(Decoder(torch, getattr(torch, dtype)).step)


def run(program, folder, *options):
    """What a run of `diopi profile` prints as JSON."""
    done = subprocess.run([program, "profile", *options, "--no-roofs", "--json"], cwd=folder, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"diopi profile: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


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
    chosen = ["--cases", CASES, "--fname", op, "--steps", "forward", "backward"]
    calls, inputs = run(program, folder, *chosen)["calls"], {}
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
    parser.add_argument("--only", choices=[*EAGER, "decoder"])
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads must not use the processors of the other side
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count())

    chosen = [options.only] if options.only else [*EAGER, "decoder"]
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for op in chosen:
            for _ in range(options.rounds):
                if op == "decoder":
                    for dtype in ("float32", "bfloat16"):
                        times.setdefault((op, "step", "forward", dtype, "8"), []).append(
                            decoder_times(torch, options.program.resolve(), folder, dtype))
                    continue
                for call in profiled(options.program.resolve(), op, folder):
                    key = (op, call["group"], call["phase"], call["dtype"], "x".join(map(str, call["inputs"][0])))
                    times.setdefault(key, []).append((call["median_s"], eager_time(torch, call)))
    print(f"PyTorch {torch.__version__}, {os.cpu_count()} threads, median of {options.rounds} rounds")
    ratios = []
    for key, rounds in times.items():
        ours, eager = (statistics.median(column) for column in zip(*rounds))
        ratios.append(statistics.median(theirs / own for own, theirs in rounds))
        print(f"{key[0]:<16}{key[1]:<8}{key[2]:<9}{key[3]:<9}{key[4]:<16}{ours * 1e3:>10.3f} ms{eager * 1e3:>10.3f} ms"
              f"{ratios[-1]:>7.2f}")
    print(f"geometric mean of PyTorch's time / ours: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")


if __name__ == "__main__":
    main()
