"""A crash, an abort, a hang or exhausted memory costs one case, never the run."""
import resource
import unittest

import program
from program import ProgramTest, allocated, case_file, group

SICK = 4099  # elements of the case that goes wrong; no other case has a tensor of that size
SHAPES = [[4], [60], [SICK], [100], [2000], [9000]]
SICK_CASE = "ops/worker.add.2"


class WorkerTest(ProgramTest):
    def run_with(self, fault, *args, code=1, size=allocated(SICK)):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(code, "test", "--cases", "mine.json", "--jobs", "2", "--json", *args, faults=f"{fault}@{size}")
        _, results = self.journal()
        self.assertEqual(sorted(r["case"] for r in results), [f"ops/worker.add.{i}" for i in range(len(SHAPES))])
        return run

    def expect_only_sick(self, run, verdict, reason):
        counts = dict.fromkeys(program.COUNT_KEYS, 0)
        counts["passed"] = len(SHAPES) - 1
        counts[verdict] = 1
        self.assertEqual(run.json["counts"], counts, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual((fault["case"], fault["verdict"]), (SICK_CASE, verdict))
        self.assertIn(reason, fault["reason"])
        self.assertEqual(fault["repeat"], f"diopi test --case {SICK_CASE} --cases mine.json")

    def test_without_a_fault_every_case_passes(self):
        run = self.run_with("segv", code=0, size=1)
        self.assertEqual(run.json["counts"]["passed"], len(SHAPES))

    def test_segmentation_fault(self):
        self.expect_only_sick(self.run_with("segv"), "crashed", "SIGSEGV (Segmentation fault)")

    def test_abort(self):
        self.expect_only_sick(self.run_with("abort"), "crashed", "SIGABRT (Aborted)")

    def test_kill_as_the_kernel_does_when_memory_is_short(self):
        self.expect_only_sick(self.run_with("kill"), "crashed", "SIGKILL (Killed)")

    def test_exit(self):
        self.expect_only_sick(self.run_with("exit"), "crashed", "ended by itself with exit code 7")

    def test_endless_loop(self):
        run = self.run_with("hang", "--timeout", "1")
        self.expect_only_sick(run, "timeout", "no answer within 1.0 s (--timeout)")

    def test_failed_allocation(self):
        self.expect_only_sick(self.run_with("null"), "failed", f"out of memory: {SICK * 8} bytes for a tensor")

    def test_memory_limit(self):
        if program.SANITIZED:
            self.skipTest("a sanitizer reserves more address space than any limit")
        limit = 4 << 30
        self.write("mine.json", case_file(group("worker", [[8], [1 << 30], [16]])))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "2", "--json",
                          preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(run.json["counts"]["passed"], 2, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual(fault["case"], "ops/worker.add.1")
        self.assertIn("out of memory: 8589934592 bytes", fault["reason"])

    def test_exception_spares_the_other_workers(self):
        # Only copies of a shape of this rank are so large. The other worker has a long case under way meanwhile.
        rank = 41
        self.write("mine.json", case_file(group("worker", [[1] * rank, [8], [3000, 1000], [16]])))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "2", "--json", faults=f"throw@{rank * 8}")
        self.assertEqual(run.json["counts"]["passed"], 3, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual(fault["case"], "ops/worker.add.0")
        self.assertIn(fault["verdict"], ("failed", "crashed"))
        self.assertNotIn("diopi: error", run.err, "the worker spoke with the program's voice")

    def test_many_crashes(self):
        count = 40
        self.write("mine.json", case_file(group("worker", [[SICK], [8]] * (count // 2))))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "4", "--json", faults=f"abort@{allocated(SICK)}")
        self.assertEqual(run.json["counts"]["crashed"], count // 2, str(run))
        self.assertEqual(run.json["counts"]["passed"], count // 2, str(run))

    def test_log_and_report_name_the_crash(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(1, "test", "--cases", "mine.json", faults=f"segv@{allocated(SICK)}")
        line = f"Run diopi_functions.add failed (crashed). TestTag: [float64]  TensorInfo : [(input, float64, ({SICK},))"
        self.assertRegex(run.out, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - DIOPI-Test - ERROR - ")
        self.assertIn(line, run.out)
        self.assertIn("\n    SIGSEGV (Segmentation fault)\n", run.out)
        self.assertIn(f"\n    repeat: diopi test --case {SICK_CASE} --cases mine.json\n", run.out)
        self.assertIn("1 Tests failed:\n1--Run diopi_functions.add failed (crashed).   TestTag: [float64]", run.out)
        self.assertIn("6 cases: 5 passed, 1 crashed", run.out)

    def test_the_repeat_command_repeats_the_case(self):
        run = self.run_with("null")
        self.assertEqual(len(run.json["not_passed"]), 1)
        words = run.json["not_passed"][0]["repeat"].split()
        again = self.expect(1, *words[1:], "--json", faults=f"null@{allocated(SICK)}")
        self.assertEqual(sum(again.json["counts"].values()), 1, str(again))
        self.assertEqual(again.json["not_passed"][0]["case"], SICK_CASE)


if __name__ == "__main__":
    unittest.main()
