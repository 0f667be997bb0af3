"""The cuda backend on a machine where it cannot run: one line gives the reason, everything else works."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import unittest

from program import BINARY, ProgramTest

WITH_CUDA = [
    ["test", "--impl", "cuda", "--fname", "relu"],
    ["test", "--impl", "cuda+tf32", "--fname", "mm"],
    ["test", "--suite", "runtime", "--impl", "cuda"],
    ["profile", "--impl", "cuda", "--fname", "relu"],
    ["compare", "--impl", "cpu", "--against", "cuda", "--fname", "relu"],
    ["fallback-sim", "--impl", "cuda", "--model", "resnet18"],
    ["fallback-sim", "--to", "cuda", "--model", "resnet18", "--ops", "relu"],
]
STUB = pathlib.Path("/usr/local/cuda/lib64/stubs/libcuda.so")


class CudaTest(ProgramTest):
    def setUp(self):
        super().setUp()
        with contextlib.suppress(OSError):  # the loader is asked, because the program might be wrong
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("there is an NVIDIA driver here")
        probe = self.diopi("test", "--impl", "cuda", "--fname", "relu")
        self.is_built = "this build has no cuda backend" not in probe.err

    def test_says_why_it_cannot_run_in_one_line(self):
        for command in WITH_CUDA:
            with self.subTest(command=command):
                name = "cuda+tf32" if "cuda+tf32" in command else "cuda"
                run = self.expect(2, *command, err=f"diopi: error: {name} cannot run here: ")
                self.assertEqual(run.out, "")
                self.assertEqual(run.err.count("\n"), 1, str(run))
                self.assertIn("use --impl cpu", run.err)
                self.assertNotIn("and sim", run.err)

    def test_a_build_without_it_says_why_and_how_to_build_it(self):
        if self.is_built:
            self.skipTest("this build has the cuda backend")
        run = self.expect(2, "test", "--impl", "cuda", "--fname", "relu",
                          err=["this build has no cuda backend: built without CUDA, because ", "DIOPI_CUDA=ON"])
        reasons = ("no CUDA toolkit of version 12", "no NVIDIA driver was found", "DIOPI_CUDA=OFF")
        self.assertEqual(sum(f"because {reason}" in run.err for reason in reasons), 1, str(run))

    def test_other_backends_run_on_such_a_machine(self):
        self.expect(0, "test", "--impl", "cpu", "--fname", "relu")

    def test_the_program_needs_no_library_of_cuda_to_start(self):
        needed = subprocess.run(["readelf", "-d", BINARY], capture_output=True, text=True, check=True).stdout
        libraries = [line for line in needed.splitlines() if "NEEDED" in line]
        self.assertTrue(libraries)
        for name in ("libcuda", "libcudart", "libcublas", "libcudnn", "libnvrtc", "libcupti"):
            self.assertFalse([line for line in libraries if name in line])

    def test_a_wrong_driver_is_distinguished_from_a_missing_one(self):
        if not self.is_built or not STUB.exists():
            self.skipTest("needs a build with CUDA, and the toolkit's stand-in for the driver")
        shutil.copy(STUB, self.folder / "libcuda.so.1")
        run = self.expect(2, "test", "--impl", "cuda", "--fname", "relu", err="cuda cannot run here: ",
                          env={"LD_LIBRARY_PATH": str(self.folder)})
        self.assertNotIn("there is no NVIDIA driver", run.err)
        self.assertIn("nvidia-smi", run.err)

    def test_the_exported_library_says_why_it_cannot_run_and_needs_no_other(self):
        library = pathlib.Path(os.environ.get("DIOPI_IMPL", "none")).parent / "cuda" / "libdiopi_impl.so"
        if not library.exists():
            self.skipTest("built without the cuda backend")
        self.expect(2, "test", "--impl", library, "--fname", "relu", err=["initLibrary", "looking for a GPU", "driver"])
        symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.split("\n")
        names = {line[19:] for line in symbols if line[17:18] == "T"}
        self.assertIn("diopiAdd", names)
        self.assertEqual({name for name in names if not name.startswith(("diopi", "device_"))},
                         {"initLibrary", "finalizeLibrary"})
        self.assertIn(b"DiopiCudaDevice", library.read_bytes(), "hosts look for Device in the vendor's name")
        self.assertIn("U diopiRequireTensor", {line.strip() for line in symbols})


if __name__ == "__main__":
    unittest.main()
