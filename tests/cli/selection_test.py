"""Which cases a command takes, pytest's options, and what the program says about itself."""
import math
import subprocess
import unittest

from program import BINARY, SOURCE, ProgramTest, allocated, case_file, group

FAULTY = 4099
CRASH = f"abort@{allocated(FAULTY)}"


class SelectionTest(ProgramTest):
    def collected(self, *args):
        return self.expect(0, "test", "--collect-only", "-q", *args).out.split()

    def operators(self, *args):
        return {case.split(".")[1] for case in self.collected(*args)}

    def test_operators_by_words_commas_and_globs(self):
        for args in (["add", "mul"], ["--fname", "add", "mul"], ["--fname", "add,mul"], ["add", "--fname", "mul"],
                     ["--fname", "add", "--fname", "mul"]):
            with self.subTest(args=args):
                self.assertEqual(self.operators(*args), {"add", "mul"})
        self.assertEqual(self.operators("log1*", "*g_softmax"), {"log10", "log1p", "log_softmax"})
        self.assertIn("softmax", self.operators("all"))

    def test_the_cases_of_every_model_can_be_planned(self):
        collected = self.expect(0, "test", "--model", "all", "--collect-only").out
        self.assertIn("10537 cases, 10537 would run", collected)

    def test_the_cases_of_the_benchmarks_can_be_planned(self):
        for name, cases in (("operators", 1230), ("language", 36)):
            file = SOURCE / "benchmarks" / f"{name}.json"
            collected = self.expect(0, "test", "--cases", file, "--collect-only").out
            self.assertIn(f"{cases} cases, {cases} would run", collected)

    def test_each_subcommand_takes_operators_without_an_option(self):
        self.write("mine.json", case_file(group("mine", [[4]], ops=("add", "mul", "sub"))))
        few = ["add", "--fname", "mul", "--cases", "mine.json"]
        self.expect(0, "test", *few, out="2 cases: 2 passed")
        self.expect(0, "gen", *few, out="2 cases stored")
        rows = self.expect(0, "profile", *few, "--max-time", "0.002", "--passes", "1", "--no-roofs", "--json").json
        self.assertEqual({call["name"] for call in rows["calls"]}, {"add", "mul"})
        names = {row["name"] for row in self.expect(0, "compare", *few, "--json").json["tensors"]}
        self.assertEqual({name.split(".")[0] for name in names}, {"add", "mul"})

        run = self.expect(0, "fallback-sim", "relu_", "addmm", "--ops", "nll.*", "--capture", "resnet18", "--json")
        self.assertEqual({row["overload"] for row in run.json["fallback"]},
                         {"relu_", "addmm", "nll_loss_forward", "nll_loss_backward"})

    def test_quick_cases_of_all_models_come_first(self):
        self.expect(0, "test", "--model", "all", "-k", "relu.relu and (crnn or dyhead or stgcn or shuffle)",
                    "-j", "1", "-q")
        sizes = [math.prod(result["tensors"][0][2]) for result in self.journal()[1]]
        self.assertGreater(len(sizes), 5)
        self.assertEqual((sizes[0], sizes[-1]), (min(sizes), max(sizes)))

    def test_names_that_are_not_there(self):
        self.expect(2, "test", "ad", err="no case has the operator 'ad' (did you mean 'add'")
        self.expect(2, "test", "zz*", err="no case has an operator like 'zz*'")
        self.expect(2, "test", "--fname", "", err="the name is empty")
        self.expect(2, "test", "add,,mul", err="an empty name between its commas")
        self.expect(2, "test", "--case", "ops/relu.relu.1", "--fname", "add", err="no case is all that the options ask")
        self.expect(2, "test", "--case", "ops/relu.zz*", err="no case is like 'ops/relu.zz*'")

    def test_cases_by_globs_and_lists(self):
        self.assertEqual(self.collected("--case", "ops/relu.relu.7?"), ["ops/relu.relu.70", "ops/relu.relu.71"])
        self.assertEqual(self.collected("--case", "ops/relu.relu.3", "ops/relu.relu.3,ops/relu.relu.1"),
                         ["ops/relu.relu.3", "ops/relu.relu.1"])
        self.assertEqual(len(self.collected("--level", "2", "--case", "hard/add.0.1?")), 10)
        self.assertEqual({case.split("/")[0] for case in self.collected("--case", "resnet50/*relu*")}, {"resnet50"})

    def test_cases_by_an_expression(self):
        halves = self.collected("relu", "-k", "float16 and not bfloat16")
        self.assertGreater(len(halves), 5)
        self.assertEqual(halves, self.collected("relu", "--only-dtype", "float16"))
        self.expect(2, "test", "-k", "add mul", err="got 'mul' at character 5")
        self.expect(2, "test", "relu", "-k", "nonsense", err="no case is all that the options ask for")

    def test_dtypes_by_short_names_and_only_dtype(self):
        run = self.expect(0, "test", "relu", "--only-dtype", "fp16,F32", "--json")
        self.assertGreater(run.json["counts"]["passed"], 10)
        reasons = {each["reason"] for each in run.json["not_passed"]}
        self.assertEqual(reasons, {"does not use float16 or float32 (--only-dtype)"})
        self.assertEqual(self.collected("add", "--filter-dtype", "double", "half"),
                         self.collected("add", "--filter-dtype", "float64", "float16"))
        self.expect(2, "test", "add", "--only-dtype", "fp17", err="there is no dtype 'fp17'")

    def test_numbers_are_read_strictly(self):
        self.expect(2, "test", "add", "--seed=", err="--seed")
        for value in ("-1", "010", "0x10", "1e3", "18446744073709551616", " 1"):
            with self.subTest(seed=value):
                self.expect(2, "test", "add", f"--seed={value}", err="--seed: '")
        for option, value in (("--jobs", "02"), ("--timeout", "0x10"), ("--timeout", "nan"), ("--maxfail", "1.5"),
                              ("--impl-timeout", "inf"), ("--addresses", "-3")):
            with self.subTest(option=option, value=value):
                self.expect(2, "test", "add", f"{option}={value}", err=option)
        self.expect(0, "test", "--case", "ops/relu.relu.3", "--seed=18446744073709551615", out="1 passed")


class HabitsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[FAULTY], [3], [FAULTY, 1], [5], [1, FAULTY]])))
        self.tight = ["test", "--cases", "mine.json", "--jobs", "1"]

    def failing(self, *args):
        return self.diopi(*self.tight, *args, faults=CRASH)

    def test_maxfail_and_exitfirst(self):
        for args, failures in (("-x",), 1), (("--maxfail", "2"), 2):
            with self.subTest(args=args):
                run = self.failing(*args, "--json")
                self.assertEqual(run.code, 1, str(run))
                self.assertEqual(run.json["counts"]["crashed"], failures)
                self.assertGreater(run.json["left_out"], 0)
        self.assertIn("did not run: 1 case failed (--maxfail)", self.failing("-x").out)
        self.expect(1, *self.tight, "--resume", "--json", faults=CRASH)

    def test_last_failed(self):
        self.assertEqual(self.failing().code, 1)
        run = self.failing("--last-failed", "--json")
        self.assertEqual(run.json["counts"]["crashed"], 3)
        self.assertEqual(run.json["counts"]["passed"], 0)
        self.expect(0, *self.tight, "--rerun-failed", out="3 cases: 3 passed")
        self.expect(2, *self.tight, "--last-failed", "--strided", err="had the options '--cases mine.json'")
        self.expect(2, *self.tight, "--last-failed", "--run", "none", err="there is no run in none")

    def test_collect_only_runs_nothing(self):
        run = self.expect(0, *self.tight, "--dry-run", "--filter-dtype", "float64", out="5 cases, 0 would run")
        self.assertIn("ops/mine.add.0  skipped: uses float64 (--filter-dtype)", run.out)
        self.assertFalse((self.folder / "diopi_run").exists())
        cases = self.expect(0, *self.tight, "--collect-only", "--json").json["cases"]
        self.assertEqual(len(cases), 5)

    def test_durations_and_verbose_lines(self):
        run = self.expect(0, *self.tight, "--durations", "2", "-v")
        self.assertRegex(run.out, r"slowest case +dtype +seconds +in calls\n-+.*\nops/mine.*\nops/mine.*\n\n")
        self.assertIn("Run diopi_functions.add succeed  ops/mine.add.1  [float64]  [(input, float64, (3,)), (other, float64, (3,))]", run.out)

    def test_the_list_of_failures_stands_last_and_once(self):
        out = self.failing("-q").out
        self.assertEqual(out.count("DIOPI-Test Error Report"), 1)
        report = out[out.index("DIOPI-Test Error Report"):]
        self.assertIn("3 Tests failed:\n1--Run diopi_functions.add failed (crashed).", report)
        self.assertIn("    repeat: diopi test --case ops/mine.add.0 --cases mine.json\n", report)
        self.assertRegex(report, r"---\n\n5 cases: 2 passed, 3 crashed \([\d.]+ s\)\n$")
        self.assertNotIn("Tests failed", self.expect(0, *self.tight).out)
        self.expect(0, *self.tight, "--format", "seed", out="0 Tests failed:\n")

    def test_what_a_library_lacks_is_a_line(self):
        self.write("chip.json", {"operators": ["add"]})
        chip = ["--impl", "sim", "--sim-config", "chip.json"]
        out = self.expect(0, "test", "--fname", "sub", "mul", "div", "exp", "log", "sin", "cos", "relu", "sqrt", "sum",
                          *chip).out
        self.assertRegex(out, r"not implemented: \d+ cases of cos, div, .* and 2 more\n")
        self.expect(1, "test", "sub", "--require-all", "-q", *chip)


