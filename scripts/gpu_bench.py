#!/usr/bin/env python3
"""Times of the cuda backend and of PyTorch on the same GPU, as a table for docs/performance.md.

    gpu_bench.py [--quick] [--impl cpu] [--out FILE] --cases-dir DIR [--loader-path PATH] PROGRAM

The calls of a group are timed by diopi and by PyTorch in turns. Exit code 0: every goal is reached; 1: some are not, or
calls have no time, or there is no PyTorch. --quick takes small shapes and judges nothing; --impl cpu, a dry run, has
only diopi's times. PATH is where the program finds its libraries, which PyTorch must not get.
"""
import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MEBI = 1 << 20
ROUNDS = 2  # each has a pass of diopi in a new process, then PyTorch
SECONDS = 0.3  # time for samples of each call in a round
ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4}
# Minimum speed relative to PyTorch, and minimum share of a copy's bandwidth. 2% count as no difference
# (docs/profile.md).
GOALS = {"memory": (0.98, 0.90), "product": (0.95, None), "convolution": (0.95, None), "small": (1.0, None)}
FUNCTIONAL = ("relu", "softmax", "log_softmax", "batch_norm", "linear", "conv2d")


class Row:
    """One call: tensors by name, parameters by their names on both sides, and how often it moves the first tensor."""

    def __init__(self, op, shapes, dtype="float32", params=None, moves=0, steps="forward"):
        self.op, self.shapes, self.dtype, self.params = op, shapes, dtype, params or {}
        self.steps = steps
        self.moved = moves * math.prod(next(iter(shapes.values()))) * ITEMSIZE[dtype]

    @property
    def title(self):
        shapes = ["x".join(map(str, shape)) for shape in self.shapes.values()]
        listed = " ".join(shapes[:1] if self.op in ("add", "mul", "batch_norm") else shapes[:2])
        words = [self.op, listed, self.dtype, *(f"{key}={self.params[key]}" for key in ("dim", "training")
                                                if key in self.params)]
        return " ".join(words + ([self.steps] if self.steps == "backward" else []))

    def group(self, name):
        """The call in a case file (docs/cases.md)."""
        is_backward = self.steps == "backward"
        tensors = [{"name": tensor, "shapes": [shape], "grad": is_backward and not tensor.startswith("running"),
                    "fill": "ones" if tensor == "running_var" else "rand"} for tensor, shape in self.shapes.items()]
        return {"group": name, "ops": [self.op], "dtypes": [self.dtype], "tensors": tensors,
                "semantics": "torch.nn.functional" if self.op in FUNCTIONAL else "torch",
                "params": {key: [value] for key, value in self.params.items()}}


