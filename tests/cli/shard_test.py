"""--shard, the variables of Bazel and Slurm, and diopi report merge."""
import csv
import io
import json
import re
import unittest

from program import ProgramTest, allocated, case_file, group

CRASHING = 4099
SIZES = [9000, 8000, 7000, CRASHING, 300, 200, 100, 50]
FAULT = f"segv@{allocated(CRASHING)}"
SLURM = "SLURM_ARRAY_TASK_"


def slurm(number, count, first, last, step=None):
    variables = {f"{SLURM}ID": number, f"{SLURM}COUNT": count, f"{SLURM}MIN": first, f"{SLURM}MAX": last}
    if step is not None:
        variables[f"{SLURM}STEP"] = step
    return {name: str(value) for name, value in variables.items()}


def bazel(index, total, **more):
    return {"TEST_SHARD_INDEX": str(index), "TEST_TOTAL_SHARDS": str(total), **more}


class ShardTest(ProgramTest):
    """Cases of add and of relu; those of CRASHING elements crash when FAULT is set."""

    def setUp(self):
        super().setUp()
        relu = group("mine_relu", [[n] for n in SIZES], ops=["relu"])
        relu["tensors"].pop()
        self.write("mine.json", case_file(group("mine_add", [[n] for n in SIZES]), relu))

    def args_of(self, run, *args):
        return ["test", "--cases", "mine.json", "--run", run, "--csv", f"{run}.csv", *args]

    def shard(self, option, run, *args, code=0, **how):
        return self.expect(code, *self.args_of(run, "--shard", option, *args), **how)

    def ids(self, run):
        return [r["case"] for r in self.journal(run)[1]]

    def whole_ids(self):
        return [f"ops/mine_{op}.{op}.{i}" for op in ("add", "relu") for i in range(len(SIZES))]

    def expect_shard(self, wanted, run, *args, env=None):
        """The run of these arguments and variables is the shard `wanted`, or the whole when that is empty."""
        self.expect(0, *self.args_of(run, *args), env=env)
        self.assertEqual(self.journal(run)[0]["shard"], wanted)


class PartitionTest(ShardTest):
    def test_the_union_of_the_shards_is_the_whole(self):
        for count in (1, 2, 3, 7):
            found = []
            for number in range(1, count + 1):
                self.shard(f"{number}/{count}", "run", out=f"shard {number}/{count}: ")
                header, results = self.journal("run")
                self.assertEqual((header["shard"], header["selection_cases"]), (f"{number}/{count}", 2 * len(SIZES)))
                self.assertEqual(header["cases"], len(results))
                found += [r["case"] for r in results]
            self.assertEqual(sorted(found), sorted(self.whole_ids()), f"{count} shards")

    def test_a_shard_does_not_depend_on_jobs(self):
        self.shard("2/3", "one", "--jobs", "1")
        self.shard("2/3", "many", "--jobs", "5")
        self.assertEqual(sorted(self.ids("one")), sorted(self.ids("many")))

    def test_a_shard_without_cases_passes(self):
        self.shard("99/100", "run", out=["shard 99/100: 0 of 16 cases", "0 cases (0.0 s)"])
        self.assertEqual(self.journal("run")[1], [])

    def test_json_stays_json(self):
        self.assertGreater(self.shard("1/2", "run", "--json").json["counts"]["passed"], 0)

    def test_wrong_shards(self):
        for option, message in (("0/4", "--shard: shard 0/4: shards are numbered from 1 to 4"),
                                ("5/4", "--shard: shard 5/4: shards are numbered from 1 to 4"),
                                ("four", "--shard: 'four' is no shard; write K/N, such as 2/4"),
                                ("1/0", "a run has 1 to 1000000 shards, not 0"),
                                ("1.5/4", "'1.5' is no whole number; write K/N")):
            with self.subTest(option=option):
                self.shard(option, "run", code=2, err=message)
                self.assertFalse((self.folder / "run").exists(), "nothing may be run")

    def test_resume_continues_only_the_same_shard(self):
        self.shard("1/2", "run")
        before = (self.folder / "run/journal.jsonl").read_bytes()
        self.shard("1/2", "run", "--resume", faults=FAULT)
        self.shard("2/2", "run", "--resume", code=2,
                   err="is of shard 1/2, not of shard 2/2; give the same --shard to --resume, or another --run")
        self.expect(2, *self.args_of("run", "--resume"), err="is of shard 1/2, not of a whole run")
        self.shard("1/2", "run", "--resume", "--fname", "add", code=2, err="shard 1/2 of another selection of cases")
        self.assertEqual((self.folder / "run/journal.jsonl").read_bytes(), before)

    def test_a_journal_without_a_shard_is_resumed(self):
        self.expect(0, *self.args_of("run"))
        path = self.folder / "run/journal.jsonl"
        header, rest = path.read_text().split("\n", 1)
        header = {k: v for k, v in json.loads(header).items() if k not in ("shard", "selection", "selection_cases")}
        path.write_text(json.dumps(header) + "\n" + rest)
        self.expect(0, *self.args_of("run", "--resume"), out="16 cases: 16 passed", faults=FAULT)


