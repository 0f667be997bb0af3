"""diopi fallback-sim: tables, JSON, the lines that users know, variables, refused input, --bisect."""
import json
import re
import unittest

from program import SOURCE, ProgramTest

NUMEL = 1000


def capture():
    """b = a * a, c = sqrt(b), d = a + 0.3 c. The reference rounds only the last one differently from the cpu."""
    ids = "abcd"
    storages = {f"s{i}": {"nbytes": 4 * NUMEL} for i in ids}
    storages["sa"]["fill"] = {"kind": "uniform", "dtype": "float32", "low": 0.5, "high": 2.0}
    tensors = {i: {"storage": f"s{i}", "dtype": "float32", "shape": [NUMEL], "strides": [1], "offset": 0} for i in ids}
    calls = [
        {"overload": "mul.Tensor", "function": "diopiMul", "args": {"out": "b", "input": "a", "other": "a"}},
        {"overload": "sqrt", "function": "diopiSqrt", "args": {"out": "c", "input": "b"}},
        {"overload": "add.Tensor", "layer": "last", "source": "model.py:7", "function": "diopiAdd",
         "args": {"out": "d", "input": "a", "other": "c", "alpha": {"dtype": "float64", "value": 0.3}}},
    ]
    return {"diopi_capture": 1, "name": "three", "storages": storages, "tensors": tensors, "calls": calls}


def masked(text):
    text = re.sub(r" *\d+\.\d{3}ms", " <time>", text)
    return re.sub(r"\(\d+\.\d\d times\)", "(<ratio> times)", text)


class FallbackTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("three.json", capture())

    def simulate(self, *args, code=0, **how):
        return self.expect(code, "fallback-sim", "--capture", "three.json", *args, **how)

    def rows(self, *args, **how):
        return {row["overload"]: row for row in self.simulate("--json", *args, **how).json["fallback"]}

    def config(self, **device):
        self.write("chip.json", device)
        return ["--sim-config", "chip.json"]

    def test_table(self):
        run = self.simulate("--ops", "sqrt, mul.Tensor")
        lines = masked(run.out).splitlines()
        self.assertEqual(lines[0].split(), "Operator Function Why Calls Copies in out Bytes Copying On sim On cpu".split())
        rows = [re.sub(" +", " ", line) for line in lines[2:4]]
        self.assertEqual(sorted(rows), ["mul.Tensor diopiMul forced 1 1 1 8000 B <time> <time> <time>",
                                        "sqrt diopiSqrt forced 1 1 1 8000 B <time> <time> <time>"])
        self.assertEqual(lines[4:], [
            "2 of 3 calls fall back to cpu.",
            "A step on sim takes <time>, with the listed operators on cpu <time> (<ratio> times).",
            "The one result does not change."])

    def test_json_counts_copies_bytes_and_times(self):
        device = self.config(copy={"latency_us": 100, "gigabytes_per_second": 0.01}, kernel={"launch_us": 70})
        answer = self.simulate("--json", "--ops", "add", *device).json
        self.assertEqual((answer["calls"], answer["results"], answer["changed"]), (3, 1, []))
        self.assertEqual((answer["missing"], answer["unmatched"]), ({}, []))
        (row,) = answer["fallback"]
        self.assertEqual((row["overload"], row["function"], row["why"], row["calls"]),
                         ("add.Tensor", "diopiAdd", "forced", 1))
        self.assertEqual((row["in"]["copies"], row["in"]["bytes"]), (2, 8000))
        self.assertEqual((row["out"]["copies"], row["out"]["bytes"]), (1, 4000))
        self.assertAlmostEqual(row["in"]["seconds"], 2 * (100e-6 + 4000 / 0.01e9))
        self.assertGreaterEqual(row["device_s"], 70e-6)
        self.assertGreater(row["other_s"], 0)
        copies = row["in"]["seconds"] + row["out"]["seconds"]
        self.assertGreater(answer["step_with_fallback_s"], copies + 2 * 70e-6)
        self.assertEqual((answer["waited_s"], answer["waited_with_fallback_s"]), (0, 0))

    def test_lines_as_users_know_them(self):
        lines = self.simulate("--ops", "sqrt", "--format", "seed").out.splitlines()
        tensor = "{{shape: (1000,), dtype: float32, device: {}}}"
        self.assertEqual(lines, [
            "force fallback has been set, sqrt will be fallback to cpu",
            f"OpFallbackHook: {'sqrt':<50} input: {tensor.format('device')} output: {tensor.format('device')} "
            f"cpu output: {tensor.format('cpu')}"])
        lines = self.simulate("--except", "sqrt,mul", "--format", "seed").out.splitlines()
        self.assertEqual(lines[:3], ["skip OpFallbackHook on mul.Tensor", "skip OpFallbackHook on sqrt",
                                     "force fallback has been set, add.Tensor will be fallback to cpu"])
        device = self.config(**{"except": ["sqrt"]})
        lines = self.simulate("--format", "seed", *device).out.splitlines()
        self.assertEqual([line.split()[:2] for line in lines], [["OpFallbackHook:", "sqrt"]])

    def test_names_are_matched_whole(self):
        self.assertEqual(set(self.rows("--ops", "mul")), {"mul.Tensor"})
        self.assertEqual(set(self.rows("--ops", "diopiSqrt")), {"sqrt"})
        self.assertEqual(set(self.rows("--ops", r" .*\.Tensor , sqrt")), {"mul.Tensor", "sqrt", "add.Tensor"})
        self.assertEqual(set(self.rows("--ops", "lo|dd")), set())
        self.assertEqual(set(self.rows("--except", "add")), {"mul.Tensor", "sqrt"})
        self.assertEqual(set(self.rows("--ops", ".*", "--except", "add")), {"mul.Tensor", "sqrt"})
        self.assertEqual(set(self.rows()), set())

    def test_variables_apply_without_an_option(self):
        both = {"DIPU_FORCE_FALLBACK_OPS_LIST": "sqrt", "OP_FALLBACK_LIST": "mul"}
        self.assertEqual(set(self.rows(env=both)), {"sqrt"})
        self.assertEqual(set(self.rows(env={"OP_FALLBACK_LIST": "mul"})), {"mul.Tensor"})
        self.assertEqual(set(self.rows(env={"OP_FALLBACK_DISABLE_LIST": "mul"})), {"sqrt", "add.Tensor"})
        self.assertEqual(set(self.rows("--ops", "add", env=both)), {"add.Tensor"})
        self.assertEqual(set(self.rows("--except", "add", env=both)), {"mul.Tensor", "sqrt"})
        self.simulate(env={"OP_FALLBACK_LIST": "("}, code=2, err="OP_FALLBACK_LIST: '(' is no regular expression")

    def test_an_item_that_matches_nothing_is_a_warning(self):
        run = self.simulate("--ops", "sqrt,mull", err="'mull' matches no call of three (did you mean 'mul'")
        self.assertNotIn("mull", run.out)
        self.assertEqual(self.simulate("--ops", "sqrt,mull", "--json").json["unmatched"], ["mull"])

    def test_calls_that_the_device_lacks_or_declines_fall_back(self):
        lacks = self.rows(*self.config(operators=["mul", "add"]))
        self.assertEqual([(row["overload"], row["why"]) for row in lacks.values()], [("sqrt", "not implemented")])
        self.assertEqual(lacks["sqrt"]["device_s"], 0)
        declines = self.rows(*self.config(dtypes=["float64"]))
        self.assertEqual({row["why"] for row in declines.values()}, {"declined"})
        run = self.simulate(*self.config(name="chip", operators=["add"]), out="\nA step on chip takes ")
        self.assertNotIn("listed operators", run.out)

    def test_results_that_change_are_named(self):
        run = self.simulate("--impl", "cpu", "--to", "reference", "--ops", "add",
                            out="1 of 1 results change, 0 of them beyond the tolerance")
        self.assertRegex(run.out, r"\nd +\d\.\d+e-0\d ")
        self.simulate("--impl", "cpu", "--to", "reference", "--ops", "add", "--tolerance", "0",
                      out="1 of 1 results change, 1 of them beyond the tolerance")

    def test_waiting_takes_as_long_as_predicted(self):
        device = self.config(copy={"latency_us": 20000})
        waited = self.simulate("--json", "--ops", "sqrt", "--wait", *device).json
        self.assertGreaterEqual(waited["step_with_fallback_s"], 0.04)
        self.assertGreaterEqual(waited["waited_with_fallback_s"], 0.04)
        self.assertLess(waited["waited_s"], 0.04)
        run = self.simulate("--ops", "sqrt", "--wait", *device)
        share = re.search(r"The elapsed time is .*ms: .*% and (.*)% of it were predicted\.\n", run.out)
        self.assertGreater(float(share.group(1)), 50, str(run))
        self.assertLess(float(share.group(1)), 101, str(run))

    def test_refused_options(self):
        for args, message in [
            (["--ops", "("], "--ops: '(' is no regular expression"),
            (["--impl", "cpu", "--wait"], "--sim-config and --wait describe the device of --impl sim"),
            (["--impl", "simm"], "no backend is called 'simm'; there are: cpu, cuda, cuda+tf32, reference, and sim"),
            (["--to", "sim"], "no backend is called 'sim'; there are: cpu, cuda, cuda+tf32, reference"),
            (["--bisect", "--ops", "sqrt"], "--bisect chooses the operators itself"),
            (["--bisect", "--format", "seed"], "--bisect has no lines in the seed's format"),
            (["--repeats", "2"], "--repeats and --call-replays belong to --bisect"),
            (["--run-times", "0"], "--run-times"),
            (["--tolerance", "-1"], "--tolerance: Value -1 not in range 0"),
        ]:
            self.simulate(*args, code=2, err=message)
        self.expect(2, "fallback-sim", err="nothing to run")
        self.expect(2, "fallback-sim", "--model", "resnet81", err="did you mean 'resnet18'")

    def test_device_files_that_are_refused(self):
        for device, message in [
            ({"kernel": {"launch": 1}}, "chip.json:1: /kernel/launch: unknown key 'launch' (did you mean 'launch_us'?)"),
            ({"kernel": {"slowdown": 0.5}}, "is not faster than it; expected 1 or more"),
            ({"copy": {"gigabytes_per_second": 0}}, "expected a number above 0"),
            ({"operators": ["a,b"]}, "a comma separates operators"),
            ({"operators": [""]}, "an empty text names no operator"),
            ({"name": ""}, "the name of the device is empty"),
            ({"operators": ["("]}, "is no regular expression"),
            ({"dtypes": ["float31"]}, "did you mean 'float32'"),
        ]:
            self.simulate(*self.config(**device), code=2, err=message)
        self.simulate("--sim-config", "none.json", code=2, err="none.json: the device file cannot be read")
        self.simulate(*self.config(operators=["mul", "plus"]), err="chip.json: 'plus' matches no function")

    def test_the_schema_file_describes_what_is_read(self):
        schema = json.loads((SOURCE / "cases/sim_config_schema.json").read_text())
        samples = {"$schema": "x", "name": "chip", "memory_gib": 1, "operators": ["add"], "except": ["mul"],
                   "dtypes": ["float32"], "layouts": ["contiguous"], "converts": True}
        for key in ("copy", "kernel"):
            samples[key] = {name: node["default"] for name, node in schema["properties"][key]["properties"].items()}
        self.assertEqual(sorted(samples), sorted(schema["properties"]))
        self.simulate(*self.config(**samples))

    def test_a_device_that_is_too_small_is_a_failure(self):
        small = self.config(memory_gib=1e-5)
        self.simulate(*small, code=1, err="sim is out of memory")
        self.simulate("--bisect", *small, code=1, err="the replay entirely on cpu fails, too")

    def test_bisect_finds_nothing_without_a_fault(self):
        run = self.simulate("--bisect", "--impl", "cpu", out="Nothing is wrong")
        self.assertIn("replay 1: 0 of 3 fall back: passes", run.err)
        answer = self.simulate("--bisect", "--quiet", "--json").json
        self.assertEqual((answer["end"], answer["flaky"], answer["functions"]), ("nothing wrong", False, []))

    def test_bisect_names_the_operator_and_the_call(self):
        subtle = ["--impl", "cpu", "--to", "reference", "--tolerance", "0", "--bisect"]
        run = self.simulate(*subtle, code=1)
        self.assertEqual(re.sub(r"d by \S+", "d by <gap>", run.out), """\
Without fallback: 1 of 1 results differ, d by <gap>
To blame:
  diopiAdd (add.Tensor), 1 call
  call 2: add.Tensor in last, model.py:7
14 replays over 3 functions and 1 call.
Repeat with the fallback: diopi fallback-sim --capture three.json --ops diopiAdd --impl cpu --to reference
""")
        answer = self.simulate(*subtle, "--json", code=1).json
        self.assertEqual(answer["functions"], [{"function": "diopiAdd", "overloads": ["add.Tensor"], "calls": 1}])
        self.assertEqual([call["call"] for call in answer["calls"]], [2])
        again = run.out.rpartition("diopi ")[2].split()
        self.expect(0, *again, out="1 of 3 calls fall back to reference.")


if __name__ == "__main__":
    unittest.main()
