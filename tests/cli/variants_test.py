"""diopi test: variants of the cases, where they apply and how they are repeated."""
import shlex
import unittest

from program import ProgramTest, case_file, group, plugin

try:
    import h5py
except ImportError:
    h5py = None

FLOATS = ["float16", "bfloat16", "float32", "float64"]


def tensor(name, shapes, **more):
    return {"name": name, "shapes": shapes, **more}


SOFTMAX = {"group": "softmax", "ops": ["softmax"], "dtypes": FLOATS, "params": {"dim": 1},
           "tensors": [tensor("input", [[4, 33]], grad=True)]}
LOSS = {"group": "loss", "ops": ["nll_loss", "cross_entropy"], "dtypes": ["float32", "float64"],
        "tensors": [tensor("input", [[6, 5]], grad=True),
                    tensor("target", [[6]], dtypes=["int64"], fill={"fn": "randint", "low": 0, "high": 5})]}
POOL = {"group": "pool", "ops": ["max_pool2d"], "dtypes": ["float32"],
        "params": {"kernel_size": 2, "return_indices": [True, False]},
        "tensors": [tensor("input", [[2, 3, 8, 8], [3, 8, 8]], grad=True)]}
ARGMAX = {"group": "argmax", "ops": ["argmax"], "dtypes": ["float32"], "params": {"dim": 0},
          "tensors": [tensor("input", [[7, 5]])]}
LINEAR = {"group": "linear", "ops": ["linear"], "dtypes": FLOATS,
          "tensors": [tensor("input", [[9, 70]], grad=True), tensor("weight", [[11, 70]], grad=True),
                      tensor("bias", [[11]], grad=True)]}
FILLS = ["exact", "positive", "signed", "special"]


