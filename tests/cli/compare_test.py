"""diopi compare: formats, verdicts, tolerances, two captures, and refused input."""
import csv
import io
import os
import pathlib
import re
import unittest
import unittest.mock

import program
from program import ProgramTest, case_file, group

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

# A second build of the program, with a relu whose last element is wrong.
FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))

COLUMNS = ["forward_id", "name", "allclose", "cosine_similarity", "max_abs_diff", "max_relative_diff", "atol", "rtol",
           "error_info"]

needs_h5py = unittest.skipIf(h5py is None, "this Python has no h5py")


def call(overload, function, out, layer, **args):
    return {"overload": overload, "phase": "forward", "forward_id": int(out[1:]), "layer": layer,
            "function": function, "args": {"out": out, **args}}


def capture(name, calls):
    """A capture of calls on tensors of four floats, t0 and t1 the inputs."""
    tensors = sorted({f"t{i}" for i in range(2)} | {one["args"]["out"] for one in calls})
    fill = {"kind": "normal", "dtype": "float32", "mean": 0.0, "std": 1.0}
    return {"diopi_capture": 1, "name": name,
            "storages": {"s" + t[1:]: {"nbytes": 16, **({"fill": fill} if t in ("t0", "t1") else {})} for t in tensors},
            "tensors": {t: {"storage": "s" + t[1:], "dtype": "float32", "shape": [4], "strides": [1], "offset": 0}
                        for t in tensors},
            "calls": calls}


def add(out, one="t0", other="t1", layer="sum"):
    return call("add.Tensor", "diopiAdd", out, layer, input=one, other=other,
                alpha={"dtype": "float64", "value": 1.0})


def relu(out, of, layer="act"):
    return call("relu", "diopiRelu", out, layer, input=of)


MODEL = [add("t2"), relu("t3", "t2"), add("t4", "t3", "t0", "head")]


class CompareTest(ProgramTest):
    def compare(self, *args, code=0, **how):
        return self.expect(code, "compare", *args, **how)

    def test_a_device_that_stays_in_error_costs_its_case(self):
        self.write("faulty.json", case_file(group("faulty", [[64], [1000], [32]])))
        run = self.compare("--cases", "faulty.json", "--jobs", "1", code=1, faults=f"unusable@{program.allocated(1000)}",
                           err="stayed in error, its worker was replaced")
        self.assertEqual(re.findall(r"diopi: (ops/faulty\S+):", run.err), ["ops/faulty.add.1"])

    def faulty(self, *args, code=1, fault="wrong", **how):
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            return self.compare(*args, code=code, env={"DIOPI_TEST_RELU": fault, **how.pop("env", {})}, **how)

    def model(self, name="model", calls=MODEL):
        return self.write(f"{name}.json", capture(name, calls))

    def kept(self, name, calls=MODEL, values=None):
        """A capture with the values of its calls: 1, 2, 3, 4 or as `values` has them by call."""
        content = {**capture(name, calls), "values": f"{name}.h5"}
        with h5py.File(self.folder / f"{name}.h5", "w") as file:
            file.attrs.update({"diopi_format": 1, "diopi_capture": 1, "name": name, "calls": len(calls)})
            for i in range(len(calls)):
                file[f"calls/{i}/out"] = np.array((values or {}).get(i, [1, 2, 3, 4]), np.float32)
        return self.write(f"{name}.json", content)


