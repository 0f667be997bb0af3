#!/usr/bin/env python3
"""The checks that need a GPU: is the cuda backend correct, is it fast? gpu_check.sh starts them.

Parts, in their order:
  runtime                            the runtime suite
  operators                          the standard's cases of all operators, with every check
  hard                               the generated ones of level 2 (docs/hard-cases.md)
  strided empty zero_dim nhwc special
                                     the standard's as variants (docs/variants.md)
  tf32                               products and convolutions with --impl cuda+tf32
  random                             random operators against the cpu backend: the same numbers for the same seed
  wide                               a sample over more than 2^31 elements of memory, in one worker
  exported                           a sample with lib/cuda/libdiopi_impl.so
  models                             all cases of ResNet-50, LLaMA and Swin
  memcheck racecheck                 compute-sanitizer over a sample; first it must see planted faults
  profile                            roofs, cold tensors, a trace with the kernels in it
  bench                              times and PyTorch's on the same GPU, compared with goals

A line per step says `ok`, `failed`, `cut off` (by --limit) or `not done` (a requirement is missing), and why. The lines
are also appended to table.txt; output and reports are beside it, and bench.md, the table for docs/performance.md.
Samples are taken from the cases that passed in the part operators, in this call or an earlier one with the same
--out, else from all. CUDA's tools are those on the PATH, or in $CUDA_HOME, which is /usr/local/cuda if it is not set.
Exit code 0: every step is ok; 1: some are not; 2: bad usage; 130: interrupted.
"""
import argparse
import dataclasses
import datetime
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import schema_rows

SCRIPTS = pathlib.Path(__file__).resolve().parent
SUITES = {"operators": ["--level", "1"], "hard": ["--case", "hard/*"], "strided": ["--strided"],
          "empty": ["--empty"], "zero_dim": ["--zero-dim"], "nhwc": ["--nhwc"], "special": ["--fill", "special"]}
QUICK_SHARE = 20
QUICK_SHARD = f"{QUICK_SHARE}/{QUICK_SHARE}"  # the first one has only the most expensive case
MODELS = ["resnet50", "llama", "swin_transformer"]
TF32 = schema_rows.products()
QUICK_TF32 = ["linear", "matmul"]
RANDOM = [*schema_rows.random(), "dropout2d"]
SMALL = 5000  # elements of a case in a sample
SAMPLES = {"wide": 40, "exported": 400, "memcheck": 400, "racecheck": 120}
PLANTED_CASE = "ops/relu.relu.9"
SUMMARY = {"memcheck": r"ERROR SUMMARY: (\d+) error", "racecheck": r"RACECHECK SUMMARY: (\d+) hazard"}
PATIENCE = 10  # seconds between asking a step to end and ending it


class NotDone(Exception):
    """A part cannot be done here; has the reason."""


@dataclasses.dataclass
class Step:
    """Commands, one after another, and the checks of their outputs."""

    commands: list
    judge: object = None  # judge(output) is a message; it raises Failed
    environment: dict = dataclasses.field(default_factory=dict)
    exit_codes: tuple = (0,)


class Failed(Exception):
    """A step ended, and its output fails its check."""


def package_folders():
    """CUDA's libraries in Python's packages: nvidia/*/lib."""
    found = importlib.util.find_spec("nvidia")
    roots = [pathlib.Path(path) for path in (found.submodule_search_locations or [])] if found else []
    return sorted({str(path.parent) for root in roots for path in root.rglob("lib*.so.*")})


