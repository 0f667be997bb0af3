"""diopi gen: counts, baselines, and the state after an interruption."""
import json
import os
import pathlib
import signal
import unittest

from program import SOURCE, ProgramTest, allocated, case_file, group

FAULTY = 4099


class DryRunTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.counts = None

    def setUp(self):
        super().setUp()
        if DryRunTest.counts is None:
            DryRunTest.counts = self.expect(0, "gen", "--dry-run", "--json").json
        self.counts = DryRunTest.counts

    def test_every_case_is_counted(self):
        self.assertEqual(self.counts["operator_cases"], 14143)
        self.assertEqual(self.counts["model_cases"], 10537)
        self.assertGreater(self.counts["bytes"], 10**9)

    def test_breakdown(self):
        def line(name, counts):
            return f"{name} {counts['total']} {counts['also_inplace']} {counts['also_backward']} {counts['random']}"

        operators, models = self.counts["operators"], self.counts["models"]
        found = [line("ops", operators), line("models", models)]
        found += [line(name, counts) for name, counts in operators["groups"].items()]
        found += [line(name, counts) for name, counts in models["models"].items()]
        wanted = (SOURCE / "tests/expected_counts.txt").read_text().splitlines()
        self.assertEqual(sorted(found), sorted(wanted))

    def test_not_implemented_lists_operators(self):
        missing = self.counts["not_implemented"]
        known = set(self.expect(0, "gen", "--list-ops", "--json").json)
        known |= set(self.expect(0, "gen", "--list-ops", "--model", "all", "--json").json)
        self.assertLessEqual(set(missing), known)
        self.assertTrue(all(count > 0 for count in missing.values()))
        for op in ("add", "conv2d", "relu"):
            self.assertNotIn(op, missing)

    def test_an_operator_alone(self):
        run = self.expect(0, "gen", "--dry-run", "--json", "--fname", "add")
        listed = self.expect(0, "test", "--fname", "add", "--filter-dtype", "float16", "float32", "float64", "int8", "int16",
                             "int32", "int64", "uint8", "bool", "bfloat16", "complex64", "complex128", "--json")
        self.assertEqual(run.json["operator_cases"], listed.json["counts"]["skipped"], "add has other dtypes, too")
        self.assertEqual(run.json["model_cases"], 0)

    def test_a_model_alone(self):
        run = self.expect(0, "gen", "--dry-run", "--json", "--model", "vit")
        self.assertEqual(run.json["model_cases"], self.counts["models"]["models"]["vit"]["total"])
        self.assertEqual(run.json["operator_cases"], 0)

    def test_lists(self):
        models = self.expect(0, "gen", "--list-models").out.split()
        self.assertEqual(len(models), 43)
        self.assertEqual(models, self.expect(0, "gen", "--list-models", "--json").json)
        self.assertIn("add", self.expect(0, "gen", "--list-ops").out.split())

    def test_nothing_is_written(self):
        self.assertEqual(list(self.folder.iterdir()), [])