class FormatTest(CompareTest):
    def test_a_correct_library_agrees_with_the_reference(self):
        self.write("mine.json", case_file(group("mine", [[4, 5]], dtypes=("float32", "int64"), inplace=True)))
        run = self.compare("--cases", "mine.json", "--ulp")
        self.assertRegex(run.out, r"^Operator +Calls +Tensors +Differ +Cosine +Max abs diff +Max rel diff +Closer")
        # out, input, other; in place input and other: of two dtypes.
        self.assertRegex(run.out, r"\nadd\.Tensor +4 +10 +0 +1\.000000 ")
        self.assertIn("4 calls on cpu and reference: 0 of 10 tensors differ.\n", run.out)
        self.assertRegex(run.out, r"\nErrors of all outputs in ulp, percent of the elements\nSide +<=0\.5 ")
        self.assertRegex(run.out, r"\nreference +100 ")

    def test_a_gradient_that_is_zero_up_to_rounding(self):
        """The gradient of softmax for an incoming gradient of ones."""
        softmax = {"group": "mine", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
                   "tensors": [{"name": "input", "shapes": [[64, 50]], "grad": True}]}
        self.write("mine.json", case_file(softmax))
        rows = {row["name"]: row for row in self.compare("--cases", "mine.json", "--json").json["tensors"]}
        gradient, out = rows["softmax 0th input grad"], rows["softmax"]
        self.assertEqual((gradient["cosine_similarity"], gradient["max_relative_diff"]), (None, None), gradient)
        self.assertGreater(gradient["max_abs_diff"], 0)
        self.assertGreater(out["cosine_similarity"], 0.999)
        table = self.compare("--cases", "mine.json").out.splitlines()[2].split()
        self.assertGreater(float(table[4]), 0.999, "the figures of the output remain")
        self.assertLess(float(table[6]), 1e-3)
        lines = list(csv.DictReader(io.StringIO(self.compare("--cases", "mine.json", "--format", "csv").out)))
        [line] = [each for each in lines if each["name"] == gradient["name"]]
        self.assertEqual((line["cosine_similarity"], line["max_relative_diff"]), ("", ""))

    def test_operators_that_a_library_does_not_have(self):
        self.write("few.json", {"operators": ["add"]})
        self.write("mine.json", case_file(group("mine", [[4]], ["add", "mul"])))
        run = self.compare("--cases", "mine.json", "--impl", "sim", "--sim-config", "few.json", "--implemented",
                           out="1 call on sim and reference: 0 of ",
                           err="diopi: --implemented leaves out 1 case of 1 operator, which sim does not have\n")
        self.assertNotIn("not implemented", run.out)

    def test_hard_cases(self):
        cases = {each["where"].split()[0] for each in
                 self.compare("neg", "--level", "2", "--seed", "3", "--json").json["tensors"]}
        self.assertIn("hard/neg.3.0", cases)
        self.assertEqual(sum(case.startswith("hard/") for case in cases), 400)
        standard = self.compare("neg", "--json").json["tensors"]
        self.assertFalse([each for each in standard if each["where"].startswith("hard/")])
        self.compare("--capture", "x.json", "--level", "2", code=2, err="leave out operators, --case, -k, --filter-dtype,")

    def test_a_planted_fault_is_the_only_difference(self):
        run = self.faulty("--capture", self.model(), "--json").json
        self.assertEqual([run["backend"], run["against"], run["different"]], ["cpu", "reference", 1])
        [wrong] = [row for row in run["tensors"] if not row["allclose"]]
        self.assertEqual([wrong["where"], wrong["name"], wrong["layer"], wrong["place"], wrong["tensor"]],
                         ["call 1", "relu", "act", "out", "float32[4]"])
        self.assertAlmostEqual(wrong["max_abs_diff"], 1)
        self.assertEqual(len(run["tensors"]), 3 + 2 + 3)
        text = self.faulty("--capture", "model.json")
        self.assertIn("8 tensors differ, the first at call 1, relu (act).", text.out)
        self.faulty("--capture", "model.json", code=0, fault="none")

    def test_a_case_with_a_planted_fault(self):
        relu_group = {"group": "mine", "ops": ["relu"], "dtypes": ["float32", "float64"],
                      "tensors": [{"name": "input", "shapes": [[8]]}]}
        self.write("mine.json", case_file(relu_group))
        run = self.faulty("--cases", "mine.json")
        self.assertRegex(run.out, r"\nrelu +2 +4 +1 ")
        self.assertIn("the first at ops/mine.relu.0 forward, relu.", run.out.replace("cases/", "ops/"))
        quiet = self.faulty("--cases", "mine.json", "--quiet")
        self.assertNotIn("Operator", quiet.out)
        self.assertIn("First differences", quiet.out)

    def test_the_lines_that_users_know(self):
        run = self.faulty("--capture", self.model(), "--format", "seed")
        lines = run.out.splitlines()
        self.assertEqual(lines[0], f"OpAutoCompareHook: {'add.Tensor':<50} allclose: True    max_diff: {0:20.9f}")
        self.assertEqual(lines[1], "autocompare:    add.Tensor out:")
        self.assertRegex(lines[2], r"^\tnumel:4, sizes:\[4\], stride:\[1\], is_view:0, "
                                   r"TensorOptions\(dtype=float, device=cpu\), data_ptr:0x[0-9a-f]+$")
        self.assertEqual(lines[3], "\tallclose")
        self.assertEqual(lines[4][:40].rstrip(), "OpAutoCompareHook: add.Tensor 0th input")
        [at] = [i for i, line in enumerate(lines) if "allclose: False" in line]
        self.assertEqual(lines[at], f"OpAutoCompareHook: {'relu':<50} allclose: False    max_diff: {1:20.9f}")
        self.assertRegex(lines[at + 3], r"^\tnot_close, 1 of 4 elements differ: .* at \(3,\)")
        self.assertRegex(lines[at + 4], r"^OpAutoCompareHook: relu input: input: numel:4, sizes:\[4\]")
        self.assertRegex(lines[at + 5], r"^OpAutoCompareHook: relu output: out: numel:4, sizes:\[4\]")
        self.assertEqual(sum(" input: " in line for line in lines), 1)

    def test_csv(self):
        printed = self.faulty("--capture", self.model(), "--format", "csv", "--csv", "out/rows.csv").out
        self.assertEqual((self.folder / "out/rows.csv").read_text(), printed)
        header, *rows = csv.reader(io.StringIO(printed))
        self.assertEqual(header, COLUMNS)
        self.assertEqual([row[:3] for row in rows[:4]],
                         [["2", "add.Tensor", "True"], ["2", "add.Tensor 0th input", "True"],
                          ["2", "add.Tensor 1th input", "True"], ["3", "relu", "False"]])
        self.assertEqual(rows[3][6:8], ["0.0001", "0.0001"])
        self.assertIn("1 of 4 elements differ", rows[3][8])

    def test_gradients_of_a_convolution(self):
        conv = {"group": "mine", "ops": ["conv2d"], "dtypes": ["float32"],
                "tensors": [{"name": "input", "shapes": [[2, 3, 5, 5]], "grad": True},
                            {"name": "weight", "shapes": [[4, 3, 3, 3]], "grad": True},
                            {"name": "bias", "shapes": [[4]], "grad": True}],
                "params": {"stride": 1, "padding": 1, "dilation": 1, "groups": 1}}
        self.write("mine.json", case_file(conv))
        names = [row["name"] for row in self.compare("--cases", "mine.json", "--json").json["tensors"]]
        for nth in range(3):
            self.assertIn(f"conv2d {nth}th input grad", names)

    def test_rows_are_in_the_order_of_the_cases(self):
        shapes = [[2000000] if i % 4 == 0 else [4] for i in range(40)]
        self.write("mine.json", case_file(group("mine", shapes, dtypes=("float32",))))
        rows = self.compare("--cases", "mine.json", "--jobs", "4", "--json").json["tensors"]
        numbers = [int(re.search(r"\.(\d+) forward", row["where"])[1]) for row in rows]
        self.assertEqual(numbers, [i for i in range(40) for _ in range(3)])

    def test_the_other_library_in_another_dtype(self):
        self.write("mine.json", case_file({"group": "mine", "ops": ["linear"], "dtypes": ["float16", "int64"],
                                           "tensors": [{"name": "input", "shapes": [[16, 256]]},
                                                       {"name": "weight", "shapes": [[8, 256]]}]}))
        args = ["--cases", "mine.json", "--filter-dtype", "int64", "--against", "cpu", "--against-dtype", "float32"]
        rows = self.compare(*args, "--ulp", "--json").json["tensors"]
        self.assertEqual({(row["cast"], row["tensor"][:7], row["atol"]) for row in rows},
                         {("float16 and float32 as float32", "float16", 1e-2)})
        out = next(row for row in rows if row["place"] == "out")
        self.assertGreater(out["max_abs_diff"], 0)
        # Both in ulp of float16: the float32 results are exact there.
        self.assertEqual(out["other_ulp"][0], 128)
        text = self.compare(*args, out="\ncompared float16 and float32 as float32, with the tolerance of the narrower: "
                                       "3 tensors\n")
        self.assertNotIn("First differences", text.out)
        printed = self.compare(*args, "--format", "csv").out
        self.assertTrue(all(row[-1] == "compared float16 and float32 as float32"
                            for row in list(csv.reader(io.StringIO(printed)))[1:]), printed)
        seed = self.compare(*args, "--format", "seed").out
        self.assertIn("\n\tallclose, compared float16 and float32 as float32\n", seed)
        self.assertNotIn("cast", self.compare("--cases", "mine.json", "--filter-dtype", "int64", "--json").out)

    def test_histograms_in_json(self):
        self.write("mine.json", case_file({"group": "mine", "ops": ["linear"], "dtypes": ["float32"],
                                           "tensors": [{"name": "input", "shapes": [[16, 256]]},
                                                       {"name": "weight", "shapes": [[8, 256]]}]}))
        run = self.compare("--cases", "mine.json", "--ulp", "--json").json
        out = next(row for row in run["tensors"] if row["place"] == "out")
        self.assertEqual(len(run["ulp_bins"]), len(out["ulp"]))
        self.assertEqual([sum(out["ulp"]), sum(out["other_ulp"])], [128, 128])
        self.assertEqual(run["ulp_bins"][0], "<=0.5")
        self.assertEqual(out["other_ulp"][0], 128)
        self.assertLess(out["ulp"][0], 128)

    def test_tensors_that_are_not_compared_have_a_reason(self):
        normal = {"overload": "normal_", "function": "diopiNormalInp",
                  "args": {"inout": "t2", "mean": 0.0, "std": 1.0, "generator": {"seed": 1, "offset": 0}}}
        unknown = {"overload": "erfinv", "reads": ["t2"],
                   "writes": {"t3": {"kind": "uniform", "dtype": "float32", "low": 0.0, "high": 1.0}}}
        content = capture("random", [add("t2"), relu("t3", "t2")])
        content["calls"] += [normal, unknown, normal]
        self.write("random.json", content)
        run = self.compare("--capture", "random.json")
        self.assertIn("not compared, random: the numbers of two libraries differ: 2 calls, the first call 2: "
                      "normal_ x2\n", run.out)
        self.assertRegex(run.out, r"not compared, [^\n]*: 1 call, the first call 3: erfinv\n")
        seed = self.compare("--capture", "random.json", "--format", "seed")
        self.assertIn("skip OpAutoCompareHook on normal_: random", seed.out)

    def test_the_shipped_vision_transformer_is_the_same_on_cpu_and_reference(self):
        run = self.compare("--capture", "vit")
        self.assertRegex(run.out, r"1283 calls on cpu and reference: 0 of \d+ tensors differ\.")
        # Only random numbers are left out.
        self.assertEqual(run.out.count("not compared, "), 1, run.out)

    def test_the_shipped_step_of_generation_is_the_same_on_cpu_and_reference(self):
        run = self.compare("--capture", "decoder")
        self.assertRegex(run.out, r"40 calls on cpu and reference: 0 of \d+ tensors differ\.")
        self.assertEqual(run.out.count("not compared, "), 0, run.out)


