"""libdiopi_torch.so: the standard's functions by PyTorch."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import SOURCE, ProgramTest

LIBRARY, TABLE = os.environ["DIOPI_TORCH"], os.environ["DIOPI_TORCH_TABLE"]
RECORDER, OPEN_DEVICE = os.environ["DIOPI_TORCH_RECORDER"], os.environ["DIOPI_TORCH_OPEN_DEVICE"]
DEVICE = {"DIOPI_TORCH_LIBRARIES": OPEN_DEVICE, "DIOPI_TORCH_DEVICE": "privateuseone:0"}
QUERIES = {"diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString"}


def table():
    """The functions that an overload serves, {function: why none does}, and PyTorch's version."""
    served, missing = set(), {}
    *lines, last = subprocess.run([TABLE], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        function, text = line.split(": ", 1)
        if text.startswith("none: "):
            missing[function] = text.removeprefix("none: ")
        else:
            served.add(function)
    return served, missing, re.match(r"PyTorch (\d+\.\d+)", last)[1]


class TorchTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served, cls.missing, cls.version = table()
        cls.deviations = SOURCE / f"cases/devices/pytorch-{cls.version}-cpu.json"

    def test_the_library_has_the_functions_of_the_table(self):
        implemented = set(self.expect(0, "report", "--audit", LIBRARY, "--json").json["implemented"])
        self.assertEqual(implemented - QUERIES, self.served)
        self.assertGreaterEqual(len(self.served), 370)

    def test_what_pytorch_does_not_have_has_a_reason(self):
        header = (SOURCE / "libdiopi/include/diopi/functions.inc").read_text()
        core = set(re.findall(r"\bdiopi\w+(?=\()", header)) & set(self.missing)
        self.assertGreater(len(core), 10)
        self.assertEqual([name for name in sorted(core) if self.missing[name] == "there is no row for it"], [])

    def test_the_audit_has_the_reason_for_each_missing_function(self):
        audit = self.expect(0, "report", "--audit", LIBRARY, "--json").json
        self.assertEqual(audit["reasons"], self.missing)
        self.assertEqual(set(audit["reasons"]), set(audit["missing"]))
        self.expect(0, "report", "--audit", LIBRARY, out=["diopiNms", "it is a function of torchvision, not of ATen"])

    def test_a_sample_of_the_operator_suite(self):
        """Each deviation has a rule with its evidence, and the recorder has seen many operators of PyTorch run;
        tests/torch/functions_test.py has each function."""
        names = self.folder / "names.txt"
        run = self.diopi("test", "--impl", LIBRARY, "--in-order", *self.sample_of_suite(3, 50_000), "--json",
                         "--device-config", str(self.deviations), timeout=500,
                         env={"DIOPI_TORCH_LIBRARIES": RECORDER, "DIOPI_TORCH_RECORD": str(names),
                              "MALLOC_PERTURB_": "85"})
        counts = run.json["counts"]
        self.assertGreater(counts["passed"], 200, counts)
        self.assertEqual((counts["crashed"], counts["timeout"]), (0, 0), run.json["not_passed"])
        failed = [each for each in run.json["not_passed"] if each["verdict"] == "failed"]
        self.assertEqual(failed, [])
        ran = {line.split(" ", 1)[1] for line in names.read_text().splitlines()}
        self.assertGreater(len(ran), 80)

    def test_strided_operands_are_borrowed_as_they_are(self):
        for operator in ("add", "mm"):
            with self.subTest(operator=operator):
                self.expect(0, "test", "--impl", LIBRARY, "--fname", operator, "--strided", "--filter-dtype", "float16",
                            timeout=300)

    def test_gradients_that_aten_has_no_function_for(self):
        for operator in ("linear", "nll_loss", "cross_entropy"):
            with self.subTest(operator=operator):
                run = self.expect(0, "test", "--impl", LIBRARY, "--fname", operator, "--filter-dtype", "float16", "--json",
                                  timeout=300)
                self.assertEqual(run.json["counts"]["not_implemented"], 0)

    def test_what_pytorch_refuses_is_declined_in_its_own_words(self):
        """They show that the call reached PyTorch's kernel, too. Newer versions take float16."""
        run = self.expect(0, "test", "--impl", LIBRARY, "--fname", "bmm", "--json", timeout=300)
        declined = [each["reason"] for each in run.json["not_passed"]]
        if self.version == "1.13":
            self.assertGreater(len(declined), 0)
        for reason in declined:
            self.assertRegex(reason, r"declined: diopiDtypeNotSupported: \"\w+\" not implemented for 'Half'")

    def test_a_device_that_a_library_brings(self):
        """Its memory and its kernels are used, gradients by autograd included."""
        for operator, names in (("add", {"add"}), ("linear", {"mm"}), ("nll_loss", {"nll_loss_backward"})):
            with self.subTest(operator=operator):
                file = self.folder / f"{operator}.txt"
                run = self.expect(0, "test", "--impl", LIBRARY, "--fname", operator, "--filter-dtype", "float16", "--json",
                                  timeout=300, env={**DEVICE, "DIOPI_OPEN_DEVICE_RECORD": str(file)})
                self.assertGreater(run.json["counts"]["passed"], 5)
                ran = {name.removeprefix("aten::") for name in file.read_text().split()}
                self.assertEqual(names - ran, set())

    def test_memory_of_the_device_that_runs_out(self):
        """PyTorch's allocator throws: the cases that need more fail with its words, and the others go on."""
        run = self.expect(1, "test", "--impl", LIBRARY, "--case", "ops/pointwise_binary.add.?",
                          "ops/pointwise_binary.add.2?", "--filter-dtype", "float16", "--json",
                          env={**DEVICE, "DIOPI_OPEN_DEVICE_MEMORY": "30000"})
        counts = run.json["counts"]
        self.assertGreater(counts["passed"], 5, counts)
        self.assertGreater(counts["failed"], 5, counts)
        self.assertEqual((counts["crashed"], counts["timeout"]), (0, 0))
        for each in run.json["not_passed"]:
            if each["verdict"] == "failed":
                self.assertIn("out of memory", each["reason"])
                self.assertRegex(each["reason"], r"Tried to allocate \d+ bytes")

    def test_random_numbers_on_a_device_without_generators_are_declined(self):
        for operator in ("normal_", "bernoulli"):
            with self.subTest(operator=operator):
                run = self.expect(0, "test", "--impl", LIBRARY, "--fname", operator, "--json", env=DEVICE)
                self.assertGreater(run.json["counts"]["not_implemented"], 0)
                self.assertEqual(run.json["counts"]["passed"] + run.json["counts"]["failed"], 0)
                for each in run.json["not_passed"]:
                    self.assertIn("diopiNoImplement: PyTorch has no generator for privateuseone:0", each["reason"])

    def patched(self, old, new):
        """A copy of the library with other bytes of the same length, as a library for another PyTorch has."""
        content = pathlib.Path(LIBRARY).read_bytes()
        self.assertEqual(len(old), len(new))
        self.assertIn(old, content)
        path = self.folder / "libdiopi_torch_other.so"
        path.write_bytes(content.replace(old, new))
        return path

    def test_a_pytorch_that_lacks_an_overload(self):
        other = self.patched(b"\0embedding_renorm_\0", b"\0embedding_renormX\0")
        self.expect(2, "test", "--impl", other, "--fname", "add",
                    err=["built for another PyTorch", "1 functions have no overload in this one, such as "
                         "diopiEmbeddingRenorm_ (embedding_renormX: this PyTorch has no such overload)", "build it again"])

    def test_a_pytorch_that_lacks_a_symbol(self):
        other = self.patched(b"10Dispatcher10findSchema", b"10Dispatcher10lostSchema")
        self.expect(2, "test", "--impl", other, "--fname", "add", err=["undefined symbol", "lostSchema"])
        self.expect(1, "report", "--audit", other, out=["undefined", "lostSchema"])

    def test_a_pytorch_that_is_not_there(self):
        other = self.patched(b"libtorch_cpu.so", b"libtorch_cpX.so")
        self.expect(2, "test", "--impl", other, "--fname", "add", err=["libtorch_cpX.so", "cannot open shared object"])
        self.expect(1, "report", "--audit", other, out=["not found", "libtorch_cpX.so"])

    def test_two_openmp_runtimes(self):
        """PyTorch takes the one that the program has; a second one is named in a debug line, and costs no case."""
        command = ("test", "--impl", LIBRARY, "--case", "ops/relu.relu.9", "--debug-level", "2")
        self.assertNotIn("OpenMP", self.expect(0, *command).err)
        second = self.folder / "libiomp5.so"
        shutil.copy(OPEN_DEVICE, second)
        self.expect(0, *command, env={"DIOPI_TORCH_LIBRARIES": str(second)},
                    err=["2 OpenMP runtimes in one process", "libgomp.so.1", str(second)])

    def test_a_device_that_is_not_there(self):
        for device, words in (("nonsense", ["Expected one of cpu"]), ("cuda:0", ["initLibrary", "cuda"]),
                              ("privateuseone:0", ["DIOPI_TORCH_LIBRARIES"])):
            with self.subTest(device=device):
                self.expect(2, "test", "--impl", LIBRARY, "--fname", "add", err=words, env={"DIOPI_TORCH_DEVICE": device})
        self.expect(2, "test", "--impl", LIBRARY, "--fname", "add", err="/none.so",
                    env={"DIOPI_TORCH_LIBRARIES": "/none.so"})


if __name__ == "__main__":
    unittest.main()
