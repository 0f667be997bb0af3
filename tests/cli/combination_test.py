"""Several tools in one run: each gives the same result as alone, and can read the output of another."""
import csv
import io
import json
import os
import pathlib
import re
import sys
import unittest
import unittest.mock

import program
from program import ProgramTest

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: this Python has no {missing.name}")
    sys.exit(77)

# another build of the program, with a relu whose last element is wrong by 1
FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))
NUMEL = 1000
OVERLOADS = ["mul.Tensor", "relu", "log", "add.Tensor"]


def capture():
    """b = a * a, c = relu(b), d = log(c), e = a + 0.3 d, which the cpu and the reference round differently."""
    ids = "abcde"
    storages = {f"s{i}": {"nbytes": 4 * NUMEL} for i in ids}
    storages["sa"]["fill"] = {"kind": "uniform", "dtype": "float32", "low": 0.5, "high": 2.0}
    tensors = {i: {"storage": f"s{i}", "dtype": "float32", "shape": [NUMEL], "strides": [1], "offset": 0} for i in ids}

    def call(overload, function, layer, **args):
        return {"overload": overload, "phase": "forward", "layer": layer, "function": function, "args": args}

    calls = [call("mul.Tensor", "diopiMul", "body.square", out="b", input="a", other="a"),
             call("relu", "diopiRelu", "body.act", out="c", input="b"),
             call("log", "diopiLog", "head", out="d", input="c"),
             call("add.Tensor", "diopiAdd", "head", out="e", input="a", other="d",
                  alpha={"dtype": "float64", "value": 0.3})]
    for number, each in enumerate(calls):
        each["forward_id"] = number
    return {"diopi_capture": 1, "name": "four", "storages": storages, "tensors": tensors, "calls": calls}


class CombinationTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("four.json", capture())

    def faulty(self, *args, fault="wrong", **how):
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            return self.expect(*args, env={"DIOPI_TEST_RELU": fault}, **how)

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def recorded(self, name):
        return [call["overload"] for call in self.read(name)["calls"]]

    def outputs(self, name):
        """The results of each call, from the file of values."""
        with h5py.File(self.folder / name) as file:
            return [file[f"calls/{number}/out"][()] for number in range(len(OVERLOADS))]

    def same(self, one, other, *args, code=0):
        """The tensors that differ between two recordings."""
        run = self.expect(code, "compare", "--capture", one, "--with", other, "--json", *args).json
        self.assertEqual((len(run["tensors"]), run["alone"], run["not_compared"]), (len(OVERLOADS), 0, 0))
        return [row["name"] for row in run["tensors"] if not row["allclose"]]


