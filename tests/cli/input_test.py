"""Bad input is refused with exit code 2 and a message with the fault and its place."""
import json
import os
import platform
import resource
import shutil
import subprocess
import unittest

from program import BINARY, ProgramTest, case_file, group

LONE = ["test", "--case", "ops/relu.relu.3"]


@unittest.skipUnless(shutil.which("qemu-x86_64-static") and platform.machine() == "x86_64", "needs qemu-user-static")
class ProcessorTest(ProgramTest):
    def run_on(self, processor, *args):
        return subprocess.run(["qemu-x86_64-static", "-cpu", processor, str(BINARY), *args], capture_output=True,
                              text=True, timeout=120, cwd=self.folder)

    def test_a_processor_without_avx(self):
        run = self.run_on("Nehalem", "test", "--jobs", "1", "--case", "ops/relu.relu.3")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("1 case: 1 passed", run.stdout)

    def test_a_processor_without_the_instructions_of_the_build(self):
        run = self.run_on("core2duo", "--version")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("diopi: error: this processor does not have the instructions of x86-64-v", run.stderr)
        self.assertIn("DIOPI_CPU_ARCH=", run.stderr)


class NameTest(ProgramTest):
    def refuse(self, args, *messages):
        run = self.expect(2, *args, timeout=20, err=["diopi: error: ", *messages])
        self.assertEqual(run.out, "", f"bad input must be refused before other output\n{run}")
        self.assertNotIn("internal", run.err)
        self.assertLess(max(map(len, run.err.splitlines())), 250, f"an endless line\n{run}")
        return run

    def test_operator(self):
        self.refuse(["test", "--fname", "ad"], "no case has the operator 'ad' (did you mean 'add' or 'pad'?)")
        self.refuse(["gen", "--fname", "relue"], "'relue' (did you mean 'relu'")
        self.refuse(["gen", "--dry-run", "--fname", "relue"], "'relue' (did you mean 'relu'")
        self.refuse(["profile", "conv2"], "'conv2' (did you mean 'conv2d'")
        self.refuse(["test", "--fname", "zzzzzzzz"], "no case has the operator 'zzzzzzzz'\n")

    def test_model(self):
        for command in ("test", "gen", "profile"):
            self.refuse([command, "--model", "resnet5"],
                        "has no model 'resnet5' (did you mean 'resnet50' or 'seresnet50'?)")

    def test_operator_that_the_model_lacks(self):
        self.refuse(["test", "--model", "vgg16", "--fname", "atan"], "no case has the operator 'atan'")

    def test_dtype(self):
        for command in ("test", "gen", "profile"):
            with self.subTest(command=command):
                self.refuse([command, "--case", "ops/relu.relu.3", "--filter-dtype", "float64", "floot32"],
                            "there is no dtype 'floot32' (did you mean 'float32'")

    def test_the_folder_of_baselines_is_no_file(self):
        self.write("data.h5", "")
        for command in ("test", "gen", "profile", "compare"):
            with self.subTest(command=command):
                self.refuse([command, "--case", "ops/relu.relu.3", "--data", "data.h5"],
                            "--data: data.h5 is a file, and baselines are in a folder")

    def test_implementation(self):
        for command in ("test", "gen", "profile"):
            with self.subTest(command=command):
                self.refuse([command, "--impl", "cup", "--case", "ops/relu.relu.3"],
                            "no backend is called 'cup'", "there are: cpu, cuda, cuda+tf32, reference")

    def test_option(self):
        self.refuse(["test", "--fnam", "add"], "--fnam (did you mean '--fname'?)", "Run diopi --help")
        self.refuse(["report", "--jsno"], "--jsno (did you mean '--json'?)")
        self.refuse(["gen", "--dryrun"], "--dryrun (did you mean '--dry-run'?)")

    def test_subcommand(self):
        self.refuse(["tset"], "tset", "did you mean 'test'?")
        self.refuse(["prof"], "prof", "did you mean 'profile'?")
        self.refuse([], "subcommand is required")
        self.refuse(["test", "ad"], "no case has the operator 'ad'", "did you mean 'add'")

    def test_values_of_options(self):
        self.refuse([*LONE, "--jobs", "-1"], "--jobs: Value -1 not in range 0 to 1024")
        self.refuse([*LONE, "--jobs", "many"], "--jobs", "many")
        self.refuse([*LONE, "--seed", "abc"], "--seed: 'abc' is no whole number")
        self.refuse([*LONE, "--accuracy", "lax"], "--accuracy: lax not in {classes,legacy}")
        self.refuse([*LONE, "--debug-level", "3"], "--debug-level: Value 3 not in range 0 to 2")
        self.refuse(["test", "--fname"], "--fname")

    def test_time_limit(self):
        for text in ("0", "-1", "nan", "inf", "soon"):
            with self.subTest(limit=text):
                self.refuse([*LONE, "--timeout", text], "--timeout")
            with self.subTest(max_time=text):
                self.refuse(["profile", "--case", "ops/relu.relu.3", "--max-time", text], "--max-time")

    def test_empty_names(self):
        name = self.write("mine.json", case_file(group("mine", [[4]])))
        for option in ("--case", "--fname", "--model"):
            with self.subTest(option=option):
                self.refuse(["test", "--cases", name, option, ""], option)

    def test_case_ids(self):
        form = "is no id of a case: expected <suite>/<group>.<operator>.<number>, such as ops/pointwise_binary.add.17"
        for name in ("foo", "ops/", "ops/x", "ops/x.y", "ops/pointwise_binary.add", "ops/pointwise_binary.add.x",
                     "ops/pointwise_binary.add.1x", "ops/pointwise_binary.add.-1", "ops/pointwise_binary.add.",
                     "ops/pointwise_binary.add.99999999999999999999", "ops/pointwise_binary.add. 1", "..."):
            with self.subTest(case=name):
                self.refuse(["test", "--case", name], f"'{name}' {form}")

    def test_missing_cases(self):
        self.refuse(["test", "--case", "ops/pointwise_binary.add.99999"], "the numbers of 'add' end at 55")
        self.refuse(["test", "--case", "ops/pointwise_binary.addd.1"], "'pointwise_binary' has the operators add, sub, mul")
        self.refuse(["test", "--case", "ops/pointwise_binar.add.1"],
                    "'ops' has no group 'pointwise_binar' (did you mean 'pointwise_binary'")
        self.refuse(["test", "--case", "resnet5/conv2d.conv2d.0"], "no model 'resnet5' (did you mean 'resnet50'")
        self.refuse(["test", "--case", "vit/nothing.conv2d.0"], "'vit' has no group 'nothing'")


