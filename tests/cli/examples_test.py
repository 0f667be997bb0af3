"""examples/: each builds outside our build tree, against an installed one, and works as docs/vendor.md says."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import program
from program import ProgramTest

EXAMPLES = program.SOURCE / "examples"
IMPL = os.environ.get("DIOPI_IMPL", str(program.BINARY.parents[1] / "lib/libdiopi_impl.so"))
ONLY_FLOAT32 = ["--filter-dtype", "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]

# A library whose convolution writes nothing, beside tests/plugin/device.c.
IDLE = """
#include <diopi/functions.h>
diopiError_t diopiConvolution2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
    diopiSize_t dilation, int64_t groups) { return ANSWER; }
const char* diopiGetVendorName(void) { return "idle"; }
"""

# Cases that would take most of the time and test nothing more.
LARGE = {"device": "any", "rules": [{"ops": ["*"], "skip": True, "reason": "large", "argument": {
    "name": "input", "shapes": [[2, 31, 512, 6, 40], [364800, 4], [4, 133, 128, 128], [5, 2, 32, 130, 130],
                                [2, 32, 130, 130], [2, 128, 3072]]}}]}

scratch = installed = None


def setUpModule():
    global scratch, installed
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="diopi_examples_"))
    installed = scratch / "installed"
    os.environ["POCL_CACHE_DIR"] = str(scratch / "pocl")
    run("cmake", "--install", program.BINARY.parents[1], "--prefix", installed)


def tearDownModule():
    shutil.rmtree(scratch, ignore_errors=True)


def run(*command, code=0, env=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **(env or {})})
    if done.returncode != code:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def build(source, name):
    """Builds the project as its users do: only with the installed program on the PATH."""
    path = {"PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}
    folder = scratch / name
    run("cmake", "-S", source, "-B", folder, env=path)
    found = re.search("diopi_DIR:PATH=(.*)", (folder / "CMakeCache.txt").read_text()).group(1)
    if not found.startswith(str(installed)):
        raise AssertionError(f"{name} was built against {found}")
    done = run("cmake", "--build", folder, "-j2", env=path)
    if "warning" in done.stdout + done.stderr:
        raise AssertionError(done.stdout + done.stderr)
    return folder


class HostTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.host = build(EXAMPLES / "host", "host") / "host"

    def idle(self, answer):
        (self.folder / "idle.c").write_text(IDLE)
        plugin = program.SOURCE / "tests/plugin/device.c"
        run("cc", "-shared", "-fPIC", f"-DANSWER={answer}", "-I", installed / "include", self.folder / "idle.c", plugin,
            "-o", self.folder / "idle.so")
        return self.folder / "idle.so"

    def test_convolution(self):
        if program.SANITIZED:
            self.skipTest("a sanitized library needs a sanitized host")
        done = run(self.host, IMPL)
        self.assertEqual(done.stdout, "diopiConvolution2d of DiopiCpuDevice: 2048 of 2048 results are right\n")
        self.assertEqual(done.stderr, "")

    def test_no_library(self):
        done = run(self.host, "gone/libdiopi_impl.so", code=1)
        self.assertIn("gone/libdiopi_impl.so: cannot open shared object file", done.stderr)
        self.assertIn("diopi report --audit", done.stderr)
        self.assertIn("usage: host", run(self.host, code=1).stderr)

    def test_missing_function(self):
        (self.folder / "relu.c").write_text("int diopiRelu(void) { return 0; }")
        library = self.folder / "relu.so"
        run("cc", "-shared", "-fPIC", self.folder / "relu.c", "-o", library)
        self.assertIn(f"{library} has no device_malloc", run(self.host, library, code=1).stderr)

    def test_wrong_results_and_errors_are_seen(self):
        done = run(self.host, self.idle(0), code=1)
        self.assertRegex(done.stdout, r"of idle: \d{1,3} of 2048 results are right")
        self.assertIn("answers with error 13", run(self.host, self.idle(13), code=1).stderr)


class LibraryTest(ProgramTest):
    def verdicts(self, library, ops, variant):
        """Verdicts per operator of its cases with float32, without skips."""
        self.write("large.json", LARGE)
        self.diopi("test", "--fname", *ops, *ONLY_FLOAT32, *variant, "--device-config", "large.json", "--impl", library,
                   "--quiet")
        found = {op: set() for op in ops}
        for result in self.journal()[1]:
            found[result["op"]].add(result["verdict"])
        return {op: verdicts - {"skipped"} for op, verdicts in found.items()}


class VendorTest(LibraryTest):
    OPS = ["add", "mul", "maximum", "neg", "sqrt", "exp", "sum", "mm", "flip"]

    def test_as_delivered_it_fails_in_three_ways(self):
        library = build(EXAMPLES / "vendor", "vendor") / "libdiopi_impl.so"
        audit = self.expect(0, "report", "--audit", library, "--json").json
        self.assertEqual(len(audit["implemented"]), 17)
        for variant, special in (([], {"mm": {"passed", "crashed"}}),
                                 (["--empty"], {"mm": {"passed", "crashed"}}),
                                 (["--strided"], {"exp": {"passed", "failed"}})):
            with self.subTest(variant=variant):
                wanted = {**{op: {"passed"} for op in self.OPS}, "flip": {"not_implemented"}, **special}
                self.assertEqual(self.verdicts(library, self.OPS, variant), wanted)

    def test_with_the_corrections_of_the_page_it_passes(self):
        shutil.copytree(EXAMPLES / "vendor", self.folder / "vendor")
        blocks = re.findall(r"^```sh\n(.*?)^```", (program.SOURCE / "docs/vendor.md").read_text(), re.M | re.S)
        mends = [re.split("^cmake", block, flags=re.M)[0] for block in blocks if re.match("(cat|sed) .*vendor/", block)]
        self.assertEqual(len(mends), 3)
        for mend in mends:
            subprocess.run(["bash", "-euc", mend], cwd=self.folder, check=True)
        library = build(self.folder / "vendor", "mended") / "libdiopi_impl.so"
        for variant in ([], ["--empty"], ["--strided"]):
            # The others are unchanged.
            ops = ["exp", "mm", "flip"]
            with self.subTest(variant=variant):
                self.assertEqual(self.verdicts(library, ops, variant), {op: {"passed"} for op in ops})


class OpenClTest(LibraryTest):
    OPS = ["add", "mul", "maximum", "neg", "exp", "sum", "mm", "flip"]

    @classmethod
    def setUpClass(cls):
        cls.opencl = build(EXAMPLES / "opencl", "opencl") / "libdiopi_impl.so"

    def test_every_operator(self):
        for variant in ([], ["--empty"], ["--strided"]):
            with self.subTest(variant=variant):
                self.assertEqual(self.verdicts(self.opencl, self.OPS, variant), {op: {"passed"} for op in self.OPS})

    def test_runtime_suite(self):
        run = self.expect(0, "test", "--suite", "runtime", "--impl", self.opencl, "--json")
        self.assertEqual((run.json["counts"]["passed"], run.json["counts"]["not_implemented"]), (9, 1))

    def test_compare(self):
        for op in ("add", "mm"):
            self.expect(0, "compare", op, *ONLY_FLOAT32, "--impl", self.opencl, "--against", "cpu",
                        out="tensors differ")

    def test_a_wrong_kernel_and_a_stray_write_are_seen(self):
        shutil.copytree(EXAMPLES / "opencl", self.folder / "wrong")
        kernels = self.folder / "wrong/kernels.cl"
        text = kernels.read_text()
        for sound, wrong in (
                ("= -a[at(&l, 1, i)]", "= -a[l.offsets[1] + i]"),
                ("k < length", "k < length - 1"),
                ("if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)];",
                 "out[i < l.numel ? at(&l, 0, i) : l.offsets[0] + l.numel] = a[at(&l, 1, min(i, l.numel - 1))];")):
            self.assertIn(sound, text)
            text = text.replace(sound, wrong)
        kernels.write_text(text)
        library = build(self.folder / "wrong", "wrong_opencl") / "libdiopi_impl.so"
        self.assertEqual(self.verdicts(library, ["neg", "exp"], ["--strided"]),
                         {"neg": {"passed", "failed"}, "exp": {"passed"}})
        self.expect(1, "test", "--fname", "mm", "--impl", library, out="diopi_functions.mm failed")
        self.expect(1, "test", "--fname", "flip", "--impl", library, out="past the end of out")

    def test_no_device(self):
        nowhere = {"OCL_ICD_VENDORS": str(self.folder)}
        self.expect(2, "test", "--fname", "neg", "--impl", self.opencl, env=nowhere,
                    err="no OpenCL device is found: apt-get install pocl-opencl-icd")

    def test_no_opencl_to_build_with(self):
        path = {"PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}
        done = run("cmake", "-S", EXAMPLES / "opencl", "-B", self.folder / "build",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON", env=path, code=1)
        self.assertIn("OpenCL is missing: apt-get install", done.stderr)


if __name__ == "__main__":
    unittest.main()