class CompareTest(CombinationTest):
    ALL = ["--ulp", "--dump", "2", "--overflow", "--debug-level", "1", "--csv", "rows.csv", "--save-failures", "saved",
           "--record", "kept.json", "--record-values"]

    def check_all(self, run):
        """The output of each tool; the library has a wrong relu."""
        self.assertEqual([row["name"] for row in run.json["tensors"] if not row["allclose"]], ["relu"])
        self.assertEqual(sum(sum(row["ulp"]) for row in run.json["tensors"] if "ulp" in row), len(OVERLOADS) * NUMEL)
        self.assertEqual(re.findall(r"^\[dump \d\] (\S+) ", run.err, re.MULTILINE), OVERLOADS)
        self.assertEqual(re.findall(r"^\[overflow\] (\S+) out float32\[1000\]: inf_or_nan: 0, ", run.err, re.MULTILINE),
                         OVERLOADS)
        rows = list(csv.DictReader(io.StringIO((self.folder / "rows.csv").read_text())))
        self.assertEqual([row["name"] for row in rows if row["allclose"] == "False"], ["relu"])
        self.assertEqual(os.listdir(self.folder / "saved"), ["call-1.h5"])
        self.assertIn("diopi: recorded 4 calls in kept.json", run.err)
        self.assertEqual(self.recorded("kept.json"), OVERLOADS)
        with h5py.File(self.folder / "saved/call-1.h5") as file:
            np.testing.assert_array_equal(file["actual/out"][()], self.outputs("kept.h5")[1])

    def test_every_tool_in_one_run(self):
        self.check_all(self.faulty(1, "compare", "--capture", "four.json", "--json", *self.ALL))

    def test_every_tool_on_a_simulated_device(self):
        self.write("chip.json", {"name": "chip", "operators": ["mul", "relu", "add", "log"]})
        chip = ["--impl", "sim", "--sim-config", "chip.json"]
        run = self.faulty(1, "compare", "--capture", "four.json", "--json", *chip, *self.ALL)
        self.assertEqual(run.json["backend"], "chip")
        self.check_all(run)

    def test_calls_that_the_device_lacks_are_dumped_and_recorded_and_not_compared(self):
        self.write("chip.json", {"name": "chip", "except": ["log"]})
        chip = ["--impl", "sim", "--sim-config", "chip.json"]
        run = self.expect(0, "compare", "--capture", "four.json", "--json", *chip, "--dump", "1", "--overflow",
                          "--record", "kept.json")
        self.assertEqual(run.json["not_compared"], 1)
        self.assertEqual({row["overload"] for row in run.json["tensors"]}, set(OVERLOADS))
        self.assertEqual(re.findall(r"^\[dump \d\] (\S+) ", run.err, re.MULTILINE), OVERLOADS)

    def test_dump_and_overflow_print_each_call_in_turn(self):
        content = capture()
        content["storages"]["sa"]["fill"] = {"kind": "constant", "dtype": "float32", "value": 3e38}
        self.write("four.json", content)
        run = self.expect(0, "compare", "--capture", "four.json", "--quiet", "--dump", "1", "--overflow", "--record",
                          "kept.json", "--record-values")
        lines = [line.split()[:3] for line in run.err.splitlines() if line.startswith("[")]
        self.assertEqual([line[0] for line in lines], ["[dump", "[overflow]"] * 4)
        self.assertTrue(np.isinf(self.outputs("kept.h5")[3]).all())
        self.assertEqual(self.same("kept.json", "kept.json"), [])

    def test_another_dtype_changes_what_is_compared_and_not_what_is_recorded(self):
        record = ["--record-values", "--record"]
        self.expect(0, "compare", "--capture", "four.json", *record, "plain.json")
        run = self.expect(0, "compare", "--capture", "four.json", "--against", "cpu", "--against-dtype", "float64",
                          "--ulp", "--dump", "1", "--json", *record, "kept.json")
        self.assertEqual({row["cast"] for row in run.json["tensors"]}, {"float32 and float64 as float64"})
        for one, other in zip(self.outputs("plain.h5"), self.outputs("kept.h5"), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_a_recording_compared_with_itself_and_with_that_of_another_library(self):
        record = ["compare", "--capture", "four.json", "--record-values", "--record"]
        self.expect(0, *record, "good.json")
        self.faulty(1, *record, "bad.json")
        self.assertEqual(self.same("good.json", "good.json", "--tolerance", "0"), [])
        self.assertEqual(self.same("good.json", "bad.json", code=1), ["relu", "log", "add.Tensor"])
        self.expect(0, "compare", "--capture", "good.json", "--record-values", "--record", "again.json")
        self.assertEqual(self.same("good.json", "again.json", "--tolerance", "0"), [])


class FallbackTest(CombinationTest):
    def simulate(self, *args, code=0, **how):
        return self.expect(code, "fallback-sim", "--capture", "four.json", *args, **how)

    def test_fallback_timing_and_recording(self):
        device = {"name": "chip", "copy": {"latency_us": 100}, "kernel": {"launch_us": 50}, "except": ["log"]}
        self.write("chip.json", device)
        run = self.simulate("--sim-config", "chip.json", "--ops", "mul", "--run-times", "2", "--json", "--record",
                            "kept.json", "--record-values")
        rows = {row["overload"]: row for row in run.json["fallback"]}
        self.assertEqual({name: row["why"] for name, row in rows.items()},
                         {"mul.Tensor": "forced", "log": "not implemented"})
        self.assertGreaterEqual(rows["mul.Tensor"]["in"]["seconds"], 100e-6)
        self.assertGreaterEqual(rows["mul.Tensor"]["device_s"], 50e-6)
        self.assertGreater(run.json["step_with_fallback_s"], run.json["step_s"])
        self.assertEqual(self.recorded("kept.json"), OVERLOADS)
        # A call that fell back by itself is recorded with the values of the other side.
        self.expect(0, "compare", "--capture", "four.json", "--record", "plain.json", "--record-values")
        self.assertEqual(self.same("plain.json", "kept.json", "--tolerance", "0"), [])

    def test_lines_and_a_recording(self):
        run = self.simulate("--ops", "log", "--format", "seed", "--record", "kept.json",
                            err="diopi: recorded 4 calls in kept.json")
        self.assertEqual([line.split()[:2] for line in run.out.splitlines()],
                         [["force", "fallback"], ["OpFallbackHook:", "log"]])
        self.assertEqual(self.recorded("kept.json"), OVERLOADS)

    def test_a_recording_of_a_fault_is_bisected(self):
        """One tool compares the faulty library with values that another tool kept."""
        self.expect(0, "compare", "--capture", "four.json", "--record", "kept.json", "--record-values")
        args = ["fallback-sim", "--capture", "kept.json", "--impl", "cpu", "--to", "reference"]
        blamed = self.faulty(1, *args, "--bisect", "--quiet", "--json").json
        self.assertEqual([function["function"] for function in blamed["functions"]], ["diopiRelu"])
        self.assertEqual([call["call"] for call in blamed["calls"]], [1])
        self.faulty(0, *args, "--ops", "relu")

    def test_bisect_records_nothing(self):
        self.simulate("--bisect", "--record", "kept.json", code=2, err="--bisect replays many times")
        self.assertFalse((self.folder / "kept.json").exists())


class ProfileTest(CombinationTest):
    ALL = ["--run-times", "2", "--acc-check", "--trace", "trace.json", "--record", "kept.json", "--record-values",
           "--profile-memory", "--no-roofs", "--run", "run"]

    def check_all(self, run):
        calls = [call for call in run.json["calls"] if "function" in call]
        self.assertEqual([call["name"] for call in calls], OVERLOADS)
        self.assertEqual({call["samples"] for call in calls}, {2})
        self.assertEqual([call["allocated_bytes"] for call in calls], [4 * NUMEL] * 4)
        events = self.read("trace.json")["traceEvents"]
        on_host = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
        names = [event["name"] for event in on_host if event["cat"].startswith("call") and event["args"]["function"]]
        self.assertEqual(names, OVERLOADS * 2)
        self.assertEqual([event["name"] for event in on_host if event["cat"] == "layer"],
                         ["body", "square", "act", "head"] * 2)
        self.assertEqual(self.recorded("kept.json"), OVERLOADS)
        with h5py.File(self.folder / "run/profile.h5") as file:
            self.assertEqual(len(file["samples/cpu"]), 2 * (len(OVERLOADS) + 1))
        return events

    def test_every_tool_in_one_run(self):
        run = self.expect(0, "profile", "--capture", "four.json", "--json", *self.ALL)
        self.assertIn("acc-check: 0 of 10 tensors differ from the reference\n", run.err)
        self.check_all(run)
        self.assertEqual(self.same("kept.json", "kept.json", "--tolerance", "0"), [])

    def test_a_wrong_answer_fails_the_check_and_stops_no_other_tool(self):
        run = self.faulty(1, "profile", "--capture", "four.json", "--json", *self.ALL)
        self.assertRegex(run.err, r"acc-check: call 1: relu: 1 of 1000 elements differ: ")
        self.check_all(run)
        self.expect(0, "compare", "--capture", "four.json", "--record", "good.json", "--record-values")
        self.assertEqual(self.same("good.json", "kept.json", code=1)[0], "relu")

    def test_every_tool_on_a_simulated_device(self):
        run = self.expect(0, "profile", "--capture", "four.json", "--json", "--impl", "sim", *self.ALL)
        events = self.check_all(run)
        on_device = [event["name"] for event in events if event["ph"] == "X" and event["pid"] == 2]
        self.assertEqual(on_device, OVERLOADS * 2)

    def test_tables_by_layer_with_memory_a_baseline_and_lines(self):
        args = ["profile", "--capture", "four.json", "--no-roofs"]
        self.expect(0, *args, "--run-times", "3", "--run", "old")
        run = self.diopi(*args, "--run-times", "3", "--baseline", "old", "--group-by", "layer", "--profile-memory",
                         "--trace", "trace.json", "--record", "kept.json", "--acc-check", env={"COLUMNS": "200"})
        self.assertIn(run.code, (0, 1), str(run))
        self.assertIn("Against the baseline: 5 calls: ", run.out)
        for layer in ("four step", "  body", "    body.square", "    body.act", "  head"):
            self.assertRegex(run.out, rf"\n{layer} .*(SAME|FASTER|SLOWER|AMBIGUOUS)")
        self.assertEqual(self.recorded("kept.json"), OVERLOADS)
        self.assertIn("traceEvents", self.read("trace.json"))
        lines = self.expect(0, *args, "--run-times", "1", "--format", "seed", "--acc-check", "--record", "kept.json")
        self.assertEqual([line.split()[1] for line in lines.out.splitlines()], OVERLOADS)

    def test_only_the_forward_pass(self):
        content = capture()
        content["calls"][3]["phase"] = "backward"
        self.write("four.json", content)
        run = self.expect(0, "profile", "--capture", "four.json", "--json", "--only-forward", *self.ALL)
        self.assertIn("acc-check: 0 of 7 tensors differ", run.err)
        self.assertEqual(self.recorded("kept.json"), OVERLOADS[:3])
        names = [event["name"] for event in self.read("trace.json")["traceEvents"] if event["ph"] == "X"]
        self.assertNotIn("add.Tensor", names)

    def test_a_schedule_records_its_first_iteration_and_traces_the_active_ones(self):
        args = [arg for arg in self.ALL if arg not in ("--run-times", "2")]
        run = self.expect(0, "profile", "--capture", "four.json", "--json", *args, "--schedule",
                          "skip_first=1,wait=1,warmup=1,active=2,repeat=1")
        self.check_all(run)


if __name__ == "__main__":
    unittest.main()
