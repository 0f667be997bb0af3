"""Libraries of a vendor: opened with --impl, tried in a process of their own, and audited without being loaded."""
import csv
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

import program
from program import PLUGINS, ProgramTest, plugin

IMPL = os.environ.get("DIOPI_IMPL", str(PLUGINS.parent / "libdiopi_impl.so"))

# relu of a float32 vector, forward and in place.
SMALL = "ops/relu.relu.9"
# These cases of relu and neg are enough.
ONLY_FLOAT32 = ["--filter-dtype", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


class PluginTest(ProgramTest):
    def refuse(self, name, *texts, options=()):
        """The library is bad input for test, for these reasons; the run ends."""
        run = self.expect(2, "test", "--fname", "relu", "--impl", plugin(name), *options, err=texts)
        self.assertNotIn("Run diopi_functions", run.out)
        return run

    def accept(self, name, *texts, options=()):
        """The library passes a case of relu, with any other fault."""
        run = self.expect(0, "test", "--case", SMALL, "--impl", plugin(name), *options, err=texts)
        self.assertRegex(run.out, r"\b[1-9]\d* passed")
        return run


class InTest(PluginTest):
    def test_device_memory_is_never_accessed_from_the_host(self):
        """Every access to the device's memory from the host would crash; every check is on."""
        for some in (["--case", "ops/relu.relu.1*"], ["--fname", "neg"]):
            with self.subTest(some=some):
                run = self.expect(0, "test", *some, "--filter-dtype", "float16", "int32", "--checks", "all", "--impl", plugin("good"))
                self.assertRegex(run.out, r"\b[1-9]\d* passed")
                self.assertNotIn("failed", run.out.splitlines()[-1])

    def test_c_library_gets_a_stream(self):
        self.accept("c")

    def test_missing_functions_are_not_implemented(self):
        run = self.expect(0, "test", "--fname", "sigmoid", "--impl", plugin("good"), "--json")
        self.assertEqual(run.json["counts"]["passed"], 0)
        self.assertGreater(run.json["counts"]["not_implemented"], 0)

    def test_only_the_operators_that_it_has(self):
        run = self.expect(0, "test", "--implemented", "--level", "1", *ONLY_FLOAT32, "--impl", plugin("good"), "--json")
        self.assertRegex(run.err, r"^diopi: --implemented leaves out \d+ cases of \d+ operators, which \S+ does not have\n$")
        self.assertGreater(run.json["counts"]["passed"], 0)
        operators = {row["op"] for row in self.journal()[1]}
        self.assertIn("relu", operators)
        self.assertNotIn("sigmoid", operators)

    def test_the_sample_compiles_with_headers_in_the_standard_s_style(self):
        """The standard's own headers use bool and size_t, but include only stdint.h."""
        shutil.copytree(program.SOURCE / "libdiopi/include", self.folder / "include")
        runtime = self.folder / "include/diopi/diopirt.h"
        runtime.write_text(re.sub(r"#include <std(bool|def)\.h>\n", "", runtime.read_text()))
        self.assertNotIn("stddef", runtime.read_text())
        page = (program.SOURCE / "docs/plugins.md").read_text()
        self.write("vendor.c", re.search(r"cat > vendor\.c <<'EOF'\n(.*?)\nEOF\n", page, re.S).group(1) + "\n")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-I", "include", "vendor.c", "-o",
                        "vendor.so"], cwd=self.folder, check=True)

    def test_a_wrong_operator_fails_and_its_repeat_names_the_library(self):
        run = self.expect(1, "test", "--case", SMALL, "--impl", plugin("off_by_one"))
        self.assertIn(f"--impl {plugin('off_by_one')}", run.out)

    def test_host_memory(self):
        self.accept("host", options=["--impl-runtime", "cpu"])

    def test_device_functions_in_another_library(self):
        self.refuse("no_device", "device_malloc", "--impl-runtime")
        self.accept("no_device", options=["--impl-runtime", plugin("device")])
        self.refuse("no_device", "libplugin_host.so has no device_malloc", options=["--impl-runtime", plugin("host")])

    def test_path_without_a_slash(self):
        shutil.copy(plugin("c"), self.folder / "libmine.so")
        self.expect(0, "test", "--case", SMALL, "--impl", "libmine.so")

    def test_runtime_suite(self):
        self.expect(0, "test", "--suite", "runtime", "--impl", plugin("good"))

    def test_every_subcommand(self):
        good = plugin("good")
        self.expect(0, "gen", "--list-ops", "--impl", good)
        self.expect(0, "profile", "relu", "--shape", "64x64", "--dtype", "float32", "--max-time", "0.1", "--passes", "2",
                    "--no-roofs", "--impl", good, out="relu")
        self.expect(0, "compare", "neg", "--impl", good, *ONLY_FLOAT32)
        self.expect(0, "compare", "neg", "--against", good, *ONLY_FLOAT32)
        self.expect(0, "fallback-sim", "--model", "resnet18", "--impl", "sim", "--to", good, "--run-times", "1")

    def test_bundle_names_the_library(self):
        self.expect(1, "test", "--case", SMALL, "--impl", plugin("off_by_one"), "--save-failures", "bad")
        bundle = next((self.folder / "bad").glob("*.h5"))
        run = self.expect(1, "test", "--replay", bundle, "--impl", plugin("off_by_one"), "--json")
        self.assertEqual(run.json["recorded"]["library"], plugin("off_by_one"))
        self.assertEqual(run.json["notes"], [])
        run = self.expect(0, "test", "--replay", bundle, "--impl", plugin("good"), "--json")
        self.assertIn("off_by_one", run.json["notes"][0])


