"""The program under test: runs it in a folder of its own and returns exit code and output."""
import collections
import contextlib
import fcntl
import json
import math
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest
import uuid

SOURCE = pathlib.Path(os.environ.get("DIOPI_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BINARY = pathlib.Path(os.environ.get("DIOPI_BINARY", SOURCE / "build/release/bin/diopi"))
FAULTS = os.environ.get("DIOPI_FAULTS", str(SOURCE / "build/release/lib/libcli_faults.so"))
PLUGINS = pathlib.Path(os.environ.get("DIOPI_PLUGINS", SOURCE / "build/release/lib/plugin"))
SANITIZED = os.environ.get("DIOPI_SANITIZED") == "1"
END_OF_OUTPUT = b"\0"

COUNT_KEYS = ["passed", "failed", "crashed", "timeout", "skipped", "not_implemented", "advice"]


def plugin(name):
    """A library of tests/plugin."""
    return str(PLUGINS / f"libplugin_{name}.so")


class Run:
    """The result of a finished command."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return f"$ {' '.join(self.command)}\nexit code {self.code}\n{self.out}\n--- stderr\n{self.err}"

    @property
    def json(self):
        return json.loads(self.out)


class Process:
    """A command that still runs. A mark in its environment identifies its children."""

    def __init__(self, command, folder, env, preexec=None):
        self.mark = uuid.uuid4().hex
        self.command = command
        self.popen = subprocess.Popen(command, cwd=folder, env={**env, "DIOPI_TEST_MARK": self.mark},
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      errors="replace", start_new_session=True, preexec_fn=preexec)

    def finish(self, timeout):
        try:
            out, err = self.popen.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            out, err = self.popen.communicate()
            raise AssertionError(f"{' '.join(self.command)} did not end within {timeout} s:\n{out}\n{err}") from None
        return Run(self.command, self.popen.returncode, out, err)

    def pids(self):
        """The process and its children, without those that are only waiting to be reaped."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                environment = pathlib.Path("/proc", entry, "environ").read_bytes()
                state = pathlib.Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if self.mark.encode() in environment and state != "Z":
                found.append(int(entry))
        return found

    def stop(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.communicate()


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="diopi_cli_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    # Tests of other things run the standard's cases alone; hard_cases_test.py has the default.
    LEVEL = ["--level", "1"]

    def start(self, *args, faults="", env=None, preexec=None):
        others = {"--level", "--replay", "--suite", "--help", "--case", "--cases", "--capture"}
        if args[:1] == ("test",) and not others & set(args):
            args = ("test", *self.LEVEL, *args[1:])
        full = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
        if faults:
            if SANITIZED:
                self.skipTest("a sanitizer's runtime does not support a preloaded library")
            full.update(LD_PRELOAD=FAULTS, DIOPI_TEST_FAULTS=faults)
        full.update(env or {})
        process = Process([str(BINARY), *map(str, args)], self.folder, full, preexec)
        self.addCleanup(process.stop)
        return process

    def diopi(self, *args, timeout=120, **how):
        process = self.start(*args, **how)
        run = process.finish(timeout)
        self.assertEqual(process.pids(), [], f"processes were left behind\n{run}")
        return run

    def expect(self, code, *args, out=(), err=(), **how):
        """Runs diopi; exit code and texts must be these."""
        run = self.diopi(*args, **how)
        self.assertEqual(run.code, code, str(run))
        for text in [out] if isinstance(out, str) else out:
            self.assertIn(text, run.out, str(run))
        for text in [err] if isinstance(err, str) else err:
            self.assertIn(text, run.err, str(run))
        return run

    def plant_times(self, run, factor):
        """Multiplies the samples of the first call of a kept profile. Returns its case.

        Beside other programs a call of microseconds that waits for its second thread may take a whole
        time slice of 8 ms: a verdict is certain only if the factor is far beyond that.
        """
        try:
            import h5py
        except ImportError as missing:
            self.skipTest(f"this Python has no {missing.name}")
        with h5py.File(self.folder / run / "profile.h5", "r+") as file:
            about = json.loads(bytes(file["profile"][()]))
            stored = about["calls"][0]
            cpu = file["samples/cpu"][()]
            cpu[stored["first"]:stored["first"] + stored["samples"]] *= factor
            file["samples/cpu"][...] = cpu
        return stored["case"]

    def on_terminal(self, *args, columns=80, faults="", **env):
        """Exit code and all output on a terminal of that width; 0 columns: the width is unknown.

        The terminal stays open until a mark has come through it: what a program writes just before it closes a
        terminal as the last may get lost, since the reader is told of the end before the kernel has passed on the text.
        """
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        full = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
        full.update({"TERM": "xterm", **env})
        if faults:
            full.update(LD_PRELOAD=FAULTS, DIOPI_TEST_FAULTS=faults)
        process = subprocess.Popen([str(BINARY), *args], cwd=self.folder, env=full, stdin=child, stdout=child, stderr=child)

        def end_output():
            process.wait()
            os.write(child, END_OF_OUTPUT)

        ending = threading.Thread(target=end_output)
        ending.start()
        received = b""
        while not received.endswith(END_OF_OUTPUT):
            received += os.read(parent, 65536)
        ending.join()
        os.close(child)
        os.close(parent)
        return process.returncode, received.removesuffix(END_OF_OUTPUT).decode()

    @staticmethod
    def screen(text):
        """The final lines on the screen: without overwritten text (\\r) and colours."""
        plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
        return [line.rpartition("\r")[2] for line in plain.replace("\r\n", "\n").split("\n")]

    @contextlib.contextmanager
    def small_disk(self, kib):
        """A file system of that size, to test a full disk."""
        folder = tempfile.mkdtemp(dir=self.folder)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder], capture_output=True,
                               text=True, check=False)
        if mount.returncode != 0:
            self.skipTest(f"a small disk cannot be mounted here: {mount.stderr.strip()}")
        try:
            yield pathlib.Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    def journal(self, folder="diopi_run"):
        """Header and results; the journal must be whole."""
        lines = (self.folder / folder / "journal.jsonl").read_text().split("\n")
        self.assertEqual(lines.pop(), "", "the journal's last line is incomplete")
        header, *results = map(json.loads, lines)
        return header, results

    def sample_of_suite(self, count, numel, seed=5):
        """Samples the operator suite: for each operator and dtype this many cases of fewer elements, by the seed."""
        self.write("nothing.json", {"operators": ["none"]})
        self.expect(0, "test", "--impl", "sim", "--sim-config", "nothing.json", "--run", "ids", "--json")
        small = collections.defaultdict(list)
        for result in self.journal("ids")[1]:
            if sum(math.prod(shape) for _, _, shape in result["tensors"]) < numel:
                small[result["op"], result["dtype"]].append(result["case"])
        draw = random.Random(seed)
        return [case for _, ids in sorted(small.items()) for case in draw.sample(ids, min(count, len(ids)))]

    def wait_for(self, condition, what, timeout=30):
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited {timeout} s without success: {what}")
            time.sleep(0.02)

    def wait_for_results(self, count, folder="diopi_run"):
        path = self.folder / folder / "journal.jsonl"
        self.wait_for(lambda: path.exists() and path.read_text().count("\n") > count, f"{count} results in {path}")


def group(name, shapes, ops=("add",), dtypes=("float64",), **more):
    """A group of binary cases: both tensors have the same shapes."""
    return {"group": name, "ops": list(ops), "dtypes": list(dtypes),
            "tensors": [{"name": "input", "shapes": shapes}, {"name": "other", "shapes": shapes}], **more}


def case_file(*groups):
    return {"groups": list(groups)}


def allocated(numel, itemsize=8):
    """Bytes that diopi allocates for a tensor: a multiple of 64."""
    return (numel * itemsize + 63) // 64 * 64
