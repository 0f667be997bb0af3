"""Replay bundles: a call that fails, crashes or hangs is saved, and fails again from its file alone."""
import csv
import os
import pathlib
import unittest
import unittest.mock

import program
from program import ProgramTest, allocated, case_file, group

FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))
RELU = {"group": "mine", "ops": ["relu"], "dtypes": ["float32"], "tensors": [{"name": "input", "shapes": [[4, 33]]}]}
BUNDLE = "bad/ops-mine-relu-0-forward.h5"


class BundleTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(RELU))

    def faulty(self, code, fault, *args, **how):
        """The program whose relu has that fault."""
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            return self.expect(code, "test", *args, env={"DIOPI_TEST_RELU": fault}, **how)

    def save(self, fault, *args, code=1):
        """A run of the one case with that fault; its failure must name the bundle."""
        run = self.faulty(code, fault, "--cases", "mine.json", "--save-failures", "bad", *args)
        self.assertEqual(self.bundles(), [BUNDLE], str(run))
        return run

    def bundles(self):
        return sorted(str(p.relative_to(self.folder)) for p in (self.folder / "bad").iterdir())

    def csv_row(self):
        [row] = csv.DictReader((self.folder / "error_report.csv").read_text().splitlines())
        return row

    def forget_the_case(self):
        for path in (self.folder / "mine.json", self.folder / "diopi_run/journal.jsonl"):
            path.unlink()

    def test_wrong_result_fails_again_and_passes_without_the_fault(self):
        run = self.save("wrong", "--seed", "7")
        self.assertIn(f"\n    bundle: {BUNDLE}\n", run.out)
        reason = run.out.split("\n    ")[1]
        self.forget_the_case()
        again = self.faulty(1, "wrong", "--replay", BUNDLE)
        self.assertIn("Run diopi_functions.relu failed. TestTag: [float32, forward]", again.out)
        self.assertIn(f"\n    {reason}\n    repeat: diopi test --replay {BUNDLE}\n", again.out)
        self.assertIn("1 case: 1 failed", again.out)
        sound = self.faulty(0, "none", "--replay", BUNDLE, out="Run diopi_functions.relu succeed")
        self.assertNotIn("WARNING", sound.out, "it is the same library")
        self.expect(0, "test", "--replay", BUNDLE, "--impl", "reference", out="1 case: 1 passed")

    def test_a_library_that_changes_the_working_directory(self):
        run = self.save("wrong away", "--checks", "none")
        self.assertIn(f"\n    bundle: {BUNDLE}\n", run.out)

    def test_reports_name_the_bundle(self):
        run = self.save("wrong", "--json", "--junit", "run.xml")
        self.assertEqual(run.json["not_passed"][0]["bundle"], BUNDLE)
        self.assertEqual(self.csv_row()["bundle"], BUNDLE)
        self.assertIn(f"bundle: {BUNDLE}&#10;", (self.folder / "run.xml").read_text())
        _, [result] = self.journal()
        self.assertEqual(result["steps"][0]["bundle"], BUNDLE)
        (self.folder / "error_report.csv").unlink()
        self.expect(1, "report")
        self.assertEqual(self.csv_row()["bundle"], BUNDLE, "the journal keeps it")

    def test_crash(self):
        run = self.save("segv")
        self.assertIn("SIGSEGV (Segmentation fault) in forward (diopiRelu)\n", run.out)
        self.assertIn(f"\n    bundle: {BUNDLE}\n", run.out)
        self.forget_the_case()
        again = self.faulty(1, "segv", "--replay", BUNDLE)
        self.assertIn("SIGSEGV (Segmentation fault) in forward (diopiRelu)\n", again.out)
        self.assertIn("failed (crashed)", again.out)
        self.faulty(0, "none", "--replay", BUNDLE, out="crashed when it was saved by diopi 1.0.0: SIGSEGV")

    def test_hang(self):
        run = self.save("hang", "--timeout", "1")
        self.assertIn("no answer within 1.0 s (--timeout)", run.out)
        again = self.faulty(1, "hang", "--replay", BUNDLE, "--timeout", "1", out="failed (timeout)")
        self.assertIn("no answer within 1.0 s (--timeout)", again.out)
        self.faulty(0, "none", "--replay", BUNDLE)

    def test_stray_output(self):
        self.save("print")
        self.faulty(1, "print", "--replay", BUNDLE, out='bytes to standard output: "hello')
        self.faulty(0, "none", "--replay", BUNDLE)

    def test_several_workers_that_die_at_once(self):
        shapes = [[n, 3] for n in range(1, 13)]
        self.write("mine.json", case_file({**RELU, "tensors": [{"name": "input", "shapes": shapes}]}))
        run = self.faulty(1, "segv", "--cases", "mine.json", "--save-failures", "bad", "--jobs", "4", "--json")
        faults = run.json["not_passed"]
        self.assertEqual({f["case"]: f["bundle"] for f in faults},
                         {f"ops/mine.relu.{i}": f"bad/ops-mine-relu-{i}-forward.h5" for i in range(12)}, str(run))
        self.assertEqual(len(self.journal()[1]), 12)

    def test_strided_tensors_keep_their_layout(self):
        self.faulty(0, "strided", "--cases", "mine.json")
        self.save("strided", "--strided")
        self.forget_the_case()
        self.faulty(1, "strided", "--replay", BUNDLE, out="1 case: 1 failed")

    def test_another_library_and_another_backend_are_reported(self):
        self.save("wrong")
        run = self.expect(0, "test", "--replay", BUNDLE)
        self.assertIn("WARNING - the library is not the one that the bundle was saved with: ", run.out)
        run = self.expect(0, "test", "--replay", BUNDLE, "--impl", "reference", "--json")
        self.assertIn("the bundle was saved with --impl cpu", run.json["notes"][0])
        self.assertEqual(run.json["recorded"]["verdict"], "failed")

    def test_checks_of_the_run_or_others(self):
        self.save("wrong", "--checks", "none")
        # Without the second run only the values are checked; the fault is in the values.
        self.faulty(1, "wrong", "--replay", BUNDLE)
        self.faulty(1, "wrong", "--replay", BUNDLE, "--checks", "all", "--json")

    def test_a_case_that_passes_is_not_saved(self):
        self.faulty(0, "none", "--cases", "mine.json", "--save-failures", "bad")
        self.assertEqual(self.bundles(), [])

    def test_impossible_tolerance_of_each_step(self):
        shapes = [[20, 30]]
        grad = {"group": "mine", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
                "tolerance": {"atol": 0, "rtol": 0, "instead_of_class": True},
                "tensors": [{"name": "input", "shapes": shapes, "grad": True}]}
        self.write("mine.json", case_file(grad))
        run = self.expect(1, "test", "--cases", "mine.json", "--save-failures", "bad", "--json")
        steps = [fault["step"] for fault in run.json["not_passed"]]
        self.assertEqual(self.bundles(), sorted(f"bad/ops-mine-softmax-0-{step}.h5" for step in steps))
        for fault in run.json["not_passed"]:
            again = self.expect(1, "test", "--replay", fault["bundle"], "--json")
            self.assertEqual(again.json["not_passed"][0]["reason"], fault["reason"])

    def test_a_case_that_dies_before_its_call_has_no_bundle_and_says_why(self):
        size = allocated(4099)
        self.write("mine.json", case_file(group("mine", [[4099], [4]])))
        run = self.expect(1, "test", "--cases", "mine.json", "--save-failures", "bad", "--json", faults=f"segv@{size}",
                          err="diopi: warning: no bundle of ops/mine.add.0: the worker that was to write it ended, too: "
                              "SIGSEGV")
        self.assertEqual(run.json["counts"]["passed"], 1)
        self.assertNotIn("bundle", run.json["not_passed"][0])

    def refuse(self, path, *messages):
        run = self.expect(2, "test", "--replay", path, err="diopi: error: ")
        for message in messages:
            self.assertIn(message, run.err, str(run))

    def test_files_that_are_not_bundles(self):
        self.refuse("none.h5", "cannot open none.h5: No such file or directory")
        self.write("text.h5", "text")
        self.refuse("text.h5", "text.h5 is not an HDF5 file")
        self.expect(0, "gen", "--cases", "mine.json", "--data", "data")
        self.refuse("data/baselines/ops/relu.h5", "is no replay bundle", "--save-failures")

    def test_damaged_files(self):
        self.save("wrong")
        whole = (self.folder / BUNDLE).read_bytes()
        for at in range(0, len(whole), len(whole) // 6):
            (self.folder / "cut.h5").write_bytes(whole[:at])
            self.refuse("cut.h5", "cut.h5")
        circles = bytearray(whole)
        size_of_first_object = whole.find(b"GCOL") + 24
        circles[size_of_first_object:size_of_first_object + 8] = (2**64 - 16).to_bytes(8, "little")
        (self.folder / "circles.h5").write_bytes(circles)
        self.expect(2, "test", "--replay", "circles.h5", "--timeout", "2",
                    err="circles.h5 is damaged: the HDF5 library does not survive it (no answer within 2.0 s")

    def test_options_that_have_no_meaning(self):
        self.expect(2, "test", "--replay", "x.h5", "--fname", "add",
                    err="--fname cannot be used with --replay, which runs the call of the bundle; leave it out")
        self.expect(2, "test", "--replay", "x.h5", "--strided", err="--strided cannot be used")

    def test_folder_that_cannot_be_written(self):
        self.write("file", "")
        self.expect(2, "test", "--cases", "mine.json", "--save-failures", "file", err="diopi: error: ")
        self.assertFalse((self.folder / "diopi_run").exists(), "it was seen before the run")

    def test_full_disk_is_a_warning(self):
        for fault in ("wrong", "segv"):
            with self.subTest(fault=fault), self.small_disk(8) as disk:
                run = self.faulty(1, fault, "--cases", "mine.json", "--save-failures", disk)
                self.assertIn("WARNING - no bundle of ops/mine.relu.0: cannot write", run.out)
                self.assertNotIn("bundle: ", run.out)
                self.assertIn("1 case: 1 ", run.out)
                self.assertEqual(list(disk.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