class Machine:
    """The files of the build, and how to start the program."""

    def __init__(self, options):
        self.root, self.out = options.root.resolve(), options.out.resolve()
        self.impl, self.quick, self.limit = options.impl, options.quick, options.limit
        is_bundle = (self.root / "bin" / "diopi").exists()
        home = self.root if is_bundle else options.build_dir.resolve()
        self.path, self.libraries = home / "bin" / "diopi", home / "lib"
        folders = [str(self.libraries)] if is_bundle else []
        folders += filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
        self.loader_path = ":".join(folders + package_folders())

    @property
    def is_gpu(self):
        return self.impl != "cpu"

    @property
    def exported(self):
        return self.libraries / ("cuda" if self.is_gpu else "") / "libdiopi_impl.so"

    def diopi(self, *arguments):
        """Only the program gets its libraries: PyTorch and compute-sanitizer keep theirs. A launch waits while the
        driver's queue is full, which the stream check takes for a fault (docs/cuda.md)."""
        return ["env", f"LD_LIBRARY_PATH={self.loader_path}", "CUDA_SCALE_LAUNCH_QUEUES=4x", str(self.path),
                *map(str, arguments)]

    def test(self, name, *arguments, impl=None):
        return self.diopi("test", "--impl", impl or self.impl, "--quiet", "--run", name, "--csv", f"{name}.csv",
                          "--cases-dir", self.root / "cases", *arguments)


def end(process):
    """First with SIGTERM, so that the program ends its workers."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(command, log, seconds, environment):
    """The exit code, or None after a timeout."""
    with open(log, "a") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env={**os.environ, **environment}, start_new_session=True)
        try:
            return process.wait(max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            return None
        finally:
            end(process)


def tool_of_cuda(name):
    found = shutil.which(name) or shutil.which(name, path=f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin")
    if found is None:
        raise NotDone(f"no {name} on the PATH or in $CUDA_HOME/bin; it comes with the CUDA toolkit")
    return found


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def run_step(machine, name, step):
    """Message of a step that passed; raises Failed otherwise."""
    log, deadline, problem, text = f"{name}.txt", time.monotonic() + machine.limit, "", ""
    pathlib.Path(log).unlink(missing_ok=True)
    for command in step.commands:
        code = run(command, log, deadline - time.monotonic(), step.environment)
        text = pathlib.Path(log).read_text(errors="replace")
        if code is None:
            raise TimeoutError(f"after {machine.limit:g} s (--limit): {last_line(text)}")
        if code not in step.exit_codes and not problem:
            problem = f"exit code {code}"
    try:
        message = step.judge(text) if step.judge else last_line(text)
    except (Failed, OSError, ValueError, KeyError) as why:
        raise Failed(f"{problem}: {why}" if problem else str(why)) from why
    if problem:
        raise Failed(f"{problem}: {last_line(text)}")
    return message


def some_passed(text):
    """A run in which nothing ran must not count as passed."""
    counts = [int(count) for count in re.findall(r"\b(\d+) passed", text)]
    if not sum(counts):
        raise Failed(f"no case passed: {last_line(text)}")
    return last_line(text) if len(counts) == 1 else f"{sum(counts)} cases passed in {len(counts)} runs"


def runtime(machine):
    yield "runtime", Step([machine.diopi("test", "--suite", "runtime", "--impl", machine.impl, "--run", "runtime",
                                         "--csv", "runtime.csv")], some_passed)


def suite(name):
    def part(machine):
        shard = ["--shard", QUICK_SHARD] if machine.quick else []
        yield name, Step([machine.test(name, *SUITES[name], *shard)], some_passed)

    return part


def tf32(machine):
    impl = machine.impl + "+tf32" if machine.is_gpu else machine.impl
    names = QUICK_TF32 if machine.quick else TF32
    yield "tf32", Step([machine.test(f"tf32_{op}", "--fname", op, "--level", 1, impl=impl) for op in names], some_passed)


def models(machine):
    for model in MODELS[:1] if machine.quick else MODELS:
        yield model, Step([machine.test(model, "--model", model)], some_passed)


def results_of(journal):
    lines = journal.read_text().splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def all_cases(machine):
    """The standard's cases of all operators, from a run on a device that has no operator."""
    journal = machine.out / "listing" / "journal.jsonl"
    if not journal.exists():
        pathlib.Path("nothing.json").write_text('{"operators": ["none"]}')
        command = machine.test("listing", "--level", 1, "--sim-config", "nothing.json", impl="sim")
        code = run(command, "listing.txt", machine.limit, {})
        if not journal.exists():
            raise NotDone(f"the cases cannot be listed (listing.txt): exit code {code}")
    return results_of(journal)[1]