class ToolTest(CompareTest):
    def test_dumps_go_to_stderr(self):
        names = self.compare("--capture", self.model(), "--dump", "1", "--json")
        self.assertEqual(names.json["different"], 0)
        self.assertEqual(names.err.splitlines(), ["[dump 0] add.Tensor (diopiAdd)", "[dump 1] relu (diopiRelu)",
                                                  "[dump 2] add.Tensor (diopiAdd)"])
        arguments = self.compare("--capture", "model.json", "--dump", "2").err
        self.assertIn("    in  alpha: 1\n    out out: float32[4]\n", arguments)
        self.assertNotIn(" = [", arguments)
        self.assertRegex(self.compare("--capture", "model.json", "--dump", "3").err, r"\n        out = \[[^,]+, .*\]\n")
        by_variable = self.compare("--capture", "model.json", env={"DIPU_DUMP_OP_ARGS": "1"})
        self.assertEqual(by_variable.err, names.err)

    def test_overflow(self):
        content = capture("large", MODEL)
        content["storages"]["s0"]["fill"] = {"kind": "constant", "dtype": "float32", "value": 3e38}
        content["storages"]["s1"]["fill"] = {"kind": "constant", "dtype": "float32", "value": 3e38}
        self.write("large.json", content)
        run = self.compare("--capture", "large.json", "--overflow")
        self.assertEqual(run.err.splitlines()[0], "[overflow] add.Tensor out float32[4]: inf_or_nan: 4, min: 0, "
                                                  "max: 0, mean: 0, std: 0, norm: 0")
        self.assertEqual(self.compare("--capture", self.model(), "--overflow").err, "")

    @needs_h5py
    def test_failures_are_saved_with_both_sides(self):
        run = self.faulty("--capture", self.model(), "--save-failures", "saved/here", fault="wrong away")
        self.assertEqual([path.name for path in (self.folder / "saved/here").iterdir()], ["call-1.h5"], str(run))
        with h5py.File(self.folder / "saved/here/call-1.h5") as file:
            self.assertEqual(file.attrs["function"], "diopiRelu")
            self.assertEqual(file.attrs["call"], "call 1")
            difference = file["actual/out"][()] - file["expected/out"][()]
            np.testing.assert_allclose(difference, [0, 0, 0, 1], atol=1e-6)
            np.testing.assert_array_equal(file["actual/input"][()], file["expected/input"][()])

    def test_places_that_cannot_be_written(self):
        self.model()
        self.write("file", "")
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        for args, text in [(["--save-failures", "file"], ["--save-failures: cannot write to file", "name a folder"]),
                           (["--csv", "folder"], ["--csv: folder is a folder; name a file"]),
                           (["--csv", "pipe"], ["--csv: pipe is a device or a pipe; name a file"])]:
            with self.subTest(args=args):
                self.compare("--capture", "model.json", *args, code=2, err=text)
        self.assertTrue((self.folder / "pipe").is_fifo())

    def test_a_full_disk(self):
        with self.small_disk(4) as disk:
            (disk / "ballast").write_bytes(b"x" * 4096)
            self.compare("--capture", self.model(), "--csv", disk / "rows.csv", code=2, err="No space left on device")
            self.faulty("--capture", "model.json", "--save-failures", disk, code=1, err="call 1 (relu, diopiRelu): ")

    def test_a_crash_is_reported_and_keeps_the_compared_calls(self):
        run = self.faulty("--capture", self.model(), fault="segv", err="diopi: model: ")
        self.assertIn("1 call on cpu and reference: 0 of 3 tensors differ.", run.out)