class BazelTest(ShardTest):
    def test_its_variables_are_applied(self):
        status = self.folder / "status/file"
        for index in range(3):
            self.expect_shard(f"{index + 1}/3", f"run_{index}", env=bazel(index, 3, TEST_SHARD_STATUS_FILE=str(status)))
            self.assertTrue(status.exists(), "the status file tells Bazel that the shard variables are applied")
            status.unlink()
        self.assertEqual(sorted(self.ids("run_0") + self.ids("run_1") + self.ids("run_2")), sorted(self.whole_ids()))

    def test_one_shard_or_none_is_the_whole_run(self):
        self.expect_shard("", "run", env=bazel(0, 1))
        self.expect_shard("", "run", env=bazel("", ""))
        self.expect_shard("", "run", env={"TEST_TOTAL_SHARDS": ""})
        self.assertEqual(len(self.ids("run")), 2 * len(SIZES))

    def test_an_explicit_shard_wins(self):
        status = self.folder / "status"
        variables = bazel(2, 3, TEST_SHARD_STATUS_FILE=str(status))
        self.expect_shard("1/2", "run", "--shard", "1/2", env=variables)
        self.assertFalse(status.exists(), "Bazel must see that its own sharding was not applied")
        self.expect_shard("1/1", "run", "--shard", "1/1", env=bazel("x", "y"))

    def test_broken_variables(self):
        for variables, message in ((bazel(3, 3), "TEST_SHARD_INDEX 3 is not from 0 to TEST_TOTAL_SHARDS 3 - 1"),
                                   (bazel(-1, 3), "TEST_SHARD_INDEX: '-1' is no whole number"),
                                   (bazel(0, "many"), "TEST_TOTAL_SHARDS: 'many' is no whole number"),
                                   (bazel(0, 0), "TEST_SHARD_INDEX 0 is not from 0 to TEST_TOTAL_SHARDS 0 - 1"),
                                   ({"TEST_TOTAL_SHARDS": "3"}, "TEST_SHARD_INDEX is not set"),
                                   (bazel(0, 2, TEST_SHARD_STATUS_FILE="/proc/no/file"), "TEST_SHARD_STATUS_FILE: ")):
            with self.subTest(variables=variables):
                self.expect(2, *self.args_of("run"), env=variables, err=message)
                self.assertFalse((self.folder / "run").exists(), "nothing may be run")