def good_cases(machine):
    """The cases that passed in the part operators, if all of it has run; else all cases."""
    earlier = machine.out / "operators" / "journal.jsonl"
    if earlier.exists():
        header, results = results_of(earlier)
        if header.get("backend") == machine.impl and not header.get("shard"):
            return [result for result in results if result["verdict"] == "passed"]
    return all_cases(machine)


def sample(results, count, dtypes=()):
    """At most this many small cases, one of each operator and dtype, evenly from all operators."""
    chosen = {}
    for result in results:
        size = sum(math.prod(shape) for _, _, shape in result["tensors"])
        if 0 < size < SMALL and (not dtypes or result["dtype"] in dtypes):
            chosen.setdefault((result["op"], result["dtype"]), result["case"])
    cases = [case for _, case in sorted(chosen.items())]
    if not cases:
        raise NotDone("no case for a sample: none of the part operators has passed")
    share = min(1, count / len(cases))
    return [case for at, case in enumerate(cases) if int((at + 1) * share) > int(at * share)]


def sample_of(machine, part):
    only_float32 = ("float32",) if part in ("wide", "racecheck") else ()
    return sample(good_cases(machine), SAMPLES[part] // (10 if machine.quick else 1), only_float32)


def random_numbers(machine):
    """The cases that the backend has, then the same ones on the cpu backend."""
    cases = [result["case"] for result in all_cases(machine) if result["op"] in RANDOM]
    if not cases:
        raise NotDone("there are no cases of random operators")
    if machine.quick:
        cases = cases[::QUICK_SHARE]

    yield "random", Step([machine.test("random", "--in-order", *cases)], some_passed)
    cases = [result["case"] for result in results_of(machine.out / "random" / "journal.jsonl")[1]
             if result["verdict"] == "passed"]
    commands = [machine.test(f"random_{side}", "--checks", "none", "--record", f"random_{side}.json",
                             "--record-values", "--in-order", *cases, impl=impl)
                for side, impl in (("a", machine.impl), ("b", "cpu"))]
    compared = machine.diopi("compare", "--capture", "random_a.json", "--with", "random_b.json", "--tolerance", "0")

    def judge(text):
        if not re.search(r"\b0 of [1-9]\d* tensors differ", text):
            raise Failed(last_line(text))
        return last_line(text)

    yield "random_same", Step([*commands, compared], judge)


def wide(machine):
    cases = sample_of(machine, "wide")
    yield "wide", Step([machine.test("wide", "--wide", "--in-order", *cases)], some_passed)


def exported(machine):
    if not machine.exported.exists():
        raise NotDone(f"no {machine.exported}; build it: DIOPI_CUDA=ON scripts/build.sh release")
    yield "exported", Step([machine.test("exported", "--in-order", *sample_of(machine, "exported"),
                                         impl=str(machine.exported))], some_passed)


def faults_seen(tool, name):
    """The errors that compute-sanitizer counted, in all processes; None without a summary."""
    logs = [pathlib.Path(f"{name}.txt"), *pathlib.Path().glob(f"{name}.*.sanitizer")]
    counts = [count for log in logs if log.exists()
              for count in re.findall(SUMMARY[tool], log.read_text(errors="replace"))]
    return sum(map(int, counts)) if counts else None


def sanitized(machine, tool, name, *arguments, impl=None):
    for log in pathlib.Path().glob(f"{name}.*.sanitizer"):
        log.unlink()
    command = [tool_of_cuda("compute-sanitizer"), "--tool", tool, "--target-processes", "all",
               "--log-file", f"{name}.%p.sanitizer",
               *machine.test(name, "--checks", "none", *arguments, impl=impl)]
    return Step([command], environment={"DIOPI_CUDA_CACHE": "0"})


def planted(machine, tool):
    """The tool must find the faults of a faulty library in the workers, and none in a correct one."""
    nvcc = tool_of_cuda("nvcc")
    if not machine.exported.exists():
        raise NotDone(f"no {machine.exported}, whose device functions the planted faults need")
    library = machine.out / "planted.so"
    library.unlink(missing_ok=True)
    compiled = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-lineinfo", "-arch=native", "-o", str(library),
                "-I", str(machine.root / "libdiopi" / "include"), str(machine.root / "tests" / "gpu" / "planted.cu")]
    name = f"{tool}_control"
    step = sanitized(machine, tool, name, "--impl-runtime", machine.exported, "--in-order", PLANTED_CASE,
                     impl=str(library))

    def judge(_):
        if not library.exists():
            raise Failed(f"nvcc does not build tests/gpu/planted.cu: see {name}.txt")
        seen = faults_seen(tool, name)
        if not seen:
            raise Failed(f"compute-sanitizer does not see the workers: nothing of a planted fault ({name}.txt)")
        return f"planted faults are seen: {seen}"

    return name, dataclasses.replace(step, commands=[compiled, *step.commands], judge=judge, exit_codes=range(256))


