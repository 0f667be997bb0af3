"""diopi test --suite runtime, and the memory checker that the environment enables."""
import csv
import os
import pathlib
import unittest
import unittest.mock
import xml.etree.ElementTree

import program
from program import COUNT_KEYS, ProgramTest

LEAKY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))
SUITE = ["test", "--suite", "runtime"]
CHECKS = ["device_info", "last_error", "one_stream", "many_streams", "threads_and_streams", "overlap",
          "tensor_construction", "generator_state", "memory_checker", "copies"]


class SuiteTest(ProgramTest):
    def test_every_check_passes_on_each_backend(self):
        for impl in ("cpu", "reference"):
            with self.subTest(impl=impl):
                run = self.expect(0, *SUITE, "--impl", impl, out="10 cases: 10 passed (")
                for name in CHECKS:
                    self.assertIn(f"INFO - Run runtime.{name} succeed: ", run.out)
                header, results = self.journal()
                self.assertEqual([r["case"] for r in results], [f"runtime/{name}" for name in CHECKS])
                self.assertEqual((header["backend"], header["cases"]), (impl, 10))

    def test_findings_are_measured(self):
        findings = {c["case"]: c["findings"] for c in self.expect(0, *SUITE, "--json").json["checks"]}
        self.assertRegex(findings["runtime/device_info"], r"\w+, \d+ compute units?, \d+\.\d GiB of memory, ")
        self.assertRegex(findings["runtime/overlap"], r"4 streams .* took \d+ ms, \d\.\d+ of their sum, on the built-in")
        self.assertRegex(findings["runtime/one_stream"], r"\d+\.\d\d ms by the events")
        self.assertIn("8 threads with 4 streams each", findings["runtime/threads_and_streams"])
        self.assertRegex(findings["runtime/tensor_construction"], r"\d{3} tensors of 17 dtypes on host and device")

    def test_json_and_reports(self):
        run = self.expect(0, *SUITE, "--json", "--csv", "mine.csv", "--junit", "mine.xml")
        self.assertEqual([run.json["counts"][key] for key in COUNT_KEYS], [10, 0, 0, 0, 0, 0, 0])
        self.assertEqual(run.json["not_passed"], [])
        self.assertEqual({c["verdict"] for c in run.json["checks"]}, {"passed"})
        self.assertEqual(len(list(csv.DictReader((self.folder / "mine.csv").read_text().splitlines()))), 0)
        junit = xml.etree.ElementTree.parse(self.folder / "mine.xml")
        self.assertEqual(len(list(junit.iter("testcase"))), 10)
        self.expect(0, "report", out="10 cases: 10 passed")

    def test_one_check(self):
        run = self.expect(0, *SUITE, "--case", "runtime/copies", out="Run runtime.copies succeed: ")
        self.assertIn("1 case: 1 passed", run.out)

    def test_quiet(self):
        run = self.expect(0, *SUITE, "--case", "runtime/copies", "--quiet")
        self.assertNotIn("runtime.copies", run.out)


class FailureTest(ProgramTest):
    # Only the memory_checker check allocates a block of 12345 bytes, and copies one of 4097: in units of 64.
    def test_a_crash_costs_one_check_and_says_how_to_repeat_it(self):
        run = self.expect(1, *SUITE, faults="segv@12352", out="10 cases: 9 passed, 1 crashed")
        self.assertIn("Run runtime.memory_checker crashed: SIGSEGV", run.out)
        self.assertIn("repeat: diopi test --case runtime/memory_checker --suite runtime\n", run.out)

    def test_a_hang_costs_one_check(self):
        run = self.expect(1, *SUITE, "--impl", "reference", "--timeout", "4", "--json", faults="hang@4160")
        self.assertEqual(run.json["counts"]["timeout"], 1)
        fault, = run.json["not_passed"]
        self.assertEqual((fault["case"], fault["verdict"]), ("runtime/copies", "timeout"))
        self.assertEqual(fault["repeat"], "diopi test --case runtime/copies --suite runtime --impl reference --timeout 4")

    def test_a_failure_has_its_reason(self):
        run = self.expect(1, *SUITE, "--case", "runtime/memory_checker", faults="null@12352")
        self.assertIn("Run runtime.memory_checker failed: out of memory: 12345 bytes", run.out)
        row, = csv.DictReader((self.folder / "error_report.csv").read_text().splitlines())
        self.assertIn("out of memory", row["reason"])


