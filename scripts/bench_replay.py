#!/usr/bin/env python3
"""Compares the replay of a shipped capture with PyTorch's own eager step of the same model on the same cores.

    scripts/bench_replay.py build/release/bin/diopi resnet50 [ROUNDS]

Both are measured in one run, in turns; the figure is the median of the rounds' ratios. Needs PyTorch (and torchvision
for the ResNets).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent
STEPS = 5


def help_openblas():
    """Debian's OpenBLAS takes an unknown Xeon for an old one: set the core type before it is loaded."""
    if " avx512f " in pathlib.Path("/proc/cpuinfo").read_text():
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    # Waiting threads must not use the processors of the other side.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def session_of(model):
    sys.path.insert(0, str(SCRIPTS))
    import torch
    from capture import models, session
    from capture_torch import parse

    options = parse([model])
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count())
    made = session.Session(models.MODELS[model](options), options.optimizer)
    made.warm_up(3)
    return made, torch


def eager_step(session):
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        session.warm_up(1)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def replayed_step(program, model, folder):
    capture = SCRIPTS.parent / "cases" / "captures" / f"{model}.json"
    done = subprocess.run([program, "profile", "--capture", capture, "--run-times", str(STEPS), "--no-roofs", "--json"],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"diopi profile: exit code {done.returncode}\n{done.stderr}")
    calls = json.loads(done.stdout)["calls"]
    missing = sorted({call["name"] for call in calls if "error" in call})
    return calls[0]["median_s"], missing


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program, model, rounds = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int((sys.argv[3:] or ["5"])[0])
    help_openblas()
    session, torch = session_of(model)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            eager = eager_step(session)
            replayed, missing = replayed_step(program, model, folder)
            ratios.append(replayed / eager)
            print(f"round {number}: PyTorch {torch.__version__} {eager * 1e3:.1f} ms, diopi {replayed * 1e3:.1f} ms, "
                  f"ratio {ratios[-1]:.2f}", flush=True)
    if missing:
        print("not implemented, so not part of diopi's time:", ", ".join(missing))
    print(f"{model}: diopi takes {statistics.median(ratios):.2f} of PyTorch's time (median of {rounds} rounds)")


if __name__ == "__main__":
    main()