class TwoLibrariesTest(PluginTest):
    def test_each_calls_its_own_functions(self):
        """diopiReluInp calls diopiRelu, which is wrong in one of the two."""
        for one, other in (("good", "off_by_one"), ("off_by_one", "good")):
            with self.subTest(impl=one, against=other):
                run = self.expect(1, "compare", "--case", SMALL, "--impl", plugin(one), "--against", plugin(other),
                                  "--format", "csv")
                rows = {row["name"]: row["allclose"] for row in csv.DictReader(run.out.splitlines())}
                self.assertEqual(rows, {"relu": "False", "relu 0th input": "True", "relu 0th inplace": "False"})

    def test_the_same_twice(self):
        self.expect(0, "compare", "neg", "--impl", plugin("good"), "--against", plugin("good"), *ONLY_FLOAT32)
        self.expect(0, "compare", "--case", SMALL, "--impl", plugin("good"), "--against", plugin("c"))

    def test_one_file_by_two_names_is_opened_once(self):
        once = plugin("init_once")
        for other in (once, once.replace("/libplugin", "/./libplugin")):
            self.expect(0, "compare", "--case", SMALL, "--impl", once, "--against", other)


class FaultTest(PluginTest):
    def test_crash_in_the_initialiser(self):
        self.refuse("crash", "cannot be used: SIGSEGV", "in the initialisers of")

    def test_exit_in_the_initialiser(self):
        self.refuse("exit", "ended by itself with exit code 7 in the initialisers of")

    def test_hang_in_init_library(self):
        self.refuse("init_hang", "no answer within 1.0 s (--impl-timeout)", "in initLibrary of",
                    options=["--impl-timeout", "1"])

    def test_error_of_init_library(self):
        self.refuse("init_error", "initLibrary of", "answers diopiNotInited")

    def test_hang_in_finalize_library_is_a_warning(self):
        self.accept("finalize_hang", "warning", "no answer within 1.0 s (--impl-timeout)", "in finalizeLibrary of",
                    options=["--impl-timeout", "1"])

    def test_text_on_standard_output_is_kept_out(self):
        run = self.expect(0, "test", "--case", SMALL, "--impl", plugin("print"), "--json",
                          err='wrote 14 bytes to standard output: "vendor banner')
        self.assertEqual(run.json["counts"]["passed"], 1)

    def test_threads(self):
        self.accept("thread")

    def test_unresolved_symbol(self):
        self.refuse("unresolved", "undefined symbol: vendor_helper_that_is_nowhere", "diopi report --audit")

    def test_library_that_is_not_found(self):
        self.refuse("lost", "libplugin_gone.so.9: cannot open shared object file")

    def test_mangled(self):
        self.accept("mangled", "diopiSigmoid(diopiContext*, diopiTensor*, diopiTensor const*) has C++ linkage")
        self.refuse("all_mangled", "has no function of the standard", "has C++ linkage", 'extern "C"')

    def test_the_audit_has_the_reasons_of_a_library_for_what_it_lacks(self):
        (self.folder / "reasons").write_text("diopiAsin: no table of it\nnonsense\ndiopiRelu: it is there\n")
        subprocess.run(["objcopy", "--add-section", ".diopi_reasons=reasons", plugin("good"), "with.so"],
                       cwd=self.folder, check=True)
        self.assertEqual(self.diopi("report", "--audit", "with.so", "--json").json["reasons"],
                         {"diopiAsin": "no table of it"})
        self.assertEqual(self.diopi("report", "--audit", plugin("good"), "--json").json["reasons"], {})

    def test_files_that_are_no_library(self):
        (self.folder / "text.so").write_text("INPUT(-lvendor)\n")
        header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 183, 1, 0, 0, 0, 0, 64, 0, 0, 0,
                                                                 0, 0)
        (self.folder / "arm.so").write_bytes(header)
        whole = pathlib.Path(plugin("good")).read_bytes()
        (self.folder / "half.so").write_bytes(whole[:len(whole) // 2])
        (self.folder / "start.so").write_bytes(whole[:40])
        for name, text in (("text.so", "is not an ELF file"), ("arm.so", "is built for AArch64"),
                           ("half.so", "is cut short"), ("start.so", "is cut short"),
                           ("none.so", "No such file"), ("./", "is a folder, not a file")):
            with self.subTest(name=name):
                self.expect(2, "test", "--fname", "relu", "--impl", name, err=text)
                code = 1 if name == "arm.so" else 2
                run = self.diopi("report", "--audit", name)
                self.assertEqual(run.code, code, str(run))
        self.expect(1, "report", "--audit", "arm.so", out="wrong architecture: built for AArch64")


class RulesTest(PluginTest):
    """Tests relu on a vendor's device, with one fault in each library."""

    def offends(self, name, text, *options):
        run = self.expect(1, "test", "--case", SMALL, "--impl", plugin(name), *options)
        self.assertRegex(run.out, text)

    def test_none(self):
        self.accept("rule_none")

    def test_guards(self):
        self.offends("rule_past_output", r"wrote \d bytes? past the end of out, the nearest 4 bytes away")
        self.offends("rule_before_output", r"wrote \d bytes? before the start of out, the nearest 0 bytes away")
        self.offends("rule_past_input", r"wrote \d bytes? past the end of input, the nearest")
        self.offends("rule_past_workspace", r"wrote 1 byte past the end of workspace, the nearest 0 bytes away")

    def test_poison(self):
        self.offends("rule_unwritten", r"out: 1 of \d+ elements were never written; last element")

    def test_workspace_is_poisoned_too(self):
        self.offends("rule_reads_workspace", r"out: 1 of \d+ elements differ")

    def test_const_inputs(self):
        self.offends("rule_const_input", "input input was modified: it is const in diopiRelu")

    def test_leaks(self):
        self.offends("rule_keeps_device_memory", r"keeps \d+ bytes of memory at each call")
        self.offends("rule_keeps_host_memory", r"keeps 2\d\d bytes of memory at each call")

    def test_each_of_them_is_a_check_of_its_own(self):
        for name in ("rule_past_output", "rule_keeps_device_memory", "queue_waits", "queue_other_stream"):
            with self.subTest(name=name):
                self.accept(name, options=["--checks", "poison", "repeat"])


class StreamTest(PluginTest):
    """Tests relu on an asynchronous device, whose stream the check holds."""

    def offends(self, name, text, case=SMALL):
        run = self.expect(1, "test", "--case", case, "--impl", plugin(name))
        self.assertIn(text, run.out)

    def test_work_in_the_order_of_the_stream_passes(self):
        self.accept("queue_none")
        run = self.expect(0, "test", "--fname", "relu", *ONLY_FLOAT32, "--impl", plugin("queue_none"))
        self.assertRegex(run.out, r"\b[1-9]\d* passed")

    def test_a_wait_inside_the_call(self):
        for name in ("queue_waits", "queue_waits_inside"):
            with self.subTest(name=name):
                self.offends(name, "diopiRelu waited for the stream inside the call")

    def test_work_that_is_not_in_the_streams_order(self):
        for name in ("queue_on_the_host", "queue_other_stream", "queue_other_stream_and_wait",
                     "queue_other_stream_copies"):
            with self.subTest(name=name):
                self.offends(name, "diopiRelu worked on a stream that is not the context's")


class OutTest(PluginTest):
    """The cpu backend as libdiopi_impl.so."""

    def test_it_exports_only_the_standard_and_needs_no_other_library(self):
        audit = self.expect(0, "report", "--audit", IMPL, "--json").json
        self.assertEqual(audit["unknown"] + audit["own_runtime_functions"] + audit["mangled"], [])
        self.assertEqual(len(audit["queries"]), 3)
        self.assertEqual(len(audit["device_functions"]), 10)
        table = subprocess.run(["nm", "-D", IMPL], capture_output=True, text=True, check=True).stdout
        symbols = [line.split()[-2:] for line in table.splitlines()]
        shown = {name for kind, name in symbols if kind in "TDBW"}
        self.assertEqual(shown, {*audit["implemented"], *audit["queries"], *audit["device_functions"]})
        wanted = {name for kind, name in symbols if kind == "U" and "diopi" in name}
        self.assertTrue(wanted <= {"diopiGetTensorDataConst", "diopiGetTensorData", "diopiGetTensorShape",
                                   "diopiGetTensorStride", "diopiGetTensorDtype", "diopiGetTensorNumel",
                                   "diopiRequireTensor", "diopiGeneratorGetSeedAndOffset",
                                   "diopiGeneratorSetSeedAndOffset"}, wanted)
        # A host without sparse tensors need not have their functions.
        weak = {name for kind, name in symbols if kind == "w" and "diopi" in name}
        self.assertEqual(weak, {"diopiIsTensorSparse", "diopiGetTensorCrowIndices", "diopiGetTensorColIndices",
                                "diopiGetTensorValues"})

    def test_the_same_functions_as_the_linked_backend(self):
        audit = self.expect(0, "report", "--audit", IMPL, "--json").json
        linked = subprocess.run(["nm", "-C", "--defined-only", program.BINARY], capture_output=True, text=True,
                                check=True).stdout
        functions = set(re.findall(r" [TW] diopi::cpu::(diopi\w+)\(", linked))
        self.assertGreater(len(functions), 100)
        self.assertEqual(set(audit["implemented"]), functions)

    def test_verdicts_of_the_linked_backend(self):
        for op in ("add", "linear", "batch_norm", "max_pool2d", "sort", "cross_entropy", "randperm"):
            with self.subTest(op=op):
                verdicts = []
                for impl in ("cpu", IMPL):
                    self.diopi("test", "--fname", op, "--only-dtype", "float32", "--impl", impl, "--quiet")
                    verdicts.append({(r["case"], r["verdict"], tuple((s["step"], s["verdict"]) for s in r["steps"]))
                                     for r in self.journal()[1]})
                self.assertTrue(verdicts[0])
                self.assertEqual(verdicts[0] ^ verdicts[1], set())


class AuditTest(PluginTest):
    def audit(self, code, name):
        return self.expect(code, "report", "--audit", plugin(name), "--json").json

    def test_a_correct_library(self):
        audit = self.audit(0, "good")
        self.assertEqual(sorted(audit["implemented"]), ["diopiNeg", "diopiRelu", "diopiReluInp"])
        self.assertEqual(len(audit["missing"]), 535)
        self.assertEqual(len(audit["device_functions"]), 8)
        self.assertEqual(sorted(audit["queries"]),
                         ["diopiGetImplVersion", "diopiGetLastErrorString", "diopiGetVendorName"])
        for empty in ("mangled", "unknown", "undefined", "not_found", "linker", "missing_device_functions",
                      "own_runtime_functions"):
            self.assertEqual(audit[empty], [], empty)
        self.assertIn("libc.so.6", audit["needed"])
        self.expect(0, "report", "--audit", plugin("good"), out=["3 of 538 functions", "usable: diopi test --impl"])

    def test_every_function(self):
        audit = self.audit(0, "all")
        self.assertEqual((len(audit["implemented"]), audit["missing"], audit["unknown"]), (538, [], []))

    def test_the_library_is_not_run(self):
        for name in ("crash", "exit", "print", "init_hang"):
            with self.subTest(name=name):
                run = self.expect(0, "report", "--audit", plugin(name))
                self.assertNotIn("vendor banner", run.out + run.err)

    def test_findings(self):
        self.assertEqual(self.audit(1, "unresolved")["undefined"], ["vendor_helper_that_is_nowhere"])
        lost = self.audit(1, "lost")
        self.assertEqual(lost["not_found"], ["libplugin_gone.so.9"])
        self.assertEqual(lost["undefined"], ["plugin_gone"])
        mangled = self.audit(1, "mangled")["mangled"]
        self.assertEqual([m["name"] for m in mangled], ["diopiSigmoid"])
        self.assertEqual(mangled[0]["signature"], "diopiSigmoid(diopiContext*, diopiTensor*, diopiTensor const*)")
        self.assertEqual(len(self.audit(1, "no_device")["missing_device_functions"]), 7)
        unknown = self.audit(0, "unknown")
        self.assertEqual(unknown["unknown"], ["diopiReluu"])
        self.assertEqual(unknown["own_runtime_functions"], ["diopiGetStream"])

    def test_findings_as_text(self):
        for code, name, text in ((1, "unresolved", "undefined: vendor_helper_that_is_nowhere"),
                                 (1, "lost", "not found: libplugin_gone.so.9"),
                                 (1, "mangled", "mangled: diopiSigmoid(diopiContext*"),
                                 (1, "no_device", "device: it has no device_malloc"),
                                 (0, "unknown", "unknown: the standard has no diopiReluu (did you mean 'diopiRelu'"),
                                 (0, "unknown", "runtime: it has its own diopiGetStream")):
            with self.subTest(name=name):
                self.expect(code, "report", "--audit", plugin(name), out=text)


if __name__ == "__main__":
    unittest.main()
