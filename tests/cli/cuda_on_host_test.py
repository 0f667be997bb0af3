"""The cuda kernels' sources on the host's processor: each operator, each dtype, forward and backward, all checks."""
import os
import unittest

from program import SOURCE, ProgramTest

LIBRARY = os.environ.get("DIOPI_CUDA_ON_HOST", "")


@unittest.skipUnless(LIBRARY, "built without the cuda backend")
class CudaOnHostTest(ProgramTest):
    def test_a_sample_of_the_operator_suite(self):
        """scripts/test.sh --full runs the whole."""
        run = self.expect(0, "test", "--impl", LIBRARY, "--in-order", *self.sample_of_suite(12, 200_000), "--json",
                          timeout=280)
        counts = run.json["counts"]
        self.assertGreater(counts["passed"], 500, counts)
        self.assertEqual((counts["failed"], counts["crashed"], counts["timeout"]), (0, 0, 0), run.json["not_passed"])

    def test_what_the_suite_has_no_cases_for(self):
        """Complex numbers, copies whose operands run across each other, a cat of more tensors than a launch takes."""
        cases = str(SOURCE / "tests" / "cuda_on_host" / "cases.json")
        for variant in ([], ["--strided"]):
            run = self.expect(0, "test", "--impl", LIBRARY, "--cases", cases, *variant, "--json")
            self.assertGreater(run.json["counts"]["passed"], 100)
            self.assertEqual(run.json["counts"]["not_implemented"], 0)


if __name__ == "__main__":
    unittest.main()
