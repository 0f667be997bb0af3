"""The captures in cases/captures have the form of docs/capture.md, and contain whole steps."""
import copy
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from form import SOURCE, problems

FOLDER = SOURCE / "cases/captures"
TRAINED = ("bert", "llama", "resnet18", "resnet50", "vit")
MODELS = ("bert", "decoder", "llama", "resnet18", "resnet50", "vit")
MOST_BYTES = 4_000_000


@functools.cache
def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def functions_of(calls):
    return {call.get("function") for call in calls}


class ShippedTest(unittest.TestCase):
    def test_each_has_the_form(self):
        for name in MODELS:
            with self.subTest(name):
                self.assertEqual(problems(load(name)), [])

    def test_there_are_no_other_files_and_all_are_small(self):
        files = sorted(FOLDER.iterdir())
        self.assertEqual([f.name for f in files], [f"{name}.json" for name in MODELS])
        self.assertLess(sum(f.stat().st_size for f in files), MOST_BYTES)

    def test_every_call_has_a_function(self):
        for name in MODELS:
            self.assertEqual([c["overload"] for c in load(name)["calls"] if "function" not in c], [], name)

    def test_each_but_the_decoder_is_a_whole_training_step(self):
        for name in TRAINED:
            capture = load(name)
            phases = [call["phase"] for call in capture["calls"]]
            self.assertEqual(phases, sorted(phases, key=("forward", "backward", "optimizer").index), name)
            tensors = capture["tensors"]
            parameters = {t["grad_of"] for t in tensors.values() if "grad_of" in t}
            self.assertTrue(parameters, name)
            self.assertEqual([p for p in parameters if "label" not in tensors[p]], [], name)
            updated = {call["args"].get("input") for call in capture["calls"] if call["phase"] == "optimizer"}
            self.assertEqual(parameters - updated, set(), name)

    def test_a_backward_call_has_a_forward_operator_and_its_layer(self):
        for name in TRAINED:
            calls = load(name)["calls"]
            origins = {c["forward_id"]: c.get("layer") for c in calls if c["phase"] == "forward"}
            backward = [c for c in calls if c["phase"] == "backward"]
            self.assertNotIn("forward_id", backward[0])  # the gradient of the loss
            for call in backward[1:]:
                if call["forward_id"] in origins:
                    self.assertEqual(call.get("layer"), origins[call["forward_id"]], f"{name}: {call}")

    def test_a_convolution_and_its_gradients_are_linked(self):
        for name in ("resnet18", "resnet50"):
            links = {}
            for call in load(name)["calls"]:
                if call["overload"] in ("convolution", "convolution_backward"):
                    links.setdefault(call["forward_id"], []).append((call["args"]["weight"], call["layer"]))
            self.assertTrue(all(len(pair) == 2 and pair[0] == pair[1] for pair in links.values()), links)
            self.assertEqual(len(links), {"resnet18": 20, "resnet50": 53}[name])

    def test_the_optimiser_is_the_one_that_the_file_names(self):
        self.assertTrue({"diopiMulInpScalar", "diopiAddInp"} <= functions_of(load("resnet18")["calls"]))
        self.assertTrue({"diopiAddcmulInp", "diopiAddcdivInp"} <= functions_of(load("bert")["calls"]))

    def test_the_vision_transformer_has_what_no_other_has(self):
        others = set().union(*(functions_of(load(name)["calls"]) for name in TRAINED[:-1]))
        self.assertEqual({"diopiGroupNorm", "diopiUpsampleLinear", "diopiHardswish", "diopiAvgPool2d", "diopiAmax"} -
                         (functions_of(load("vit")["calls"]) - others), set())

    def test_the_decoder_is_what_its_script_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder) / "decoder.json"
            subprocess.run([sys.executable, "-B", SOURCE / "scripts/capture_decoder.py", "--out", written], check=True)
            self.assertEqual(json.loads(written.read_text()), load("decoder"))


class FaultTest(unittest.TestCase):
    """The problems that the form's check finds."""

    def expect(self, text, change):
        capture = copy.deepcopy(load("resnet18"))
        change(capture)
        found = problems(capture)
        self.assertTrue(any(text in problem for problem in found), f"{text} not in {found[:3]}")

    def test_unknown_ids(self):
        self.expect("no tensor t99999", lambda c: c["calls"][0]["args"].update(input="t99999"))
        self.expect("no storage s99999", lambda c: c["tensors"]["t0"].update(storage="s99999"))
        self.expect("grad_of t99999", lambda c: c["tensors"]["t0"].update(grad_of="t99999"))

    def test_a_tensor_beyond_its_storage(self):
        self.expect("reaches beyond", lambda c: c["tensors"]["t0"].update(offset=1))

    def test_arguments_that_are_missing_unknown_or_in_another_order(self):
        def reorder(c):
            c["calls"][0]["args"] = dict(reversed(c["calls"][0]["args"].items()))

        self.expect("arguments", reorder)
        self.expect("arguments", lambda c: c["calls"][0]["args"].pop("bias"))
        self.expect("not in the standard", lambda c: c["calls"][0].update(function="diopiConvolution4d"))

    def test_values_of_another_type(self):
        self.expect("groups = 1.5", lambda c: c["calls"][0]["args"].update(groups=1.5))
        self.expect("stride = 2", lambda c: c["calls"][0]["args"].update(stride=2))
        self.expect("weight is null", lambda c: c["calls"][0]["args"].update(weight=None))

    def test_a_storage_that_is_read_and_has_no_fill(self):
        def drop(c):
            weight = c["tensors"][c["calls"][0]["args"]["weight"]]
            del c["storages"][weight["storage"]]["fill"]

        self.expect("has no fill", drop)

    def test_an_unused_fill(self):
        def add(c):
            out = c["tensors"][c["calls"][0]["args"]["out"]]
            c["storages"][out["storage"]]["fill"] = {"kind": "constant", "dtype": "float32", "value": 0}

        self.expect("needs no fill", add)

    def test_invalid_recipes(self):
        fills = {"empty range": {"kind": "uniform", "dtype": "float32", "low": 1, "high": 1},
                 "negative std": {"kind": "normal", "dtype": "float32", "mean": 0, "std": -1},
                 "members of": {"kind": "normal", "dtype": "float32", "mean": 0}, "no recipe": {"kind": "zeros"}}
        for text, fill in fills.items():
            self.expect(text, lambda c, fill=fill: c["storages"]["s0"].update(fill=fill))

    def test_forward_ids_that_do_not_count_up(self):
        self.expect("forward_id 0 after", lambda c: c["calls"][5].update(forward_id=0))
        self.expect("no forward operator", lambda c: c["calls"][-1].update(forward_id=10**6))

    def test_a_path_of_some_machine(self):
        self.expect("source", lambda c: c["calls"][0].update(source="/usr/lib/python3/a.py:1"))


if __name__ == "__main__":
    unittest.main()
