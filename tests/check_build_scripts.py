"""Checks the CMake calls of scripts/build.sh and .ci/run, with a replacement for CMake, the search for a driver, and
the summary of scripts/bench.sh.

Usage: check_build_scripts.py SOURCE CMAKE
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, CMAKE = Path(sys.argv[1]), sys.argv[2]
OPTIONS = ("DIOPI_CUDA", "DIOPI_CUDA_ARCHITECTURES", "DIOPI_CPU_ARCH", "DIOPI_TORCH", "DIOPI_TORCH_PATH",
           "DIOPI_GUI", "dnnl_DIR")


class BuildScriptsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tools, self.notes = self.folder / "tools", self.folder / "notes"
        (self.folder / "tree" / "scripts").mkdir(parents=True)
        (self.folder / "tree" / ".ci").mkdir()
        self.tools.mkdir()
        for name in ("scripts/build.sh", "scripts/test.sh", ".ci/run"):
            (self.folder / "tree" / name).write_text((SOURCE / name).read_text())
            (self.folder / "tree" / name).chmod(0o755)
        for name in ("install_dependencies.sh", "debian_root.sh"):
            self.script(self.folder / "tree/scripts" / name, "")
        for name in ("cmake", "ctest"):
            self.script(self.tools / name, f'echo {name} "$@" >> {self.notes}')

    def script(self, path, text):
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def environment(self, **more):
        bare = {key: value for key, value in os.environ.items() if key not in OPTIONS}
        return {**bare, "PATH": f"{self.tools}:{os.environ['PATH']}", **more}

    def commands_of(self, script, *arguments, **environment):
        self.notes.unlink(missing_ok=True)
        subprocess.run([self.folder / "tree" / script, *arguments], check=True, env=self.environment(**environment))
        return self.notes.read_text().splitlines()

    def test_options_of_the_environment_reach_a_folder_that_is_configured_already(self):
        build = self.folder / "tree/build/release"
        build.mkdir(parents=True)
        (build / "build.ninja").write_text("")
        for value in ("ON", "OFF"):
            commands = self.commands_of("scripts/build.sh", "release", "diopi", DIOPI_CUDA=value)
            self.assertEqual(commands, [f"cmake --preset release -DDIOPI_CUDA={value}",
                                        "cmake --build build/release --target diopi"])
        self.assertEqual(self.commands_of("scripts/build.sh", dnnl_DIR="/onednn")[0],
                         "cmake --preset release -Ddnnl_DIR=/onednn")
        self.assertEqual(self.commands_of("scripts/build.sh"),
                         ["cmake --preset release", "cmake --build build/release"])

    def test_a_build_for_another_machine_has_no_options_for_this_one(self):
        self.assertEqual(self.commands_of("scripts/build.sh", "aarch64", "diopi", DIOPI_CUDA="ON", DIOPI_TORCH="ON"),
                         ["cmake --preset aarch64", "cmake --build build/aarch64 --target diopi"])

    def test_ci_builds_cuda_where_a_compiler_for_it_is_and_no_user_does_by_that(self):
        self.script(self.tools / "nvcc", "")
        self.assertEqual(self.commands_of(".ci/run")[0],
                         "cmake --preset release -DDIOPI_CUDA=CHECK -DDIOPI_TORCH=ON")
        self.assertEqual(self.commands_of("scripts/test.sh")[0], "cmake --preset release")

    def test_ci_prints_the_tests_that_failed_and_fails_with_them(self):
        # The lines of ctest.
        passed = ["      Start  1: unit:one", " 1/22 Test  #1: unit:one .........   Passed    0.03 sec"]
        failed = ["      Start 22: cli: two", "22/22 Test #22: cli: two .........***Failed    1.30 sec", "the reason",
                  "50% tests passed, 1 tests failed out of 22", "Errors while running CTest"]
        printed = "\n".join(passed + failed)
        self.script(self.tools / "ctest", f"cat << 'end'\n{printed}\nend\nexit 8")
        run = subprocess.run([self.folder / "tree/.ci/run"], capture_output=True, text=True, env=self.environment())
        self.assertEqual((run.returncode, run.stdout.splitlines()), (8, failed[1:]))

    def test_named_parts_of_the_long_tests_run_alone_after_the_set_up(self):
        part = ["cmake --preset asan", "cmake --build build/asan --target unit_tests diopi"]
        commands = self.commands_of("scripts/test.sh", "--full", "asan")
        self.assertEqual(commands[:4], ["cmake --preset release", "cmake --build build/release", *part])
        self.assertEqual([command.split()[0] for command in commands[4:]], ["ctest"])
        self.assertIn("--test-dir build/asan", commands[4])
        for wrong in (["asan"], ["--full", "assan"], ["--ful"]):
            run = subprocess.run([self.folder / "tree/scripts/test.sh", *wrong], capture_output=True, text=True,
                                 env=self.environment())
            self.assertEqual(run.returncode, 2)
            self.assertIn("the parts: asan headers", run.stderr)

    def test_the_summary_of_benchmarks_has_a_line_for_each_counter(self):
        def run(name, **counters):
            return {"name": f"{name}/iterations:20/manual_time", "run_type": "iteration", "low": 1, "high": 3,
                    **counters}
        benchmarks, processes = self.folder / "benchmarks.json", self.folder / "processes.tsv"
        benchmarks.write_text(json.dumps({"benchmarks": [
            run("a/ratio", ratio=0.5, goal=0.9), run("a/call", overhead_ns=2.4, goal=5),
            run("a/open", load_ms=2, goal=1), run("a/noise", ratio=1)]}))
        processes.write_text("diopi\t0.5\t1\t0\ndiopi bad\t2\t1\t3\n")
        done = subprocess.run([sys.executable, SOURCE / "benchmarks/summary.py", benchmarks, processes], check=True,
                              capture_output=True, text=True)
        rows = [[cell.strip() for cell in re.split("  +", line)] for line in done.stdout.splitlines()]
        self.assertEqual(rows[1:], [
            ["a/ratio", "0.50", "1.00 to 3.00", ">= 0.9", "NOT MET"], ["a/call", "2 ns", "1 to 3", "< 5 ns", "met"],
            ["a/open", "2.00 ms", "1.00 to 3.00", "< 1 ms", "NOT MET"], ["a/noise", "1.00", "1.00 to 3.00"],
            ["diopi", "0.50 s", "< 1 s", "met"], ["diopi bad", "2.00 s", "< 1 s", "NOT MET (exit code 3)"]])

    def test_a_driver_is_the_library_that_the_loader_finds(self):
        def found(path):
            return subprocess.run([CMAKE, "-P", SOURCE / "cmake/cuda_driver.cmake"], capture_output=True, text=True,
                                  check=True, env=self.environment(LD_LIBRARY_PATH=path)).stdout.strip()
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        here = "libcuda.so.1 " in known or Path("/proc/driver/nvidia").exists()
        self.assertEqual(found(""), "ON" if here else "OFF")
        (self.folder / "libcuda.so.1").write_text("")
        self.assertEqual(found(f"/nowhere:{self.folder}"), "ON")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
