"""The recorder of scripts/capture: a capture alone reproduces PyTorch's values. Needs PyTorch and h5py."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import form

try:
    import h5py
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    print(f"left out: {error}; Debian has python3-torch and python3-h5py")
    sys.exit(77)

from capture import mapping, models, recorder, session, standard, writer
from replay import Replay

SCRIPT = form.SOURCE / "scripts/capture_torch.py"


def mlp():
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Linear(16, 4), nn.Tanh())
    labels = torch.randint(4, (5,))
    return models.Workload(module, [torch.randn(5, 8)], lambda output: F.cross_entropy(output, labels), "MLP")


def convolutional():
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                           nn.Flatten(), nn.Linear(128, 4), nn.LayerNorm(4))
    return models.Workload(module, [torch.randn(2, 3, 8, 8)], None, "CNN")


class Function(nn.Module):
    """A module of one parameter w, computed by a function of the module and x."""

    def __init__(self, function, *shape):
        super().__init__()
        self.w = nn.Parameter(torch.randn(*shape))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def function(run, *shape):
    return models.Workload(Function(run, *shape), [torch.randn(*shape)], None, "function")


class RecorderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "model.json"
        torch.manual_seed(1)

    def record(self, workload, optimizer="sgd", make_optimizer=None, warm_up=1, **selection):
        training = session.Session(workload, optimizer)
        if make_optimizer is not None:
            training.optimizer = make_optimizer(training.parameters)
        training.warm_up(warm_up)
        values = writer.Values(self.path.with_suffix(".h5"))
        recording, labels, gradients = training.record(recorder.Selection(**selection), values)
        writer.write(self.path, "model", workload.description, recording, labels, gradients, values)
        self.capture = json.loads(self.path.read_text())
        self.assertEqual(form.problems(self.capture), [])
        return self.capture["calls"]

    def expect_same_values(self, least):
        """The capture's calls, run again from its files, give the recorded results."""
        different, compared = Replay(self.path).run()
        self.assertEqual(different, [])
        self.assertGreaterEqual(compared, least)

    def storage(self, tensor):
        return self.capture["tensors"][tensor]["storage"]


class ValuesTest(RecorderTest):
    def test_mlp(self):
        calls = self.record(mlp())
        self.assertEqual({call["phase"] for call in calls}, {"forward", "backward", "optimizer"})
        self.expect_same_values(len(calls))

    def test_the_first_iteration(self):
        self.record(mlp(), warm_up=0)
        self.expect_same_values(20)

    def test_convolution_and_norms(self):
        self.record(convolutional(), "adam")
        self.expect_same_values(50)

    def test_llama(self):
        tokens, labels = torch.randint(50, (2, 2, 6))
        module = models.Llama(vocabulary=50, dim=16, heads=2, hidden=24, layers=2)
        self.record(models.Workload(module, [tokens], models.next_token_loss(labels), "llama"), "adamw")
        self.expect_same_values(300)

    def test_bert_with_dropout(self):
        tokens, labels = torch.randint(50, (2, 2, 6))
        module = models.Bert(vocabulary=50, dim=16, heads=2, layers=2, positions=8)
        inputs = [tokens, torch.randint(2, (2, 6)), torch.ones(2, 6, dtype=torch.int64)]
        calls = self.record(models.Workload(module, inputs, models.next_token_loss(labels), "bert"), "adamw")
        offsets = [call["args"]["generator"]["offset"] for call in calls if "generator" in call.get("args", {})]
        self.assertEqual(len(offsets), len(set(offsets)), offsets)
        self.expect_same_values(300)

    def test_a_vision_transformer(self):
        module = models.Vit(classes=5, dim=16, heads=2, patch=2, grid=3, layers=1)
        labels = torch.randint(5, (2,))
        self.record(models.Workload(module, [torch.randn(2, 3, 8, 8)],
                                    lambda output: models.F.cross_entropy(output, labels), "vit"), "adamw")
        self.expect_same_values(300)

    def test_an_optimiser_of_lists(self):
        calls = self.record(mlp(), make_optimizer=lambda p: torch.optim.AdamW(p, foreach=True, amsgrad=True))
        self.assertIn("diopiForeachmulInpScalar", {call["function"] for call in calls})
        self.assertIn("_foreach_addcdiv_", {call["overload"].split(".")[0] for call in calls})
        self.expect_same_values(50)

    def test_excluded_calls_become_data(self):
        def run(module, x):
            y = x * module.w
            y.add_(1.0)  # excluded: the previous call no longer determines the content of y
            return y.exp() * y

        calls = self.record(function(run, 3, 4), exclude=["add_.*", "exp"])
        self.assertFalse({"add_.Tensor", "exp"} & {call["overload"] for call in calls})
        first, second = calls[0]["args"]["out"], calls[1]["args"]["other"]
        self.assertNotEqual(self.storage(first), self.storage(second))
        self.expect_same_values(3)

    def test_a_buffer_that_is_written_in_part(self):
        def run(module, x):
            buffer = torch.empty(4, 6)
            buffer.detach().numpy()[:] = 2.5  # a change that PyTorch does not notice
            buffer[:, :3] = x
            return buffer * module.w

        calls = self.record(function(run, 4, 1))
        mul = next(call for call in calls if call["overload"] == "mul.Tensor")
        fill = self.capture["storages"][self.storage(mul["args"]["input"])]["fill"]
        self.assertEqual(fill, {"kind": "constant", "dtype": "float32", "value": 2.5})
        self.expect_same_values(3)