class ToleranceTest(CompareTest):
    """The fault is 1 large; the tolerances around it show which one applies."""

    def holds(self, allclose, *options, **env):
        """The relative part would depend on the values."""
        self.model()
        run = self.faulty("--capture", "model.json", "--json", *(["--tolerance", *options] if options else []),
                          code=0 if allclose else 1, env=env)
        return next(row["atol"] for row in run.json["tensors"] if row["name"] == "relu")

    def test_precedence(self):
        every, dtype, op = "AUTOCOMPARE_ERROR_TOLERANCE", "AUTOCOMPARE_ERROR_TOLERANCE_FLOAT32", \
            "RELU_AUTOCOMPARE_ERROR_TOLERANCE"
        both = "RELU_AUTOCOMPARE_ERROR_TOLERANCE_FLOAT32"
        self.assertEqual(self.holds(False), 1e-4)
        env = {every: "3,0"}
        self.assertEqual(self.holds(True, **env), 3)
        env[dtype] = "0.5,0"
        self.assertEqual(self.holds(False, **env), 0.5)
        env[op] = "4,0"
        self.assertEqual(self.holds(True, **env), 4)
        env[both] = "0.25,0"
        self.assertEqual(self.holds(False, **env), 0.25)
        self.assertEqual(self.holds(True, "5,0", **env), 5)
        options = ["5,0", "float32=0.75,0"]
        self.assertEqual(self.holds(False, *options, **env), 0.75)
        options.append("relu=6,0")
        self.assertEqual(self.holds(True, *options, **env), 6)
        options.append("relu:float32=0.125,0")
        self.assertEqual(self.holds(False, *options, **env), 0.125)

    def test_a_tolerance_of_zero(self):
        self.model()
        run = self.faulty("--capture", "model.json", "--tolerance", "0", "--format", "seed")
        self.assertIn("not_close, 1 of 4 elements differ: difference 1 where the tolerance is 0, at (3,): got ",
                      run.out)

    def test_of_other_operators_and_dtypes(self):
        self.assertEqual(self.holds(False, "add=7,0", "float16=7,0", ADD_AUTOCOMPARE_ERROR_TOLERANCE="7,0"), 1e-4)

    def test_typing_errors(self):
        self.model()
        for text, message in [("x", "'x' is no tolerance; write ATOL,RTOL"), ("add:flaot=1", "'flaot' is no dtype"),
                              ("-1", "is no tolerance")]:
            self.compare("--capture", "model.json", f"--tolerance={text}", code=2, err=["--tolerance: ", message])
        self.compare("--capture", "model.json", code=2, env={"AUTOCOMPARE_ERROR_TOLERANCE": "x"},
                     err="AUTOCOMPARE_ERROR_TOLERANCE: 'x' is no tolerance")
        for variable in ("AUTOCOMPARE_ERROR_TOLERANCE_FLOAT3", "RELU_AUTOCOMPARE_ERROR_TOLERANCE_FLOAT3"):
            self.compare("--capture", "model.json", code=2, env={variable: "1"},
                         err=f"{variable}: 'float3' is no dtype (did you mean 'float32', ")
        self.compare("--capture", "model.json", "--tolerance", "relo=1",
                     err="no call of 'relo' was compared (did you mean 'relu'?)")
        self.assertEqual(self.compare("--capture", "model.json", "--tolerance", "relu=1", "add.Tensor=1").err, "")


