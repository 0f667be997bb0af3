"""diopi test: --shrink, --shuffle, --find-order and --in-order."""
import json
import shlex
import signal
import time
import unittest

from program import ProgramTest, allocated, case_file, group

SHAPES = [[4], [60], [4099], [100], [2000], [9000]]
IDS = [f"ops/worker.add.{i}" for i in range(len(SHAPES))]
# softmax is not exact: without a tolerance it fails for more than one element, of different values.
HARD = {"rules": [{"ops": ["softmax"], "atol": 0, "rtol": 0, "reason": "nothing is exact enough"}]}
SOFTMAX = {"group": "mine_softmax", "ops": ["softmax"], "dtypes": ["float16", "float32"], "params": {"dim": -1},
           "tensors": [{"name": "input", "grad": True,
                        "shapes": [[5, 33, 7], [64, 9], [2000], [3], [4, 4], [1, 20], [90]]}]}


class ShrinkTest(ProgramTest):
    def shrink(self, *args, groups=(SOFTMAX,), code=1, **how):
        self.write("mine.json", case_file(*groups))
        self.write("hard.json", HARD)
        return self.expect(code, "test", "--cases", "mine.json", "--device-config", "hard.json", "--shrink", *args,
                           **how)

    def command_in(self, run):
        """The last command that shrinking printed, as arguments."""
        lines = [line.strip() for line in run.out.split("\n") if line.startswith("  diopi test --cases")]
        self.assertTrue(lines, str(run))
        return shlex.split(lines[-1])[1:]

    def test_a_failing_case_becomes_small_and_its_file_fails(self):
        run = self.shrink("--case", "ops/mine_softmax.softmax.3", out=["shrinking ops/mine_softmax.softmax.3",
                                                               "input (64, 9) float32 -> (2,) float32",
                                                               "input = [0, 1]", "tried, "])
        file = self.folder / "diopi_run/shrunk/ops.mine_softmax.softmax.3.json"
        small, = json.loads(file.read_text())["groups"]
        self.assertEqual(small["tensors"][0]["values"], [[0, 1]])
        command = self.command_in(run)
        self.assertIn(str(file.relative_to(self.folder)), command)
        self.assertIn("--device-config", command)
        again = self.expect(1, *command, "--json")
        fault, = again.json["not_passed"]
        self.assertEqual(fault["case"], "ops/mine_softmax_shrunk_softmax_3.softmax.0")
        self.assertIn("2 of 2 elements differ", fault["reason"])

    def test_the_first_five_of_an_operator(self):
        run = self.shrink("--filter-dtype", "float16", out="2 more failing cases were not shrunk")
        self.assertEqual(run.out.count("\nshrinking "), 5, str(run))
        self.assertEqual(len(list((self.folder / "diopi_run/shrunk").iterdir())), 5)
        # The files go into one run.
        files = sorted((self.folder / "diopi_run/shrunk").iterdir())
        again = self.expect(1, "test", "--device-config", "hard.json", "--json",
                            *[word for file in files for word in ("--cases", file)])
        self.assertEqual(again.json["counts"]["failed"], 5)

    def test_after_a_run_that_continues(self):
        self.write("mine.json", case_file(SOFTMAX))
        self.write("hard.json", HARD)
        args = ["test", "--cases", "mine.json", "--device-config", "hard.json"]
        self.expect(1, *args)
        run = self.expect(1, *args, "--resume", "--shrink", "--shrink-time", "5")
        self.assertIn("shrinking ops/mine_softmax.softmax.3", run.out)

    def test_json_stays_alone_on_standard_output(self):
        run = self.shrink("--case", "ops/mine_softmax.softmax.7", "--json", err="shrinking ops/mine_softmax.softmax.7")
        self.assertEqual(run.json["counts"]["failed"], 1)

    def test_nothing_fails(self):
        run = self.shrink(groups=[group("worker", SHAPES)], code=0)
        self.assertNotIn("shrinking", run.out)

    def test_a_crash(self):
        self.write("mine.json", case_file(group("worker", SHAPES, inplace=True)))
        fault = f"segv@{allocated(4099)}"
        run = self.expect(1, "test", "--cases", "mine.json", "--shrink", "--shrink-time", "20", faults=fault,
                          out=["shrinking ops/worker.add.2", "crashed: SIGSEGV"])
        again = self.expect(1, *self.command_in(run), "--json", faults=fault)
        self.assertEqual(again.json["counts"]["crashed"], 1)

    def test_a_hang_is_given_little_time_and_the_whole_is_bounded(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        start = time.monotonic()
        run = self.expect(1, "test", "--case", IDS[2], "--cases", "mine.json", "--timeout", "1", "--shrink",
                          "--shrink-time", "4", faults=f"hang@{allocated(4099)}", out="timeout: no answer within 1.0 s")
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(self.command_in(run)[-2:], ["--timeout", "1"])

    def test_interrupted(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        process = self.start("test", "--case", IDS[2], "--cases", "mine.json", "--timeout", "3", "--shrink",
                             faults=f"hang@{allocated(4099)}")
        time.sleep(4)
        process.popen.send_signal(signal.SIGINT)
        run = process.finish(30)
        self.assertEqual(run.code, 130, str(run))
        self.assertIn("shrinking", run.out)
        self.assertEqual(process.pids(), [], "processes were left behind")

    def test_variants_that_the_failure_does_not_need_are_removed(self):
        run = self.shrink("--case", "ops/mine_softmax.softmax.3", "--strided", "--fill", "signed")
        command = self.command_in(run)
        self.assertNotIn("--strided", command)
        self.assertNotIn("--fill", command)
        self.expect(1, *command)

    def test_options_that_are_refused(self):
        self.expect(2, "test", "--shrink-time", "5", err="--shrink")
        self.expect(2, "test", "--shrink", "--shrink-time", "0", err="seconds above 0")
        self.expect(2, "test", "--suite", "runtime", "--shrink", err="--suite ops")
        self.expect(2, "test", "--shrink", "--find-order", err="--find-order")
        self.expect(2, "test", "--resume", "--find-order", err="--find-order")


class OrderTest(ProgramTest):
    def order_of(self, *args):
        """Ids in the order in which one worker had them, and the whole output."""
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(0, "test", "--cases", "mine.json", "--jobs", "1", *args)
        return [result["case"] for result in self.journal()[1]], run

    def test_shuffle(self):
        plain, _ = self.order_of()
        first, run = self.order_of("--shuffle", "7")
        self.assertIn("shuffled: --shuffle 7 gives this order again", run.out)
        self.assertEqual(sorted(first), IDS)
        self.assertEqual(self.order_of("--shuffle", "7")[0], first)
        self.assertTrue(any(self.order_of("--shuffle", seed)[0] != first for seed in "89"))
        self.assertNotEqual(first, plain)

    def test_shuffle_without_a_seed_takes_that_of_the_run(self):
        seven, run = self.order_of("--shuffle", "--seed", "7")
        self.assertIn("--shuffle 7 ", run.out)
        self.assertEqual(seven, self.order_of("--shuffle", "7")[0])

    def test_reports_stay_sorted(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(1, "test", "--cases", "mine.json", "--shuffle", "3", "--json", faults="null@64")
        ids = [fault["case"] for fault in run.json["not_passed"]]
        self.assertEqual(ids, sorted(ids))

    def test_a_bad_seed(self):
        for seed in ("x", "1.5"):
            self.expect(2, "test", "--shuffle", seed, err="is no seed")

    def test_in_order(self):
        wanted = [IDS[3], IDS[0], IDS[5]]
        self.write("mine.json", case_file(group("worker", SHAPES)))
        self.expect(0, "test", "--in-order", *wanted, "--cases", "mine.json", "--jobs", "2")
        self.assertEqual([result["case"] for result in self.journal()[1]], wanted)
        self.expect(0, "test", "--in-order", "ops/relu.relu.3", "resnet50/relu.relu.0", "--data", "none")

    def test_in_order_refuses(self):
        self.expect(2, "test", "--in-order", "ops/relu.relu.999999", err="no case")
        self.expect(2, "test", "--in-order", "ops/relu.relu.1", "--fname", "relu", err="leave out")
        self.expect(2, "test", "--in-order", "ops/relu.relu.1", "--shuffle", err="--shuffle")
        self.write("mine.json", case_file(group("mine", [[2]], ops=("sotfmax",))))
        self.expect(2, "test", "--in-order", "ops/mine.sotfmax.0", "--cases", "mine.json",
                    err="the standard has no operator 'sotfmax'")

    def test_no_dependence(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        self.expect(0, "test", "--cases", "mine.json", "--find-order",
                    out="0 of 6 cases depend on the order or on addresses")

    # Case 4 marks its process, and case 3 fails in a process with a mark.
    FAULTS = f"mark@{allocated(2000)} spoiled@{allocated(100)}"

    def test_the_predecessor_is_found_and_the_command_repeats_it(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "1", "--find-order", faults=self.FAULTS,
                          out=["depends on", "1 of 6 cases depend on the order or on addresses, 0 fail alone",
                               f"{IDS[3]} fails after {IDS[4]}"])
        command, = [line.strip() for line in run.out.split("\n") if line.startswith("    diopi test")]
        self.assertEqual(command, f"diopi test --in-order {IDS[4]} {IDS[3]} --cases mine.json")
        again = self.expect(1, *shlex.split(command)[1:], "--json", faults=self.FAULTS)
        self.assertEqual([fault["case"] for fault in again.json["not_passed"]], [IDS[3]])

    def test_the_findings_as_json(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        run = self.expect(1, "test", "--cases", "mine.json", "--jobs", "1", "--find-order", "--json",
                          faults=self.FAULTS)
        found, = run.json["order_dependent"]
        self.assertEqual((found["case"], found["in_run"], found["alone"]), (IDS[3], "failed", "passed"))
        self.assertEqual((found["after"], found["fewest"], found["flaky"]), ([IDS[4]], True, False))

    def test_cases_that_depend_on_the_order_are_not_shrunk(self):
        self.write("mine.json", case_file(group("worker", SHAPES)))
        self.expect(1, "test", "--cases", "mine.json", "--jobs", "1", "--shrink", faults=self.FAULTS,
                    out="not shrunk: ops/worker.add.3 does not fail alone: nothing to shrink; try --find-order")


if __name__ == "__main__":
    unittest.main()