class CaptureTest(RecorderTest):
    def test_memory_that_is_used_again_is_another_storage(self):
        def run(module, x):
            with torch.no_grad():
                for _ in range(20):
                    torch.neg(x)  # freed at once: PyTorch gives the same address again
            return x * module.w

        calls = self.record(function(run, 64, 64))
        outputs = [self.storage(c["args"]["out"]) for c in calls if c["overload"] == "neg"]
        self.assertEqual(len(set(outputs)), 20)

    def test_views_are_tensors_of_the_same_storage(self):
        calls = self.record(function(lambda module, x: (x.t()[1:] * module.w.t()[1:]).sum(), 3, 4))
        mul = calls[0]
        tensor = self.capture["tensors"][mul["args"]["input"]]
        self.assertEqual((mul["overload"], tensor["shape"], tensor["strides"], tensor["offset"]),
                         ("mul.Tensor", [3, 3], [1, 4], 1))

    def test_only_the_first_calls(self):
        self.assertEqual(len(self.record(mlp(), first=3)), 3)
        self.assertEqual([c["phase"] for c in self.capture["calls"]], ["forward"] * 3)

    def test_only_included_calls(self):
        calls = self.record(mlp(), include=["addmm", "mm"])
        self.assertEqual({call["overload"] for call in calls}, {"addmm", "mm"})

    def test_a_call_without_a_function_has_its_reads_and_writes(self):
        calls = self.record(function(lambda module, x: torch.digamma(x.abs() + 1) * module.w, 3, 4))
        call = next(call for call in calls if call["overload"] == "digamma")
        self.assertNotIn("function", call)
        (written, recipe), = call["writes"].items()
        self.assertEqual((len(call["reads"]), recipe["dtype"]), (1, "float32"))
        self.assertNotEqual(self.storage(written), self.storage(call["reads"][0]))
        self.assertIn(str(calls.index(call)), h5py.File(self.path.with_suffix(".h5"))["calls"])

    def test_gradients_name_their_parameters(self):
        self.record(mlp())
        tensors = self.capture["tensors"]
        labels = sorted(tensors[t["grad_of"]]["label"] for t in tensors.values() if "grad_of" in t)
        self.assertEqual(labels, ["0.bias", "0.weight", "2.bias", "2.weight"])

    def test_layers_and_sources(self):
        calls = self.record(mlp())
        self.assertEqual([c["layer"] for c in calls if c["overload"] == "addmm"], ["0", "2"])
        self.assertEqual([c for c in calls if c["phase"] == "optimizer" and c.get("layer") not in ("0", "2")], [])
        loss = next(c for c in calls if c["overload"] == "nll_loss_forward")
        self.assertRegex(loss["source"], r"^(\w+/)*recorder_test.py:\d+$")
        self.assertNotIn("layer", loss)


class LinkTest(RecorderTest):
    def backward_of(self, calls, overload):
        """The overloads of the backward calls of the forward operators of that name, one list for each."""
        numbers = [c["forward_id"] for c in calls if c["phase"] == "forward" and c["overload"] == overload]
        backward = [c for c in calls if c["phase"] == "backward"]
        return [[c["overload"] for c in backward if c.get("forward_id") == n] for n in numbers]

    def test_each_gradient_has_its_forward_operator(self):
        calls = self.record(mlp())
        self.assertEqual(self.backward_of(calls, "tanh"), [["tanh_backward"]])
        self.assertEqual(self.backward_of(calls, "relu_"), [["threshold_backward"]])
        self.assertEqual(self.backward_of(calls, "addmm"), [["mm", "sum.dim_IntList"], ["mm", "mm", "sum.dim_IntList"]])
        self.assertEqual(self.backward_of(calls, "nll_loss_forward"), [["nll_loss_backward"]])

    def test_the_sum_of_gradients_belongs_to_the_operator_that_gave_the_second(self):
        def run(module, x):
            y = module.w * x
            return torch.sin(y) + torch.cos(y)

        calls = self.record(function(run, 3, 4), "none")
        # The engine runs the later operator's node first.
        self.assertEqual(self.backward_of(calls, "cos"), [["sin", "neg", "mul.Tensor"]])
        (first, second, last), = self.backward_of(calls, "sin")
        self.assertEqual((first, second, last.split(".")[0].rstrip("_")), ("cos", "mul.Tensor", "add"))

    def test_a_copy_of_a_gradient_belongs_to_the_operator_that_it_came_from(self):
        calls = self.record(function(lambda module, x: module.w.sum() * 2, 3, 4), "none")
        (copy,), = self.backward_of(calls, "sum")  # the gradient was an expanded number
        self.assertIn(copy, ("copy_", "clone"))

    def test_views_have_operators_too(self):
        calls = self.record(function(lambda module, x: (module.w * x)[1:].exp(), 3, 4), "none")
        exp = next(c for c in calls if c["overload"] == "exp")
        sliced = next(c for c in calls if c["overload"] == "slice_backward")
        self.assertTrue(calls[0]["forward_id"] < sliced["forward_id"] < exp["forward_id"], calls)


