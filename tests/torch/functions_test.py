"""Each function of libdiopi_torch.so: PyTorch's own operators run in it, and give the values that PyTorch gives in
Python, bit for bit. Needs the PyTorch that the library is built with, and h5py."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/cli"), str(SOURCE / "tests/capture")]

try:
    import torch
    from replay import Replay
except ImportError as error:
    print(f"left out: {error}; Debian has python3-torch and python3-h5py")
    sys.exit(77)

import calls  # noqa: E402
import functions  # noqa: E402
from program import BINARY  # noqa: E402

LIBRARY, TABLE = os.environ["DIOPI_TORCH"], os.environ["DIOPI_TORCH_TABLE"]
RECORDER = os.environ["DIOPI_TORCH_RECORDER"]

# Functions of which PyTorch has no kernel for the processor, by its version.
ONLY_ON_DEVICES = {"diopiBatchNormStats", "diopiBatchNormGatherStatsWithCounts", "diopiBatchNormElemt",
                   "diopiBatchNormBackwardReduce", "diopiBatchNormBackwardElemt"}
if torch.__version__.startswith("1."):
    ONLY_ON_DEVICES |= {"diopiAdam", "diopiAmpForeachNonFiniteCheckAndUnscaleInp", "diopiAmpUpdateScaleInp"}


def operators():
    """{function: the operators that serve it}, and PyTorch's version."""
    found = {}
    *lines, last = subprocess.run([TABLE], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        function, text = line.split(": ", 1)
        if not text.startswith("none: "):
            found[function] = set(re.findall(r"aten::[\w.]+", text))
    return found, last.split()[1]


class SeededReplay(Replay):
    """Replay whose random numbers are those of PyTorch's generator with the seed of the call."""

    def __init__(self, path):
        super().__init__(path)
        self.compared = set()

    def draw(self, call, function, values, outputs):
        torch.manual_seed(values["generator"]["seed"])
        values["generator"] = torch.Generator().manual_seed(values["generator"]["seed"])
        self.store(values, outputs, self.compute(functions.RANDOM[function], values, outputs))

    def recorded(self, call, place):
        value = super().recorded(call, place)
        if value is not None:
            self.compared.add(self.capture["calls"][call]["function"])
        return value

    def without(self, names):
        """Leaves out the calls of these functions."""
        for call in self.capture["calls"]:
            if call["function"] in names:
                del call["function"]


class FunctionsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.served, cls.version = operators()
        folder = tempfile.TemporaryDirectory(prefix="diopi_torch_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "calls.json").write_text(json.dumps(calls.of_functions(cls.served)))
        # The number of threads decides which kernels PyTorch takes.
        torch.set_num_threads(1)
        env = {**os.environ, "DIOPI_TORCH_LIBRARIES": RECORDER, "DIOPI_TORCH_RECORD": str(cls.folder / "operators.txt"),
               "OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "85"}
        run = subprocess.run([str(BINARY), "compare", "--capture", "calls.json", "--impl", LIBRARY, "--against",
                              "reference", "--record", "ran.json", "--record-values", "--json"],
                             cwd=cls.folder, env=env, capture_output=True, text=True, timeout=300, check=False)
        if run.returncode not in (0, 1) or "diopiErrorOccurred" in run.stderr:
            raise AssertionError(f"exit code {run.returncode}\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}")
        cls.rows = json.loads(run.stdout)["tensors"]

    def test_python_has_the_pytorch_of_the_library(self):
        plain = re.match(r"[\d.]*\d", torch.__version__)[0]
        self.assertEqual(self.version.split(".")[:2], plain.split(".")[:2])

    def test_each_function_has_a_call(self):
        called = {call["function"] for call in json.loads((self.folder / "calls.json").read_text())["calls"]}
        self.assertEqual(set(self.served) - called, set())
        self.assertGreater(len(called), 370)

    def test_functions_without_a_kernel_on_the_processor_are_declined_in_pytorchs_words(self):
        declined = {row["function"]: row["skipped"] for row in self.rows
                    if row.get("skipped", "").startswith("diopi")}
        self.assertEqual(set(declined), ONLY_ON_DEVICES)
        for function, reason in declined.items():
            operator = re.fullmatch(r"diopiNoImplement: Could not run '(aten::\w+(?:\.\w+)?)' with arguments from the "
                                    r"'CPU' backend", reason)
            self.assertIsNotNone(operator, reason)
            self.assertIn(operator[1], self.served[function])

    def test_the_reference_agrees_where_it_has_the_function(self):
        compared = [row for row in self.rows if "skipped" not in row]
        self.assertGreater(len(compared), 100)
        self.assertEqual([row for row in compared if not row["allclose"]], [])

    def test_operators_of_pytorch_run_in_each_function(self):
        """The recorder found them on the stack above the function's exported symbol."""
        ran = {}
        for line in (self.folder / "operators.txt").read_text().splitlines():
            function, operator = line.split(" ", 1)
            ran.setdefault(function, set()).add(operator)
        without = {function: (names, ran.get(function)) for function, names in self.served.items()
                   if function not in ONLY_ON_DEVICES and not names & ran.get(function, set())}
        self.assertEqual(without, {})

    def test_the_values_are_pytorchs(self):
        replay = SeededReplay(self.folder / "ran.json")
        replay.without(ONLY_ON_DEVICES)
        different, compared = replay.run()
        self.assertEqual(different, [])
        self.assertGreater(compared, 500)
        returned = {"diopiEqual"}
        self.assertEqual(set(self.served) - replay.compared, ONLY_ON_DEVICES | returned)


if __name__ == "__main__":
    unittest.main()
