#!/usr/bin/env python3
"""Parts of gpu_check.sh.

    gpu_check.py libraries                    folders of CUDA's libraries in Python's packages, for LD_LIBRARY_PATH
    gpu_check.py sample JOURNAL               small cases that passed, one per operator and dtype
    gpu_check.py bench PROGRAM CASES          times beside PyTorch's on the same GPU, as a table
"""
import importlib.util
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

MEBI = 1 << 20
SMALL = 5000  # elements of a case in the sample
ROUNDS = 3


def libraries():
    """PyTorch's packages keep them in nvidia/*/lib."""
    found = importlib.util.find_spec("nvidia")
    roots = [pathlib.Path(path) for path in (found.submodule_search_locations or [])] if found else []
    folders = {path.parent for root in roots for path in root.rglob("lib*.so.*")}
    print(":".join(sorted(map(str, folders))))


def sample(journal):
    chosen = {}
    with open(journal) as lines:
        for line in list(lines)[1:]:
            result = json.loads(line)
            size = sum(math.prod(shape) for _, _, shape in result["tensors"])
            if result["verdict"] == "passed" and size < SMALL:
                chosen.setdefault((result["op"], result["dtype"]), result["case"])
    print("\n".join(chosen.values()))


class Row:
    """One call: how diopi is asked for it, how PyTorch is, and the bytes that it moves."""

    def __init__(self, group, op, shapes, torch_call, dtype="float32", params=(), moved=0, steps="forward"):
        self.group, self.op, self.shapes, self.torch_call = group, op, shapes, torch_call
        self.dtype, self.params, self.moved, self.steps = dtype, params, moved, steps

    def title(self):
        shapes = " ".join("x".join(map(str, shape)) for shape in self.shapes)
        return f"{self.op} {shapes} {self.dtype}" + ("" if self.steps == "forward" else f" {self.steps}")


def rows():
    """Bandwidth at 256 MiB a tensor, ResNet-50's products and convolutions, small calls."""
    import torch

    large = (64 * MEBI,)
    nbytes = 4 * large[0]
    table = [
        Row("memory", "add", [large, large], torch.add, moved=3 * nbytes),
        Row("memory", "mul", [large, large], torch.mul, moved=3 * nbytes),
        Row("memory", "relu", [large], torch.relu, moved=2 * nbytes),
        Row("memory", "exp", [large], torch.exp, moved=2 * nbytes),
        Row("memory", "sum", [(8192, 8192)], lambda x: torch.sum(x, 1), params=["dim=[1]"], moved=nbytes),
        Row("memory", "sum", [(8192, 8192)], lambda x: torch.sum(x, 0), params=["dim=[0]"], moved=nbytes),
        Row("memory", "softmax", [(8192, 8192)], lambda x: torch.softmax(x, 1), params=["dim=1"], moved=2 * nbytes),
    ]
    for batch, inner, outer in [(256, 2048, 1000), (4096, 4096, 4096)]:
        for dtype in ("float32", "float16", "bfloat16"):
            table.append(Row("product", "linear", [(batch, inner), (outer, inner), (outer,)],
                             torch.nn.functional.linear, dtype))
    for dtype in ("float32", "float16"):
        for channels, side, made, kernel, stride, padding in [(3, 224, 64, 7, 2, 3), (64, 56, 64, 3, 1, 1),
                                                              (256, 56, 64, 1, 1, 0), (128, 28, 128, 3, 1, 1),
                                                              (512, 7, 2048, 1, 1, 0)]:
            shapes = [(64, channels, side, side), (made, channels, kernel, kernel)]
            table.append(Row("convolution", "conv2d", shapes,
                             lambda x, w, s=stride, p=padding: torch.nn.functional.conv2d(x, w, None, s, p), dtype,
                             [f"stride=[{stride},{stride}]", f"padding=[{padding},{padding}]"]))
    for op, call, count in [("add", torch.add, 2), ("relu", torch.relu, 1), ("exp", torch.exp, 1)]:
        table.append(Row("small", op, [(64, 64)] * count, call))
    return table


def torch_seconds(row):
    """Median of CUDA events around batches that are long enough for the clock."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    tensors = [torch.rand(shape, device="cuda").to(getattr(torch, row.dtype)) for shape in row.shapes]
    for _ in range(10):
        row.torch_call(*tensors)

    def batch_seconds(batch):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(batch):
            row.torch_call(*tensors)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / batch

    batch = max(1, math.ceil(200e-6 / max(batch_seconds(1), 1e-7)))
    return statistics.median(batch_seconds(batch) for _ in range(50))


def diopi_seconds(program, cases, row, folder):
    shapes = ["x".join(map(str, shape)) for shape in row.shapes]
    command = [program, "profile", row.op, "--impl", "cuda", "--shape", *shapes, "--dtype", row.dtype, "--json",
               "--no-roofs", "--max-time", "1", "--cases-dir", cases]
    if row.params:
        command += ["--param", *row.params]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        return None, reason[-1][:100]
    (call,) = json.loads(done.stdout)["calls"]
    return call["median_s"], ""


def copy_rate():
    """Bytes read and written per second by a device-to-device copy of 256 MiB."""
    import torch

    source = torch.rand(64 * MEBI, device="cuda")
    row = Row("memory", "copy", [tuple(source.shape)], lambda x, to=torch.empty_like(source): to.copy_(x))
    return 2 * 4 * source.numel() / torch_seconds(row)


def bench(program, cases):
    program, cases = str(pathlib.Path(program).resolve()), str(pathlib.Path(cases).resolve())
    try:
        import torch
    except ImportError:
        print("no PyTorch here: nothing to compare with")
        return 1
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 1
    rate = copy_rate()
    print(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, PyTorch {torch.__version__}; "
          f"a copy of 256 MiB: {rate * 1e-9:.0f} GB/s")
    print(f"{'call':52} {'diopi':>10} {'PyTorch':>10} {'ratio':>7} {'of copy':>8}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows():
            ours, theirs, trouble = [], [], ""
            for _ in range(ROUNDS):
                seconds, trouble = diopi_seconds(program, cases, row, folder)
                if seconds is None:
                    break
                ours.append(seconds)
                theirs.append(torch_seconds(row))
            if trouble:
                failed += 1
                print(f"{row.title():52} {trouble}")
                continue
            mine, other = statistics.median(ours), statistics.median(theirs)
            share = f"{row.moved / mine / rate:8.2f}" if row.moved else ""
            print(f"{row.title():52} {mine * 1e6:8.1f}us {other * 1e6:8.1f}us {other / mine:7.2f} {share}", flush=True)
    print("ratio: PyTorch's time over diopi's, in one run; of copy: bytes per second, as a share of the copy's")
    return 1 if failed else 0


def main():
    jobs = {"libraries": (libraries, 0), "sample": (sample, 1), "bench": (bench, 2)}
    job, count = jobs.get((sys.argv[1:] or [""])[0], (None, 0))
    if job is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    sys.exit(job(*sys.argv[2:]))


if __name__ == "__main__":
    main()
