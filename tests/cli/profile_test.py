"""diopi profile: tables, files, verdicts, and refused input."""
import csv
import json
import os
import pathlib
import re
import signal
import sys
import unittest
import unittest.mock

import program
from program import SOURCE, ProgramTest, allocated, case_file, group

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: this Python has no {missing.name}")
    sys.exit(77)

FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", SOURCE / "build/release/bin/leaky_diopi"))
QUICK = ["--max-time", "0.002", "--no-roofs"]


class ProfileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[64], [64], [8, 16]], ops=("add", "mul"))))
        self.write("same.json", case_file(group("same", [[4096]] * 40)))

    def profile(self, *args, code=0, **how):
        return self.expect(code, "profile", "--cases", "mine.json", *QUICK, *args, **how)

    def calls(self, *args):
        return self.profile("--json", *args).json["calls"]

    def titles(self, run):
        return re.split(r"\s{2,}", run.out.splitlines()[1].strip())

    def names(self, run):
        lines = run.out.splitlines()
        return [line.split()[0] for line in lines[3:lines.index(lines[0], 3)]]

    def test_rows_are_calls_names_or_shapes(self):
        self.assertEqual(sorted(self.names(self.profile("--group-by", "name"))), ["add", "mul"])
        self.assertEqual(len(self.names(self.profile("--group-by-input-shape"))), 4)
        self.assertEqual(len(self.names(self.profile("--group-by", "call"))), 6)
        self.assertEqual(len(self.names(self.profile("add"))), 3)
        by_shape = self.profile("--group-by-input-shape", "--sort-by", "count")
        self.assertIn("Input Shapes", by_shape.out)
        self.assertIn("[[64], [64]]", by_shape.out)

    def test_the_columns_have_their_known_names(self):
        titles = self.titles(self.profile("--group-by", "name", "--profile-memory"))
        self.assertEqual(titles[:6], ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"])
        self.assertEqual(titles[6:11], ["CPU Mem", "Self CPU Mem", "Allocated", "Freed", "# of Calls"])
        self.assertNotIn("Self CUDA", titles)
        run = self.profile("--group-by", "name")
        self.assertRegex(run.out, r"\nSelf CPU time total: \d+\.\d{3}(us|ms|s)\n")

    def test_sorting_and_the_limit_of_rows(self):
        self.assertEqual(self.names(self.profile("--group-by", "name", "--sort-by", "name")), ["add", "mul"])
        run = self.profile("--row-limit", "1", "--group-by", "name")
        self.assertEqual(len(self.names(run)), 1)
        self.assertIn("1 more rows (--row-limit)", run.out)
        self.profile("--sort-by", "self_cpu", code=2, err="did you mean 'self_cpu_time_total'")

    def test_json_has_each_call_with_its_statistics(self):
        # There is enough time for samples that other processes do not disturb.
        calls = self.expect(0, "profile", "--cases", "mine.json", "--max-time", "0.05", "--no-roofs", "--profile-memory",
                            "--json").json["calls"]
        self.assertEqual(len(calls), 6)
        for call in calls:
            self.assertLessEqual(call["min_s"], call["q1_s"])
            self.assertLessEqual(call["q1_s"], call["median_s"])
            self.assertLessEqual(call["low_s"], call["median_s"])
            self.assertGreaterEqual(call["samples"], 3)
            numel = np.prod(call["shapes"][0])
            self.assertEqual(call["bytes"], 3 * 8 * numel)
            self.assertEqual(call["allocated_bytes"], 8 * numel)
            self.assertIn(call["stop"], ("converged", "noise plateau", "time limit"))

    def test_a_crash_and_a_hang_cost_their_case(self):
        self.write("faulty.json", case_file(group("faulty", [[64], [1000], [32]])))
        for fault, reason in (("segv", "SIGSEGV (Segmentation fault) in forward (diopiAdd)"), ("hang", "no answer within 1.0 s")):
            with self.subTest(fault=fault):
                run = self.expect(1, "profile", "--cases", "faulty.json", *QUICK, "--timeout", "1", "--json",
                                  faults=f"{fault}@{allocated(1000)}", err=reason)
                self.assertEqual(["samples" in call for call in run.json["calls"]], [True, False, True])

    def test_a_device_that_stays_in_error_costs_its_case(self):
        self.write("faulty.json", case_file(group("faulty", [[64], [1000], [32]])))
        run = self.expect(1, "profile", "--cases", "faulty.json", *QUICK, "--passes", "3", "--json",
                          faults=f"unusable@{allocated(1000)}", err="stayed in error, its worker was replaced")
        self.assertEqual(["samples" in call for call in run.json["calls"]], [True, False, True])
        sound = self.expect(1, "profile", "--cases", "faulty.json", *QUICK, "--passes", "3",
                            faults=f"null@{allocated(1000)}", err="out of memory")
        self.assertNotIn("stayed in error", sound.err)

    def test_a_replay_that_crashes_is_named(self):
        run = self.expect(0, "profile", "--cases", "mine.json", "--fname", "add", *QUICK, "--record", "some.json")
        self.expect(1, "profile", "--capture", "some.json", "--no-roofs", faults=f"segv@{allocated(64)}",
                    err="some.json: SIGSEGV (Segmentation fault)")

    def test_an_interrupted_replay_says_that_nothing_was_measured(self):
        process = self.start("profile", "--capture", "resnet18", "--run-times", "1000000", "--no-roofs")
        self.wait_for(lambda: len(process.pids()) > 1, "a worker")
        process.popen.send_signal(signal.SIGINT)
        run = process.finish(30)
        self.assertEqual(run.code, 130, str(run))
        self.assertIn("interrupted before anything was measured", run.err)
        self.assertFalse((self.folder / "diopi_run/profile.h5").exists())

    def test_roofs_give_shares(self):
        run = self.expect(0, "profile", "--cases", "mine.json", "--fname", "add", "--max-time", "0.002", "--json")
        roofs = run.json["roofs"]
        self.assertGreaterEqual(len(roofs["copy"]), 5)
        self.assertEqual(list(roofs["matmul_flops_per_s"]), ["float64"])
        for call in run.json["calls"]:
            self.assertAlmostEqual(call["share_of_roof"], call["roof_s"] / call["median_s"])
            self.assertEqual(call["launch_bound"], call["roof_s"] < roofs["empty_call_s"])

    def test_roofs_alone(self):
        roofs = self.expect(0, "profile", "--roofs", "--json").json
        self.assertEqual(roofs["backend"], "cpu")
        self.assertGreaterEqual(len(roofs["copy"]), 5)
        self.assertEqual(sorted(roofs["matmul_flops_per_s"]), ["bfloat16", "float16", "float32", "float64"])
        self.assertGreater(min(roofs["matmul_flops_per_s"].values()), 0)
        self.assertFalse((self.folder / "diopi_run").exists())
        out = self.expect(0, "profile", "--roofs").out
        self.assertRegex(out, r"^Roofs of cpu\ncopy +16 KiB +\d+\.\d GB/s\n")
        self.assertRegex(out, r"\nmatmul +bfloat16 +\d+\.\d GFLOP/s\n")
        for args, text in [
            (["add"], "--roofs"),
            (["--no-roofs"], "--no-roofs"),
            (["--shape", "4", "4"], "--shape"),
            (["--model", "resnet50"], "leave out the options that select them"),
            (["--capture", "resnet18"], "leave out the options that select them"),
            (["--impl", "sim"], "a simulated device has none"),
        ]:
            with self.subTest(args=args):
                self.expect(2, "profile", "--roofs", *args, err=text)

    def test_steps(self):
        self.write("inplace.json", case_file(group("inplace", [[64]], inplace=True)))
        args = ["profile", "--cases", "inplace.json", *QUICK, "--json", "--steps"]
        both = self.expect(0, *args, "forward", "inplace").json["calls"]
        self.assertEqual([call["name"] for call in both], ["add", "add_inp"])
        self.assertEqual([call["phase"] for call in self.expect(0, *args, "inplace").json["calls"]], ["inplace"])
        self.expect(2, *args, "sideways", err="--steps")

    def test_raw_samples_stay_in_the_run_folder(self):
        calls = self.calls("--run", "there")
        with h5py.File(self.folder / "there/profile.h5") as file:
            self.assertEqual(file.attrs["diopi_profile"], 1)
            about = json.loads(bytes(file["profile"][()]))
            seconds, passes = file["samples/cpu"][()], file["samples/pass"][()]
            crowding = file["samples/crowding"][()]
        self.assertEqual(len(about["calls"]), len(calls))
        for stored, call in zip(about["calls"], calls, strict=True):
            own = slice(stored["first"], stored["first"] + stored["samples"])
            self.assertEqual(stored["samples"], call["samples"] + call["discarded"])
            quiet = seconds[own][crowding[own] <= 1.08]
            self.assertAlmostEqual((quiet if len(quiet) else seconds[own]).min(), call["min_s"])
            self.assertTrue((np.diff(passes[own]) >= 0).all())

    def test_a_call_that_became_slower_is_named_and_fails(self):
        args = ["profile", "--cases", "mine.json", "--max-time", "0.05", "--no-roofs"]
        self.expect(0, *args, "--run", "old")
        slower = self.plant_times("old", 1e-6)
        run = self.expect(1, *args, "--baseline", "old", "--json")
        verdicts = {call["case"]: call["baseline"] for call in run.json["calls"]}
        self.assertEqual(verdicts[slower]["verdict"], "SLOWER")
        self.assertGreater(verdicts[slower]["low"], 1.02)
        self.assertEqual(run.json["baseline"]["compared"], 6)
        self.assertGreaterEqual(run.json["baseline"]["slower"], 1)
        table = self.expect(1, *args, "--baseline", "old", "--group-by", "call")
        self.assertIn("SLOWER", table.out)
        self.assertIn("Against the baseline: 6 calls: ", table.out)

    def test_a_call_that_became_faster_does_not_fail(self):
        args = ["profile", "--cases", "mine.json", "--max-time", "0.05", "--no-roofs", "--fname", "mul"]
        self.expect(0, *args, "--run", "old")
        self.plant_times("old", 1e6)
        run = self.diopi(*args, "--baseline", "old", "--json")
        self.assertEqual(run.json["calls"][0]["baseline"]["verdict"], "FASTER")

    def test_baselines_that_cannot_serve(self):
        self.profile("--baseline", "none", code=2, err=["--baseline", "none/profile.h5", "--run none"])
        self.profile("--run", "hot")
        run = self.profile("--baseline", "hot", "--mode", "cold", "--fname", "add", faults=f"segv@{allocated(64)}",
                           code=2, err="--mode hot")
        self.assertNotIn("SIGSEGV", run.err)  # it was refused before anything was measured
        (self.folder / "hot/profile.h5").write_bytes(b"no")
        self.profile("--baseline", "hot", code=2, err="is not an HDF5 file")

    def test_another_implementation_is_measured_by_turns(self):
        run = self.profile("--against", "reference", "--json", "--csv", "all.csv")
        self.assertEqual((run.json["backend"], run.json["against"]["backend"]), ("cpu", "reference"))
        self.assertEqual(run.json["against"]["compared"], 6)
        self.assertGreater(run.json["against"]["empty_call_s"], 0)
        for call in run.json["calls"]:
            self.assertGreater(call["against"]["median_s"], 0)
            self.assertIn(call["against"]["verdict"], ("FASTER", "SAME", "SLOWER", "AMBIGUOUS"))
        with open(self.folder / "all.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["case"] for row in rows], [call["case"] for call in run.json["calls"]])
        self.assertEqual([float(row["ratio"]) for row in rows],
                         [call["against"]["ratio"] for call in run.json["calls"]])
        table = self.profile("add", "--against", "reference", "--sort-by", "ratio")
        self.assertRegex(table.out, r"Against reference: 3 calls: \d+ SLOWER, \d+ FASTER, \d+ SAME, \d+ AMBIGUOUS\n")
        self.assertRegex(table.out, r"Launch \(a call on one element\): cpu [\d.]+us, reference [\d.]+us\n")
        self.assertRegex(table.out, r"Geometric mean of the ratios: [\d.]+, so cpu is [\d.]+ times as fast as reference\n")

    def test_a_replay_against_another_implementation(self):
        run = self.expect(0, "profile", "--capture", "resnet18", "--only-forward", "--run-times", "1", "--no-roofs",
                          "--against", "cpu", "--json", timeout=600)
        self.assertGreater(run.json["against"]["compared"], 50)
        self.assertEqual(run.json["against"]["only_here"], 0)
        ratios = [call["against"]["ratio"] for call in run.json["calls"]]
        self.assertEqual(len(ratios), run.json["against"]["compared"])
        self.assertAlmostEqual(run.json["against"]["geometric_mean"], float(np.exp(np.mean(np.log(ratios)))))

    def test_a_replay_says_which_implementation_is_slower(self):
        # In this build relu of cpu takes 1 ms more.
        fill = {"kind": "normal", "dtype": "float32", "mean": 0.0, "std": 1.0}
        self.write("relu.json", {
            "diopi_capture": 1, "name": "relu",
            "storages": {"s0": {"nbytes": 64, "fill": fill}, "s1": {"nbytes": 64}},
            "tensors": {f"t{i}": {"storage": f"s{i}", "dtype": "float32", "shape": [16], "strides": [1], "offset": 0}
                        for i in range(2)},
            "calls": [{"overload": "relu", "phase": "forward", "forward_id": 0, "layer": "", "function": "diopiRelu",
                       "args": {"out": "t1", "input": "t0"}}]})
        for own, other in (("cpu", "reference"), ("reference", "cpu")):
            with unittest.mock.patch.object(program, "BINARY", FAULTY):
                run = self.expect(0, "profile", "--capture", "relu.json", "--run-times", "3", "--no-roofs", "--impl", own,
                                  "--against", other, "--json", env={"DIOPI_TEST_RELU": "slow"})
            self.assertEqual((run.json["backend"], run.json["against"]["backend"]), (own, other))
            self.assertEqual(run.json["against"]["geometric_mean"] > 1, own == "cpu", run.json["against"])

    def test_what_against_cannot_do(self):
        self.profile("--against", "nobody", code=2, err="nobody")
        self.profile("--against", "reference", "--baseline", "old", code=2, err="--baseline")
        self.profile("--against", "reference", "--schedule", "active=1", code=2, err="--schedule")
        self.profile("--against", "reference", "--impl", "sim", code=2, err="simulated")

    def test_a_schedule_records_its_iterations(self):
        calls = self.calls("--schedule", "skip_first=1,wait=1,warmup=1,active=3,repeat=2", "--fname", "add")
        for call in calls:
            self.assertEqual(call["samples"] + call["discarded"], 6)
            self.assertEqual(call["warmup"], 2)
        self.profile("--schedule", "activ=3", code=2, err="did you mean 'active'")

    def test_as_many_passes_as_requested(self):
        run = self.profile("--passes", "3", "--fname", "add", "--run", "three")
        # A crowded machine may need up to twice as many.
        self.assertRegex(run.out, ", hot, [3-6] passes\n")
        with h5py.File(self.folder / "three/profile.h5") as file:
            passes = set(file["samples/pass"][()])
        self.assertLessEqual({0, 1, 2}, passes)
        self.assertLess(max(passes), 6)
        self.assertRegex(self.profile("--passes", "1", "--fname", "add").out, ", hot, (1 pass|2 passes)\n")
        for wrong in ("0", "-1", "10001", "few"):
            self.profile("--passes", wrong, code=2, err="--passes")
        self.profile("--passes", "2", "--schedule", "active=3", code=2, err=["--schedule", "--passes"])
        self.profile("--passes", "2", "--capture", "resnet18", code=2, err=["--capture", "--passes"])

    def test_a_run_is_brief_where_no_option_says_how_long_to_measure(self):
        """Passes are left out then where time is short (profile_test.cpp), and the table says why sampling ended."""
        args = ["profile", "add", "--shape", "64", "64", "--no-roofs"]
        run = self.expect(0, *args)
        self.assertIn("Stop", self.titles(run))
        self.assertRegex(run.out, r"(converged|noise plateau|time limit)")
        limited = run.out.count("time limit  ")
        passes = int(re.search(r", hot, (\d+) pass", run.out)[1])
        if limited or passes < 20:
            self.assertRegex(run.out, r"\nCut to 25 s: .*--passes 20 measures in full, --max-time S longer per call\n")
        for more in (["--passes", "2", "--max-time", "0.01"], ["--max-time", "0.002"], ["--schedule", "active=2"]):
            with self.subTest(more=more):
                run = self.expect(0, *args, *more)
                self.assertNotIn("Stop", self.titles(run))
                self.assertNotIn("Cut to", run.out)

    def test_a_baseline_of_few_passes_is_warned_about(self):
        self.profile("--passes", "2", "--fname", "add", "--run", "few")
        text = r"the baseline has [2-4] passes, and few passes show only large changes; .* --run few"
        self.assertRegex(self.diopi("profile", "--cases", "mine.json", *QUICK, "--fname", "add", "--baseline", "few").err,
                         text)
        self.assertNotRegex(self.diopi("profile", "--cases", "mine.json", *QUICK, "--fname", "add", "--passes", "2",
                                       "--baseline", "few").err, text)

    def test_a_trace_has_an_event_for_each_sample(self):
        calls = self.calls("--trace", "out/trace.json")
        trace = json.loads((self.folder / "out/trace.json").read_text())
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(len(slices), sum(call["samples"] + call["discarded"] for call in calls))
        self.assertEqual({event["name"] for event in slices}, {"add", "mul"})
        for event in slices:
            self.assertGreaterEqual(event["ts"], 0)
            self.assertGreater(event["dur"], 0)
        self.profile("--trace", ".", code=2, err="is a folder")

    def test_layers_of_a_capture_are_rows_and_slices(self):
        capture = SOURCE / "cases/captures/resnet18.json"
        args = ["profile", "--capture", capture, "--run-times", "1", "--no-roofs", "--group-by", "layer"]
        run = self.expect(0, *args, "--json", "--trace", "trace.json").json
        layers = {layer["name"]: layer for layer in run["layers"]}
        calls = [call for call in run["calls"] if "function" in call]
        self.assertEqual([layers["layer1"]["depth"], layers["layer1.0.conv1"]["depth"]], [1, 3])
        self.assertEqual(layers["layer1"]["calls"], sum(call.get("layer", "").startswith("layer1.") for call in calls))
        whole = next(call["median_s"] for call in run["calls"] if "function" not in call)
        self.assertAlmostEqual(sum(layer["self_cpu_s"] for layer in run["layers"]), whole)
        self.assertAlmostEqual(layers["layer1"]["total_cpu_s"], sum(
            layer["self_cpu_s"] for name, layer in layers.items() if f"{name}.".startswith("layer1.")))
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual([event["name"] for event in slices if event["cat"] == "phase"],
                         ["forward", "backward", "optimizer"])
        self.assertLessEqual({layer for layer in layers if layer.startswith("layer")},
                             {event["args"].get("layer") for event in slices if event["cat"] == "layer"})
        self.assertEqual(sum(event["cat"].startswith("call") for event in slices), len(calls) + 1)
        self.assertGreater(sum(event["name"] == "forward to backward" for event in events if event["ph"] == "s"), 50)
        table = self.expect(0, *args, "--row-limit", "8").out.splitlines()
        self.assertTrue(table[3].startswith("resnet18 step "), table[3])
        # The slowest layer of the first level, whichever it is in one step on a busy machine.
        self.assertRegex(table[4], r"^  \S")
        self.assertEqual(layers[table[4].split()[0]]["depth"], 1, table[4])
        self.profile("--group-by", "layer", code=2, err="cases have no layers; give --capture FILE")

    def test_a_call_of_the_command_line(self):
        call = self.expect(0, "profile", "add", "--shape", "32x64", "64", "--dtype", "float16", *QUICK, "--json").json
        self.assertEqual(call["calls"][0]["shapes"], [[32, 64], [64]])
        self.assertEqual(call["calls"][0]["dtype"], "float16")
        self.expect(0, "profile", "softmax", "--shape", "8x8", "--param", "dim=1", *QUICK)
        self.expect(0, "profile", "max_pool2d", "--shape", "1x2x8x8", "--param", "kernel_size=[2,2]", *QUICK)

    def test_invalid_calls(self):
        for args, text in [
            (["--shape", "4", "4"], "needs the name of an operator"),
            (["add", "--shape", "4"], "needs the argument 'other'"),
            (["add", "--shape", "4", "4", "4"], "takes 3 tensors; there are: diopiAdd(input, other)"),
            (["add", "--shape", "4", "5"], "do not broadcast"),
            (["add", "--shape", "4xx", "5"], "'4xx' is no shape; write 32x64x128"),
            (["ad", "--shape", "4", "4"], "did you mean 'add'"),
            (["add", "--shape", "4", "4", "--dtype", "float3"], "did you mean 'float32'"),
            (["softmax", "--shape", "4x4"], "'dim'"),
            (["softmax", "--shape", "4x4", "--param", "dim"], "NAME=VALUE"),
            (["softmax", "--shape", "4x4", "--param", 'dim={"a": 1}'], "expected a number, a text"),
            (["nll_loss", "--shape", "4x4", "4"], "write a case file"),
            (["--dtype", "float16"], "--shape"),
        ]:
            with self.subTest(args=args):
                self.expect(2, "profile", *args, err=text)

    def test_cold_calls_are_slower(self):
        # With two threads each call waits for a core where other processes have them: up to 12 ms were seen.
        one_thread = {"OMP_NUM_THREADS": "1"}
        shape = ["--shape", "65536", "65536", "--max-time", "0.1", "--passes", "3", "--no-roofs", "--json"]
        [hot] = self.expect(0, "profile", "add", *shape, env=one_thread).json["calls"]
        [cold] = self.expect(0, "profile", "add", *shape, "--mode", "cold", env=one_thread).json["calls"]
        self.assertGreater(cold["min_s"], 1.2 * hot["min_s"])


if __name__ == "__main__":
    unittest.main()