class SlurmTest(ShardTest):
    def test_array_tasks_are_numbered_in_their_order(self):
        for variables, wanted in ((slurm(0, 8, 0, 7, 1), "1/8"), (slurm(7, 8, 0, 7, 1), "8/8"),
                                  (slurm(1, 8, 1, 8, 1), "1/8"), (slurm(8, 8, 1, 8), "8/8"),
                                  (slurm(1, 8, 1, 15, 2), "1/8"), (slurm(15, 8, 1, 15, 2), "8/8"),
                                  (slurm(5, 8, 1, 15, 2), "3/8"), (slurm(3, 1, 3, 3), "1/1")):
            with self.subTest(wanted=wanted, **variables):
                self.expect_shard(wanted, "run", "--shard", "slurm", env=variables)

    def test_they_are_not_applied_without_the_option(self):
        self.expect_shard("", "run", env=slurm(2, 4, 1, 4, 1))

    def test_slurm_wins_over_bazel(self):
        self.expect_shard("2/4", "run", "--shard", "slurm", env={**slurm(2, 4, 1, 4, 1), **bazel(0, 3)})

    def test_broken_variables(self):
        contradiction = "Slurm's variables contradict each other: task "
        for variables, message in (({}, "SLURM_ARRAY_TASK_ID is not set; --shard slurm needs a job array"),
                                   ({f"{SLURM}ID": "1"}, "SLURM_ARRAY_TASK_COUNT is not set"),
                                   (slurm("x", 4, 1, 4, 1), "SLURM_ARRAY_TASK_ID: 'x' is no whole number"),
                                   (slurm(5, 4, 1, 4, 1), contradiction + "5 of 4 tasks in 1-4:1"),
                                   (slurm(0, 4, 1, 4, 1), contradiction),
                                   (slurm(2, 8, 1, 15, 2), contradiction),
                                   (slurm(2, 3, 1, 7, 1), contradiction),
                                   (slurm(1, 4, 1, 4, 0), contradiction)):
            with self.subTest(**variables):
                self.shard("slurm", "run", code=2, err=message, env=variables)
                self.assertFalse((self.folder / "run").exists(), "nothing may be run")


