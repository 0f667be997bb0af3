"""A crash, an abort, a hang, exhausted memory or stray output fails one case, never the run, and leaves no process."""
import contextlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock
import uuid

import program
from program import ProgramTest, allocated, case_file, group

FAULTY = 4099  # elements of the case with the fault; no other case has a tensor of that size
SHAPES = [[4], [60], [FAULTY], [100], [2000], [9000]]
FAULTY_CASE = "ops/worker.add.2"
SIGNALS = {"segv": "SIGSEGV (Segmentation fault)", "bus": "SIGBUS (Bus error)", "abort": "SIGABRT (Aborted)",
           "fpe": "SIGFPE (Floating point exception)", "ill": "SIGILL (Illegal instruction)",
           "trap": "SIGTRAP (Trace/breakpoint trap)", "kill": "SIGKILL (Killed)", "term": "SIGTERM (Terminated)",
           "pipe": "SIGPIPE (Broken pipe)", "sys": "SIGSYS (Bad system call)", "hup": "SIGHUP (Hangup)",
           "usr1": "SIGUSR1 (User defined signal 1)", "int": "SIGINT (Interrupt)",
           "wild": "SIGSEGV (Segmentation fault)"}


@contextlib.contextmanager
def memory_group(limit):
    """A control group of the kernel whose processes have so many bytes together; gives a function that enters it."""
    root = pathlib.Path("/sys/fs/cgroup")
    is_old = (root / "memory").is_dir()
    group = (root / "memory" if is_old else root) / f"diopi_{uuid.uuid4().hex}"
    files = ["memory.limit_in_bytes"] if is_old else ["memory.max", "memory.swap.max"]
    try:
        group.mkdir()
    except OSError as error:
        raise unittest.SkipTest(f"no control group can be made here: {error}") from error
    try:
        try:
            for file, bytes_left in zip(files, (limit, 0)):
                (group / file).write_text(str(bytes_left))
        except OSError as error:
            raise unittest.SkipTest(f"no limit of memory can be set here: {error}") from error
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


