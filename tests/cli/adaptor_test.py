"""--adaptor: conversions for a device, their report, and refused files."""
import json
import unittest

from program import SOURCE, ProgramTest, case_file, group

DEVICE = {"name": "chip", "dtypes": ["float32", "int32", "bool"], "layouts": ["contiguous"]}


def capture():
    """b = a * a, c = b * a."""
    storages = {f"s{i}": {"nbytes": 4000} for i in "abc"}
    storages["sa"]["fill"] = {"kind": "uniform", "dtype": "float32", "low": 0.5, "high": 2.0}
    tensors = {i: {"storage": f"s{i}", "dtype": "float32", "shape": [1000], "strides": [1], "offset": 0} for i in "abc"}
    calls = [{"overload": "mul.Tensor", "function": "diopiMul", "args": {"out": "b", "input": "a", "other": "a"}},
             {"overload": "mul.Tensor", "function": "diopiMul", "args": {"out": "c", "input": "b", "other": "a"}}]
    return {"diopi_capture": 1, "name": "two", "storages": storages, "tensors": tensors, "calls": calls}


class AdaptorTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("device.json", DEVICE)

    def cases(self, *groups):
        self.write("own.json", case_file(*groups))
        return ["--cases", "own.json"]

    def sim(self, *args, adaptor="float32_int32", command="test", code=0, **how):
        adapted = ["--adaptor", adaptor] if adaptor else []
        return self.expect(code, command, "--impl", "sim", "--sim-config", "device.json", *adapted, *args, **how)

    def config(self, content):
        return self.write("chip.json", content)

    def refused(self, content, *texts):
        run = self.expect(2, "test", "--fname", "add", "--adaptor", self.config(content))
        for text in ("chip.json:", *texts):
            self.assertIn(text, run.err, str(run))

    def own(self, dtypes, op="add", **more):
        return self.cases(group("adapted", [[2, 3]], ops=[op], dtypes=dtypes, **more))

    def test_without_the_adaptor_the_device_declines(self):
        own = self.own(["float64", "float32", "int64"])
        counts = self.sim(*own, "--json", adaptor=None).json["counts"]
        self.assertEqual((counts["passed"], counts["not_implemented"]), (1, 2), counts)
        answer = self.sim(*own, "--json").json
        self.assertEqual(answer["counts"]["passed"], 3, answer)
        (row,) = answer["adaptor"]
        self.assertEqual((row["function"], row["calls"], row["conversions"], row["by_host"]), ("add", 2, 6, 6))
        self.assertEqual(row["bytes"], 2 * (2 * 6 * 8 + 6 * 4))
        self.assertEqual(sorted(row["casts"]), ["float64 in float32", "int64 in int32"])

    def test_the_device_s_own_casts_are_distinguished_from_the_host_s(self):
        self.write("device.json", {**DEVICE, "converts": True})
        (row,) = self.sim(*self.own(["float64"]), "--json").json["adaptor"]
        self.assertEqual((row["conversions"], row["by_host"]), (3, 0))

    def test_test_and_report_print_the_table(self):
        for run in (self.sim(*self.own(["float64"])), self.expect(0, "report")):
            self.assertRegex(run.out, r"Adapted function +Calls +Conversions +by host +Bytes +Time +Computed")
            self.assertRegex(run.out, r"add +1 +3 +3 +120 B +[0-9.]+ms +float64 in float32")
            self.assertRegex(run.out, r"1 call adapted: 3 conversions \(3 by the host\), 120 B, .* ms; "
                                      r"computed: float64 in float32")
        (step,) = self.journal()[1][-1]["steps"]
        self.assertEqual(step["adapted"]["conversions"], 3)
        self.assertEqual(step["adapted"]["casts"], ["float64 in float32"])

    def test_an_unchanged_call_is_not_reported(self):
        run = self.sim(*self.own(["float32"]))
        self.assertNotIn("adapted", run.out)
        self.assertNotIn("adapted", self.journal()[1][-1]["steps"][0])

    def test_a_failure_is_repeated_with_the_adaptor(self):
        self.sim(*self.own(["float64"]))
        self.assertIn("--sim-config device.json --adaptor float32_int32", self.journal()[0]["repeat"])

    def test_a_bundle_is_replayed_with_the_adaptor(self):
        soft = {"group": "soft", "ops": ["softmax"], "dtypes": ["float64"], "params": {"dim": [1]},
                "tolerance": {"atol": 1e-13, "rtol": 1e-13, "instead_of_class": True},
                "tensors": [{"name": "input", "shapes": [[4, 30]]}]}
        self.sim(*self.cases(soft), "--save-failures", "bad", code=1, out="1 failed")
        (bundle,) = (self.folder / "bad").iterdir()
        self.sim("--replay", bundle, code=1, out="--sim-config device.json --adaptor float32_int32")
        self.sim("--replay", bundle, adaptor=None, out="1 not implemented")

    def test_the_operator_suite_on_a_device_of_float32_and_int32(self):
        """A sample of the cases; scripts/test.sh --full runs all of them."""
        run = self.sim("--in-order", *self.sample_of_suite(4, 100_000), "--json", timeout=280)
        counts = run.json["counts"]
        self.assertGreater(counts["passed"], 1000, counts)
        self.assertEqual((counts["failed"], counts["crashed"], counts["timeout"]), (0, 0, 0), run.json["not_passed"])
        declined = [fault["reason"] for fault in run.json["not_passed"] if "declined" in fault["reason"]]
        # Such a device has no complex numbers, positions are int64, and it cannot draw all integers of int64.
        for reason in declined:
            self.assertRegex(reason, "does not support complex(64|128)|(index|input) is int32, wanted int64|"
                                     "diopiRandomInp: the numbers reach 9223372036854775807")
        self.assertLess(sum("complex" in reason for reason in declined), run.json["counts"]["passed"] / 40)

    def test_profile_counts_conversions_of_cases_and_of_captures(self):
        sample = ["add", "--shape", "10", "10", "--dtype", "float64", "--max-time", "0.05"]
        run = self.sim(*sample, command="profile")
        self.assertRegex(run.out, r"diopiAdd +\d+ +\d+ +\d+ ")
        (row,) = self.sim(*sample, "--json", command="profile").json["adaptor"]
        self.assertEqual((row["function"], row["conversions"]), ("diopiAdd", 3 * row["calls"]))
        self.write("device.json", {"name": "chip", "dtypes": ["float16"]})
        self.write("step.json", capture())
        narrow = self.config({"common": {"dtype": "float32->float16"}})
        answer = self.sim("--capture", "step.json", "--run-times", "1", "--no-roofs", "--json", command="profile",
                          adaptor=narrow).json
        (row,) = answer["adaptor"]
        # Two calls, in the step that warms up and in the one that counts; a * a is one conversion in.
        self.assertEqual((row["function"], row["calls"], row["conversions"]), ("diopiMul", 4, 2 * (2 + 3)))

    def test_compare_calls_both_libraries_with_the_adapted_call(self):
        run = self.sim(*self.own(["float64"]), "--csv", "rows.csv", command="compare")
        self.assertRegex(run.out, r"diopiAdd +1 +3 +3 ")
        self.assertNotIn(",False,", (self.folder / "rows.csv").read_text())
        told = self.sim(*self.own(["float64"]), "--json", command="compare").err
        self.assertIn("diopi: adaptor: 1 call adapted: 3 conversions (3 by the host)", told)

    def test_fallback_sim_adapts_calls_that_would_be_declined(self):
        self.write("step.json", capture())
        self.write("device.json", {"name": "chip", "dtypes": ["float16"]})
        narrow = self.config({"common": {"dtype": "float32->float16"}})
        simulate = ["--capture", "step.json", "--run-times", "1"]
        declined = self.sim(*simulate, "--json", command="fallback-sim", adaptor=None).json
        self.assertEqual([row["why"] for row in declined["fallback"]], ["declined"])
        adapted = self.sim(*simulate, "--json", command="fallback-sim", adaptor=narrow)
        self.assertEqual(adapted.json["fallback"], [])
        self.assertIn("diopi: adaptor: ", adapted.err)
        self.assertIn("calls adapted", self.sim(*simulate, command="fallback-sim", adaptor=narrow).out)

    def test_an_invalid_configuration_is_refused(self):
        self.refused("{")
        self.refused({"comon": {}}, "/comon: unknown key 'comon'", "'common'")
        self.refused({"common": {"dtype": "(int46)->int32"}}, "/common/dtype", "'int64'")
        self.refused({"common": {"dtype": "float64->int32"}}, "fraction")
        self.refused({"common": {"layout": "NHCW"}}, "/common/layout: unknown layout", "'NHWC'")
        self.refused({"ops": {"con2d": {}}}, "/ops/con2d", "'conv2d'")
        self.refused({"ops": {"add": {"args": {"othr": {}}}}}, "/ops/add/args/othr", "'other'")
        self.expect(2, "test", "--fname", "add", "--adaptor", "missing.json", err="missing.json")
        self.expect(2, "test", "--fname", "add", "--adaptor", "contigous", err="did you mean 'contiguous'")
        self.expect(2, "test", "--suite", "runtime", "--adaptor", "narrow", err="--adaptor")
        self.expect(2, "test", "--fname", "add", "--sim-config", "device.json", err="--impl sim")

    def test_the_schema_names_what_is_read(self):
        schema = json.loads((SOURCE / "cases/adaptor_schema.json").read_text())
        said = [self.expect(2, "test", "--fname", "add", "--adaptor", adaptor).err
                for adaptor in (self.config({"qqq": 1}), "qqq")]
        self.config({"common": {"layout": "qqq"}})
        said.append(self.expect(2, "test", "--fname", "add", "--adaptor", "chip.json").err)
        named = (schema["properties"], schema["properties"]["preset"]["enum"], schema["$defs"]["layout_name"]["enum"])
        for words, error in zip(named, said):
            for word in words:
                self.assertIn(word, error)


if __name__ == "__main__":
    unittest.main()