class AboutTest(ProgramTest):
    def test_lists_with_filters(self):
        self.expect(0, "list", "operators", "conv2d", out="conv2d")
        rows = self.expect(0, "list", "operators", "--json").json
        add = next(row for row in rows if row["operator"] == "add")
        self.assertEqual((add["cpu"], add["reference"]), (add["cpu"], "4 of 4"))
        missing = self.expect(0, "list", "functions", "--missing", "--impl", "cpu", "-q").out.split()
        there = self.expect(0, "list", "functions", "--implemented", "--impl", "cpu", "-q").out.split()
        self.assertEqual(len(missing) + len(there), 538)
        self.assertEqual(len(self.expect(0, "list", "models", "-q").out.split()), 43)
        self.assertEqual(self.expect(0, "list", "captures", "-q", "resnet*").out.split(), ["resnet18", "resnet50"])
        self.assertEqual(len(self.expect(0, "list", "cases", "-q").out.split()), 14143)
        for kind in ("backends", "presets", "variants"):
            self.assertGreater(len(self.expect(0, "list", kind, "-q").out.split()), 2)

    def test_lists_that_are_not_there(self):
        self.expect(2, "list", "oprators", err="did you mean 'operators'?")
        self.expect(2, "list", "models", "zz*", err="none of the models has such a name")
        for command in (["list", "models"], ["list", "captures"], ["list", "operators"], ["gen", "--list-models"]):
            with self.subTest(command=command):
                self.expect(2, *command, "--cases-dir", "none", err="there is no folder of case files at none")
        self.expect(2, "list", "models", "--missing", err="are for operators, functions and cases")

    def test_help_is_that_of_the_command(self):
        for words in (["test"], ["report", "merge"]):
            with self.subTest(words=words):
                self.assertEqual(self.expect(0, "help", *words).out, self.expect(0, *words, "--help").out)
        self.expect(0, "help", out="Commands:\n  gen ")
        self.expect(2, "help", "tets", err="did you mean 'test'?")

    def test_help_fits_80_columns_and_breaks_between_words(self):
        for command in ("gen", "test", "compare", "profile", "fallback-sim", "report", "list"):
            with self.subTest(command=command):
                lines = self.expect(0, command, "--help").out.splitlines()
                self.assertEqual([line for line in lines if len(line) > 80 and not line.startswith("  diopi ")], [])
                self.assertNotIn("Others:", lines, "each option belongs to a group of apps/diopi/help_format.cpp")

    def test_version_names_the_build(self):
        run = self.expect(0, "version", out=["diopi 1.0.0", "compiler: ", "oneDNN ", "HDF5 ", "cuda: ", "vectors: "])
        self.assertEqual(run.out, self.expect(0, "--version").out)

    def test_bash_completes_commands_options_and_names(self):
        (self.folder / "complete.sh").write_text(self.expect(0, "completion", "bash").out)

        def completed(*words):
            line = " ".join(f"'{word}'" for word in words)
            script = (f"export PATH='{BINARY.parent}':$PATH; source complete.sh; COMP_WORDS=({line}); "
                      f"COMP_CWORD={len(words) - 1}; _diopi; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            return subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True,
                                  check=True).stdout.split()

        self.assertEqual(completed("diopi", "te"), ["test"])
        self.assertEqual(completed("diopi", "test", "--max"), ["--maxfail"])
        self.assertIn("softmax", completed("diopi", "test", "softm"))
        self.assertIn("conv2d", completed("diopi", "profile", "--fname", "conv"))
        self.assertEqual(completed("diopi", "test", "--model", "resnet5"), ["resnet50"])
        self.assertEqual(completed("diopi", "report", "me"), ["merge"])
        self.assertIn("ops/relu.relu.12", completed("diopi", "test", "--case", "ops/relu.relu.12"))
        self.assertEqual(completed("diopi", "profile", "--mode", "c"), ["cold"])

    def test_the_other_scripts_and_the_manual_page(self):
        self.assertTrue(self.expect(0, "completion", "zsh").out.startswith("#compdef diopi\n"))
        fish = self.expect(0, "completion", "fish").out
        self.assertIn("-l maxfail -rF -d 'end the run after N failures'", fish)
        page = self.expect(0, "completion", "man").out
        self.assertTrue(page.startswith(".TH DIOPI 1\n"))
        self.assertEqual([line for line in page.splitlines() if line.startswith("'")], [])
        self.expect(2, "completion", "tcsh", err="there is no completion for 'tcsh'")


if __name__ == "__main__":
    unittest.main()