class CaseFileTest(ProgramTest):
    def refuse(self, content, *messages):
        name = self.write("mine.json", content)
        for command in (["test"], ["gen"], ["gen", "--dry-run"]):
            with self.subTest(command=command):
                run = self.expect(2, *command, "--cases", name, err=["diopi: error: ", *messages])
                self.assertNotIn("internal", run.err)
                self.assertEqual(run.out, "")
        return run

    def refuse_contradiction(self, content, *messages):
        """Errors that are found when arguments are bound: test and gen must name file, line and place."""
        name = self.write("mine.json", content)
        for command in ("test", "gen"):
            with self.subTest(command=command):
                run = self.expect(2, command, "--cases", name, "--jobs", "1")
                for message in messages:
                    self.assertIn(message, run.err, str(run))

    def test_malformed_json(self):
        self.refuse('{\n  "groups": [\n    {"group": "x", "ops": ["add"],,\n', "mine.json:3:35: malformed JSON",
                    "unexpected ','")
        self.refuse("", "mine.json:1:1: malformed JSON")
        self.refuse('{"groups": [', "mine.json:1:", "malformed JSON", "unexpected end of input")
        self.refuse('{"groups": []} x', "mine.json:1:16: malformed JSON")

    def test_bytes_that_are_no_text(self):
        (self.folder / "mine.json").write_bytes(b'\xff\xfe{\0"groups"')
        self.expect(2, "test", "--cases", "mine.json", err="mine.json:1:1: malformed JSON")

    def test_other_json(self):
        self.refuse("[]", "mine.json:1: /: expected an object, got a list")
        self.refuse('{"groups": 3}', "mine.json:1: /groups: expected")
        self.refuse("{}", "mine.json:1: /: ", "groups")

    def test_unknown_keys(self):
        self.refuse('{"groups": [\n {"group": "x",\n  "opps": ["add"]}]}',
                    "mine.json:3: /groups/0/opps: unknown key 'opps' (did you mean 'ops'?)")

    def test_unknown_dtype(self):
        self.refuse(case_file(group("x", [[2]], dtypes=["float33"])), "/groups/0/dtypes/0: unknown dtype 'float33'",
                    "did you mean 'float32'")

    def test_bad_shapes(self):
        self.refuse(case_file(group("x", [[-2]])), "/groups/0/tensors/0/shapes/0/0: a size cannot be negative: -2")
        self.refuse(case_file(group("x", [[9 * 10**12, 9 * 10**12]])), "the size in bytes overflows 64 bits")
        self.refuse(case_file(group("x", [[2.5]])), "/groups/0/tensors/0/shapes/0/0: expected")
        self.refuse(case_file(group("x", [[1024] * 4])), "/groups/0/tensors/0/shapes/0: 1099511627776 elements in "
                    "(1024, 1024, 1024, 1024); a tensor has at most 2^37")
        run = self.refuse(case_file(group("x", [[1] * 70])), "/groups/0/tensors/0/shapes/0: 70 dims; a tensor has at most 32")
        self.assertNotIn("1, 1", run.err, "a shape of so many dims helps nobody")

    def test_lists_of_different_length(self):
        content = group("x", [[2]])
        content["tensors"][1]["shapes"] = [[1], [2]]
        self.refuse(case_file(content), "/groups/0/tensors/1/shapes: 2 entries for 'other', but 1 for 'input'")

    def test_duplicate_group(self):
        self.refuse(case_file(group("x", [[2]]), group("x", [[3]])), "mine.json:1: /groups/1", "'x'")

    def test_convolution_of_wrong_channels(self):
        content = {"groups": [{"group": "mine_conv", "ops": ["conv2d"], "dtypes": ["float32"], "tensors": [
            {"name": "input", "shapes": [[1, 3, 8, 8]]}, {"name": "weight", "shapes": [[2, 4, 3, 3]]}],
            "params": {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}}]}
        self.refuse_contradiction(json.dumps(content, indent=1), "mine.json:3: /groups/0: case ops/mine_conv.conv2d.0: ",
                                  "input has 3 channels, weight (2, 4, 3, 3) with groups 1 wants 4")

    def test_shapes_that_do_not_broadcast(self):
        content = group("mine_add", [[2, 3], [2, 3]])
        content["tensors"][1]["shapes"] = [[2, 3], [4, 5]]
        text = json.dumps(case_file(group("fine", [[4]]), content))
        self.refuse_contradiction(text.replace('{"group": "mine_add"', '\n\n{"group": "mine_add"'),
                                  "mine.json:3: /groups/1: case ops/mine_add.add.1: ",
                                  "input (2, 3) and other (4, 5) do not broadcast")

    def test_argument_that_the_operator_does_not_have(self):
        content = group("mine", [[4]])
        content["tensors"][1]["name"] = "othr"
        self.refuse_contradiction(case_file(content), "mine.json:1: /groups/0: case ops/mine.add.0: ", "othr")

    def test_parameter_that_the_operator_does_not_have(self):
        self.refuse_contradiction(case_file(group("mine", [[4]], params={"alpho": 2})),
                                  "mine.json:1: /groups/0: case ops/mine.add.0: ", "alpho")

    def test_argument_that_is_missing(self):
        content = group("mine", [[4]])
        del content["tensors"][1]
        self.refuse_contradiction(case_file(content), "mine.json:1: /groups/0: case ops/mine.add.0: ", "other")

    def test_missing_file(self):
        self.expect(2, "test", "--cases", "nothere.json", err="nothere.json: the case file cannot be read")

    def test_folder_in_place_of_a_file(self):
        run = self.expect(2, "test", "--cases", ".")
        self.assertNotIn("internal error", run.err)

    def test_missing_folder_of_cases(self):
        self.expect(2, "test", "--cases-dir", "nowhere", err="no folder of case files at nowhere; name one with --cases-dir")
        self.expect(2, "test", "--cases-dir", ".", err="holds no case files")


