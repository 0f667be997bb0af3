"""scripts/gpu_check.sh without a GPU: with stand-ins for the program, CUDA's tools and PyTorch, then with the real
program and --impl cpu."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import unittest

from program import BINARY, SOURCE, ProgramTest

sys.path.insert(0, str(SOURCE / "scripts"))
import gpu_bench  # noqa: E402

# Each stand-in records how it was started, and follows PLAN.
NOTE = """#!/usr/bin/env python3
import json, os, pathlib, sys, time
plan = json.loads(os.environ["PLAN"])
with open(os.environ["NOTES"], "a") as notes:
    notes.write(json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], os.environ.get("LD_LIBRARY_PATH", ""),
                            os.environ.get("DIOPI_CUDA_CACHE", "")]) + "\\n")
"""

DIOPI = NOTE + """
arguments = sys.argv[1:]
def option(name):
    return arguments[arguments.index(name) + 1] if name in arguments else ""
run = option("--run")
if option("--case") == "runtime/device_info":
    if "no_driver" in plan:
        sys.exit(print("diopi: error: cuda cannot run here: no driver", file=sys.stderr) or 2)
    print("INFO - Run runtime.device_info succeed: Device of 139 GiB")
elif arguments[0] == "test":
    folder = pathlib.Path(run)
    folder.mkdir(exist_ok=True)
    verdict = "failed" if plan.get("verdict") == "failed" else "passed"
    results = [{"case": f"ops/{op}.{op}.{at}", "op": op, "dtype": dtype, "verdict": verdict, "tensors":
               [["input", dtype, [size]]]} for at, (op, dtype, size) in enumerate(
               [("relu", "float32", 8), ("relu", "float32", 9), ("relu", "float16", 8), ("exp", "float32", 10**9),
                ("normal_", "float32", 7)])]
    lines = [{"backend": option("--impl")}, *results]
    (folder / "journal.jsonl").write_text("\\n".join(map(json.dumps, lines)) + "\\n")
    time.sleep(plan.get("sleep", {}).get(run, 0))
    print("3 cases: " + plan.get("counts", {}).get(run, "3 passed") + " (0.1 s)")
elif arguments[0] == "compare":
    print(plan.get("compare", "5 calls on a and b: 0 of 5 tensors differ."))
elif "--trace" in arguments:
    names = plan.get("kernels", ["add_kernel"])
    slices = [{"ph": "X", "cat": "call", "name": "add"}, *({"ph": "X", "cat": "activity", "name": n} for n in names)]
    pathlib.Path(option("--trace")).write_text(json.dumps({"traceEvents": slices}))
elif "--cases" in arguments:
    groups = json.loads(pathlib.Path(option("--cases")).read_text())["groups"]
    calls = [{"case": f"ops/{g['group']}.{g['ops'][0]}.0", "median_s": plan.get("median", 1e-4)} for g in groups
             if g["ops"][0] != plan.get("without")]
    print(json.dumps({"calls": calls}))
sys.exit(plan.get("codes", {}).get(run, 0))
"""

SANITIZER = NOTE + """
import subprocess
tool = sys.argv[sys.argv.index("--tool") + 1]
log = sys.argv[sys.argv.index("--log-file") + 1].replace("%p", "17")
name = log.split(".")[0]
at = next(i for i, word in enumerate(sys.argv) if word == "env")
code = subprocess.run(sys.argv[at:]).returncode
count = plan.get("faults", {}).get(name, 1 if name.endswith("_control") else 0)
words = "ERROR SUMMARY: {} errors" if tool == "memcheck" else "RACECHECK SUMMARY: {} hazards displayed"
if count is not None:
    pathlib.Path(log).write_text("========= " + words.format(count) + "\\n")
sys.exit(code)
"""

NVCC = NOTE + """
pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("library")
"""

TORCH = """
import json, os, types
with open(os.environ["NOTES"], "a") as notes:
    notes.write(json.dumps(["torch", [], os.environ.get("LD_LIBRARY_PATH", ""), ""]) + "\\n")
seconds = json.loads(os.environ["PLAN"]).get("torch", 2e-4)
__version__, version = "2.11", types.SimpleNamespace(cuda="13.0")
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()),
                                 cudnn=types.SimpleNamespace(version=lambda: 91000))
class Event:
    calls = 0
    def __init__(self, enable_timing): pass
    def record(self): self.at = Event.calls
    def synchronize(self): pass
    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at) * seconds * (0.5 if getattr(backends.cudnn, "benchmark", False) else 1)