class VariantsTest(ProgramTest):
    def counts(self, *options, groups, code=0):
        """(passed, skipped), and the reasons of what was skipped."""
        self.write("mine.json", case_file(*groups))
        run = self.expect(code, "test", "--cases", "mine.json", "--json", *options)
        counts = run.json["counts"]
        self.assertEqual(sum(counts.values()), counts["passed"] + counts["skipped"], str(run))
        return (counts["passed"], counts["skipped"]), {f["reason"] for f in run.json["not_passed"]}

    def test_fills(self):
        for fill in FILLS:
            with self.subTest(fill):
                binary = group("mine", [[40], [5, 33]], ["add", "mul"], FLOATS + ["int32"], inplace=True)
                groups = [binary, SOFTMAX, LOSS, POOL, LINEAR]
                self.assertEqual(self.counts("--fill", fill, groups=groups), ((20 + 4 + 4 + 2 + 4, 0), set()))

    def test_a_fill_that_replaces_nothing(self):
        masks = group("masks", [[4]], fill="mask")
        self.assertEqual(self.counts("--fill", "exact", groups=[masks, group("mine", [[4]])]),
                         ((1, 1), {"add: no argument of this case may have other values"}))

    def test_empty(self):
        groups = [group("mine", [[4], [5, 3], []], inplace=True), SOFTMAX, LOSS, POOL, ARGMAX, LINEAR]
        self.assertEqual(self.counts("--empty", groups=groups),
                         ((2 + 4 + 4 + 2 + 1 + 4, 1), {"add: no tensor has a dim that could be 0"}))
        for shapes in self.shapes():
            self.assertTrue(any(0 in shape for shape in shapes), shapes)

    def shapes(self):
        """The layouts of the tensors of each case that ran."""
        _, results = self.journal()
        return [[shape for _, _, shape in result["tensors"]] for result in results if result["verdict"] == "passed"]

    def test_zero_dim(self):
        groups = [group("mine", [[4], [5, 3], []], inplace=True), SOFTMAX, ARGMAX, LINEAR]
        self.assertEqual(self.counts("--zero-dim", groups=groups),
                         ((3 + 4 + 1, 4), {"linear: the schema names no 0-dim form"}))
        for shapes in self.shapes():
            self.assertEqual(set(map(tuple, shapes)), {()})

    def test_four_bytes(self):
        groups = [group("mine", [[4]]), LOSS, POOL, ARGMAX]
        self.assertEqual(self.counts("--four-bytes", groups=groups),
                         ((4 + 2 + 1, 1), {"add: the schema names no index that may come in 4 bytes"}))
        _, results = self.journal()
        targets = {dtype for result in results for name, dtype, _ in result["tensors"] if name == "target"}
        self.assertEqual(targets, {"int32"})

    def test_layouts(self):
        groups = [group("mine", [[4, 6], [1]], inplace=True), POOL]
        self.assertEqual(self.counts("--strided", groups=groups), ((4, 0), set()))
        self.assertEqual(self.counts("--wide", groups=groups),
                         ((3, 1), {"add: no tensor has a dim of size 2 or more"}))
        self.assertEqual(self.counts("--nhwc", groups=groups),
                         ((2, 2), {"add: the schema names no channels-last argument"}))
        passed, reasons = self.counts("--nhwc", "--nhwc-min-dim", "4", groups=[POOL])
        self.assertEqual(passed, (1, 1))
        self.assertEqual(reasons, {"max_pool2d: no argument with channels changes its layout with 4 dims or more"})

    def host_run(self, name, *options):
        """Failed cases of the planted library: relu of an empty tensor, of dims of size 1 and of others, and a sum."""
        relu = {"group": "relu", "ops": ["relu"], "dtypes": ["float32"],
                "tensors": [tensor("input", [[16, 0], [4, 1, 3], [1], [4, 3]])]}
        total = {"group": "sum", "ops": ["sum"], "dtypes": ["float32"], "tensors": [tensor("input", [[4, 3], [], [1]])]}
        self.write("mine.json", case_file(relu, total))
        run = self.diopi("test", "--cases", "mine.json", "--json", "--impl", plugin(f"host_{name}"),
                         *options)
        counts = run.json["counts"]
        self.assertEqual(counts["passed"] + counts["failed"] + counts["skipped"], 7, str(run))
        failed = [fault["case"] for fault in run.json["not_passed"] if fault["verdict"] == "failed"]
        self.assertEqual(run.code, 1 if failed else 0, str(run))
        return failed, counts["skipped"], run

    def test_layouts_of_other_hosts_find_libraries_that_refuse_them(self):
        """Each planted library passes everything else, and the sound one all."""
        wrong = {"none": [], "empty": ["ops/relu.relu.0"], "single": ["ops/relu.relu.1", "ops/relu.relu.2"],
                 "vector": ["ops/sum.sum.0", "ops/sum.sum.1", "ops/sum.sum.2"]}
        for name, cases in wrong.items():
            with self.subTest(library=name):
                self.assertEqual(self.host_run(name)[:2], ([], 0))
                failed, skipped, run = self.host_run(name, "--host-strides")
                self.assertEqual((sorted(failed), skipped), (cases, 1))
                for fault in run.json["not_passed"]:
                    if fault["verdict"] == "failed":
                        self.assertIn(" --host-strides", fault["repeat"])

    def test_a_case_without_another_host_layout_is_skipped(self):
        skipped = self.host_run("none", "--host-strides")[2].json["not_passed"]
        self.assertEqual([(fault["case"], fault["reason"]) for fault in skipped],
                         [("ops/relu.relu.3", "relu: no tensor is empty or has a dim of size 1, and it is no reduction")])

    def test_a_bundle_keeps_the_layouts_of_other_hosts(self):
        failed, _, run = self.host_run("vector", "--host-strides", "--save-failures", "bundles")
        bundles = sorted((self.folder / "bundles").rglob("*.h5"))
        self.assertEqual(len(bundles), len(failed))
        for bundle in bundles:
            self.expect(1, "test", "--replay", bundle, "--impl", plugin("host_vector"))
            self.expect(0, "test", "--replay", bundle, "--impl", plugin("host_none"))

    def test_filtered_and_unknown_come_first(self):
        self.assertEqual(self.counts("--empty", "--filter-dtype", "float64", groups=[group("mine", [[]])]),
                         ((0, 1), {"uses float64 (--filter-dtype)"}))

    def test_the_repeat_command_repeats_the_variant(self):
        """With no tolerance at all softmax does not pass, so that the case prints its command."""
        exact = dict(SOFTMAX, dtypes=["float32"], tolerance={"atol": 0, "rtol": 0, "instead_of_class": True})
        self.write("mine.json", case_file(exact))
        run = self.diopi("test", "--cases", "mine.json", "--fill", "positive", "--strided")
        self.assertEqual(run.code, 1, str(run))
        command = next(line for line in run.out.splitlines() if "diopi test --case ops/softmax" in line)
        for option in ("--fill positive", "--strided", "--cases mine.json"):
            self.assertIn(option, command)
        again = self.diopi(*shlex.split(command[command.index("diopi test"):])[1:])
        self.assertEqual(again.code, 1, str(again))
        header, _ = self.journal()
        self.assertIn("--fill positive --strided", header["repeat"])

    def test_a_run_is_not_resumed_with_another_variant(self):
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.expect(0, "test", "--cases", "mine.json", "--fill", "exact")
        self.expect(0, "test", "--cases", "mine.json", "--fill", "exact", "--resume")
        self.expect(2, "test", "--cases", "mine.json", "--fill", "special", "--resume",
                    err="give the same ones to --resume")

    def test_stored_baselines_are_not_used_for_variants(self):
        """They know the checksums of the inputs that they are about."""
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.expect(0, "gen", "--cases", "mine.json")
        for options in ([], ["--fill", "exact"], ["--empty"], ["--zero-dim"]):
            self.expect(0, "test", "--cases", "mine.json", *options, out="1 case: 1 passed")

    def test_contradicting_options(self):
        case = ["test", "--case", "ops/relu.relu.3"]
        self.expect(2, *case, "--fill", "captured", err="--fill captured needs the file: --captured FILE")
        self.expect(2, *case, "--fill", "exact", "--captured", "x.h5", err="--captured goes with --fill captured")
        self.expect(2, *case, "--captured", "missing.h5", err="missing.h5")
        self.expect(2, *case, "--fill", "exakt", err="exakt")
        self.expect(2, *case, "--empty", "--zero-dim", err="--zero-dim")
        self.expect(2, *case, "--nhwc-min-dim", "4", err="--nhwc")
        self.write("text.h5", "no HDF5")
        self.expect(2, *case, "--captured", "text.h5", err="text.h5")


@unittest.skipIf(h5py is None, "this Python has no h5py")
class CapturedTest(ProgramTest):
    def test_values_are_taken_and_cases_without_are_skipped(self):
        with h5py.File(self.folder / "captured.h5", "w") as file:
            file.attrs["diopi_format"] = 1
            file["add/other"] = [0.5, 1e6, -3]
            file["input"] = [[1.0, 2.0]]
            file["mul/input"] = [0.0] * 0
        self.write("mine.json", case_file(group("mine", [[5]], ["add", "sub", "mul"])))
        run = self.expect(0, "test", "--cases", "mine.json", "--captured", "captured.h5", "--json")
        self.assertEqual((run.json["counts"]["passed"], run.json["counts"]["skipped"]), (2, 1))
        self.assertEqual([f["reason"] for f in run.json["not_passed"]],
                         ["mul: no values are captured for input, other: neither /mul/<argument> nor /<argument> is "
                          "there"])
        header, _ = self.journal()
        self.assertIn("--fill captured --captured captured.h5", header["repeat"])


if __name__ == "__main__":
    unittest.main()