class WorkerTest(ProgramTest):
    def run_with(self, fault, *args, code=1, size=allocated(FAULTY), jobs=2, **how):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(code, "test", "--cases", "mine.json", "--jobs", str(jobs), "--json", *args,
                          faults=f"{fault}@{size}", **how)
        _, results = self.journal()
        self.assertEqual(sorted(r["case"] for r in results), [f"ops/worker.add.{i}" for i in range(len(SHAPES))])
        return run

    def expect_only_faulty(self, run, verdict, reason, whole=False, repeat=""):
        counts = dict.fromkeys(program.COUNT_KEYS, 0)
        counts["passed"] = len(SHAPES) - 1
        counts[verdict] = 1
        self.assertEqual(run.json["counts"], counts, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual((fault["case"], fault["verdict"]), (FAULTY_CASE, verdict))
        (self.assertEqual if whole else self.assertIn)(reason, fault["reason"])
        self.assertEqual(fault["repeat"], f"diopi test --case {FAULTY_CASE} --cases mine.json{repeat}")

    def test_without_a_fault_every_case_passes(self):
        run = self.run_with("segv", code=0, size=1)
        self.assertEqual(run.json["counts"]["passed"], len(SHAPES))

    def test_every_signal(self):
        for fault, name in SIGNALS.items():
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault), "crashed", name, whole=True)

    def test_signals_that_the_caller_ignores_or_blocks(self):
        def disguise():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        for fault in ("pipe", "term"):
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault, preexec=disguise), "crashed", SIGNALS[fault])

    def test_exit(self):
        for fault, code in (("exit", 7), ("quit", 0)):
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault), "crashed", f"ended by itself with exit code {code}")

    def test_endless_loop(self):
        for fault in ("hang", "deaf"):
            with self.subTest(fault=fault):
                run = self.run_with(fault, "--timeout", "1")
                self.expect_only_faulty(run, "timeout", "no answer within 1.0 s (--timeout); it was computing", whole=True,
                                        repeat=" --timeout 1")

    def test_deadlock(self):
        run = self.run_with("deadlock", "--timeout", "1")
        self.expect_only_faulty(run, "timeout", "no answer within 1.0 s (--timeout); all its threads were asleep (a "
                                "deadlock?)", whole=True, repeat=" --timeout 1")

    def test_stop(self):
        run = self.run_with("stop", "--timeout", "1")
        self.expect_only_faulty(run, "timeout", "no answer within 1.0 s (--timeout); it was stopped by a signal",
                                whole=True, repeat=" --timeout 1")

    def test_stray_output(self):
        run = self.run_with("print")
        self.expect_only_faulty(run, "failed", 'wrote 15 bytes to standard output: "hello, \\x1bworker\\n"', whole=True)
        self.assertEqual(run.json["not_passed"][0]["kind"], "printed")
        run = self.run_with("printf")
        self.expect_only_faulty(run, "failed", 'wrote 16 bytes to standard output: "kept in a buffer"', whole=True)

    def test_stray_output_of_a_failure_is_also_reported(self):
        run = self.run_with(f"print@{allocated(FAULTY)} segv")
        self.expect_only_faulty(run, "crashed", 'SIGSEGV (Segmentation fault); wrote 15 bytes to standard output: "hello')

    def test_standard_error_is_not_a_failure(self):
        run = self.run_with("mutter", code=0)
        self.assertEqual(run.json["counts"]["passed"], len(SHAPES))
        self.assertEqual(run.err, "")

    def test_standard_error_is_shown_on_request(self):
        run = self.run_with("mutter", "--debug-level", "2", code=0)
        self.assertIn("only a warning\n", run.err)

    def test_last_line_of_standard_error_explains_a_crash(self):
        self.expect_only_faulty(self.run_with("assert"), "crashed",
                              "SIGABRT (Aborted); stderr: kernel.cpp:7: assertion `n > 0' failed", whole=True)

    def test_output_flood(self):
        for fault in ("flood", "floodout"):
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault, "--timeout", "60"), "crashed",
                                                "output flood: more than 1.0 MiB on standard output and standard error",
                                        repeat=" --timeout 60")

    def test_garbage_on_the_socket(self):
        for fault in ("garbage", "bit", f"garbage@{allocated(FAULTY)} hang"):
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault, "--timeout", "60"), "crashed",
                                                "garbage instead of an answer: something wrote to the socket of its worker",
                                        repeat=" --timeout 60")

    def test_closed_socket(self):
        for fault in ("close", "replace", "reroute", f"close@{allocated(FAULTY)} hang"):
            with self.subTest(fault=fault):
                self.expect_only_faulty(self.run_with(fault, "--timeout", "60"), "crashed",
                                                "the socket of its worker was closed or replaced", whole=True,
                                        repeat=" --timeout 60")

    def test_writes_to_every_descriptor_do_not_damage_the_journal(self):
        # run_with reads the journal, which must be whole.
        self.expect_only_faulty(self.run_with("everywhere"), "crashed", "garbage instead of an answer")

    def test_forked_processes_end_with_their_worker(self):
        # ProgramTest.diopi fails when a process is left.
        for fault in ("sleeper", "daemon"):
            with self.subTest(fault=fault):
                self.assertEqual(self.run_with(fault, code=0).json["counts"]["passed"], len(SHAPES))
        self.expect_only_faulty(self.run_with(f"sleeper@{allocated(FAULTY)} segv", "--timeout", "60"), "crashed",
                                "SIGSEGV (Segmentation fault)", repeat=" --timeout 60")
        self.expect_only_faulty(self.run_with(f"sleeper@{allocated(FAULTY)} hang", "--timeout", "1"), "timeout",
                                "no answer within 1.0 s", repeat=" --timeout 1")

    def test_a_fork_that_returns_gives_no_second_answer(self):
        self.assertEqual(self.run_with("twin", code=0).json["counts"]["passed"], len(SHAPES))

    def test_exhausted_memory(self):
        for fault in ("hog", "hognew"):
            with self.subTest(fault=fault):
                run = self.run_with(fault, "--memory-limit", "512M")
                self.expect_only_faulty(run, "crashed", "out of memory: SIGABRT (Aborted)", repeat=" --memory-limit 512M")
                self.assertIn("(limit 512.0 MiB per worker, --memory-limit)", run.json["not_passed"][0]["reason"])

    def test_a_library_gets_the_memory_that_is_kept_from_the_case_before(self):
        # The longest case is first, and its tensors take three quarters of the limit.
        self.write("mine.json", case_file(group("worker", [[FAULTY], [14 << 20]])))
        run = self.expect(0, "test", "--cases", "mine.json", "--jobs", "1", "--json", "--memory-limit", "1G",
                          faults=f"need@{allocated(FAULTY)}")
        self.assertEqual(run.json["counts"]["passed"], 2, str(run))
        _, results = self.journal()
        self.assertEqual([r["case"] for r in results], ["ops/worker.add.1", "ops/worker.add.0"])

    def test_a_case_for_which_an_equal_share_was_too_little_is_done_again_alone(self):
        if program.SANITIZED:
            self.skipTest("with a sanitizer there is no limit")
        # Of so many workers, each has the least share, 1 GiB.
        run = self.run_with("gigabytes", jobs=1024, code=0)
        self.assertEqual(run.json["counts"]["passed"], len(SHAPES))
        _, results = self.journal()
        self.assertEqual(results[-1]["case"], FAULTY_CASE)
        run = self.run_with("gigabytes", "--memory-limit", "1G")
        self.expect_only_faulty(run, "crashed", "out of memory: SIGABRT (Aborted)", repeat=" --memory-limit 1G")

    def test_the_kernel_kills_a_worker_for_its_memory(self):
        with memory_group(400 << 20) as enter:
            run = self.run_with("hog", "--memory-limit", "0", preexec=enter)
        self.expect_only_faulty(run, "crashed", "out of memory: SIGKILL (Killed) by the kernel with ",
                                repeat=" --memory-limit 0")

    def test_memory_limit_by_option(self):
        if program.SANITIZED:
            self.skipTest("a sanitizer reserves more memory than any limit")
        # The estimate of three tensors fits; the expected values stay for the step in place, beside both results.
        relu = {"group": "worker", "ops": ["relu"], "dtypes": ["float64"], "inplace": True,
                "tensors": [{"name": "input", "shapes": [[8], [1 << 23], [16]]}]}
        self.write("mine.json", case_file(relu))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "1", "--json", "--memory-limit", "0.22GiB")
        self.assertEqual(run.json["counts"]["passed"], 2, str(run))
        self.assertEqual({fault["case"] for fault in run.json["not_passed"]}, {"ops/worker.relu.1"}, str(run))
        self.assertRegex(run.json["not_passed"][0]["reason"], r"out of memory: 67117056 bytes for a tensor; .* \(limit 225\.3 MiB per "
                         r"worker, --memory-limit\)$")

    def test_a_case_whose_tensors_exceed_the_memory_is_skipped(self):
        if program.SANITIZED:
            self.skipTest("with a sanitizer there is no limit")
        self.write("mine.json", case_file(group("worker", [[8], [1 << 26], [16]])))
        command = ("test", "--cases", "mine.json", "--jobs", "2", "--json", "--memory-limit", "1.5G")
        run = self.expect(0, *command)
        self.assertEqual((run.json["counts"]["passed"], run.json["counts"]["skipped"]), (2, 1), str(run))
        _, results = self.journal()
        [skipped] = [r for r in results if r["verdict"] == "skipped"]
        self.assertEqual((skipped["case"], skipped["reason"]), (
            "ops/worker.add.1", "its tensors need 2.0 GiB of memory at one time, and a worker may take 1.5 GiB; try a "
            "machine with more, or --memory-limit"))
        self.assertEqual(self.expect(0, *command[:-1], "2.2G").json["counts"]["passed"], 3)

    def test_results_are_not_judged_by_bounds_for_which_memory_is_lacking(self):
        if program.SANITIZED:
            self.skipTest("with a sanitizer there is no limit")
        # Of some sums, a part of the terms gives no sufficient bound; that of all terms needs another copy in float64.
        sums = {"group": "worker", "ops": ["sum"], "dtypes": ["float32"], "params": {"dim": [[1, 2]]},
                "tensors": [{"name": "input", "shapes": [[40_000, 6, 40]]}]}
        self.write("mine.json", case_file(sums))
        verdicts = set()
        for limit in range(150, 260, 20):
            run = self.diopi("test", "--cases", "mine.json", "--json", "--memory-limit", f"{limit}M")
            reasons = [fault["reason"] for fault in run.json["not_passed"]]
            self.assertTrue(all("out of memory" in reason for reason in reasons), str(run))
            verdicts.add(run.code)
        self.assertEqual(verdicts, {0, 1})

    def test_a_large_case_needs_the_memory_of_four_of_its_tensors(self):
        if program.SANITIZED:
            self.skipTest("with a sanitizer there is no limit")
        # Those of the gradients' function and its expected result; the results of both runs are the last two later.
        tensor = 2 * 8 * 1024 * 1024 * 8
        softmax = {"group": "worker", "ops": ["log_softmax"], "dtypes": ["float64"], "params": {"dim": [1]},
                   "tensors": [{"name": "input", "shapes": [[2, 8, 1024, 1024]], "grad": True}]}
        self.write("mine.json", case_file(softmax))
        run = self.expect(0, "test", "--cases", "mine.json", "--json", "--memory-limit", f"{int(4.7 * tensor) >> 20}M")
        self.assertEqual(run.json["counts"]["passed"], 1, str(run))

    def test_only_the_steps_that_run_need_memory(self):
        if program.SANITIZED:
            self.skipTest("with a sanitizer there is no limit")
        sigmoid = {"group": "worker", "ops": ["sigmoid"], "dtypes": ["float64"],
                   "tensors": [{"name": "input", "shapes": [[1 << 25]], "grad": True}]}
        self.write("mine.json", case_file(sigmoid))
        command = ("test", "--cases", "mine.json", "--json", "--memory-limit", "0.9G")
        self.assertEqual(self.expect(0, *command).json["counts"]["skipped"], 1)
        self.assertEqual(self.expect(0, *command, "--steps", "forward").json["counts"]["passed"], 1)

    def test_bad_memory_limits(self):
        for text in ("4X", "G", "-1G", "nan", "4 G", "1e30G"):
            with self.subTest(text=text):
                self.expect(2, "test", "--memory-limit=" + text, err=f"'{text}' is no memory size: give a number and")
        self.expect(2, "test", "--memory-limit", "512", err="'512' is too little: a worker itself needs up to 64M")

    def test_interrupt_leaves_no_process(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(stop=stop.name):
                process = self.start_with_sleepers()
                process.popen.send_signal(stop)
                self.assertEqual(process.finish(10).code, 130)
                self.assertEqual(process.pids(), [])

    def test_kill_leaves_no_process_and_no_file(self):
        # A daemon has left its worker's group and session, and lost its parent.
        for moment in range(20):
            fault = ("sleeper", "daemon")[moment % 2]
            with self.subTest(moment=moment, fault=fault):
                process = self.start_with_sleepers(fault)
                time.sleep(random.uniform(0, 0.2))
                os.kill(process.popen.pid, signal.SIGKILL)
                self.wait_for(lambda p=process: not p.pids(), "workers and what they forked die with their parent", 5)
                self.assertEqual(sorted(p.name for p in self.folder.rglob("*") if p.is_file()),
                                 ["journal.jsonl", "mine.json"])

    def start_with_sleepers(self, fault="sleeper"):
        """A long run; each second case forks a process that continues alone until it is killed."""
        self.write("mine.json", case_file(group("worker", [[FAULTY], [8]] * 3000)))
        (self.folder / "diopi_run/journal.jsonl").unlink(missing_ok=True)
        process = self.start("test", "--cases", "mine.json", "--jobs", "2", faults=f"{fault}@{allocated(FAULTY)}")
        self.wait_for_results(10)
        return process

    def policies_of_waits(self, env):
        """The values of OMP_WAIT_POLICY in all processes of a run with that environment."""
        self.write("mine.json", case_file(group("worker", SHAPES)))
        (self.folder / "diopi_run/journal.jsonl").unlink(missing_ok=True)
        process = self.start("test", "--cases", "mine.json", "--jobs", "2", faults=f"hang@{allocated(FAULTY)}", env=env)
        self.wait_for_results(5)
        policies = set()
        for pid in process.pids():
            variables = pathlib.Path("/proc", str(pid), "environ").read_text().split("\0")
            policies.add(dict(v.split("=", 1) for v in variables if v).get("OMP_WAIT_POLICY"))
        process.stop()
        return policies

    def test_threads_of_workers_wait_passively(self):
        with unittest.mock.patch.dict(os.environ):
            for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
                os.environ.pop(name, None)
            self.assertEqual(self.policies_of_waits({}), {"passive"})
            self.assertEqual(self.policies_of_waits({"OMP_WAIT_POLICY": "active"}), {"active"})
            self.assertEqual(self.policies_of_waits({"GOMP_SPINCOUNT": "1000"}), {None})

    def test_failed_allocation(self):
        self.expect_only_faulty(self.run_with("null"), "failed", f"out of memory: {FAULTY * 8} bytes for a tensor")

    def test_a_device_that_stays_in_error_costs_one_case(self):
        run = self.run_with("unusable")
        self.expect_only_faulty(run, "failed", f"out of memory: {FAULTY * 8} bytes for a tensor")
        self.assertTrue(run.json["not_passed"][0]["reason"].endswith(
            "; the device stayed in error, its worker was replaced"), str(run))

    def test_a_failure_on_a_working_device_keeps_its_worker(self):
        self.assertNotIn("device stayed in error", self.run_with("null").out)

    def test_memory_limit(self):
        if program.SANITIZED:
            self.skipTest("a sanitizer reserves more address space than any limit")
        limit = 1 << 30
        self.write("mine.json", case_file(group("worker", [[8], [1 << 25], [16]])))
        # Each thread takes address space.
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "2", "--json", env={"OMP_NUM_THREADS": "2"},
                          preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(run.json["counts"]["passed"], 2, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual(fault["case"], "ops/worker.add.1")
        self.assertIn("out of memory: 268443648 bytes", fault["reason"])

    def test_exception_does_not_affect_the_other_workers(self):
        # Only copies of a shape of this rank are so large. The other worker runs a long case meanwhile.
        rank = 29
        self.write("mine.json", case_file(group("worker", [[1] * rank, [8], [3000, 1000], [16]])))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "2", "--json", faults=f"throw@{rank * 8}")
        self.assertEqual(run.json["counts"]["passed"], 3, str(run))
        [fault] = run.json["not_passed"]
        self.assertEqual(fault["case"], "ops/worker.add.0")
        self.assertIn(fault["verdict"], ("failed", "crashed"))
        self.assertNotIn("diopi: error", run.err, "the worker printed an error of the program")

    def peak_kib(self, count, binary=program.BINARY):
        """Peak memory of a worker in a run of so many cases of nearly one size."""
        self.write("mine.json", case_file(group("worker", [[1000, 1500 + i % 3] for i in range(count)])))
        command = [str(binary), "test", "--cases", "mine.json", "--jobs", "1", "--quiet", "--cases-dir",
                   str(program.SOURCE / "cases")]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.assertEqual(status, 0)
        return usage.ru_maxrss

    def test_memory_is_that_of_the_largest_case_however_many_there_are(self):
        few, many = self.peak_kib(15), self.peak_kib(60)
        self.assertGreater(few * 1024, 1000 * 1500 * 8 * 4, "the peak is not that of the cases")
        self.assertLess(many, 1.3 * few)

    def test_memory_does_not_depend_on_the_program_s_path(self):
        """The places of small heap blocks depend on the lengths of paths. They must not split large blocks."""
        peaks = []
        for length in (3, 16, 150):
            folder = self.folder / ("x" * length)
            folder.mkdir()
            peaks += [self.peak_kib(count, shutil.copy(program.BINARY, folder / "diopi")) for count in (15, 60)]
        self.assertLess(max(peaks), 1.3 * min(peaks), peaks)

    def test_many_crashes(self):
        count = 40
        self.write("mine.json", case_file(group("worker", [[FAULTY], [8]] * (count // 2))))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "4", "--json", faults=f"abort@{allocated(FAULTY)}")
        self.assertEqual(run.json["counts"]["crashed"], count // 2, str(run))
        self.assertEqual(run.json["counts"]["passed"], count // 2, str(run))

    def test_log_and_report_name_the_crash(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(1, "test", "--cases", "mine.json", faults=f"segv@{allocated(FAULTY)}")
        line = f"Run diopi_functions.add failed (crashed). TestTag: [float64]  TensorInfo : [(input, float64, ({FAULTY},))"
        self.assertRegex(run.out, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - DIOPI-Test - ERROR - ")
        self.assertIn(line, run.out)
        self.assertIn("\n    SIGSEGV (Segmentation fault)\n", run.out)
        self.assertIn(f"\n    repeat: diopi test --case {FAULTY_CASE} --cases mine.json\n", run.out)
        self.assertIn("1 Tests failed:\n1--Run diopi_functions.add failed (crashed).   TestTag: [float64]", run.out)
        self.assertIn("6 cases: 5 passed, 1 crashed", run.out)

    def test_the_repeat_command_repeats_the_case(self):
        run = self.run_with("null")
        self.assertEqual(len(run.json["not_passed"]), 1)
        words = run.json["not_passed"][0]["repeat"].split()
        again = self.expect(1, *words[1:], "--json", faults=f"null@{allocated(FAULTY)}")
        self.assertEqual(sum(again.json["counts"].values()), 1, str(again))
        self.assertEqual(again.json["not_passed"][0]["case"], FAULTY_CASE)


if __name__ == "__main__":
    unittest.main()