class PipeTest(ProgramTest):
    """A pipe without a writer would be waited for without end."""

    def test_every_option_that_names_an_input(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "data/baselines/ops").mkdir(parents=True)
        os.mkfifo(self.folder / "data/baselines/ops/relu.h5")
        relu = "ops/relu.relu.3"
        for args in (["test", "--cases", "pipe"], ["test", "--case", relu, "--device-config", "pipe"],
                     ["test", "--case", relu, "--impl", "./pipe"], ["test", "--replay", "pipe"],
                     ["test", "--case", relu, "--impl", "sim", "--sim-config", "pipe"],
                     ["test", "--case", relu, "--adaptor", "pipe"], ["test", "--case", relu, "--data", "data"],
                     ["test", "--case", relu, "--fill", "captured", "--captured", "pipe"],
                     ["gen", "--cases", "pipe"], ["compare", "--capture", "pipe"], ["profile", "--capture", "pipe"],
                     ["profile", "relu", "--baseline", "pipe"], ["fallback-sim", "--capture", "pipe"],
                     ["report", "--audit", "pipe"]):
            with self.subTest(args=args):
                run = self.expect(2, *args, timeout=20, err="pipe" if "--data" not in args else "relu.h5")
                self.assertRegex(run.err, "is a pipe or a device, not a file|Not a directory", str(run))