def sanitizer(tool):
    def part(machine):
        if not machine.is_gpu:
            raise NotDone("compute-sanitizer checks only a GPU")
        tool_of_cuda("compute-sanitizer")
        cases = sample_of(machine, tool)
        try:
            yield planted(machine, tool)
        except NotDone as why:
            yield f"{tool}_control", NotDone(f"so 0 faults of the sample show nothing: {why}")

        def judge(text):
            seen = faults_seen(tool, tool)
            if seen is None:
                raise Failed(f"the log has no {tool} summary: {last_line(text)}")
            if seen:
                raise Failed(f"{seen} faults: see {tool}.*.sanitizer")
            return f"0 faults in {len(cases)} cases: {some_passed(text)}"

        yield tool, dataclasses.replace(sanitized(machine, tool, tool, "--in-order", *cases), judge=judge)

    return part


def trace_judge(machine):
    def judge(_):
        slices = [event for event in json.loads(pathlib.Path("trace.json").read_text())["traceEvents"]
                  if event.get("ph") == "X"]
        kernels = {event["name"] for event in slices if event["cat"] == "activity"}
        if not slices or (machine.is_gpu and not kernels):
            raise Failed(f"trace.json has no kernel in it: {len(slices)} slices; is libcupti there?")
        return f"{len(slices)} slices, {len(kernels)} kernels and copies by name"

    return judge


def profile(machine):
    shape = "1024x1024" if machine.quick or not machine.is_gpu else "8192x8192"

    def call(name, *arguments):
        return machine.diopi("profile", *arguments, "--impl", machine.impl, "--run", f"profile_{name}", "--passes", 2,
                             "--max-time", 0.5, "--cases-dir", machine.root / "cases")

    yield "profile_roofs", Step([machine.diopi("profile", "--roofs", "--impl", machine.impl)])
    yield "profile_add", Step([call("add", "add", "--shape", shape, shape)])
    yield "profile_products", Step([call("products", "matmul", "--shape", shape, shape, "--dtype", "bfloat16")])
    yield "profile_cold", Step([call("cold", "softmax", "--shape", "512x512", "--param", "dim=1", "--mode", "cold",
                                     "--no-roofs")])
    yield "profile_trace", Step([call("trace", "add", "--shape", shape, shape, "--no-roofs", "--trace", "trace.json")],
                                trace_judge(machine))
    yield "profile_step", Step([machine.diopi("profile", "--capture", "resnet50", "--impl", machine.impl, "--run",
                                              "profile_step", "--run-times", 2, "--row-limit", 20)])


def bench(machine):
    pathlib.Path("bench.md").unlink(missing_ok=True)
    command = [sys.executable, str(SCRIPTS / "gpu_bench.py"), "--impl", machine.impl, "--cases-dir",
               str(machine.root / "cases"), "--loader-path", machine.loader_path, "--out", "bench.md"]
    yield "bench", Step([command + (["--quick"] if machine.quick else []) + [str(machine.path)]])


PARTS = {"runtime": runtime, **{name: suite(name) for name in SUITES}, "tf32": tf32, "random": random_numbers,
         "wide": wide, "exported": exported, "models": models, "memcheck": sanitizer("memcheck"),
         "racecheck": sanitizer("racecheck"), "profile": profile, "bench": bench}
FOR_A_GPU = ("memcheck", "racecheck")


