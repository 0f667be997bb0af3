"""diopi test --device-config: rules that skip cases or loosen tolerances, counted and named."""
import json
import unittest

from program import SOURCE, ProgramTest, case_file, group

STRICT = {"group": "strict", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
          "tolerance": {"atol": 1e-12, "rtol": 1e-12, "mismatch_ratio": 0, "instead_of_class": True},
          "tensors": [{"name": "input", "shapes": [[8, 1000]]}]}


class DeviceConfigTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[4], [5]], dtypes=["float32", "float64"], inplace=True)))

    def run_with(self, code, *rules, cases="mine.json", args=("--json",), device="my chip", **how):
        self.write("chip.json", {"device": device, "rules": list(rules)})
        return self.expect(code, "test", "--cases", cases, "--device-config", "chip.json", *args, **how)

    def counts(self, run):
        return run.json["counts"]["passed"], run.json["counts"]["skipped"]

    def skips(self, *criteria):
        """Checks how many of the 4 cases the rules skip."""
        run = self.run_with(0, *({**c, "skip": True, "reason": "why"} for c in criteria))
        self.assertEqual(self.counts(run), (4 - run.json["counts"]["skipped"], run.json["counts"]["skipped"]))
        return run.json["counts"]["skipped"]

    def test_each_criterion(self):
        for criteria, skipped in (({"ops": ["a?d"]}, 4), ({"ops": ["sub"]}, 0),
                                  ({"dtypes": ["float64"]}, 2), ({"dtypes": ["int8"]}, 0),
                                  ({"cases": ["ops/mine.add.1"]}, 1), ({"cases": ["*.add.9"]}, 0),
                                  ({"argument": {"name": "input", "shapes": [[5]]}}, 2),
                                  ({"argument": {"name": "input", "ranks": [2]}}, 0),
                                  ({"dtypes": ["float64"], "argument": {"name": "other", "shapes": [[5]]}}, 1)):
            with self.subTest(criteria=criteria):
                self.assertEqual(self.skips(criteria), skipped)

    def test_parameter(self):
        self.write("mine.json", case_file(group("mine", [[4], [5]], params={"alpha": [1, 2]})))
        self.write("chip.json", {"rules": [{"param": {"name": "alpha", "values": [2.0]}, "skip": True, "reason": "r"}]})
        run = self.expect(0, "test", "--cases", "mine.json", "--device-config", "chip.json", "--json")
        self.assertEqual([f["case"] for f in run.json["not_passed"]], ["ops/mine.add.1"])

    def test_a_skip_is_counted_and_shown_with_its_reason(self):
        run = self.run_with(0, {"ops": ["add"], "atol": 1, "reason": "coarse"},
                        {"dtypes": ["float64"], "skip": True, "reason": "no float64"}, args=(),
                        out=["skipped: device config: no float64 (rule 2): 2 cases of add", "4 cases: 2 passed, 2 skipped",
                             "chip.json (my chip)\n", "2 cases are checked with a tolerance of it"])
        self.assertRegex(run.out, r"rule +cases +effect +reason\n[- ]+\n +1 +4 +atol 1 +coarse\n +2 +2 +skip +no float64\n")
        header, results = self.journal()
        reasons = [r["reason"] for r in results if r["verdict"] == "skipped"]
        self.assertEqual(reasons, ["device config: no float64 (rule 2)"] * 2)

    def test_json_members(self):
        run = self.run_with(0, {"ops": ["add"], "max_ulp": 4, "reason": "coarse"},
                        {"ops": ["sub"], "skip": True, "reason": "no sub"})
        self.assertEqual(run.json["device_config"], {
            "file": "chip.json", "device": "my chip", "held_to_tolerance": 4,
            "rules": [{"rule": 1, "effect": "max_ulp 4", "reason": "coarse", "matched": 4},
                      {"rule": 2, "effect": "skip", "reason": "no sub", "matched": 0}]})
        self.assertNotIn("device_config", self.expect(0, "test", "--cases", "mine.json", "--json").json)

    def test_a_step_is_skipped_alone(self):
        run = self.run_with(0, {"ops": ["add"], "steps": ["inplace"], "skip": True, "reason": "not in place"})
        self.assertEqual({(f["function"], f["step"], f["verdict"], f["reason"]) for f in run.json["not_passed"]},
                         {("add_inp", "inplace", "skipped", "device config: not in place (rule 1)")})
        for result in self.journal()[1]:
            self.assertEqual([(s["step"], s["verdict"]) for s in result["steps"]],
                             [("forward", "passed"), ("inplace", "skipped")])

    def test_a_loosened_tolerance_lets_a_case_pass(self):
        self.write("strict.json", case_file(STRICT))
        self.expect(1, "test", "--cases", "strict.json")
        for rule in ({"atol": 1e-6, "rtol": 1e-6}, {"max_ulp": 64}):
            with self.subTest(rule=rule):
                run = self.run_with(0, {"ops": ["softmax"], **rule, "reason": "r"}, cases="strict.json")
                self.assertEqual(run.json["device_config"]["held_to_tolerance"], 1)
        self.run_with(1, {"ops": ["softmax"], "max_ulp": 0.5, "reason": "r"}, cases="strict.json")
        self.run_with(1, {"ops": ["softmax"], "atol": 0, "rtol": 0, "reason": "r"}, cases="strict.json")
        self.run_with(0, {"ops": ["*"], "atol": 0, "rtol": 0, "reason": "r"},
                  {"ops": ["softmax"], "atol": 1e-6, "rtol": 1e-6, "reason": "later wins"}, cases="strict.json")

    def test_the_legacy_check_takes_atol_and_rtol(self):
        self.write("strict.json", case_file(STRICT))
        legacy = ("--json", "--accuracy", "legacy")
        self.expect(1, "test", "--cases", "strict.json", *legacy)
        self.run_with(0, {"ops": ["softmax"], "atol": 1e-6, "rtol": 1e-6, "reason": "r"}, cases="strict.json", args=legacy)

    def test_a_failure_is_repeated_with_the_configuration(self):
        self.write("strict.json", case_file(STRICT))
        run = self.run_with(1, {"dtypes": ["float64"], "skip": True, "reason": "r"}, cases="strict.json")
        repeat = "diopi test --case ops/strict.softmax.0 --cases strict.json --device-config chip.json"
        self.assertEqual(run.json["not_passed"][0]["repeat"], repeat)
        self.assertEqual(self.expect(1, *repeat.split()[1:]).err, "", "one case leaves most rules without a match")

    def test_rules_without_a_match_are_reported(self):
        run = self.run_with(0, {"ops": ["sotfmax"], "skip": True, "reason": "r"}, {"ops": ["add"], "atol": 1, "reason": "r"})
        self.assertEqual(run.err.splitlines(), [
            "diopi: warning: chip.json:1: /rules/0/ops/0: the standard has no operator 'sotfmax' (did you mean 'softmax'?)",
            "diopi: warning: chip.json:1: /rules/0: matches no case"])
        self.write("other.json", {"rules": [{"ops": ["relu"], "skip": True, "reason": "r"}]})
        self.assertEqual(self.expect(0, "test", "--fname", "zeros", "--device-config", "other.json").err, "")

    def test_malformed_files(self):
        for content, message in (("{", "chip.json:1:1: malformed JSON"), ("[]", "chip.json:1: /: expected an object"),
                                 ('{"rules": [\n{"ops": ["add"], "skp": true, "reason": "r"}]}',
                                  "chip.json:2: /rules/0/skp: unknown key 'skp' (did you mean 'skip'"),
                                 ('{"rules": [{"ops": ["add"], "skip": true}]}', "/rules/0: the key 'reason' is missing")):
            with self.subTest(content=content):
                self.write("chip.json", content)
                run = self.expect(2, "test", "--cases", "mine.json", "--device-config", "chip.json",
                                  err=["diopi: error: ", message])
                self.assertEqual(run.out, "")
        self.expect(2, "test", "--device-config", "no.json", err="no.json: the device configuration cannot be read")
        self.expect(2, "test", "--device-config", ".", err="device configuration: . is a folder, not a file")

    def test_resume_needs_the_same_configuration(self):
        rule = {"dtypes": ["float64"], "skip": True, "reason": "r"}
        self.run_with(0, rule)
        self.assertEqual(self.counts(self.run_with(0, rule, args=("--json", "--resume"))), (2, 2))
        self.run_with(2, {**rule, "dtypes": ["float32"]}, args=("--resume",),
                  err="the device configuration has changed since the run in diopi_run began")
        self.expect(2, "test", "--cases", "mine.json", "--resume",
                    err="is of a run with the options '--cases mine.json --device-config chip.json', not "
                        "'--cases mine.json'; give the same ones to --resume")

    def test_the_schema_file_knows_every_key(self):
        schema = json.loads((SOURCE / "cases/device_config_schema.json").read_text())
        rule = schema["$defs"]["rule"]["properties"]
        self.assertEqual(sorted(rule), ["argument", "atol", "cases", "dtypes", "factor", "max_ulp", "ops", "param", "reason",
                                        "rtol", "skip", "steps"])


if __name__ == "__main__":
    unittest.main()
