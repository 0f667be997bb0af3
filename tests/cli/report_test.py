"""diopi report diff and diopi report matrix."""
import csv
import io
import unittest

from program import ProgramTest, allocated, case_file, group

CRASHING = 4099
SIZES = [CRASHING, 300, 200]
FAULT = f"segv@{allocated(CRASHING)}"


class ReportTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[n] for n in SIZES], ops=("add", "mul"))))

    def run_cases(self, run, *args, code=0, **how):
        return self.expect(code, "test", "--cases", "mine.json", "--run", run, *args, **how)


class DiffTest(ReportTest):
    def test_a_crash_broke_and_the_way_back_mends(self):
        self.run_cases("a")
        self.run_cases("b", code=1, faults=FAULT)
        diff = self.expect(1, "report", "diff", "a", "b", "--json").json
        self.assertEqual([c["case"] for c in diff["broken"]], ["ops/mine.add.0", "ops/mine.mul.0"])
        self.assertEqual({c["after"] for c in diff["broken"]}, {"crashed"})
        self.assertEqual(diff["common"], len(SIZES) * 2)
        self.expect(1, "report", "diff", "a", "b",
                    out=["Broke\n", "first: diopi test --case ops/mine.add.0",
                         "6 cases in both runs: 2 broke, 4 with the same verdict\n"])
        self.expect(0, "report", "diff", "b", "a", "--quiet",
                    out="6 cases in both runs: 2 mended, 4 with the same verdict\n")

    def test_skipped_cases_have_lost_their_support(self):
        self.run_cases("a")
        self.run_cases("b", "--filter-dtype", "float64")
        self.expect(1, "report", "diff", "a", "b", out=["Lost support\n", "uses float64 (--filter-dtype)"])
        self.expect(0, "report", "diff", "b", "a", out="Gained support\n")

    def test_journals_and_folders_of_shards_are_runs(self):
        self.run_cases("whole")
        for number in (1, 2):
            self.run_cases(f"parts/{number}", "--shard", f"{number}/2")
        self.expect(0, "report", "diff", "whole/journal.jsonl", "parts",
                    out="6 cases in both runs: 6 with the same verdict\n")
        self.expect(0, "report", "diff", "whole", "parts/1", out="only in A\n")

    def test_what_is_no_run_is_refused(self):
        self.run_cases("a")
        self.write("foreign.jsonl", '{"some": "other file"}\n')
        self.expect(2, "report", "diff", "a", "nowhere", err="there is nothing at nowhere")
        self.expect(2, "report", "diff", "foreign.jsonl", "a", err="foreign.jsonl")
        self.expect(2, "report", "diff", "a", err="B is required")


class MatrixTest(ReportTest):
    def test_failures_and_gaps_are_in_their_cells(self):
        self.run_cases("run", code=1, faults=FAULT)
        self.expect(0, "report", "matrix", "--run", "run", "add",
                    out=["operator", "FAIL", "1 pairs of operator and dtype, forward on cpu: 1 FAIL\n"])
        rows = self.expect(0, "report", "matrix", "--run", "run", "--json").json["rows"]
        self.assertEqual([row["operator"] for row in rows], ["add", "mul"])
        self.assertEqual(rows[0]["cells"]["forward"]["failed"], 1)
        self.assertEqual(rows[0]["cells"]["forward"]["passed"], 2)
        self.assertNotIn("strided", rows[0]["cells"])
        table = self.expect(0, "report", "matrix", "--run", "run", "--format", "csv").out
        self.assertEqual(next(csv.DictReader(io.StringIO(table)))["forward failed"], "1")
        self.expect(0, "report", "matrix", "--run", "run", "--format", "markdown", out="| add | FAIL |")

    def test_a_strided_run_fills_the_strided_column(self):
        self.run_cases("run", "--strided")
        rows = self.expect(0, "report", "matrix", "--run", "run", "--json").json["rows"]
        self.assertEqual(rows[0]["cells"]["strided"]["support"], "yes")

    def test_coverage_compares_the_standard_with_library_and_run(self):
        self.run_cases("run", "--impl", "reference")
        functions = self.expect(0, "report", "matrix", "--run", "run", "--coverage", "--json").json["functions"]
        by_name = {f["function"]: f for f in functions}
        self.assertEqual(by_name["diopiAdd"]["calls"], len(SIZES))
        self.assertEqual(by_name["diopiAdd"]["passed"], len(SIZES))
        self.assertTrue(by_name["diopiRelu"]["there"])
        self.assertEqual(by_name["diopiRelu"]["calls"], 0)
        self.expect(0, "report", "matrix", "--run", "run", "--coverage", out=["reference", "No case of the run reaches"])
        self.expect(2, "report", "matrix", "--run", "run", "--coverage", "--impl", "nothing", err="nothing")

    def test_a_run_that_is_not_there_says_what_to_do(self):
        self.expect(2, "report", "matrix", "--run", "nowhere", err="run diopi test first")
        self.run_cases("run")
        self.expect(2, "report", "matrix", "--run", "run", "adx", err="the run has no case of 'adx'")


if __name__ == "__main__":
    unittest.main()
