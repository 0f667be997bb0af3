"""diopi test: its counts, its output and its files."""
import csv
import io
import shlex
import struct
import unittest
import xml.etree.ElementTree

from program import COUNT_KEYS, SOURCE, ProgramTest, case_file, group

CSV_COLUMNS = ["index", "case", "function", "verdict", "dtype", "step", "tensor_info", "max_ulp", "p99_ulp", "max_abs_diff",
               "max_rel_diff", "cosine_similarity", "mismatches", "numel", "worst_index", "actual", "expected", "where",
               "reason", "repeat", "bundle"]


class SelectionTest(ProgramTest):
    def test_json(self):
        run = self.expect(0, "test", "--fname", "sgd", "--json")
        self.assertEqual(run.err, "")
        self.assertEqual(list(run.json["counts"]), COUNT_KEYS)
        self.assertEqual(run.json["counts"]["passed"], self.cases_of("sgd"))
        self.assertEqual(run.json["not_passed"], [])
        self.assertEqual((run.json["backend"], run.json["seed"]), ("cpu", 0))
        self.assertGreater(run.json["seconds"], 0)

    def cases_of(self, op):
        return self.expect(0, "gen", "--dry-run", "--json", "--fname", op).json["operator_cases"]

    def test_cases_of_language_models(self):
        # Every second one; those of 4,096 keys take the reference half a minute. scripts/test.sh --full operators runs
        # them all.
        cases = SOURCE / "cases/language.json"
        run = self.expect(0, "test", "--cases", str(cases), "-k", "not attention_long", "--shard", "1/2", "--json",
                          timeout=300)
        self.assertEqual(run.json["counts"], {**dict.fromkeys(COUNT_KEYS, 0), "passed": 59})

    def test_filtered_dtypes_are_skipped(self):
        self.write("mine.json", case_file(group("mine", [[4], [5]], dtypes=["float16", "float32", "float64", "int32"])))
        for dtypes, skipped in ((["float64"], 2), (["float64", "float16"], 4), (["bool"], 0)):
            run = self.expect(0, "test", "--cases", "mine.json", "--json", "--filter-dtype", *dtypes)
            self.assertEqual((run.json["counts"]["passed"], run.json["counts"]["skipped"]), (8 - skipped, skipped))
            self.assertEqual({f["reason"] for f in run.json["not_passed"]},
                             {f"uses {dtype} (--filter-dtype)" for dtype in dtypes} if skipped else set())

    def test_a_dtype_is_filtered_wherever_a_case_uses_it(self):
        mixed = group("mine", [[4]])
        mixed["tensors"][1]["dtypes"] = ["int64"]
        self.write("mine.json", case_file(mixed))
        self.expect(0, "test", "--cases", "mine.json", "--filter-dtype", "int64", out="1 case: 1 skipped")

    def test_all_dtypes_of_a_case_filtered(self):
        self.write("mine.json", case_file(group("mine", [[4]], dtypes=["bool", "float32"])))
        self.expect(0, "test", "--cases", "mine.json", "--filter-dtype", "bool", "float32", out="2 cases: 2 skipped")

    def test_operator_that_no_backend_has(self):
        missing = self.expect(0, "gen", "--dry-run", "--json").json["not_implemented"]
        known = self.expect(0, "gen", "--list-ops", "--json").json
        op = next((op for op in missing if op in known), None)
        if op is None:
            self.skipTest("every operator is implemented")
        run = self.expect(0, "test", "--fname", op, "--json")
        self.assertEqual(run.json["counts"]["not_implemented"], len(run.json["not_passed"]))
        self.assertEqual(sum(run.json["counts"].values()), len(run.json["not_passed"]))
        self.assertEqual(run.json["not_passed"][0]["reason"], f"cpu does not implement {op}")

    def test_integers_wrap_in_their_own_dtype_before_a_wider_output_takes_them(self):
        for dtype in ("int16", "int64", "float32"):
            self.write("mine.json", case_file(group("mine", [[1000]], ops=("mul", "add", "sub"), dtypes=["uint8", "int8"],
                                                    params={"dtype": dtype})))
            run = self.expect(0, "test", "--cases", "mine.json", "--json")
            self.assertEqual((run.json["counts"]["passed"], run.json["not_passed"]), (6, []))

    def test_a_number_with_half_types_is_not_a_fault(self):
        # The quotient is rounded to float32 and then to float16.
        run = self.expect(0, "test", "--model", "llama", "--fname", "div", "--filter-dtype", "float32", "--json")
        self.assertGreater(run.json["counts"]["passed"], 300)

    def test_one_case(self):
        run = self.expect(0, "test", "--case", "ops/relu.relu.3", out="1 case: 1 passed")
        self.assertIn(" - DIOPI-Test - INFO - Run diopi_functions.relu succeed\n", run.out)

    def test_a_model(self):
        run = self.expect(0, "test", "--model", "resnet50", "--fname", "linear", "--json")
        self.assertGreater(run.json["counts"]["passed"] + run.json["counts"]["not_implemented"], 0)

    def test_reference_as_implementation(self):
        self.write("mine.json", case_file(group("mine", [[4], [0], []], inplace=True)))
        self.expect(0, "test", "--cases", "mine.json", "--impl", "reference", out="3 cases: 3 passed")

    def test_quiet(self):
        self.write("mine.json", case_file(group("mine", [[4]])))
        run = self.expect(0, "test", "--cases", "mine.json", "--quiet", out="1 case: 1 passed")
        self.assertNotIn("INFO", run.out)
        self.assertNotIn("operator  cases", run.out)

    def test_same_verdicts_for_any_number_of_workers(self):
        self.write("mine.json", case_file(group("mine", [[n] for n in range(1, 40)])))
        found = []
        for jobs in ("1", "3"):
            self.expect(0, "test", "--cases", "mine.json", "--jobs", jobs, out="39 cases: 39 passed")
            _, results = self.journal()
            found.append(sorted((r["case"], str(r["steps"][0]["deviations"])) for r in results))
        self.assertEqual(*found)

    def test_junit(self):
        self.write("mine.json", case_file(group("mine", [[4]], dtypes=["float32", "int32"])))
        self.expect(0, "test", "--cases", "mine.json", "--junit", "out/report.xml", "--filter-dtype", "int32")
        root = xml.etree.ElementTree.parse(self.folder / "out/report.xml").getroot()
        cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
        self.assertEqual(len(cases), 2)
        self.assertEqual(sorted(map(tuple, cases.values())), [(), ("skipped",)])

    def test_empty_error_report_when_nothing_failed(self):
        self.write("mine.json", case_file(group("mine", [[4]])))
        self.expect(0, "test", "--cases", "mine.json")
        self.assertEqual((self.folder / "error_report.csv").read_bytes(), (",".join(CSV_COLUMNS) + "\r\n").encode())