@needs_h5py
class CapturesTest(CompareTest):
    def rows(self, run):
        return [(row["where"], row["name"], row.get("skipped") or row.get("only_in") or row["allclose"])
                for row in run.json["tensors"]]

    def test_the_first_divergence_comes_first(self):
        self.kept("one")
        self.kept("two", values={1: [1, 2, 3, 4.5], 2: [9, 9, 9, 9]})
        run = self.compare("--capture", "one.json", "--with", "two.json", code=1)
        self.assertIn("3 calls on one.json and two.json: 2 of 3 tensors differ, the first at call 1, relu (act).",
                      run.out)
        table = run.out[run.out.index("First differences"):]
        self.assertEqual(re.findall(r"^call \d", table, re.MULTILINE), ["call 1", "call 2"])
        self.compare("--capture", "one.json", "--with", "two.json", "--tolerance", "10")
        self.compare("--capture", "one.json", "--with", "one.json", out="0 of 3 tensors differ.")

    def test_a_call_of_only_one_capture(self):
        self.kept("one")
        self.kept("more", [*MODEL[:1], relu("t9", "t2", "extra"), *MODEL[1:]], {3: [1, 2, 3, 5]})
        run = self.compare("--capture", "one.json", "--with", "more.json", "--json", code=1)
        self.assertEqual(self.rows(run), [("call 0", "add.Tensor", True), ("call 1 of more", "relu", "more"),
                                          ("call 1 and 2", "relu", True), ("call 2 and 3", "add.Tensor", False)])
        self.assertEqual((run.json["different"], run.json["alone"], run.json["not_compared"]), (1, 1, 0))

    def test_a_call_of_only_one_capture_is_a_difference_in_every_format(self):
        self.kept("one")
        self.kept("more", [*MODEL[:1], relu("t9", "t2", "extra"), relu("t8", "t9", "extra"), *MODEL[1:]])
        args = ["--capture", "more.json", "--with", "one.json"]
        text = self.compare(*args, code=1).out
        self.assertRegex(text, r"\nAlignment breaks +Calls +What +After +Before\n")
        self.assertRegex(text, r"\ncall 1 of more to call 2 of more +2 +relu \(extra\), relu \(extra\): only in more +"
                               r"call 0, add\.Tensor \(sum\) +call 3 and 1, relu \(act\)\n")
        self.assertIn("3 calls on more.json and one.json: 0 of 3 tensors differ, 2 calls are in only one of them, the first "
                      "at call 1 of more, relu (extra).\n", text)
        between = "only more has this call, between call 0, add.Tensor (sum), and call 3 and 1, relu (act)"
        rows = list(csv.reader(io.StringIO(self.compare(*args, "--format", "csv", code=1).out)))
        self.assertEqual(rows[2], ["9", "relu", "False", "", "", "", "", "", between])
        row = self.compare(*args, "--json", code=1).json["tensors"][1]
        self.assertEqual([row["only_in"], row["allclose"], row["error_info"], row["after"], row["before"]],
                         ["more", False, between, "call 0, add.Tensor (sum)", "call 3 and 1, relu (act)"])
        seed = self.compare(*args, "--format", "seed", "--quiet", code=1).out
        self.assertEqual(seed.splitlines(), [f"skip OpAutoCompareHook on relu: {between}"] * 2)

    def test_renamed_layers_and_calls_that_changed_places(self):
        self.kept("one")
        self.kept("two", [relu("t3", "t2", "act"), add("t2"), add("t4", "t3", "t0", "model.head")])
        run = self.compare("--capture", "one.json", "--with", "two.json")
        self.assertRegex(run.out, r"\ncall 0 and 1 +1 +add\.Tensor \(sum\): out of order +- +call 1 and 0, relu")
        self.assertIn("\nlayers of other names: 1 call, the first call 2: head and model.head\n", run.out)
        rows = self.compare("--capture", "one.json", "--with", "two.json", "--json").json["tensors"]
        self.assertEqual([row.get("out_of_order") for row in rows], [True, None, None])
        self.assertEqual(rows[2]["other_layer"], "model.head")

    def test_kept_values_of_two_floating_dtypes(self):
        self.kept("one", values={1: [1, 2, 3, 1.001]})
        self.kept("half")
        text = (self.folder / "half.json").read_text()
        self.write("half.json", text.replace('"t3": {"storage": "s3", "dtype": "float32"',
                                             '"t3": {"storage": "s3", "dtype": "float16"'))
        with h5py.File(self.folder / "half.h5", "r+") as file:
            del file["calls/1/out"]
            file["calls/1/out"] = np.array([1, 2, 3, 1.002], np.float16)
        args = ["--capture", "one.json", "--with", "half.json"]
        row = self.compare(*args, "--json").json["tensors"][1]
        self.assertEqual([row["cast"], row["atol"]], ["float32 and float16 as float32", 1e-2])
        self.compare(*args, out="\ncompared float32 and float16 as float32, with the tolerance of the narrower: "
                                "1 tensor\n")
        self.compare(*args, "--tolerance", "float16=1e-4", code=1,
                     out="compared float32 and float16 as float32: 1 of 4 elements differ: max 1.38 times the ")
        with h5py.File(self.folder / "half.h5", "r+") as file:
            del file["calls/1/out"]
            file["calls/1/out"] = np.array([1, 2, 3, 4], np.int32)
        self.write("half.json", text.replace('"t3": {"storage": "s3", "dtype": "float32"',
                                             '"t3": {"storage": "s3", "dtype": "int32"'))
        self.compare(*args, code=1, out="dtype float32 where int32 is wanted")

    def test_captures_of_one_name_are_distinguished(self):
        self.kept("one")
        self.kept("same", MODEL[:2])
        with h5py.File(self.folder / "same.h5", "r+") as file:
            file.attrs["name"] = "one"
        self.write("same.json", (self.folder / "same.json").read_text().replace('"name": "same"', '"name": "one"'))
        run = self.compare("--capture", "one.json", "--with", "same.json", "--json", code=1)
        self.assertIn(("call 2 of the first capture", "add.Tensor", "the first capture"), self.rows(run))

    def test_nan_is_a_difference_without_a_size(self):
        self.kept("one")
        self.kept("two", values={1: [1, 2, float("nan"), 4]})
        run = self.compare("--capture", "one.json", "--with", "two.json", "--json", code=1)
        row = run.json["tensors"][1]
        self.assertEqual([row["allclose"], row["max_abs_diff"], row["cosine_similarity"]], [False, "nan", "nan"])
        seed = self.compare("--capture", "one.json", "--with", "two.json", "--format", "seed", code=1)
        self.assertIn(f"allclose: False    max_diff: {float('nan'):20.9f}", seed.out)

    def test_both_sides_of_a_difference_are_saved(self):
        self.kept("one")
        self.kept("two", values={1: [1, 2, 3, 4.5]})
        self.compare("--capture", "one.json", "--with", "two.json", "--save-failures", "saved", code=1)
        with h5py.File(self.folder / "saved/call-1.h5") as file:
            self.assertEqual(file["actual/out"][3] - file["expected/out"][3], -0.5)

    def test_values_that_one_did_not_keep(self):
        self.kept("one")
        self.kept("two")
        with h5py.File(self.folder / "two.h5", "r+") as file:
            del file["calls/1"]
        self.compare("--capture", "one.json", "--with", "two.json",
                     out="not compared, its values were not kept: 1 call, the first call 1: relu\n")
        self.model("bare")
        self.compare("--capture", "one.json", "--with", "bare.json", code=2,
                     err="--with compares values, and bare.json has none; record it with --values")

    def test_options_without_effect(self):
        self.kept("one")
        for option in (["--ulp"], ["--dump", "1"], ["--overflow"]):
            self.compare("--capture", "one.json", "--with", "one.json", *option, code=2,
                         err=f"{option[0]} watches calls that run, and --with runs none")
        self.compare("--capture", "one.json", "--with", "one.json", "--against-dtype", "float32", code=2,
                     err="--against-dtype is the dtype of --against, and --with runs nothing; leave it out")


class RefusalTest(CompareTest):
    def test_typing_errors(self):
        self.model()
        for args, text in [
            (["ad"], "did you mean 'add'"),
            (["add", "--against", "referense"], "no backend is called 'referense'"),
            (["add", "--impl", "cqu"], "no backend is called 'cqu'"),
            (["--capture", "none.json"], "cannot read none.json"),
            (["--with", "model.json"], "--capture FILE"),
            (["add", "--format", "xml"], "--format: xml not in {table,csv,seed}"),
            (["add", "--dump", "4"], "--dump: Value 4 not in range 0 to 3"),
            (["add", "--against-dtype", "int8"], "--against-dtype: int8 not in {float16,bfloat16,float32,float64}"),
            (["add", "--timeout", "0"], "no number of seconds above 0"),
            (["add", "--capture", "model.json"], "a capture is compared completely"),
            (["--filter-dtype", "float16", "--capture", "model.json"], "a capture is compared completely"),
        ]:
            with self.subTest(args=args):
                self.compare(*args, code=2, err=text)


if __name__ == "__main__":
    unittest.main()
