"""diopi test --capture: each call of a capture on its own, with every check."""
import os
import pathlib
import unittest
import unittest.mock

import program
from program import ProgramTest

# another build of the program, with a relu whose last element is wrong by 1
FAULTY = pathlib.Path(os.environ.get("DIOPI_LEAKY", program.SOURCE / "build/release/bin/leaky_diopi"))
# the shipped captures, and how many cases each has
SHIPPED = {"resnet18": 132, "resnet50": 229, "llama": 118, "bert": 140, "vit": 250, "decoder": 19}


def capture():
    """b = a + a, c = relu(b), then both again."""
    storages = {f"s{i}": {"nbytes": 64} for i in "abc"}
    storages["sa"]["fill"] = {"kind": "normal", "dtype": "float32", "mean": 0, "std": 1}
    tensors = {i: {"storage": f"s{i}", "dtype": "float32", "shape": [16], "strides": [1], "offset": 0} for i in "abc"}
    add = {"overload": "add.Tensor", "phase": "forward", "function": "diopiAdd",
           "args": {"out": "b", "input": "a", "other": "a", "alpha": {"dtype": "float64", "value": 1.0}}}
    relu = {"overload": "relu", "phase": "forward", "function": "diopiRelu", "args": {"out": "c", "input": "b"}}
    return {"diopi_capture": 1, "name": "mine", "storages": storages, "tensors": tensors,
            "calls": [add, relu, add, relu]}


class CaptureCasesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", capture())

    def test_every_case_of_the_shipped_captures_passes(self):
        for name, cases in SHIPPED.items():
            with self.subTest(name):
                counts = self.expect(0, "test", "--capture", name, "--json").json["counts"]
                self.assertEqual((sum(counts.values()), counts["passed"]), (cases, cases))

    def test_the_captures_calls_are_listed_and_chosen_by_id_operator_and_word(self):
        listed = self.expect(0, "test", "--capture", "mine.json", "--collect-only").out.split("\n\n")[0]
        self.assertEqual(listed.split(), ["mine/add.0", "mine/relu.1"])
        for choice in (["--case", "mine/relu.1"], ["--case", "mine/relu.*"], ["--fname", "relu"], ["-k", "relu"]):
            with self.subTest(choice):
                self.expect(0, "test", "--capture", "mine.json", *choice)
                self.assertEqual([case["case"] for case in self.journal()[1]], ["mine/relu.1"])

    def test_a_failing_call_is_named_with_a_command_that_repeats_it(self):
        with unittest.mock.patch.object(program, "BINARY", FAULTY):
            env = {"DIOPI_TEST_RELU": "wrong"}
            run = self.expect(1, "test", "--capture", "mine.json", env=env)
            self.assertIn("diopi test --case mine/relu.1 --capture mine.json", run.out)
            self.assertEqual({case["case"]: case["verdict"] for case in self.journal()[1]},
                             {"mine/add.0": "passed", "mine/relu.1": "failed"})
            self.expect(1, "test", "--case", "mine/relu.1", "--capture", "mine.json", env=env)

    def test_an_existing_capture_is_read_and_not_written(self):
        before = (self.folder / "mine.json").read_bytes()
        self.expect(0, "test", "--capture", "mine.json")
        self.assertEqual((self.folder / "mine.json").read_bytes(), before)

    def test_options_of_other_cases_and_unknown_calls_are_refused(self):
        self.expect(2, "test", "--capture", "mine.json", "--strided",
                    err="--strided cannot be used with --capture, whose calls have their own tensors; leave it out")
        self.expect(2, "test", "--capture", "mine.json", "--model", "resnet50", err="--model cannot be used")
        self.expect(2, "test", "--capture", "mine.json", "--case", "mine/relu.3",
                    err="no call of the capture is like 'mine/relu.3'; --collect-only lists them")
        self.expect(2, "test", "--capture", "mine.json", "--case", "mine/relu.1", "--fname", "add",
                    err="no call of the capture is all that the options ask for")
        self.expect(2, "test", "--capture", "none.json", err="cannot read none.json")
        for command in ("test", "compare", "profile"):
            self.expect(2, command, "--capture", "decodr", err="there is no file decodr (did you mean 'decoder'?)")


if __name__ == "__main__":
    unittest.main()
