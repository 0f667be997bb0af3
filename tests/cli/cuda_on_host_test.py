"""The cuda kernels' sources on the host's processor: each operator, each dtype, forward and backward, all checks."""
import os
import re
import sys
import unittest

from program import SOURCE, ProgramTest

LIBRARY = os.environ.get("DIOPI_CUDA_ON_HOST", "")
if not LIBRARY:
    print("skipped: built without the cuda backend")
    sys.exit(77)


class CudaOnHostTest(ProgramTest):
    def functions_of(self, library):
        return set(self.diopi("report", "--audit", library, "--json").json["implemented"])

    def test_every_function_of_the_cpu_backend_has_its_cuda_kernel(self):
        wanted = self.functions_of(os.environ["DIOPI_IMPL"])
        self.assertGreater(len(wanted), 100)
        rows = "".join(path.read_text() for path in sorted((SOURCE / "libdiopi" / "schema").glob("*.inc")))
        without = {row.split(",")[0] for row in rows.split("DIOPI_ROW(")[1:] if re.search(r"\bno_cuda\b", row)}
        self.assertEqual(wanted - self.functions_of(LIBRARY), wanted & without)

    def test_a_sample_of_the_operator_suite(self):
        """A sample of the cases; scripts/test.sh --full runs all of them."""
        run = self.expect(0, "test", "--impl", LIBRARY, "--in-order", *self.sample_of_suite(6, 50_000), "--json",
                          timeout=280)
        counts = run.json["counts"]
        self.assertGreater(counts["passed"], 500, counts)
        self.assertEqual((counts["failed"], counts["crashed"], counts["timeout"]), (0, 0, 0), run.json["not_passed"])

    def own_cases(self, name, least, *variant):
        with self.subTest(cases=name, variant=variant):
            run = self.expect(0, "test", "--impl", LIBRARY, "--cases", SOURCE / "tests" / "cuda_on_host" / name, "--json",
                              *variant)
            self.assertGreater(run.json["counts"]["passed"], least, run.json["counts"])
            self.assertEqual(run.json["counts"]["not_implemented"], 0)

    def test_functions_without_cases_in_the_suite(self):
        """Complex numbers, copies whose operands have different innermost dims, a cat of more tensors than a launch
        takes, and drawn gradients, which show faults of a norm that a gradient of ones hides."""
        for variant in ([], ["--strided"], ["--fill", "signed"]):
            self.own_cases("cases.json", 100, *variant)

    def test_products_and_convolutions_by_libraries(self):
        """The replacements of cuBLASLt and cuDNN refuse what the libraries would refuse."""
        for variant in ([], ["--strided"], ["--empty"], ["--nhwc"], ["--fill", "special"], ["--jobs", "1"]):
            self.own_cases("products.json", 15, *variant)

    def test_convolutions_that_the_library_refuses_take_another_form(self):
        """cuDNN may refuse channels that come last, or a half dtype, in the graph, in the plan, or only when it runs."""
        for refused in ("nhwc:describe", "nhwc:plan", "nhwc:run", "half:describe", "half:run"):
            with self.subTest(refused=refused):
                run = self.expect(0, "test", "--impl", LIBRARY, "--cases",
                                  SOURCE / "tests" / "cuda_on_host" / "products.json", "--fname", "conv2d", "--nhwc",
                                  "--json", env={"CUDA_ON_HOST_REFUSES": refused})
                self.assertGreater(run.json["counts"]["passed"], 5, run.json["counts"])
                self.assertEqual(run.json["counts"]["not_implemented"], 0)

    def test_tf32_is_found_and_has_its_own_class_if_it_is_declared(self):
        cases = ["--cases", SOURCE / "tests" / "cuda_on_host" / "products.json", "--json"]
        on = {"DIOPI_TF32": "1"}
        # The special numbers include denormals, which TF32 makes 0, beside infinite factors.
        for fill in ([], ["--fill", "special"]):
            run = self.expect(0, "test", "--impl", LIBRARY + "+tf32", *cases, *fill, env=on)
            self.assertEqual(run.json["counts"]["failed"], 0)
        run = self.expect(1, "test", "--impl", LIBRARY, *cases, env=on)
        functions = {fault["function"] for fault in run.json["not_passed"] if fault["verdict"] == "failed"}
        self.assertTrue({"matmul", "matmul_backward", "mm", "addmm"} <= functions, functions)
        self.expect(0, "test", "--impl", LIBRARY, *cases, "--filter-dtype", "float32", env=on)
        self.expect(0, "test", "--impl", LIBRARY + "+tf32", *cases)


if __name__ == "__main__":
    unittest.main()