NUMEL = 200  # stored apart from the metadata, which has checksums of its own


def sums(*pairs):
    """A group of additions of constant tensors, whose results are easy to find in a file."""
    left, right = [[a] * NUMEL for a, _ in pairs], [[b] * NUMEL for _, b in pairs]
    return {"group": "sums", "ops": ["add"], "dtypes": ["float64"],
            "tensors": [{"name": "input", "values": left}, {"name": "other", "values": right}]}


class BaselineTest(ProgramTest):
    """Expected values come from the stored baseline: a wrong one is a failed case."""

    def setUp(self):
        super().setUp()
        pairs = [(1.5, 2.25), (10.5, 20.125), (100.5, 200.0625), (1000.5, 2000.03125)]
        self.total = pairs[1][0] + pairs[1][1]
        self.write("mine.json", case_file(sums(*pairs), group("other", [[5], [6]], ["mul"])))
        self.expect(0, "gen", "--cases", "mine.json", "--self-contained")
        self.file = self.folder / "data/baselines/ops/add.h5"
        self.manifest = self.folder / "data/baselines/manifest.json"

    def tamper(self):
        """The baseline of case 1 has 31.625 instead of 30.625 as its first element."""
        content = self.file.read_bytes()
        stored = struct.pack("<d", self.total)
        self.assertEqual(content.count(stored), NUMEL)
        self.file.write_bytes(content.replace(stored, struct.pack("<d", self.total + 1), 1))

    def run_json(self, code, *args):
        return self.expect(code, "test", "--cases", "mine.json", "--json", *args)

    def test_untouched(self):
        self.assertEqual(self.run_json(0).json["counts"]["passed"], 6)

    def test_wrong_expected_value_fails_the_case(self):
        self.tamper()
        self.manifest.unlink()
        run = self.run_json(1)
        self.assertEqual(run.json["counts"]["passed"], 5)
        [fault] = run.json["not_passed"]
        self.assertEqual((fault["case"], fault["verdict"], fault["step"]), ("ops/sums.add.1", "failed", "forward"))
        self.assertIn("out: ", fault["reason"])

    def test_error_report_of_the_wrong_value(self):
        self.tamper()
        self.manifest.unlink()
        self.run_json(1)
        text = (self.folder / "error_report.csv").read_bytes().decode()
        self.assertTrue(text.endswith("\r\n"))
        header, row = csv.reader(io.StringIO(text, newline=""))
        self.assertEqual(header, CSV_COLUMNS)
        row = dict(zip(header, row))
        self.assertEqual((row["index"], row["case"], row["function"]), ("1", "ops/sums.add.1", "add"))
        self.assertEqual((row["verdict"], row["dtype"], row["step"]), ("failed", "float64", "forward"))
        self.assertEqual(row["tensor_info"], "[(input, float64, (200,)), (other, float64, (200,))]")
        self.assertEqual((row["max_abs_diff"], row["mismatches"], row["numel"]), ("1", "1", "200"))
        self.assertEqual((row["worst_index"], row["where"]), ("(0,)", "first element"))
        self.assertEqual((row["actual"], row["expected"]), ("30.625", "31.625"))
        self.assertEqual(row["repeat"], "diopi test --case ops/sums.add.1 --cases mine.json")

    def test_the_repeat_command_fails_again(self):
        self.tamper()
        self.manifest.unlink()
        words = self.run_json(1).json["not_passed"][0]["repeat"].split()
        run = self.expect(1, *words[1:], out="1 case: 1 failed")
        self.assertIn("Run diopi_functions.add failed. TestTag: [float64, forward]", run.out)

    def test_the_repeat_command_keeps_every_option_that_matters(self):
        self.tamper()
        self.manifest.unlink()
        (self.folder / "data").rename(self.folder / "other data")
        (self.folder / "mine.json").rename(self.folder / "my cases.json")
        options = ["--cases", "my cases.json", "--data", "other data", "--accuracy", "legacy", "--timeout", "9"]
        run = self.expect(1, "test", "--json", *options)
        words = shlex.split(run.json["not_passed"][0]["repeat"])
        given = {words[i]: words[i + 1] for i in range(2, len(words) - 1, 2)}
        self.assertEqual(given.pop("--case"), "ops/sums.add.1")
        for option, value in zip(options[::2], options[1::2]):
            self.assertEqual(given.get(option), value, run.json["not_passed"][0]["repeat"])
        self.expect(1, *words[1:], out="1 case: 1 failed")

    def test_another_folder_of_baselines_is_untouched_by_it(self):
        self.tamper()
        self.manifest.unlink()
        self.run_json(0, "--data", "elsewhere")

    def test_baseline_of_another_seed_is_not_used(self):
        self.tamper()
        self.manifest.unlink()
        self.run_json(0, "--seed", "7")

    def expect_refused(self, *messages):
        """A baseline that cannot be trusted is bad input, or no case that uses it passes. It is never ignored."""
        run = self.diopi("test", "--cases", "mine.json", "--json", "--jobs", "1")
        if run.code == 2:
            for message in messages:
                self.assertIn(message, run.err, str(run))
            return
        self.assertEqual(run.code, 1, str(run))
        self.assertEqual(run.json["counts"]["failed"], 4, f"every case of the file, none of the other\n{run}")
        self.assertEqual(run.json["counts"]["passed"], 2, str(run))
        for fault in run.json["not_passed"]:
            for message in messages:
                self.assertIn(message, fault["reason"])

    def test_file_that_has_changed(self):
        self.tamper()
        self.expect_refused("data/baselines/ops/add.h5 has changed since it was generated: checksum ", "diopi gen --force")
        self.expect(0, "gen", "--cases", "mine.json", "--self-contained", "--force")
        self.run_json(0)

    def test_gen_makes_a_changed_file_again(self):
        whole = self.file.read_bytes()
        self.tamper()
        run = self.expect(0, "gen", "--cases", "mine.json", "--self-contained")
        self.assertEqual(run.out.count("kept"), 1, str(run))
        self.assertEqual(self.file.read_bytes(), whole)

    def test_truncated_file(self):
        content = self.file.read_bytes()
        self.file.write_bytes(content[:len(content) // 2])
        self.expect_refused("data/baselines/ops/add.h5 has changed since it was generated: ")
        self.manifest.unlink()
        self.expect_refused("data/baselines/ops/add.h5 is truncated or damaged")

    def test_empty_file(self):
        self.file.write_bytes(b"")
        self.manifest.unlink()
        self.expect_refused("data/baselines/ops/add.h5 is empty (0 bytes)")

    def test_file_of_another_format(self):
        self.file.write_bytes(b"PK\3\4" + bytes(5000))
        self.manifest.unlink()
        self.expect_refused("data/baselines/ops/add.h5 is not an HDF5 file")

    def test_folder_in_place_of_the_file(self):
        self.file.unlink()
        self.file.mkdir()
        self.manifest.unlink()
        self.expect_refused("data/baselines/ops/add.h5")

    def test_missing_file(self):
        self.file.unlink()
        self.expect_refused("data/baselines/ops/add.h5 is listed in data/baselines/manifest.json but cannot be read")

    def test_damaged_manifest(self):
        self.manifest.write_text('{"diopi_format": 1, "files": [')
        run = self.diopi("test", "--cases", "mine.json", "--json", "--jobs", "1")
        self.assertIn(run.code, (1, 2), str(run))
        self.assertIn("manifest.json is damaged", run.out + run.err)
        if run.code == 1:
            self.assertEqual(run.json["counts"]["passed"], 0, f"no baseline can be trusted\n{run}")
        self.expect(2, "gen", "--cases", "mine.json", err=["manifest.json is damaged", "delete it and run diopi gen"])

    def test_case_that_has_changed_since(self):
        self.expect(0, "gen", "--cases", "mine.json", "--force")
        text = (self.folder / "mine.json").read_text()
        self.write("mine.json", text.replace("10.5", "11.5"))
        run = self.run_json(1)
        [fault] = run.json["not_passed"]
        self.assertEqual(fault["case"], "ops/sums.add.1")
        self.assertIn("input `input` is not the one that the baseline was made from", fault["reason"])


if __name__ == "__main__":
    unittest.main()