class FilesTest(RecorderTest):
    def test_bfloat16_is_stored_with_its_own_bits(self):
        workload = models.Workload(nn.Linear(4, 3).bfloat16(), [torch.randn(2, 4).bfloat16()], None, "bfloat16")
        wanted = workload.module(workload.inputs[0]).detach().float()
        calls = self.record(workload, warm_up=0)
        with h5py.File(self.path.with_suffix(".h5")) as file:
            out = file["calls/0/out"]
            self.assertEqual((out.attrs["dtype"], out.id.get_type().get_size()), (b"bfloat16", 2))
            self.assertEqual((calls[0]["overload"], out[()].tolist()), ("addmm", wanted.tolist()))
            self.assertEqual(int(file.attrs["calls"]), len(calls))

    def test_every_overload_of_the_table_has_the_arguments_that_its_rows_use(self):
        found = 0
        for overload, rows in mapping.rows_of().items():
            name, _, variant = overload.partition(".")
            try:
                schema = getattr(getattr(torch.ops.aten, name), variant or "default")._schema
            except AttributeError:
                continue  # this PyTorch is too old for it
            found += 1
            known = {a.name for a in schema.arguments} | set(mapping.HELPERS) | {"number_of", "from_", "product"}
            known |= {f"r{i}" for i in range(len(schema.returns))}
            for row in rows:
                texts = [part for _, sources in row.calls for half in sources.split(" | ") for part in standard.split(half)]
                for text in [row.when, *texts]:
                    used = mapping.names_of(text.partition("=")[2] or text if text != row.when else text)
                    self.assertEqual(used - known, set(), f"{overload}: {schema}")
        self.assertGreater(found, 500)


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, *args):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), *args], cwd=self.folder, capture_output=True,
                              text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def expect(self, code, text, *args):
        returned, out, err = self.run_script(*args)
        self.assertEqual(returned, code, out + err)
        self.assertIn(text, out + err)

    def test_a_module_of_the_users_own(self):
        (self.folder / "mine.py").write_text(
            "import torch\n"
            "def make():\n    return torch.nn.Linear(4, 2), torch.randn(3, 4)\n"
            "def wrong():\n    return torch.nn.Linear(4, 2)\n"
            "def still():\n    return torch.nn.ReLU(), torch.randn(3, 4)\n"
            "def sparse():\n    return torch.nn.Embedding(9, 2, sparse=True), torch.arange(3)\n"
            "def apart():\n    return torch.nn.Linear(4, 2), torch.randn(3, 4), lambda output: torch.zeros(())\n"
            "def broken():\n    return torch.nn.Linear(4, 2), torch.randn(3, 5)\n")
        self.expect(0, "100.0% with a function", "--module", "mine:make", "--values", "--optimizer", "adam")
        self.assertEqual(form.problems(json.loads((self.folder / "make.json").read_text())), [])
        self.assertTrue((self.folder / "make.h5").is_file())
        self.expect(0, "no call matches addmmm", "--module", "mine:make", "--exclude", "addmmm")
        self.expect(2, "has no other", "--module", "mine:other")
        self.expect(2, "must return (module, inputs)", "--module", "mine:wrong")
        self.expect(2, "no parameter", "--module", "mine:still")
        self.expect(2, "turn sparse gradients off", "--module", "mine:sparse", "--optimizer", "none")
        self.expect(2, "the loss depends on no parameter", "--module", "mine:apart", "--warm-up", "0")
        self.expect(3, "could not be recorded", "--module", "mine:broken", "--values", "--output", "b.json")
        self.assertEqual(sorted(f.name for f in self.folder.glob("b*")), [])

    def test_usage(self):
        self.expect(2, "name one model")
        self.expect(2, "resnet18", "resnet19")
        self.expect(2, "write it as package.module:factory", "--module", "mine")
        self.expect(2, "must end with .json", "bert", "--output", "bert.txt")
        self.expect(2, "there is no folder", "bert", "--output", "nowhere/bert.json")
        self.expect(2, "no regular expression", "bert", "--include", "(")
        self.expect(2, "--image is for resnet18, resnet50, vit only", "bert", "--image", "32")
        self.expect(2, "is not a positive number", "bert", "--first", "0")
        self.expect(2, "No module named", "--module", "nowhere:make")
        self.expect(0, "examples:", "--help")


if __name__ == "__main__":
    unittest.main()