class Tensor:
    def to(self, dtype): return self
    def requires_grad_(self): return self
    def copy_(self, other): Event.calls += 1
def call(*tensors, **params):
    Event.calls += 1
    return Tensor()
cuda = types.SimpleNamespace(Event=Event, is_available=lambda: True, get_device_name=lambda: "NVIDIA TEST")
autograd = types.SimpleNamespace(grad=call)
nn = types.SimpleNamespace(functional=types.SimpleNamespace(**dict.fromkeys(
    ["relu", "softmax", "log_softmax", "batch_norm", "linear", "conv2d"], call)))
add = mul = exp = sigmoid = sum = mean = argmax = call
float16 = bfloat16 = float32 = None
rand = lambda shape, device: Tensor()
empty_like = ones_like = lambda tensor: tensor
rand_like = None
"""


class GpuCheckTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.bundle, self.tools = self.folder / "bundle", self.folder / "tools"
        for folder in ("bundle/bin", "bundle/lib/cuda", "bundle/cases", "tools", "python/torch",
                       "python/nvidia/cu13/lib"):
            (self.folder / folder).mkdir(parents=True)
        shutil.copytree(SOURCE / "scripts", self.bundle / "scripts")
        shutil.copytree(SOURCE / "libdiopi/schema", self.bundle / "libdiopi/schema")
        (self.bundle / "lib/cuda/libdiopi_impl.so").write_text("")
        (self.folder / "python/nvidia/cu13/lib/libcudnn.so.9").write_text("")
        self.stand_in(self.bundle / "bin/diopi", DIOPI)
        self.stand_in(self.tools / "compute-sanitizer", SANITIZER)
        self.stand_in(self.tools / "nvcc", NVCC)
        (self.folder / "python/torch/__init__.py").write_text(textwrap.dedent(TORCH))

    def stand_in(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def check(self, *arguments, **plan):
        """Runs the script; its exit code, its lines by their first word, and the commands that were started."""
        notes = self.folder / "notes"
        notes.unlink(missing_ok=True)
        environment = {"PATH": f"{self.tools}:/usr/bin:/bin", "PYTHONPATH": str(self.folder / "python"), "HOME": "/",
                       "PLAN": json.dumps(plan), "NOTES": str(notes), "CUDA_HOME": "/nowhere",
                       "LD_LIBRARY_PATH": "/of/the/user"}
        done = subprocess.run([self.bundle / "scripts/gpu_check.sh", *arguments], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=120, check=False)
        self.notes = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
        self.lines = {line.split()[0]: line for line in done.stdout.splitlines() if line[:1].isalpha()}
        self.text = f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.returncode

    def result(self, step):
        return self.lines[step][17:25].strip()

    def test_all_parts_run_in_their_order_and_are_ok(self):
        self.assertEqual(self.check(torch=2e-3, median=1e-9), 0, self.text)
        steps = list(self.lines)
        order = ["runtime", "operators", "hard", "strided", "empty", "zero_dim", "nhwc", "special", "tf32", "random",
                 "random_same", "wide",
                 "exported", "resnet50", "llama", "swin_transformer", "memcheck_control", "memcheck",
                 "racecheck_control", "racecheck", "profile_roofs", "profile_add", "profile_products", "profile_cold",
                 "profile_trace", "profile_step", "bench"]
        self.assertEqual([step for step in steps if step in order], order, self.text)
        self.assertIn("27 of 27 steps are ok", self.text)
        self.assertIn("Device of 139 GiB", (self.folder / "gpu_check/table.txt").read_text())
        asked = [arguments for name, arguments, *_ in self.notes if name == "diopi"]
        for wanted in ("--strided", "--empty", "--zero-dim", "--wide", "cuda+tf32", "--nhwc", "cold",
                       "swin_transformer", str(self.bundle / "lib/cuda/libdiopi_impl.so")):
            self.assertTrue([arguments for arguments in asked if wanted in arguments], wanted)

    def test_only_requested_parts_run(self):
        self.assertEqual(self.check("--only", "models,runtime"), 0, self.text)
        self.assertEqual([self.result(step) for step in ("runtime", "resnet50")], ["ok", "ok"])
        self.assertNotIn("operators", self.lines)
        self.assertEqual(self.check("--only", "runtime,modles"), 2, self.text)
        self.assertIn("no part 'modles'; the parts are runtime, operators", self.text)
        self.assertEqual(self.check("--quickly"), 2, self.text)
        self.assertIn("unknown option --quickly", self.text)

    def test_only_the_program_gets_its_libraries(self):
        self.check("--only", "runtime,memcheck,bench", torch=2e-3, median=1e-9)
        of = {name: {loader_path for who, _, loader_path, _ in self.notes if who == name} for name in
              ("diopi", "compute-sanitizer", "nvcc", "torch")}
        wanted = ":".join([f"{self.bundle}/lib", "/of/the/user", f"{self.folder}/python/nvidia/cu13/lib"])
        self.assertEqual(of, {"diopi": {wanted}, "compute-sanitizer": {"/of/the/user"}, "nvcc": {"/of/the/user"},
                              "torch": {"/of/the/user"}})

    def test_a_failing_step_is_reported_and_the_others_run(self):
        self.assertEqual(self.check("--only", "runtime,tf32", codes={"runtime": 1}), 1, self.text)
        self.assertEqual([self.result("runtime"), self.result("tf32")], ["failed", "ok"])
        self.assertIn("exit code 1: 3 cases: 3 passed", self.lines["runtime"])
        self.assertIn("1 of 2 steps are ok; not: runtime failed", self.text)
        self.assertEqual(self.check("--only", "tf32", codes={"tf32_mm": 3}), 1, self.text)

    def test_a_run_in_which_nothing_ran_is_not_a_success(self):
        self.assertEqual(self.check("--only", "operators", counts={"operators": "3 not implemented"}), 1, self.text)
        self.assertIn("no case passed", self.lines["operators"])

    def test_a_step_that_takes_too_long_is_cut_off_and_the_others_run(self):
        code = self.check("--only", "operators,models", "--limit", "1", sleep={"operators": 60})
        self.assertEqual(code, 1, self.text)
        self.assertEqual([self.result("operators"), self.result("resnet50")], ["cut off", "ok"])
        self.assertIn("--limit", self.lines["operators"])

    def test_an_interrupted_check_reports_its_results_and_leaves_no_process(self):
        environment = {**os.environ, "PLAN": json.dumps({"sleep": {"operators": 60}}),
                       "NOTES": str(self.folder / "notes")}
        started = subprocess.Popen([self.bundle / "scripts/gpu_check.sh"], cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, text=True)
        journal = self.folder / "gpu_check/operators/journal.jsonl"
        self.wait_for(journal.exists, "the operators have begun")
        started.terminate()
        out, _ = started.communicate(timeout=30)
        self.assertEqual(started.returncode, 130, out)
        self.assertRegex(out, r"(?m)^runtime +ok ")
        self.assertRegex(out, r"(?m)^operators +cut off .*interrupted")
        run_by_script = [path.name for path in pathlib.Path("/proc").glob("[0-9]*")
                         if str(self.bundle) in self.command_of(path)]
        self.assertEqual(run_by_script, [])

    def command_of(self, process):
        try:
            return (process / "cmdline").read_text()
        except OSError:
            return ""

    def test_an_empty_sample_is_not_done(self):
        self.check("--only", "operators", verdict="failed", codes={"operators": 1})
        self.assertEqual(self.check("--only", "memcheck,exported"), 1, self.text)
        self.assertEqual([self.result("exported"), self.result("memcheck")], ["not done", "not done"])
        self.assertNotIn("compute-sanitizer", {name for name, *_ in self.notes})

    def test_a_sample_has_a_small_case_of_each_operator_and_dtype_that_passed(self):
        self.check("--only", "operators,memcheck,racecheck")
        cases = {arguments[arguments.index("--run") + 1]: arguments[arguments.index("--in-order") + 1:]
                 for name, arguments, *_ in self.notes if name == "diopi" and "--in-order" in arguments}
        self.assertEqual(cases["memcheck"], ["ops/normal_.normal_.4", "ops/relu.relu.2", "ops/relu.relu.0"])
        self.assertEqual(cases["racecheck"], ["ops/normal_.normal_.4", "ops/relu.relu.0"])
        self.assertNotIn("listing", cases)

    def test_memory_is_checked_without_the_caching_allocator(self):
        self.check("--only", "memcheck,operators")
        settings = {arguments[arguments.index("--run") + 1]: cache for name, arguments, _, cache in self.notes
                    if name == "diopi" and "--run" in arguments}
        self.assertEqual([settings[run] for run in ("operators", "memcheck", "memcheck_control")], ["", "0", "0"])

    def test_the_sanitizer_s_errors_count_and_not_its_exit_code(self):
        for tool in ("memcheck", "racecheck"):
            with self.subTest(tool=tool):
                self.assertEqual(self.check("--only", tool), 0, self.text)
                self.assertEqual(self.check("--only", tool, faults={tool: 2}), 1, self.text)
                self.assertIn("2 faults", self.lines[tool])
                self.assertEqual(self.check("--only", tool, faults={tool: None}), 1, self.text)
                self.assertIn(f"no {tool} summary", self.lines[tool])

    def test_a_sanitizer_that_sees_no_planted_fault_is_reported(self):
        for count in (0, None):
            self.assertEqual(self.check("--only", "memcheck", faults={"memcheck_control": count}), 1, self.text)
            self.assertIn("does not see the workers", self.lines["memcheck_control"])

    def test_missing_tools_are_reported(self):
        self.check("--only", "bench")
        (self.tools / "nvcc").unlink()
        self.assertEqual(self.check("--only", "memcheck"), 1, self.text)
        self.assertEqual([self.result("memcheck_control"), self.result("memcheck")], ["not done", "ok"])
        (self.tools / "compute-sanitizer").unlink()
        self.assertEqual(self.check("--only", "memcheck"), 1, self.text)
        self.assertIn("no compute-sanitizer on the PATH", self.lines["memcheck"])
        self.assertNotIn("memcheck_control", self.lines)
        shutil.rmtree(self.folder / "python/torch")
        (self.folder / "python/torch.py").write_text("raise ImportError('none')")
        self.assertEqual(self.check("--only", "bench"), 1, self.text)
        self.assertIn("no PyTorch here", self.lines["bench"])
        self.assertNotIn("NVIDIA TEST", self.text)

    def test_random_numbers_must_be_compared_and_equal(self):
        self.assertEqual(self.check("--only", "random"), 0, self.text)
        cases = {arguments[arguments.index("--run") + 1]: arguments[arguments.index("--in-order") + 1:]
                 for name, arguments, *_ in self.notes if "--in-order" in arguments}
        self.assertEqual(cases["random"], ["ops/normal_.normal_.4"])
        for side in "ab":  # those that passed
            self.assertEqual(len(cases[f"random_{side}"]), 5, "the stand-in's journal has five")
        for said in ("5 calls on a and b: 1 of 5 tensors differ.", "0 calls on a and b: 0 of 0 tensors differ."):
            self.assertEqual(self.check("--only", "random", compare=said), 1, self.text)
            self.assertEqual([self.result("random"), self.result("random_same")], ["ok", "failed"])

    def test_a_trace_without_kernels_is_a_failure(self):
        self.assertEqual(self.check("--only", "profile"), 0, self.text)
        self.assertEqual(self.check("--only", "profile", kernels=[]), 1, self.text)
        self.assertEqual([self.result("profile_add"), self.result("profile_trace")], ["ok", "failed"])

    def bench_rows(self):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in (self.folder / "gpu_check/bench.md").read_text().splitlines() if line.startswith("|")]
        return {row[0]: row[1:] for row in rows[2:]}

    def test_times_are_compared_with_goals(self):
        self.assertEqual(self.check("--only", "bench", median=0.5e-4, torch=1e-4), 0, self.text)
        rows = self.bench_rows()
        self.assertEqual(rows["add 67108864 float32"],
                         ["50.0 us", "100.0 us", "", "2.00", "3.00", "ok: >= 0.98, >= 0.9 of copy"])
        self.assertEqual(rows["add 64x64 float32"], ["50.0 us", "100.0 us", "", "2.00", "", "ok: > 1"])
        self.assertEqual(rows["mean 8192x8192 float32 dim=[1]"][-1], "ok: >= 0.98, >= 0.9 of copy")
        self.assertEqual(rows["conv2d 64x64x56x56 64x64x3x3 float32"],
                         ["50.0 us", "100.0 us", "50.0 us", "2.00", "", "ok: >= 0.95"])
        heading = (self.folder / "gpu_check/bench.md").read_text().split("|")[0]
        self.assertIn("NVIDIA TEST", heading)
        self.assertIn("cudnn.benchmark False", heading)

    def test_below_a_goal_is_a_failure(self):
        for median, goal in ((0.99e-4, True), (1.01e-4, True), (1.03e-4, False), (1.06e-4, False)):
            self.check("--only", "bench", median=median, torch=1e-4)
            rows = self.bench_rows()
            self.assertEqual(rows["add 67108864 float32"][-1].startswith("ok"), goal, self.text)
            self.assertEqual(rows["linear 256x2048 1000x2048 float32 backward"][-1].startswith("ok"), median < 1.05e-4)
            self.assertEqual(rows["relu 64x64 float32"][-1].startswith("ok"), median < 1e-4)
            self.assertTrue(rows["sum 8192x8192 float32 dim=[1]"][-1].startswith("below"))  # half of a copy's bytes
        self.assertEqual(self.result("bench"), "failed")
        self.assertEqual(self.check("--only", "bench", median=1e-6, torch=1e-4), 0, self.text)

    def test_a_call_without_a_time_is_a_failure(self):
        self.assertEqual(self.check("--only", "bench", median=1e-6, torch=1e-4, without="argmax"), 1, self.text)
        self.assertIn("no time", self.bench_rows()["argmax 64x64 float32 dim=1"][-1])

    def test_without_a_gpu_one_line_says_so(self):
        self.assertEqual(self.check(no_driver=True), 1, self.text)
        self.assertIn("cuda cannot run here", self.text)
        self.assertNotIn("operators", self.lines)


class RealProgramTest(ProgramTest):
    def gpu_check(self, *arguments, script=SOURCE / "scripts/gpu_check.sh", code=0):
        done = subprocess.run([script, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_the_command_lines_are_those_of_the_program(self):
        out = self.gpu_check("--impl", "cpu", "--quick", "--build-dir", BINARY.parents[1], "--only",
                             "runtime,random,exported,wide")
        self.assertIn("5 of 5 steps are ok", out)
        # The output that was cut off has been parsed.
        out = self.gpu_check("--impl", "cpu", "--quick", "--build-dir", BINARY.parents[1], "--only", "profile",
                             "--limit", "2", code=1)
        self.assertIn("profile_step", out)
        self.assertNotIn("failed", out)

    def test_the_benchmarks_are_cases_of_the_program(self):
        for number, (_, rows) in enumerate(gpu_bench.groups(is_quick=False)):
            groups = [row.group(f"row{at}") for at, row in enumerate(rows)]
            name = self.write(f"rows{number}.json", {"groups": groups})
            run = self.expect(0, "gen", "--dry-run", "--json", "--cases", name)
            self.assertEqual(run.json["operator_cases"], len(rows))
        groups = [row.group(f"row{at}") for at, row in enumerate(gpu_bench.small_rows())]
        run = self.expect(0, "test", "--json", "--cases", self.write("small.json", {"groups": groups}))
        self.assertEqual(run.json["counts"]["passed"], len(groups))

    def test_the_bundle_is_one_file_with_all_that_it_needs(self):
        bundle = self.folder / "bundle"
        self.gpu_check("--bundle", self.folder / "bundle.tar.zst", "--build-dir", BINARY.parents[1])
        self.assertLess((self.folder / "bundle.tar.zst").stat().st_size, 45 << 20)
        bundle.mkdir()
        subprocess.run(["tar", "-xf", self.folder / "bundle.tar.zst", "-C", bundle], check=True)
        loaded = subprocess.run(["ldd", bundle / "bin/diopi"], capture_output=True, text=True, check=True,
                                env={"LD_LIBRARY_PATH": str(bundle / "lib")}).stdout
        for library in ("libhdf5", "libdnnl"):
            lines = [line for line in loaded.splitlines() if library in line]
            self.assertTrue(lines and all(str(bundle / "lib") in line for line in lines), loaded)
        for file in ("lib/libdiopi_impl.so", "tests/gpu/planted.cu", "libdiopi/include/diopi/functions.h",
                     "cases/models/llama.json", "scripts/gpu_bench.py"):
            self.assertTrue((bundle / file).exists(), file)
        out = self.gpu_check("--impl", "cpu", "--only", "runtime,exported", script=bundle / "scripts/gpu_check.sh")
        self.assertIn("2 of 2 steps are ok", out)

    def test_a_bundle_of_another_kind_is_refused(self):
        self.gpu_check("--bundle", "bundle.zip", "--build-dir", BINARY.parents[1], code=2)
        self.gpu_check("--bundle", "bundle", "--build-dir", self.folder, code=2)
        self.gpu_check("--bundle", "bundle", "--quick", code=2)


if __name__ == "__main__":
    unittest.main()
