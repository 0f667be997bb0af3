"""The journal is valid after any end of a run, and --resume continues it."""
import os
import random
import signal
import subprocess
import unittest

from program import ProgramTest, allocated, case_file, group

FAULTY = 4099
SIZES = [9000, 8000, 7000, 6000, FAULTY, 300, 200, 100]  # the order in which they run, the longest first
IDS = [f"ops/journal.add.{i}" for i in range(len(SIZES))]
ARGS = ["test", "--cases", "mine.json", "--jobs", "1", "--timeout", "60"]
HANG = f"hang@{allocated(FAULTY)}"
DONE = SIZES.index(FAULTY)  # cases that have a result before the one that hangs


class JournalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("journal", [[n] for n in SIZES])))

    def start_and_hang(self, *args):
        process = self.start(*ARGS, *args, faults=HANG)
        self.wait_for_results(DONE)
        return process

    def expect_resumed(self, *args):
        """Continues, and has each case in the journal exactly once."""
        before = self.journal()[1] if not args else None
        run = self.expect(0, *ARGS, "--resume", "--json")
        self.assertEqual(run.json["counts"]["passed"], len(SIZES), str(run))
        header, results = self.journal()
        self.assertEqual(header["cases"], len(SIZES))
        self.assertEqual(sorted(r["case"] for r in results), IDS)
        if before is not None:
            self.assertEqual(results[:len(before)], before, "finished cases were run again")

    def test_kill_and_resume(self):
        process = self.start_and_hang()
        self.assertEqual(len(process.pids()), 3, "the program, one worker and its guardian")
        os.kill(process.popen.pid, signal.SIGKILL)
        self.wait_for(lambda: not process.pids(), "the worker, which hangs, dies with its parent", 5)
        self.assertEqual([r["case"] for r in self.journal()[1]], IDS[:DONE])
        self.expect_resumed()

    def test_kills_at_random_moments_change_nothing(self):
        args = ["test", *self.write_some_that_fail(), "--quiet"]
        self.expect(1, *args)
        whole, table = self.told()
        self.assertEqual(whole["counts"]["failed"], 2)
        moment = random.Random(3)
        kills, resumed = 0, []
        while kills < 20:
            process = self.start(*args, *resumed)
            try:
                process.popen.wait(moment.uniform(0.02, 0.4))
                resumed = []  # it had finished: a new run
                continue
            except subprocess.TimeoutExpired:
                os.kill(process.popen.pid, signal.SIGKILL)
            self.wait_for(lambda: not process.pids(), "the workers die with their parent", 5)
            if self.leftovers() == ["journal.jsonl.part"]:
                # Killed between the two names of a journal that replaces another: the next run removes the first one.
                self.expect(1, *args, "--resume")
            self.assertEqual(self.leftovers(), [])
            kills += 1
            resumed = ["--resume"] if (self.folder / "diopi_run/journal.jsonl").exists() else []
        self.expect(1, *args, *resumed)
        self.assertEqual(self.told(), (whole, table))

    def test_the_next_run_removes_what_a_kill_left(self):
        part = self.folder / "diopi_run/journal.jsonl.part"
        for resumed in ([], ["--resume"], []):
            self.expect(0, *ARGS, "--quiet", *resumed)
            self.assertFalse(part.exists())
            part.write_text("half a journal")
        self.expect(0, *ARGS, "--quiet", "--resume")
        self.assertEqual(self.leftovers(), [])

    def write_some_that_fail(self):
        """Cases of add that pass, and two of softmax with tolerances that no float32 result meets."""
        self.write("mixed.json", case_file(
            group("many", [[n, 50] for n in range(1, 60)], dtypes=("float32", "float64")),
            {"group": "strict", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
             "tensors": [{"name": "input", "shapes": [[30, 50], [40, 50]]}]}))
        self.write("strict.json", {"device": "none", "rules": [
            {"cases": ["ops/strict.*"], "atol": 0, "rtol": 0, "reason": "to fail"}]})
        return ["--cases", "mixed.json", "--device-config", "strict.json"]

    def told(self):
        """The report of the journal, without its times."""
        told = self.diopi("report", "--json").json
        table = (self.folder / "error_report.csv").read_text()
        return {key: told[key] for key in ("counts", "not_passed")}, table

    def leftovers(self):
        return [p.name for p in self.folder.rglob("*") if p.suffix in (".part", ".tmp")]

    def test_incomplete_last_line(self):
        process = self.start_and_hang()
        os.kill(process.popen.pid, signal.SIGKILL)
        self.wait_for(lambda: not process.pids(), "the worker dies with its parent", 5)
        path = self.folder / "diopi_run/journal.jsonl"
        whole = path.read_text()
        last = whole.rstrip("\n").rpartition("\n")[2]
        path.write_text(whole[:-len(last) // 2])
        report = self.expect(0, "report", out=f"{DONE - 1} cases: {DONE - 1} passed")
        missing = len(SIZES) - DONE + 1
        self.assertIn(f"{missing} cases of the run have no result: it was interrupted (diopi test --resume)", report.out)
        self.expect_resumed("incomplete")

    def test_resume_of_a_finished_run_runs_nothing(self):
        self.expect(0, *ARGS)
        before = (self.folder / "diopi_run/journal.jsonl").read_bytes()
        self.expect(0, *ARGS, "--resume", out="8 cases: 8 passed", faults=HANG)
        self.assertEqual((self.folder / "diopi_run/journal.jsonl").read_bytes(), before)

    def test_a_new_run_starts_a_new_journal(self):
        self.expect(0, *ARGS)
        self.expect(0, *ARGS, "--case", IDS[0])
        self.assertEqual([r["case"] for r in self.journal()[1]], IDS[:1])

    def test_interrupt(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=stop.name):
                process = self.start_and_hang()
                process.popen.send_signal(stop)
                run = process.finish(10)
                self.assertEqual(run.code, 130, str(run))
                self.assertIn(f"diopi: interrupted after {DONE} of {len(SIZES)} cases; diopi test --resume with the same "
                              "options continues", run.err)
                self.assertIn(f"{DONE} cases: {DONE} passed", run.out)
                self.assertEqual(process.pids(), [], "a worker was left behind")
                self.assertEqual([r["case"] for r in self.journal()[1]], IDS[:DONE])
                csv = self.folder / "error_report.csv"
                self.assertEqual(csv.read_text().count("\n"), 1, "a header and nothing else")
                csv.unlink()
                self.expect_resumed()
                self.assertTrue(csv.exists())
                (self.folder / "diopi_run/journal.jsonl").unlink()

    def test_interrupt_from_the_keyboard_reaches_the_workers_too(self):
        process = self.start_and_hang("--json")
        os.killpg(process.popen.pid, signal.SIGINT)
        run = process.finish(10)
        self.assertEqual(run.code, 130, str(run))
        self.assertEqual(run.json["counts"]["passed"], DONE)
        self.assertEqual(run.json["counts"]["crashed"], 0, "the interrupt was taken for a crash")

    def test_resume_with_another_seed_is_refused(self):
        self.expect(0, *ARGS)
        self.expect(2, *ARGS, "--resume", "--seed", "5",
                    err="diopi_run is of backend cpu and seed 0; give the same --impl and --seed to --resume")

    def test_resume_with_other_cases_is_refused(self):
        self.expect(0, *ARGS)
        before = (self.folder / "diopi_run/journal.jsonl").read_bytes()
        for others in (["--fname", "add"], ["--filter-dtype", "float32"]):
            with self.subTest(others=others):
                self.write("mine.json", case_file(group("mine", [[4]], ["add", "mul"], ["float64", "float32"])))
                self.expect(2, *ARGS, *others, "--resume",
                            err="the journal in diopi_run is of another selection of cases; give the same options to "
                                "--resume, or another --run")
                self.assertEqual((self.folder / "diopi_run/journal.jsonl").read_bytes(), before)

    def test_resume_without_a_journal(self):
        self.expect(2, *ARGS, "--resume", "--run", "nowhere", err="cannot read nowhere/journal.jsonl: No such file")

    def test_foreign_journal(self):
        (self.folder / "diopi_run").mkdir()
        for content in ("", "hello\n", '{"a": 1}\n', "\0\xff\n"):
            with self.subTest(content=content):
                self.write("diopi_run/journal.jsonl", content)
                message = "diopi_run/journal.jsonl is not a run journal of diopi: its first line is no header"
                self.expect(2, *ARGS, "--resume", err=message)
                self.expect(2, "report", err=message)

    def test_two_runs_in_one_folder(self):
        self.start_and_hang()
        before = (self.folder / "diopi_run/journal.jsonl").read_bytes()
        self.expect(2, *ARGS, err="another run is writing to diopi_run/journal.jsonl; choose another folder")
        self.expect(2, *ARGS, "--resume", err="another run is writing to diopi_run/journal.jsonl")
        self.assertEqual((self.folder / "diopi_run/journal.jsonl").read_bytes(), before)

    def test_crash_is_run_again_only_in_a_new_run(self):
        self.expect(1, *ARGS, faults=f"segv@{allocated(FAULTY)}")
        run = self.expect(1, *ARGS, "--resume", "--json")
        self.assertEqual(run.json["counts"]["crashed"], 1, "a resumed run keeps its results")
        self.expect(0, *ARGS)

    def test_report_repeats_the_run(self):
        self.expect(1, *ARGS, "--json", faults=f"segv@{allocated(FAULTY)}")
        first = (self.folder / "error_report.csv").read_bytes()
        run = self.expect(1, "report", "--json")
        self.assertEqual(run.json["counts"]["crashed"], 1)
        self.assertEqual((self.folder / "error_report.csv").read_bytes(), first)

    def test_journal_stays_readable_to_other_programs(self):
        self.expect(0, *ARGS)
        header, results = self.journal()
        self.assertEqual(header["diopi_journal"], 1)
        self.assertEqual(header["command"][1:], ARGS)
        self.assertEqual([step["step"] for step in results[0]["steps"]], ["forward"])
        self.assertEqual(results[0]["tensors"][0], ["input", "float64", [SIZES[0]]])


if __name__ == "__main__":
    unittest.main()