class PlaceTest(ProgramTest):
    """Places that cannot be written to. Root may write anywhere, so a file stands where a folder is wanted."""

    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.write("file", "in the way")

    def refuse(self, args, *messages):
        run = self.expect(2, *args, "--cases", "mine.json", err=["diopi: error: ", *messages])
        self.assertEqual((self.folder / "file").read_text(), "in the way")
        return run

    def test_data_folder(self):
        self.refuse(["gen", "--data", "file"], "--data: file is a file, and baselines are in a folder",
                    "choose another with --data")

    def test_run_folder(self):
        self.refuse(["test", "--run", "file"], "file: ")

    def test_error_report_that_is_a_folder(self):
        (self.folder / "folder").mkdir()
        run = self.refuse(["test", "--csv", "folder"], "folder")
        self.assertNotIn("DIOPI-Test", run.out, "the error must come before the run")
        self.assertEqual([p.name for p in self.folder.glob("folder*")], ["folder"])

    def test_error_report_below_a_file(self):
        self.refuse(["test", "--csv", "file/report.csv"], "file")

    def test_junit_below_a_file(self):
        self.refuse(["test", "--junit", "file/report.xml"], "file")

    def test_report_places(self):
        self.expect(0, "test", "--cases", "mine.json")
        self.expect(2, "report", "--csv", "file/report.csv", err="diopi: error: ")
        self.expect(2, "report", "--junit", "file/report.xml", err="diopi: error: ")
        (self.folder / "folder").mkdir()
        self.expect(2, "report", "--csv", "folder", err="diopi: error: ")

    def test_report_without_a_run(self):
        self.expect(2, "report", err="there is no journal at diopi_run/journal.jsonl; run diopi test first, or name its "
                                     "folder with --run")

    def test_full_disk_keeps_finished_files(self):
        self.write("mine.json", case_file(group("small", [[500]], ["add"]), group("large", [[200000]], ["mul"])))
        with self.small_disk(256) as disk:
            self.expect(0, "gen", "--cases", "mine.json", "--fname", "add", "--data", disk)
            first = (disk / "baselines/ops/add.h5").read_bytes()
            run = self.expect(2, "gen", "--cases", "mine.json", "--data", disk)
            self.assertIn(f"diopi: {disk}/baselines/ops/mul.h5: ", run.err)
            self.assertRegex(run.err, r"cannot write .* bytes wanted|No space left on device")
            self.assertEqual((disk / "baselines/ops/add.h5").read_bytes(), first)
            self.assertFalse((disk / "baselines/ops/mul.h5").exists())
            self.assertEqual([str(p) for p in disk.rglob("*.part")], [], "an incomplete file fills the disk")
            self.expect(0, "test", "--cases", "mine.json", "--data", disk, out="2 cases: 2 passed")

    def test_full_disk_ends_a_run_with_its_journal_whole(self):
        self.write("mine.json", case_file(group("mine", [[n] for n in range(1, 301)])))
        with self.small_disk(64) as disk:
            run = self.expect(2, "test", "--cases", "mine.json", "--run", disk)
            self.assertIn(f"to {disk}/journal.jsonl: No space left on device; free some space", run.err)
            _, results = self.journal(disk)
            self.assertGreater(len(results), 10)
            subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
            self.expect(0, "test", "--cases", "mine.json", "--run", disk, "--resume", out="300 cases: 300 passed")
            self.assertEqual(len({r["case"] for r in self.journal(disk)[1]}), 300)

    def test_full_disk_for_the_error_report(self):
        with self.small_disk(4) as disk:
            (disk / "filler").write_bytes(bytes(4096))
            self.refuse(["test", "--csv", disk / "report.csv"], "No space left on device; free some space")

    def test_full_disk_for_a_profile(self):
        quick = ["profile", "--cases", "mine.json", "--no-roofs", "--passes", "1"]
        with self.small_disk(256) as disk:
            with self.assertRaises(OSError), open(disk / "filler", "wb", buffering=0) as filler:
                while True:
                    filler.write(b"x" * 4096)
            self.expect(2, *quick, "--run", disk, err=[f"cannot create {disk}/profile.h5: No space left on device"])
            for option in ("--csv", "--trace"):
                self.expect(2, *quick, option, disk / "file", err=[f"{disk}/file: No space left on device"])

    def test_limit_of_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
        self.write("mine.json", case_file(group("mine", [[n] for n in range(1, 101)])))
        profile = ["profile", "--no-roofs", "--passes", "1", "--max-time", "0.002"]
        for command, file in (["test"], "journal.jsonl"), (profile, "profile.h5"), (["gen"], "add.h5"):
            with self.subTest(command=command):
                run = self.expect(2, *command, "--cases", "mine.json", preexec=limit)
                self.assertRegex(run.err, f"{file}: .*File too large.*; raise the limit of file sizes \\(ulimit -f\\)")

    def test_missing_folders_of_reports_are_made_and_named(self):
        for option in ("--csv", "--junit"):
            run = self.expect(0, "test", "--cases", "mine.json", option, f"new{option}/deep/report")
            self.assertEqual(run.err, f"diopi: there is no folder new{option}/deep; it will be made for new{option}/deep/"
                                      "report\n")
            self.assertTrue((self.folder / f"new{option}/deep").is_dir())
            self.assertEqual(self.expect(0, "test", "--cases", "mine.json", option, f"new{option}/deep/report").err, "")

    def test_folder_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        (self.folder / "closed").mkdir(mode=0o500)
        self.refuse(["test", "--run", "closed"], "Permission denied; choose a folder that you may write to")


if __name__ == "__main__":
    unittest.main()
