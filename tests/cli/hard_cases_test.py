"""diopi test --level, --budget and --time: cases that are generated from the schema's rows."""
import os
import pathlib
import unittest
import unittest.mock

import program
from program import ProgramTest, case_file, group

FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))


def relu_group(*shapes):
    return {"group": "mine", "ops": ["relu"], "dtypes": ["float32"],
            "tensors": [{"name": "input", "shapes": [list(shape) for shape in shapes]}]}


class HardCasesTest(ProgramTest):
    LEVEL = []  # the default

    def faulty(self, fault, *args):
        """Runs a build whose relu has that fault."""
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            run = self.diopi("test", *args, env={"DIOPI_TEST_RELU": fault}, timeout=300)
        self.assertEqual(run.code, 1, str(run))
        return run

    def test_the_default_has_hard_cases_beside_the_standards(self):
        standard = self.expect(0, "test", "--fname", "flip", "--level", "1", "--json").json
        self.assertEqual(standard["coverage"], {"hard_cases": 0, "operators": {}, "without_hard_cases": {}})
        run = self.expect(0, "test", "--fname", "flip", "--json").json
        covered = run["coverage"]["operators"]["flip"]
        self.assertEqual(run["counts"]["passed"], standard["counts"]["passed"] + 400)
        self.assertEqual((run["coverage"]["hard_cases"], covered["hard_cases"]), (400, 400))
        self.assertLessEqual({"bfloat16", "float16", "float64", "int8", "bool"}, set(covered["factors"]["dtype"]))
        self.assertGreater(len(covered["factors"]["values"]), 14)
        self.assertGreater(covered["histories"], 1000)

    def test_the_report_says_what_was_covered(self):
        run = self.expect(0, "test", "--fname", "flip", "--level", "1", "--quiet")
        self.assertNotIn("hard", run.out)
        run = self.expect(0, "test", "--fname", "flip")
        self.assertRegex(run.out, r"\n400 hard cases of 1 operator: \d+ dtypes, \d+ sizes, \d+ shapes, \d+ layouts,")
        self.assertRegex(run.out, r"\n\d+ cases \(400 of them hard\): \d+ passed")

    def test_a_case_is_repeated_by_its_id(self):
        for seed in (0, 3):
            self.expect(0, "test", "--case", f"hard/add.{seed}.17", out="1 case (1 of them hard): 1 passed")
        self.expect(2, "test", "--case", "hard/add.0", err="is no id of a hard case")
        self.expect(2, "test", "--case", "hard/ball_query_mmcv.0.1", err="no hard cases are made for ball_query_mmcv yet")

    def test_bad_calls_are_advice(self):
        args = ("test", "--fname", "relu", "--level", "1", "--checks", "refusals")
        run = self.expect(0, *args, "--json").json
        self.assertGreater(run["bad_calls"]["calls"], 5)
        self.assertEqual(run["bad_calls"]["calls"] - run["bad_calls"]["refused"], run["counts"]["advice"])
        # A library that crashes and one that hangs: what they do with a bad call fails no run.
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            for fault, word in (("segv", "SIGSEGV"), ("hang", "no answer within")):
                run = self.expect(0, "test", "--case", "bad/relu.3", "--timeout", "2", env={"DIOPI_TEST_RELU": fault},
                                  out=["input is null: ", word, "repeat: diopi test --case bad/relu.3",
                                       "1 bad call: 0 refused, 1 ", "1 case (1 bad call): 1 advice"])
        for level, has_bad in (("2", False), ("3", True)):
            run = self.expect(0, "test", "--fname", "neg", "--level", level, "--budget", "1s", "--json").json
            self.assertEqual(run["bad_calls"]["calls"] > 0, has_bad)
        self.expect(2, "compare", "--case", "bad/relu.1", err="bad/relu.1: only diopi test makes bad calls")
        self.expect(2, "gen", "--case", "hard/relu.0.1", err="hard/relu.0.1: a generated case has no stored baseline")
        self.expect(2, "test", "--case", "bad/relu.999", err="there is no bad call 'bad/relu.999'")

    def test_a_write_to_a_const_input_is_seen_though_it_is_restored(self):
        run = self.faulty("restores", "--fname", "relu", "--quiet", "--json").json
        self.assertGreater(run["counts"]["crashed"], 5)
        for each in run["not_passed"]:
            self.assertTrue(each["case"].startswith("hard/"), each)
            self.assertRegex(each["reason"], r"SIGSEGV.* in (forward|inplace|backward) .*, a write to input, which is const")
        run = self.faulty("restores", "--case", "ops/relu.relu.1", "--checks", "all", "pages", "--json").json
        self.assertEqual(run["counts"]["crashed"], 1)

    def test_a_failing_hard_case_shrinks(self):
        run = self.faulty("wrong", "--fname", "relu", "--quiet")
        cases = [line.split("--case ")[1].split()[0] for line in run.out.splitlines() if "repeat: " in line]
        hard = [case for case in cases if case.startswith("hard/")]
        self.assertTrue(hard, str(run))
        self.assertRegex(run.out, r"TestTag: \[float32, forward, [^\]]*values ")
        run = self.faulty("wrong", "--case", hard[0], "--shrink", "--quiet")
        self.assertRegex(run.out, r"(?i)smallest|shrunk", str(run))

    def test_variants_and_case_files_have_no_hard_cases(self):
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.expect(0, "test", "--cases", "mine.json", out="1 case: 1 passed")
        run = self.expect(0, "test", "--fname", "flip", "--unaligned", "--quiet")
        self.assertNotIn("hard", run.out)
        self.assertRegex(run.out, r"(?m)^\d+ cases: \d+ passed")

    def test_one_object_for_two_arguments(self):
        same = group("mine", [[4, 4]])
        same["tensors"][1]["same_as"] = "input"
        self.write("mine.json", case_file(same))
        self.expect(0, "test", "--cases", "mine.json", out="1 case: 1 passed")
        same["tensors"][1]["same_as"] = "weight"
        self.write("mine.json", case_file(same))
        self.expect(2, "test", "--cases", "mine.json", err="other is the same as 'weight', which is no tensor before it")

    def test_a_budget_ends_the_run_and_resume_continues_it(self):
        run = self.expect(0, "test", "--fname", "s*", "--budget", "1s", "--quiet")
        self.assertRegex(run.out, r"(?m)^\d+ cases did not run: the time of --budget was over \(--resume continues\)")
        first = self.expect(0, "test", "--fname", "flip", "--budget", "0.05s", "--json").json
        self.assertGreater(first["left_out"], 100)
        rest = self.expect(0, "test", "--fname", "flip", "--resume", "--json").json
        self.assertNotIn("left_out", rest)
        self.assertEqual(rest["coverage"]["hard_cases"], 400)
        self.expect(2, "test", "--budget", "5x", err="'5x' is no time")

    def test_level_4_runs_new_seeds_until_its_time_is_over(self):
        other_dtypes = ("float16", "bfloat16", "float32", "float64", "int16", "int32", "int64", "complex64", "complex128")
        run = self.expect(0, "test", "--fname", "neg", "--level", "4", "--time", "5s", "--seed", "5", "--quiet",
                          "--filter-dtype", *other_dtypes, timeout=200)
        self.assertIn("round 1: ", run.out)
        self.assertIn("hard ones of seed 6", run.out)
        self.expect(2, "test", "--level", "4", err="--level 4 and --time belong together")
        self.expect(2, "test", "--time", "4s", err="--level 4 and --time belong together")

    def test_what_depends_on_addresses(self):
        # So large that malloc maps the tensors: without a seed of addresses they begin at the same place of a page.
        self.write("mine.json", case_file(relu_group([9 << 20])))
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            self.expect(0, "test", "--cases", "mine.json", env={"DIOPI_TEST_RELU": "moved"})
        run = self.faulty("moved", "--cases", "mine.json", "--find-order", "--shuffle", "1", "--json")
        found, = run.json["order_dependent"]
        self.assertEqual((found["in_run"], found["alone"], found["after"]), ("passed", "passed", []))
        repeat = f"--cases mine.json --addresses {found['addresses']}"
        self.assertEqual(found["repeat"], f"diopi test --case ops/mine.relu.0 {repeat}")
        run = self.faulty("moved", "--case", "ops/mine.relu.0", *repeat.split())
        self.assertIn(repeat, run.out)
        run = self.faulty("moved", "--cases", "mine.json", "--shuffle", str(found["addresses"]))
        self.assertIn(repeat, run.out)
        self.expect(2, "test", "--addresses", "1", "--find-order", err="--addresses excludes --find-order")

    def test_a_failure_that_passes_alone_says_so(self):
        self.write("mine.json", case_file(relu_group([9000], [40], [50])))
        run = self.faulty("order", "--cases", "mine.json", "--jobs", "1")
        self.assertIn("ops/mine.relu.1 passes when it is repeated alone", run.out)
        self.assertIn("--find-order looks for the case before it", run.out)
        self.assertIn("TestTag: [float32, forward, passes alone]", run.out)
        run = self.faulty("order", "--cases", "mine.json", "--jobs", "1", "--json")
        self.assertEqual([each["passes_alone"] for each in run.json["not_passed"]], [True, True])


if __name__ == "__main__":
    unittest.main()