class Table:
    """A line for each step, on the terminal as soon as it has ended, and in table.txt."""

    def __init__(self, machine):
        self.machine, self.results, self.file = machine, {}, open("table.txt", "a")
        self.columns = shutil.get_terminal_size((120, 24)).columns

    def head(self, device):
        today = datetime.date.today().isoformat()
        self.line(f"{today}, --impl {self.machine.impl}{', --quick' if self.machine.quick else ''}: {device}")

    def line(self, text):
        print(text[:self.columns], flush=True)
        print(text, file=self.file, flush=True)

    def add(self, name, result, seconds, message):
        self.results[name] = result
        self.line(f"{name:16} {result:8} {seconds:5.0f} s  {message}")

    def close(self):
        """Prints the benchmarks' table and the failures; returns the exit code."""
        if "bench" in self.results and pathlib.Path("bench.md").exists():
            print("\n" + pathlib.Path("bench.md").read_text())
        wrong = [f"{name} {result}" for name, result in self.results.items() if result != "ok"]
        self.line(f"{len(self.results) - len(wrong)} of {len(self.results)} steps are ok" +
                  (f"; not: {', '.join(wrong)}" if wrong else ""))
        print(f"outputs and reports: {self.machine.out}")
        return 1 if wrong else 0


def run_part(machine, table, part):
    steps = PARTS[part](machine)
    while True:
        name, start = part, time.monotonic()
        try:
            entry = next(steps, None)
            if entry is None:
                return
            name, step = entry
            if isinstance(step, NotDone):
                raise step
            result, message = "ok", run_step(machine, name, step)
        except NotDone as why:
            result, message = "not done", str(why)
        except TimeoutError as why:
            result, message = "cut off", str(why)
        except (Failed, OSError) as why:
            result, message = "failed", str(why)
        except KeyboardInterrupt:
            table.add(name, "cut off", time.monotonic() - start, "interrupted; later parts are not done")
            raise
        table.add(name, result, time.monotonic() - start, message)


def probe(machine):
    """The name of the device; None after printing why there is none."""
    done = subprocess.run(machine.diopi("test", "--suite", "runtime", "--case", "runtime/device_info", "--impl",
                                        machine.impl, "--run", "probe", "--csv", "probe.csv"),
                          capture_output=True, text=True, check=False)
    if done.returncode == 2:
        print(last_line(done.stderr))
        return None
    if done.returncode:
        return f"the probe ended with exit code {done.returncode}"
    return (re.findall(r"succeed: (.*)", done.stdout) or ["device unknown"])[0]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu_check.sh", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=SCRIPTS.parent, help=argparse.SUPPRESS)
    parser.add_argument("--build-dir", type=pathlib.Path, default=SCRIPTS.parent / "build/release",
                        help="folder of the release build (build/release)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu_check"),
                        help="folder for reports and tables (gpu_check)")
    parser.add_argument("--only", metavar="PART,...", help="parts to run (default all)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the cases, small shapes, no goals")
    parser.add_argument("--limit", type=float, default=420, metavar="S", help="time limit of a step in seconds (420)")
    parser.add_argument("--impl", choices=["cuda", "cpu"], default="cuda",
                        help="cpu: a dry run without a GPU, of all parts but the sanitizer and PyTorch")
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(f"unknown option {unknown[0]}; --help lists them")
    all_parts = [name for name in PARTS if options.impl == "cuda" or name not in FOR_A_GPU]
    names = options.only.split(",") if options.only else all_parts
    for name in names:
        if name not in PARTS:
            parser.error(f"no part {name!r}; the parts are {', '.join(PARTS)}")
    options.parts = [name for name in PARTS if name in names]
    return options


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    options = parse(sys.argv[1:])
    machine = Machine(options)
    if not os.access(machine.path, os.X_OK):
        print(f"gpu_check.sh: no {machine.path}; build it first: DIOPI_CUDA=ON scripts/build.sh release", file=sys.stderr)
        return 2
    machine.out.mkdir(parents=True, exist_ok=True)
    os.chdir(machine.out)
    signal.signal(signal.SIGTERM, interrupted)
    device = probe(machine)
    if device is None:
        return 1
    table = Table(machine)
    table.head(device)
    try:
        for part in options.parts:
            run_part(machine, table, part)
    except KeyboardInterrupt:
        table.close()
        return 130
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