class MergeTest(ShardTest):
    def run_shards(self, count, *args, faults=""):
        for number in range(1, count + 1):
            run = self.diopi(*self.args_of(f"run/{number}", "--shard", f"{number}/{count}", *args), faults=faults)
            self.assertIn(run.code, (0, 1), str(run))

    def merge(self, code, *args, **how):
        return self.expect(code, "report", "merge", *args, "--into", "merged", "--csv", "merged.csv", **how)

    def untimed(self, text):
        return re.sub(r"\(\d+\.\d s", "(_ s", text).replace("merged.csv", "whole.csv")

    def rows(self, name):
        return list(csv.DictReader(io.StringIO((self.folder / name).read_text())))

    def test_the_merged_report_is_that_of_the_whole_run(self):
        self.run_shards(3, "--jobs", "2", "--seed", "4", faults=FAULT)
        self.expect(1, *self.args_of("whole", "--jobs", "1", "--seed", "4"), faults=FAULT)
        whole = self.expect(1, "report", "--run", "whole", "--csv", "whole.csv")
        direct = self.merge(1, "run/2", "run/1", "run/3")
        self.assertEqual(direct.err, "")
        self.assertIn("16 cases: 14 passed, 2 crashed", direct.out)
        self.assertEqual(self.untimed(direct.out), self.untimed(whole.out))
        self.assertEqual((self.folder / "merged.csv").read_bytes(), (self.folder / "whole.csv").read_bytes())
        self.assertEqual([row["case"] for row in self.rows("merged.csv")],
                         ["ops/mine_add.add.3", "ops/mine_relu.relu.3"])
        later = self.expect(1, "report", "--run", "merged", "--csv", "later.csv")
        self.assertEqual(self.untimed(later.out.replace("later.csv", "merged.csv")), self.untimed(whole.out))
        self.assertEqual((self.folder / "later.csv").read_bytes(), (self.folder / "whole.csv").read_bytes())
        self.assertEqual(self.merge(1, "run", "--json").json["counts"], {
            "passed": 14, "failed": 0, "crashed": 2, "timeout": 0, "skipped": 0, "not_implemented": 0,
            "advice": 0})

    def test_the_merged_journal_is_that_of_a_whole_run(self):
        self.run_shards(2)
        self.merge(0, "run")
        header, results = self.journal("merged")
        self.assertEqual((header["shard"], header["cases"], header["selection_cases"]), ("", 16, 16))
        self.assertEqual([r["case"] for r in results], self.whole_ids())
        self.expect(0, *self.args_of("merged", "--resume"), out="16 cases: 16 passed", faults=FAULT)

    def test_cases_that_are_filtered_or_have_no_implementation(self):
        self.write("mine.json", case_file(group("mine", [[4], [5], [6]], dtypes=["float32", "float64"])))
        self.run_shards(2, "--filter-dtype", "float64")
        self.merge(0, "run", out="6 cases: 3 passed, 3 skipped")

    def test_missing_and_unfinished_shards(self):
        self.run_shards(3)
        path = self.folder / "run/2/journal.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-1]) + lines[-1][:20])
        left = len(lines) - 2
        gaps = ["diopi: shard 1/3 is missing",
                f"diopi: shard 2/3 is not finished: 1 of its {left + 1} cases have no result"]
        run = self.merge(1, "run/2", "run/3", err=[*gaps, "the run is not complete, nothing was written", "--partial"])
        self.assertEqual(run.out, "")
        self.assertFalse((self.folder / "merged").exists())
        there = left + len(self.ids("run/3"))
        run = self.merge(0, "run/2", "run/3", "--partial", out=[f"{there} cases: {there} passed",
                                                                f"{16 - there} cases of the run have no result"])
        self.assertIn(gaps[0], run.err)
        self.expect(0, *self.args_of("merged", "--resume"), out="16 cases: 16 passed")

    def test_a_duplicate_shard(self):
        self.run_shards(2)
        self.shard("2/2", "again")
        run = self.merge(0, "run", "again", out="16 cases: 16 passed")
        self.assertEqual(run.err, "diopi: shard 2/2 occurs twice: again/journal.jsonl counts, run/2/journal.jsonl "
                                  "does not\n")
        path = self.folder / "again/journal.jsonl"
        path.write_text(path.read_text().replace('"verdict":"passed"', '"verdict":"failed"', 1))
        self.merge(2, "run", "again", err=["are both of shard 2/2 and differ: ", "leave one of them out"])

    def test_shards_of_different_runs(self):
        self.shard("1/2", "one")
        for name, args, message in (("seed", ["--seed", "3"], "seed 0 and 3"),
                                    ("impl", ["--impl", "reference"], "backend cpu and reference"),
                                    ("accuracy", ["--accuracy", "legacy"], "and '--cases mine.json --accuracy legacy'"),
                                    ("selection", ["--fname", "relu"], "selection 16 cases (checksum "),
                                    ("filter", ["--filter-dtype", "float64"], "selection 16 cases (checksum ")):
            with self.subTest(name):
                self.diopi(*self.args_of(name, "--shard", "2/2", *args))
                self.merge(2, "one", name,
                           err=[f"one/journal.jsonl and {name}/journal.jsonl are not of one run: ", message])
        self.shard("2/3", "three")
        self.merge(2, "one", "three", err="number of shards 2 and 3")
        self.expect(0, *self.args_of("whole"))
        self.merge(2, "one", "whole", err="whole/journal.jsonl is of a whole run, not of a shard")
        self.assertFalse((self.folder / "merged").exists())

    def test_journals_that_cannot_be_merged(self):
        self.run_shards(1)
        self.expect(2, "report", "merge", "run/1", err="--into is required")
        self.merge(2, err="journals is required")
        self.merge(2, "nowhere", err="there is nothing at nowhere; name the shards' run folders")
        (self.folder / "empty").mkdir()
        self.merge(2, "empty", err="there is no journal in empty nor in a folder in it")
        self.merge(2, self.write("file", "hello\n"), err="file is not a run journal of diopi")
        before = (self.folder / "run/1/journal.jsonl").read_bytes()
        self.expect(2, "report", "merge", "run/1", "--into", "run/1", err="would be replaced by the merged journal")
        self.assertEqual((self.folder / "run/1/journal.jsonl").read_bytes(), before)
        self.merge(2, "run/1", "--junit", "empty", err="empty is a folder; name a file")
        self.assertFalse((self.folder / "merged").exists())


if __name__ == "__main__":
    unittest.main()