def memory_rows(is_quick):
    """256 MiB a tensor, and as many elements of a matrix in each dtype; batch_norm reads its input twice."""
    side, flat = (512, MEBI // 4) if is_quick else (8192, 64 * MEBI)
    rows = []
    for dtype in ITEMSIZE:
        wide = 4 // ITEMSIZE[dtype]
        vector, matrix = [flat * wide], {"input": [side, side * wide]}
        rows += [Row("add", {"input": vector, "other": vector}, dtype, moves=3),
                 Row("sum", matrix, dtype, {"dim": [1]}, 1),
                 Row("softmax", matrix, dtype, {"dim": 1}, 2)]
    vector, matrix = [flat], {"input": [side, side]}
    rows += [Row("mul", {"input": vector, "other": vector}, moves=3),
             Row("relu", {"input": vector}, moves=2),
             Row("exp", {"input": vector}, moves=2),
             Row("sum", matrix, params={"dim": [0]}, moves=1),
             Row("mean", matrix, params={"dim": [1]}, moves=1),
             Row("argmax", matrix, params={"dim": 1}, moves=1),
             Row("log_softmax", matrix, params={"dim": 1}, moves=2)]
    for training, moves in ((True, 3), (False, 2)):
        shapes = {"input": [1 if is_quick else 64, 256, 64, 64],
                  **{name: [256] for name in ("running_mean", "running_var", "weight", "bias")}}
        rows.append(Row("batch_norm", shapes, params={"training": training, "momentum": 0.1, "eps": 1e-5}, moves=moves))
    return rows


def product_rows(is_quick, steps="forward"):
    side = 512 if is_quick else 4096
    sizes = [(256, 2048, 1000), (side, side, side)]
    return [Row("linear", {"input": [batch, inner], "weight": [outer, inner], "bias": [outer]}, dtype, steps=steps)
            for batch, inner, outer in sizes for dtype in ITEMSIZE]


def convolution_rows(is_quick, steps="forward"):
    """Convolutions of ResNet-50: channels, side, output channels, kernel, stride, padding."""
    layers = [(3, 224, 64, 7, 2, 3), (64, 56, 64, 3, 1, 1), (256, 56, 64, 1, 1, 0), (128, 28, 128, 3, 1, 1),
              (512, 7, 2048, 1, 1, 0)]
    batch = 2 if is_quick else 64
    return [Row("conv2d", {"input": [batch, channels, side, side], "weight": [made, channels, kernel, kernel]}, dtype,
                {"stride": [stride, stride], "padding": [padding, padding]}, steps=steps)
            for channels, side, made, kernel, stride, padding in layers[:1 if is_quick else 5] for dtype in ITEMSIZE]


def small_rows():
    one, two = {"input": [64, 64]}, {"input": [64, 64], "other": [64, 64]}
    return [Row("add", two), Row("mul", two), Row("relu", one), Row("exp", one), Row("sigmoid", one),
            Row("sum", one, params={"dim": [1]}), Row("argmax", one, params={"dim": 1}),
            Row("softmax", one, params={"dim": 1}),
            Row("linear", {"input": [64, 64], "weight": [64, 64], "bias": [64]})]


def groups(is_quick):
    """The calls timed in turns with PyTorch: name of the goal, rows of equal steps."""
    return [("memory", memory_rows(is_quick)), ("small", small_rows()), ("product", product_rows(is_quick)),
            ("product", product_rows(is_quick, "backward")), ("convolution", convolution_rows(is_quick)),
            ("convolution", convolution_rows(is_quick, "backward"))]


class Diopi:
    """The program, and its command for a group of calls."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {**os.environ, "LD_LIBRARY_PATH": options.loader_path}

    def seconds(self, rows):
        """Median of each row that has one, and the program's last message about the others."""
        cases = pathlib.Path(self.folder, "rows.json")
        cases.write_text(json.dumps({"groups": [row.group(f"row{at}") for at, row in enumerate(rows)]}))
        command = [self.options.program, "profile", "--cases", cases, "--steps", rows[0].steps, "--impl",
                   self.options.impl, "--json", "--no-roofs", "--passes", 1, "--max-time", SECONDS, "--cases-dir",
                   self.options.cases_dir]
        done = subprocess.run(list(map(str, command)), cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, check=False)
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        with contextlib.suppress(ValueError):
            calls = json.loads(done.stdout)["calls"]
            times = {int(call["case"].split("/row")[1].split(".")[0]): call["median_s"] for call in calls}
            return [times.get(at) for at in range(len(rows))], reason
        return [None] * len(rows), reason


class Torch:
    """PyTorch's eager calls on the same GPU."""

    def __init__(self):
        import torch

        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def heading(self):
        torch = self.torch
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = "unknown"
        with contextlib.suppress(OSError):
            driver = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip() or driver
        return (f"{torch.cuda.get_device_name()}, driver {driver}, CUDA {torch.version.cuda}, "
                f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")

    def call(self, row):
        torch = self.torch
        function = getattr(torch.nn.functional if row.op in FUNCTIONAL else torch, row.op)
        tensors = [torch.rand(shape, device="cuda").to(getattr(torch, row.dtype)) for shape in row.shapes.values()]
        if row.steps == "forward":
            return lambda: function(*tensors, **row.params)
        for tensor in tensors:
            tensor.requires_grad_()
        output = function(*tensors, **row.params)
        gradient = torch.ones_like(output)
        return lambda: torch.autograd.grad(output, tensors, gradient, retain_graph=True)

    def seconds(self, row, benchmark=False):
        self.torch.backends.cudnn.benchmark = benchmark
        return self.time(self.call(row))

    def time(self, call):
        """Median of CUDA events around batches that are long enough for the clock."""
        for _ in range(10):
            call()

        def batch_seconds(batch):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(batch):
                call()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e-3 / batch

        batch = max(1, math.ceil(200e-6 / max(batch_seconds(1), 1e-7)))
        return statistics.median(batch_seconds(batch) for _ in range(30))

    def copy_rate(self):
        """Bytes read and written per second by a device-to-device copy of 256 MiB."""
        source = self.torch.rand(64 * MEBI, device="cuda")
        to = self.torch.empty_like(source)
        return 2 * 4 * 64 * MEBI / self.time(lambda: to.copy_(source))


def judge(goal, ratio, share):
    """Whether the goal is reached, and a text with the goal."""
    least_ratio, least_share = GOALS[goal]
    is_reached = ratio > least_ratio if goal == "small" else ratio >= least_ratio
    words = f"> {least_ratio:g}" if goal == "small" else f">= {least_ratio}"
    if least_share is not None:
        is_reached = is_reached and share >= least_share
        words += f", >= {least_share} of copy"
    return is_reached, f"{'ok' if is_reached else 'below'}: {words}"


class Table:
    """Markdown, on the terminal and in a file as it grows."""

    columns = ["call", "diopi", "PyTorch", "tuned", "ratio", "of copy", "goal"]
    widths = [49, 10, 10, 10, 5, 7, 27]

    def __init__(self, path):
        self.file = open(path, "w") if path else None

    def line(self, text=""):
        print(text, flush=True)
        if self.file:
            print(text, file=self.file, flush=True)

    def row(self, *cells):
        self.line("| " + " | ".join(f"{cell:{width}}" for cell, width in zip(cells, self.widths)) + " |")

    def head(self, text):
        self.line(text)
        self.line()
        self.row(*self.columns)
        self.line("|" + "|".join("-" * (width + 2) for width in self.widths) + "|")


def microseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e6:.1f} us"


def measure(diopi, torch, rows):
    """For each row: the medians over the rounds of diopi, PyTorch and tuned PyTorch; and why some are missing."""
    ours, theirs, tuned, reason = [], [], [], ""
    for _ in range(ROUNDS):
        seconds, said = diopi.seconds(rows)
        reason = said if None in seconds else reason
        ours.append(seconds)
        if torch:
            theirs.append([torch.seconds(row) for row in rows])
            tuned.append([torch.seconds(row, True) if row.op == "conv2d" else None for row in rows])

    def middle(rounds):
        columns = zip(*rounds) if rounds else [[None]] * len(rows)
        return [None if None in column else statistics.median(column) for column in columns]

    return list(zip(middle(ours), middle(theirs), middle(tuned))), reason


def show(table, options, rate, goal, row, times, reason):
    """One row of the table; whether it reaches its goal."""
    mine, other, tuned = times
    if mine is None:
        table.row(row.title, "", microseconds(other), microseconds(tuned), "", "", f"no time: {reason[:90]}")
        return False
    if other is None:
        table.row(row.title, microseconds(mine), "", "", "", "", "")
        return True
    ratio, share = other / mine, row.moved / mine / rate
    is_reached, words = (True, "") if options.quick else judge(goal, ratio, share)
    table.row(row.title, microseconds(mine), microseconds(other), microseconds(tuned), f"{ratio:.2f}",
              f"{share:.2f}" if row.moved else "", words)
    return is_reached


def bench(options, torch, folder):
    diopi, table = Diopi(options, folder), Table(options.out)
    rate = torch.copy_rate() if torch else 0
    today = datetime.date.today().isoformat()
    if torch:
        table.head(f"{today}, {torch.heading()}.\nA copy of 256 MiB: {rate * 1e-9:.0f} GB/s, read and written. TF32 is "
                   "off. `PyTorch` has cudnn.benchmark False, its default, and\n`tuned` has it True. `ratio`: the time "
                   "of `PyTorch` / diopi's, in one run; `of copy`: bytes per second / the copy's.")
    else:
        table.head(f"{today}, --impl {options.impl}, a dry run: diopi's times alone")
    below = 0
    for goal, rows in groups(options.quick):
        measured, reason = measure(diopi, torch, rows)
        below += sum(not show(table, options, rate, goal, row, times, reason) for row, times in zip(rows, measured))
    count = sum(len(rows) for _, rows in groups(options.quick))
    what = "reach their goals" if torch and not options.quick else "have a time"
    print(f"{count - below} of {count} calls {what}")
    return 1 if below else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--impl", default="cuda")
    parser.add_argument("--out", type=os.path.abspath)
    parser.add_argument("--cases-dir", type=os.path.abspath, required=True)
    parser.add_argument("--loader-path", default=os.environ.get("LD_LIBRARY_PATH", ""))
    parser.add_argument("program", type=os.path.abspath)
    options = parser.parse_args()
    torch = None
    if options.impl != "cpu":
        try:
            torch = Torch()
        except ImportError:
            print("no PyTorch here: nothing to compare with; install it, or leave out the part bench")
            return 1
        if not torch.torch.cuda.is_available():
            print("PyTorch sees no GPU")
            return 1
    with tempfile.TemporaryDirectory() as folder:
        return bench(options, torch, folder)


if __name__ == "__main__":
    sys.exit(main())
