"""--record: the calls of a run as a capture, which replays."""
import json
import os
import signal
import sys
import unittest

from program import SOURCE, ProgramTest, allocated, case_file, group

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: this Python has no {missing.name}")
    sys.exit(77)

REPLAY = ["--run-times", "1", "--no-roofs"]
MARKED = 4099  # elements of the case with the planned fault


def canonical(capture):
    """The calls that have a function, independent of the names of their tensors and storages."""
    tensors, storages = capture["tensors"], {}

    def encode(value):
        if isinstance(value, list):
            return [encode(x) for x in value]
        if not isinstance(value, str) or value not in tensors:
            return value
        tensor = tensors[value]
        number = storages.setdefault(tensor["storage"], len(storages))
        return (number, tensor["dtype"], tensor["shape"], tensor["strides"], tensor["offset"])

    calls = [call for call in capture["calls"] if "function" in call]
    return [{**call, "args": {name: encode(value) for name, value in call["args"].items()}} for call in calls]


class RecordTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[3, 5], [64], []], ops=("add", "mul"), inplace=True)))

    def capture(self, name="a.json"):
        return json.loads((self.folder / name).read_text())

    def record(self, *args, command="test", file="a.json", code=0, **how):
        return self.expect(code, command, "--cases", "mine.json", "--record", file, *args, **how)

    def test_each_step_of_a_case_is_recorded_once_and_replays(self):
        self.record(err="diopi: recorded 12 calls in a.json")
        capture = self.capture()
        self.assertEqual((capture["name"], capture["generator"]), ("a", "diopi test"))
        functions = [call["function"] for call in capture["calls"]]
        self.assertEqual(functions, 3 * ["diopiAdd", "diopiAddInp"] + 3 * ["diopiMul", "diopiMulInp"])
        self.assertEqual([call["forward_id"] for call in capture["calls"]], list(range(12)))
        self.assertEqual({call["overload"] for call in capture["calls"]}, {"add.Tensor", "mul.Tensor"})
        for call in capture["calls"]:
            outs = [capture["tensors"][call["args"][name]]["storage"] for name in call["args"] if name == "out"]
            self.assertFalse(any("fill" in capture["storages"][out] for out in outs))
            read = capture["tensors"][call["args"]["other"]]["storage"]
            self.assertEqual(capture["storages"][read]["fill"]["dtype"], "float64")
        self.expect(0, "profile", "--capture", "a.json", *REPLAY)
        self.expect(0, "compare", "--capture", "a.json", out="add.Tensor")

    def test_one_case_of_the_shipped_ones(self):
        cases = self.expect(0, "test", "--fname", "add", "--filter-dtype", "float16", "--json", "--run", "all")
        self.assertGreater(cases.json["counts"]["passed"], 0)
        case = self.journal("all")[1][0]["case"]
        self.expect(0, "test", "--fname", "add", "--case", case, "--record", "a.json")
        self.expect(0, "profile", "--capture", "a.json", *REPLAY)
        self.expect(0, "compare", "--capture", "a.json")

    def test_a_backward_call_belongs_to_its_forward_call(self):
        self.write("mine.json", case_file({"group": "back", "ops": ["sigmoid"], "dtypes": ["float32"],
                                           "tensors": [{"name": "input", "shapes": [[64]], "grad": True}]}))
        self.record()
        calls = self.capture()["calls"]
        self.assertEqual([(call["phase"], call["forward_id"]) for call in calls], [("forward", 0), ("backward", 0)])

    def test_a_recording_does_not_depend_on_the_workers(self):
        self.record("--jobs", "1", file="one/a.json")
        self.record("--jobs", "4", file="four/a.json")
        self.assertEqual((self.folder / "one/a.json").read_bytes(), (self.folder / "four/a.json").read_bytes())
        self.assertEqual(os.listdir(self.folder / "four"), ["a.json"])

    def test_every_subcommand_records_the_same_calls(self):
        self.record("--steps", "forward", "inplace", "--max-time", "0.002", "--no-roofs", command="profile")
        self.record(command="compare", file="b.json")
        self.record(command="test", file="c.json")

        def kinds(name):
            capture = self.capture(name)
            return [(call["function"], capture["tensors"][call["args"]["other"]]["shape"]) for call in capture["calls"]]

        self.assertEqual(len(kinds("a.json")), 12)
        self.assertEqual(kinds("a.json"), kinds("c.json"))
        self.assertEqual(kinds("b.json"), kinds("c.json"))

    def test_a_replayed_capture_recorded_again_is_the_same(self):
        self.record()
        resnet = SOURCE / "cases/captures/resnet18.json"
        for source in ("a.json", resnet):
            with self.subTest(source=source):
                self.expect(0, "profile", "--capture", source, *REPLAY, "--record", "again.json")
                self.assertEqual(canonical(self.capture("again.json")), canonical(self.capture(source)))
        self.expect(0, "fallback-sim", "--capture", "a.json", "--ops", "add", "--record", "again.json")
        self.assertEqual(canonical(self.capture("again.json")), canonical(self.capture()))
        self.expect(0, "compare", "--capture", "a.json", "--record", "again.json")
        self.assertEqual(canonical(self.capture("again.json")), canonical(self.capture()))

    def test_kept_values_are_those_of_the_calls(self):
        self.record("--record-values")
        capture = self.capture()
        with h5py.File(self.folder / "a.h5") as file:
            held = {}
            for number, call in enumerate(capture["calls"]):
                place = "out" if "out" in call["args"] else "input"
                values = {}
                for name in ("input", "other"):
                    tensor = capture["tensors"][call["args"][name]]
                    storage = held.get(tensor["storage"], file["storages"].get(tensor["storage"]))
                    values[name] = np.array(storage).reshape(-1)[tensor["offset"]:][:int(np.prod(tensor["shape"]))]
                join = np.add if "Add" in call["function"] else np.multiply
                result = np.array(file[f"calls/{number}/{place}"]).reshape(-1)
                np.testing.assert_array_equal(join(values["input"], values["other"]), result)
                held[capture["tensors"][call["args"][place]]["storage"]] = result
        self.expect(0, "profile", "--capture", "a.json", *REPLAY, "--record", "b.json", "--record-values")
        same = self.expect(0, "compare", "--capture", "a.json", "--with", "b.json", "--json").json
        with h5py.File(self.folder / "b.h5", "r+") as file:
            file["calls/3/input"][0] += 1
        self.expect(1, "compare", "--capture", "a.json", "--with", "b.json")
        self.assertIn("call 3", json.dumps(same))

    def test_a_case_whose_worker_dies_is_left_out_and_counted(self):
        self.write("mine.json", case_file(group("mine", [[64], [MARKED], [32]])))
        run = self.record(code=1, faults=f"segv@{allocated(MARKED)}")
        self.assertIn("without those of 1 case,", run.err)
        shapes = [tensor["shape"] for tensor in self.capture()["tensors"].values()]
        self.assertIn([64], shapes)
        self.assertIn([32], shapes)
        self.assertNotIn([MARKED], shapes)

    def test_nothing_is_left_of_an_interrupted_or_killed_recording(self):
        self.write("mine.json", case_file(group("mine", [[MARKED], [32]])))
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(signal=number):
                process = self.start("test", "--cases", "mine.json", "--record", "out/a.json", "--jobs", "2",
                                     "--run", f"run_{number}", faults=f"hang@{allocated(MARKED)}")
                self.wait_for_results(1, f"run_{number}")
                os.kill(process.popen.pid, number)
                run = process.finish(30)
                self.assertEqual(os.listdir(self.folder / "out"), [], str(run))
                if number == signal.SIGINT:
                    self.assertEqual(run.code, 130, str(run))
                    self.assertIn("interrupted: out/a.json was not written", run.err)

    def test_files_that_cannot_be_written_are_refused_before_anything_runs(self):
        self.write("file", "")
        for command in ("test", "compare", "profile"):
            for file, text in [("file/a.json", "--record"), (".", "is a folder"), ("a.h5", "write a.json")]:
                with self.subTest(command=command, file=file):
                    run = self.record(command=command, file=file, code=2, err=text)
                    self.assertEqual(run.out, "")

    def test_options_that_contradict_it(self):
        for args in (["--resume"], ["--find-order"]):
            with self.subTest(args=args):
                self.record(*args, code=2, err=args[0])
        self.record("--suite", "runtime", code=2, err="--suite ops")
        self.record("--wide", code=2, err="leave --wide out")
        self.expect(2, "test", "--cases", "mine.json", "--record-values", err="--record")

    def test_a_full_disk_is_an_error_and_leaves_the_former_capture(self):
        self.write("mine.json", case_file(group("mine", [[1 << 16]] * 4)))
        with self.small_disk(256) as disk:
            (disk / "a.json").write_text("former")
            for command in ("test", "compare"):
                with self.subTest(command=command):
                    self.record("--record-values", command=command, file=disk / "a.json", code=2,
                                err=["cannot record to", "free some space"])
                    self.assertEqual(os.listdir(disk), ["a.json"])
                    self.assertEqual((disk / "a.json").read_text(), "former")


if __name__ == "__main__":
    unittest.main()