class RefusalTest(ProgramTest):
    def test_unknown_suites_and_checks(self):
        self.expect(2, "test", "--suite", "runtme", err="there is no suite 'runtme' (did you mean 'runtime'?)")
        self.expect(2, "test", "--suite", "zzz", err="there is no suite 'zzz'; there are: ops, runtime")
        self.expect(2, *SUITE, "--case", "runtime/overlp",
                    err="no check 'runtime/overlp' (did you mean 'runtime/overlap'?)")
        self.expect(2, *SUITE, "--case", "ops/relu.relu.3", err="there are: runtime/device_info, ")
        self.expect(2, *SUITE, "--impl", "cup", err="no backend is called 'cup'")
        self.expect(2, *SUITE, "--csv", ".", err=". is a folder")

    def test_options_that_choose_operators(self):
        for option in (["--fname", "add"], ["--model", "resnet50"], ["--cases", "x.json"], ["--resume"],
                       ["--filter-dtype", "float64"]):
            with self.subTest(option=option):
                self.expect(2, *SUITE, *option, err=f"{option[0]} cannot be used with --suite runtime")

    def test_the_suite_of_operators_is_the_default(self):
        self.expect(0, "test", "--suite", "ops", "--case", "ops/relu.relu.3", out="Run diopi_functions.relu succeed")


class MemoryCheckTest(ProgramTest):
    """The leaky program's diopiRelu keeps 132 bytes at each call."""

    CHECK = {"DIPU_MEM_CHECK": "1"}
    TRACE = {"DIPU_MEM_CHECK": "1", "DIPU_MEM_CHECK_ENABLE_BACKTRACE": "1"}
    CASES = ["test", "--checks", "none", "--case", "ops/relu.relu.3"]

    def leaky(self, env, *args):
        with unittest.mock.patch.object(program, "BINARY", LEAKY):
            return self.expect(0, *args, env=env)

    def test_a_leak_is_counted_sized_and_placed(self):
        run = self.leaky(self.CHECK, *self.CASES)
        self.assertRegex(run.err, r"(?m)^dipu memory checker: leaked [1-9]\d* blocks?, \d+ bytes in case "
                                  r"ops/relu\.relu\.3$")
        self.assertRegex(run.err, r"(?m)^dipu memory checker:   block \d+ of 132 bytes at 0x[0-9a-f]+$")
        self.assertNotIn("from", run.err)
        self.assertNotIn("dipu memory checker", run.out)

    def test_the_backtrace_names_the_allocating_function(self):
        run = self.leaky(self.TRACE, *self.CASES)
        self.assertRegex(run.err, r"(?m)^dipu memory checker:     from keep_a_workspace\(diopiContext\*\) \(leaky_diopi\+0x")

    def test_each_case_reports_its_own_blocks(self):
        run = self.leaky(self.CHECK, "test", "--checks", "none", "--fname", "relu", "--filter-dtype", "float64",
                         "--jobs", "1", "--quiet")
        reports = [line for line in run.err.splitlines() if " leaked " in line]
        self.assertEqual(len(reports), len({line.rpartition(" ")[2] for line in reports}))
        self.assertGreater(len(reports), 5)
        blocks = [line.split(" block ")[1].split()[0] for line in run.err.splitlines() if " block " in line]
        self.assertEqual(len(blocks), len(set(blocks)), run.err)

    def test_profile_reports_after_each_case(self):
        run = self.leaky(self.CHECK, "profile", "--case", "ops/relu.relu.3", "--max-time", "0.05")
        self.assertRegex(run.err, r"leaked \d+ blocks, \d+ bytes in case ops/relu\.relu\.3\n")
        self.assertRegex(run.err, r"and \d+ more\n$")

    def test_the_checks_of_a_run_find_it_without_the_variable(self):
        with unittest.mock.patch.object(program, "BINARY", LEAKY):
            self.expect(1, "test", "--case", "ops/relu.relu.3", out="bytes of memory at each call")

    def test_off_without_the_variable(self):
        for env in ({}, {"DIPU_MEM_CHECK": ""}, {"DIPU_MEM_CHECK": "0"}, {"DIPU_MEM_CHECK_ENABLE_BACKTRACE": "1"}):
            with self.subTest(env=env):
                self.assertEqual(self.leaky(env, *self.CASES).err, "")

    def test_no_false_alarm(self):
        for command in (SUITE, self.CASES, ["test", "--case", "ops/conv_2d.conv2d.?", "--quiet"]):
            with self.subTest(command=command):
                self.assertNotIn("dipu", self.expect(0, *command, env=self.TRACE).err)


if __name__ == "__main__":
    unittest.main()
