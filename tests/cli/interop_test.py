"""Baselines between diopi and h5py, both ways. Runs under the interpreter that has h5py."""
import json
import subprocess
import sys
import unittest

from program import SOURCE, ProgramTest, case_file, group

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: this Python has no {missing.name}")
    sys.exit(77)

DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]


class InteropTest(ProgramTest):
    def script(self, name, *args):
        done = subprocess.run([sys.executable, str(SOURCE / "scripts" / name), *map(str, args)], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def baseline(self, op="add", data="data"):
        path = self.folder / data / "baselines/ops" / f"{op}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def test_read_baseline_prints_ours(self):
        softmax = {"group": "grad", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
                   "tensors": [{"name": "input", "shapes": [[2, 3]], "grad": True}]}
        self.write("mine.json", case_file(group("mine", [[4], [], [0, 3]], inplace=True), softmax))
        self.expect(0, "gen", "--cases", "mine.json")
        lines = self.script("read_baseline.py", self.baseline()).splitlines()
        self.assertEqual([line.rpartition(" float64 ")[0] for line in lines], [
            "mine.add.0 forward out (4,)", "mine.add.0 inplace input (4,)",
            "mine.add.1 forward out ()", "mine.add.1 inplace input ()",
            "mine.add.2 forward out (0, 3)", "mine.add.2 inplace input (0, 3)"], "\n".join(lines))
        one = self.script("read_baseline.py", self.baseline(), "mine.add.1").splitlines()
        self.assertEqual(one, lines[2:4])
        forward, backward = self.script("read_baseline.py", self.baseline("softmax")).splitlines()
        self.assertRegex(forward, r"^grad\.softmax\.0 forward out \(2, 3\) float32 0\.33333")
        self.assertRegex(backward, r"^grad\.softmax\.0 backward grad_input \(2, 3\) float32 ")

    def test_every_dtype_arrives(self):
        self.write("mine.json", case_file(group("mine", [[5]], dtypes=DTYPES, fill={"fn": "randint", "low": 0, "high": 9})))
        self.expect(0, "gen", "--cases", "mine.json", "--self-contained")
        with h5py.File(self.baseline()) as file:
            self.assertEqual(file.attrs["diopi_format"], 1)
            self.assertEqual(file.attrs["seed"], 0)
            for i, dtype in enumerate(DTYPES):
                case = file[f"mine.add.{i}"]
                left, right = case["inputs/input"], case["inputs/other"]
                stored = "float32" if dtype == "bfloat16" else dtype
                self.assertEqual(left.dtype, np.dtype(stored))
                self.assertEqual(left.attrs.get("dtype", stored), dtype)
                self.assertEqual(case["forward/out"].attrs["dtype"], dtype)
                wanted = left[()] | right[()] if dtype == "bool" else left[()].astype(float) + right[()]
                np.testing.assert_array_equal(case["forward/out"][()], wanted)

    def test_ours_is_the_same_sum_as_numpy_s(self):
        self.write("mine.json", case_file(group("mine", [[1000]])))
        self.expect(0, "gen", "--cases", "mine.json", "--self-contained")
        with h5py.File(self.baseline()) as file:
            case = file["mine.add.0"]
            np.testing.assert_array_equal(case["forward/out"][()], case["inputs/input"][()] + case["inputs/other"][()])
            self.assertGreater(np.std(case["inputs/input"][()]), 0.8, "drawn from the standard normal")

    def test_write_baseline_is_accepted(self):
        self.script("write_baseline.py", self.baseline())
        case = "ops/pointwise_binary.add.0"
        run = self.expect(0, "test", "--case", case, "--json")
        self.assertEqual(run.json["counts"]["passed"], 1)
        _, [result] = self.journal()
        [forward] = [step for step in result["steps"] if step["step"] == "forward"]
        self.assertEqual(forward["deviations"][0]["numel"], 20, "the inputs of the file, (4, 5), were used")

    def test_wrong_value_from_numpy_fails(self):
        self.script("write_baseline.py", self.baseline())
        with h5py.File(self.baseline(), "r+") as file:
            file["pointwise_binary.add.0/forward/out"][2, 3] += 0.5
        run = self.expect(1, "test", "--case", "ops/pointwise_binary.add.0", "--json")
        [fault] = [f for f in run.json["not_passed"] if f["step"] == "forward"]
        self.assertEqual(fault["verdict"], "failed")
        _, [result] = self.journal()
        deviation = result["steps"][0]["deviations"][0]
        self.assertEqual((deviation["mismatches"], deviation["worst_index"]), (1, [2, 3]))

    def foreign(self, shape=(3,), dtype=np.float32, **attributes):
        """A baseline by hand: case mine.add.0 with inputs 1 and 2, and the sum."""
        self.write("mine.json", case_file(group("mine", [[3]], dtypes=["float32"])))
        with h5py.File(self.baseline(), "w") as file:
            file.attrs["diopi_format"] = 1
            file.attrs.update(attributes)
            file["mine.add.0/inputs/input"] = np.full(3, 1, np.float32)
            file["mine.add.0/inputs/other"] = np.full(3, 2, np.float32)
            file["mine.add.0/forward/out"] = np.full(shape, 3, dtype)
        return self.baseline()

    def test_baseline_by_hand(self):
        self.foreign()
        self.expect(0, "test", "--cases", "mine.json", out="1 case: 1 passed")

    def test_compressed_and_big_endian(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/forward/out"], file["mine.add.0/inputs/input"]
            file["mine.add.0/inputs/input"] = np.full(3, 1, ">f4")
            file.create_dataset("mine.add.0/forward/out", data=np.full(3, 3, ">f8"), compression="gzip", chunks=(2,))
            file["mine.add.0/forward/out"].attrs["dtype"] = "float32"
        self.expect(0, "test", "--cases", "mine.json", out="1 case: 1 passed")

    def refuse(self, *messages):
        """The case cannot be judged by this file: the run is refused before its first case."""
        run = self.expect(2, "test", "--cases", "mine.json", err=["diopi: error: ", *messages])
        self.assertNotIn("DIOPI-Test", run.out)
        self.assertFalse((self.folder / "diopi_run").exists(), str(run))

    def test_wrong_shape(self):
        self.foreign(shape=(1, 3))
        self.refuse("data/baselines/ops/add.h5: the baseline of ops/mine.add.0, forward: output 'out' has shape (1, 3), "
                    "and diopiAdd gives (3,)")

    def test_complex_values_for_a_real_output(self):
        path = self.foreign(dtype=np.complex64)
        with h5py.File(path, "r+") as file:
            file["mine.add.0/forward/out"].attrs["dtype"] = "complex64"
        self.refuse("output 'out' is complex, and diopiAdd gives float32")

    def test_input_of_another_kind_than_the_case(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/inputs/other"]
            file["mine.add.0/inputs/other"] = np.full(3, 2, np.int32)
        self.refuse("data/baselines/ops/add.h5: the baseline of ops/mine.add.0: input 'other' is stored as int32, and "
                    "the case has float32")

    def test_filter_that_the_library_does_not_have(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/forward/out"]
            file.create_dataset("mine.add.0/forward/out", data=np.full(3, 3, np.float32), compression="lzf", chunks=(3,))
        self.refuse("/mine.add.0/forward/out is stored with the filter lzf (number 32000)", "without a filter, or with gzip")

    def test_damaged_values(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/forward/out"]
            file.create_dataset("mine.add.0/forward/out", data=np.full(3, 3, np.float32), compression="gzip", chunks=(3,))
            chunk = file["mine.add.0/forward/out"].id.get_chunk_info(0)
        content = bytearray(path.read_bytes())
        for i in range(2, chunk.size):
            content[chunk.byte_offset + i] ^= 0xff
        path.write_bytes(content)
        self.refuse("data/baselines/ops/add.h5: /mine.add.0/forward/out cannot be read: ")

    def test_text_in_place_of_numbers(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/forward/out"]
            file["mine.add.0/forward/out"] = np.array([b"a", b"b", b"c"])
        self.refuse("/mine.add.0/forward/out holds a string, which is no tensor")

    def test_floating_values_for_an_integer_output(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            file["mine.add.0/forward/out"].attrs["dtype"] = "int32"
        self.refuse("stored as float32, which cannot stand for an output of dtype int32")

    def test_unknown_dtype(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            file["mine.add.0/forward/out"].attrs["dtype"] = "float33"
        self.refuse("float33", "which the standard does not know")

    def test_input_of_another_shape_than_the_case(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/inputs/other"]
            file["mine.add.0/inputs/other"] = np.full(4, 2, np.float32)
        self.refuse("(3,)", "(4,)")

    def test_output_that_is_missing(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            del file["mine.add.0/forward/out"]
            file["mine.add.0/forward/result"] = np.full(3, 3, np.float32)
        self.refuse("add.h5", "out")

    def test_format_of_the_future(self):
        self.foreign(diopi_format=99)
        self.refuse("data/baselines/ops/add.h5 has format 99, this program reads up to")

    def test_foreign_hdf5_file(self):
        path = self.foreign()
        with h5py.File(path, "w") as file:
            file["weights"] = np.zeros(5)
        self.refuse("data/baselines/ops/add.h5 is an HDF5 file of another program")

    def test_truncated_file(self):
        path = self.foreign()
        with h5py.File(path, "r+") as file:
            file["ballast"] = np.zeros(100000)
        path.write_bytes(path.read_bytes()[:5000])
        self.refuse("data/baselines/ops/add.h5 is truncated or damaged")

    def test_file_on_which_the_library_hangs(self):
        path = self.foreign(generator="pytorch 1.13.1")
        content = bytearray(path.read_bytes())
        size_of_first_object = content.find(b"GCOL") + 24
        content[size_of_first_object:size_of_first_object + 8] = (2**64 - 16).to_bytes(8, "little")
        path.write_bytes(content)
        self.refuse("data/baselines/ops/add.h5 is damaged: the HDF5 library does not survive it (no answer within 10 s)")

    def test_gen_does_not_overwrite_a_foreign_baseline(self):
        path = self.foreign(generator="pytorch 1.13.1")
        before = path.read_bytes()
        run = self.diopi("gen", "--cases", "mine.json")
        self.assertEqual(path.read_bytes(), before, f"the file of another program was removed\n{run}")
        self.assertIn("--force", run.out + run.err)
        self.expect(0, "gen", "--cases", "mine.json", "--force")
        self.assertNotEqual(path.read_bytes(), before)

    def test_read_bundle_prints_a_failure(self):
        shape = [20, 30]
        self.write("mine.json", case_file({
            "group": "mine", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
            "tolerance": {"atol": 0, "rtol": 0, "instead_of_class": True}, "tensors": [{"name": "input", "shapes": [shape]}]}))
        self.expect(1, "test", "--cases", "mine.json", "--strided", "--save-failures", "bad", "--seed", "5")
        path = self.folder / "bad/ops-mine-softmax-0-forward.h5"
        first, call, given, output, difference = self.script("read_bundle.py", path).splitlines()
        self.assertRegex(first, r"^ops/mine\.softmax\.0 forward failed: out: \d+ of 600 elements differ")
        self.assertRegex(call, r'^diopiSoftmax out=null input="input" dim=1$')
        self.assertEqual((given, output), ("input input float32 (20, 30)", "output out float64 (20, 30)"))
        self.assertLess(float(difference.split()[-1]), 1e-6)
        with h5py.File(path) as file:
            self.assertEqual((file.attrs["diopi_bundle"], file.attrs["seed"], file.attrs["atol"]), (2, 5, 0))
            self.assertEqual(file.attrs["held_to"], "tolerance")
            layout = json.loads(file["call"].attrs["layouts"])["tensors"]["input"]
            self.assertNotEqual((layout["strides"], layout["offset"]), ([30, 1], 0))
            values = file["call/tensors/input"][()].astype(np.float64)
            softmax = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
            np.testing.assert_allclose(file["expected/out"][()], softmax, rtol=1e-12)
            self.assertRegex(file["origin"].attrs["library_hash"], "^[0-9a-f]{16}$")
            self.assertTrue(file["origin/environment"].attrs["kernel"].startswith("Linux "))

    def test_manifest_is_plain_json(self):
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.expect(0, "gen", "--cases", "mine.json", "--seed", "3")
        [entry] = json.loads((self.folder / "data/baselines/manifest.json").read_text())["files"]
        self.assertEqual((entry["file"], entry["cases"], entry["seed"]), ("ops/add.h5", 1, 3))
        self.assertEqual(entry["bytes"], self.baseline().stat().st_size)


if __name__ == "__main__":
    unittest.main()