class GenTest(ProgramTest):
    """Three files: ops/add.h5, ops/mul.h5, ops/sub.h5; faults can be planted in the second one."""

    def setUp(self):
        super().setUp()
        groups = [group("left", [[8], [3, 5]], ["add"], ["float32", "float16"]),
                  group("middle", [[FAULTY], [7]], ["mul"]), group("right", [[9], [0], []], ["sub"])]
        self.write("mine.json", case_file(*groups))

    def gen(self, code=0, *args, data="data", **how):
        return self.expect(code, "gen", "--cases", "mine.json", "--data", data, *args, **how)

    def files(self, data="data"):
        """Content and modification time of every baseline."""
        root = self.folder / data / "baselines"
        return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*.h5")}

    def contents(self, data="data"):
        return {name: content for name, (content, _) in self.files(data).items()}

    def test_writes_a_file_per_operator_and_a_manifest(self):
        run = self.gen(out=["data/baselines/ops/add.h5: 4 cases", "data/baselines/ops/mul.h5: 2 cases",
                            "data/baselines/ops/sub.h5: 3 cases", "9 cases stored in data/baselines"])
        self.assertEqual(run.err, "")
        manifest = json.loads((self.folder / "data/baselines/manifest.json").read_text())
        self.assertEqual({f["file"]: f["cases"] for f in manifest["files"]},
                         {"ops/add.h5": 4, "ops/mul.h5": 2, "ops/sub.h5": 3})
        self.assertEqual(set(self.files()), {"ops/add.h5", "ops/mul.h5", "ops/sub.h5"})

    def test_json(self):
        run = self.gen(0, "--json")
        self.assertEqual(run.json["cases"], 9)
        self.assertEqual([f["kept"] for f in run.json["files"]], [False] * 3)
        self.assertEqual([f["error"] for f in run.json["files"]], [""] * 3)
        for file in run.json["files"]:
            self.assertEqual(file["bytes"], (self.folder / file["file"]).stat().st_size)

    def test_second_run_keeps_and_force_makes_again(self):
        self.gen()
        first = self.files()
        run = self.gen(out=["kept (--force makes it again)", "9 cases stored"])
        self.assertEqual(run.out.count("kept"), 3, str(run))
        self.assertEqual(self.files(), first)
        run = self.gen(0, "--force")
        self.assertNotIn("kept", run.out)
        self.assertEqual(self.contents(), {name: content for name, (content, _) in first.items()})
        for name, (_, time) in self.files().items():
            self.assertGreater(time, first[name][1], f"{name} was not made again")

    def test_case_that_has_changed_is_made_again(self):
        self.gen()
        first = self.contents()
        text = (self.folder / "mine.json").read_text()
        self.write("mine.json", text.replace("[9]", "[11]"))
        self.gen()
        self.assertNotEqual(self.contents()["ops/sub.h5"], first["ops/sub.h5"], "the cases have other shapes now")
        self.expect(0, "test", "--cases", "mine.json", out="9 cases: 9 passed")

    def test_same_bytes_whatever_the_number_of_workers_and_threads(self):
        self.gen(0, "--jobs", "1", data="one")
        self.gen(0, "--jobs", "2", data="two", env={"OMP_NUM_THREADS": "3"})
        self.assertEqual(self.contents("one"), self.contents("two"))
        self.assertEqual(len(self.contents("one")), 3)

    def test_another_seed_gives_other_values(self):
        self.gen(data="one")
        self.gen(0, "--seed", "1", data="two", out="seed 1")
        one, two = self.contents("one"), self.contents("two")
        for name in one:
            self.assertNotEqual(one[name], two[name])

    def test_seed_is_part_of_what_is_kept(self):
        self.gen()
        first = self.contents()
        run = self.gen(0, "--seed", "1")
        self.assertNotIn("kept", run.out)
        self.gen(0, "--seed", "0")
        self.assertEqual(self.contents(), first)

    def test_self_contained_files_hold_the_inputs(self):
        self.gen(data="one")
        self.gen(0, "--self-contained", data="two")
        one, two = self.contents("one"), self.contents("two")
        # 8 + 15 elements, float32 and float16, of two inputs each.
        self.assertGreater(len(two["ops/add.h5"]) - len(one["ops/add.h5"]), (8 + 15) * (4 + 2) * 2)
        self.expect(0, "test", "--cases", "mine.json", "--data", "two", out="9 cases: 9 passed")

    def test_self_contained_is_part_of_what_is_kept(self):
        self.gen()
        self.assertNotIn("kept", self.gen(0, "--self-contained").out)

    def test_random_operators_are_left_out(self):
        cases = self.expect(0, "gen", "--dry-run", "--json", "--fname", "dropout").json["operators"]
        self.assertEqual(cases["random"], cases["total"])
        self.expect(0, "gen", "--fname", "dropout", out=["0 cases stored", f"{cases['total']} cases left out: random"])
        self.assertEqual(self.files(), {})

    def expect_recovery(self, untouched):
        """The same command continues: finished files are kept, the others are made."""
        for name, state in untouched.items():
            self.assertEqual(self.files()[name], state, f"{name} was touched")
        run = self.gen()
        self.assertEqual(run.out.count("kept"), len(untouched), str(run))
        self.assertEqual(set(self.files()), {"ops/add.h5", "ops/mul.h5", "ops/sub.h5"})
        leftovers = [p.name for p in pathlib.Path(self.folder, "data").rglob("*.part")]
        self.assertEqual(leftovers, [])
        self.gen(data="fresh")
        self.assertEqual(self.contents(), self.contents("fresh"))

    def start_and_hang(self, *args):
        process = self.start("gen", "--cases", "mine.json", "--jobs", "1", *args, faults=f"hang@{allocated(FAULTY)}")
        manifest = self.folder / "data/baselines/manifest.json"
        self.wait_for(lambda: manifest.exists() and "add.h5" in manifest.read_text(), "the first file")
        return process

    def test_interrupt(self):
        process = self.start_and_hang()
        process.popen.send_signal(signal.SIGINT)
        run = process.finish(10)
        self.assertEqual(run.code, 130, str(run))
        self.assertIn("diopi: interrupted; finished files are kept, the same command continues", run.err)
        self.assertEqual(process.pids(), [])
        self.assertEqual(set(self.files()), {"ops/add.h5"})
        self.expect_recovery({name: state for name, state in self.files().items() if name == "ops/add.h5"})

    def test_kill(self):
        process = self.start_and_hang()
        os.kill(process.popen.pid, signal.SIGKILL)
        self.wait_for(lambda: not process.pids(), "the worker, which hangs, dies with its parent", 5)
        found = sorted(p.name for p in pathlib.Path(self.folder, "data").rglob("*") if p.is_file())
        self.assertEqual(found, ["add.h5", "manifest.json"], "an incomplete file was left")
        self.expect_recovery({name: state for name, state in self.files().items() if name == "ops/add.h5"})

    def test_kill_while_files_are_made_again(self):
        self.gen()
        first = self.files()
        process = self.start("gen", "--cases", "mine.json", "--jobs", "1", "--force", faults=f"hang@{allocated(FAULTY)}")
        self.wait_for(lambda: self.files()["ops/add.h5"] != first["ops/add.h5"], "the first file")
        os.kill(process.popen.pid, signal.SIGKILL)
        self.wait_for(lambda: not process.pids(), "the worker dies with its parent", 5)
        now = self.files()
        self.assertEqual(now["ops/mul.h5"], first["ops/mul.h5"])
        self.assertEqual(now["ops/sub.h5"], first["ops/sub.h5"])
        self.expect(0, "test", "--cases", "mine.json", out="9 cases: 9 passed")

    def test_crash_costs_one_file(self):
        run = self.gen(2, faults=f"segv@{allocated(FAULTY)}",
                       err="diopi: data/baselines/ops/mul.h5: the worker died: SIGSEGV (Segmentation fault)")
        self.assertIn("data/baselines/ops/sub.h5: 3 cases", run.out)
        self.assertIn("7 cases stored", run.out)
        self.expect_recovery({name: self.files()[name] for name in ("ops/add.h5", "ops/sub.h5")})

    def test_failed_allocation_costs_one_file(self):
        run = self.gen(2, faults=f"null@{allocated(FAULTY)}",
                       err=["data/baselines/ops/mul.h5: ops/middle.mul.0: ", f"out of memory: {FAULTY * 8} bytes"])
        self.assertIn("7 cases stored", run.out)
        self.expect_recovery({name: self.files()[name] for name in ("ops/add.h5", "ops/sub.h5")})

    def test_dtypes_are_filtered(self):
        self.gen(0, "--filter-dtype", "float16", out="data/baselines/ops/add.h5: 2 cases")

    def test_bad_options(self):
        self.gen(2, "--filter-dtype", "floot16", err="there is no dtype 'floot16'")


if __name__ == "__main__":
    unittest.main()
