"""The cuda kernels' sources on the host's processor: each operator, each dtype, forward and backward, all checks."""
import os
import pathlib
import unittest

from program import ProgramTest

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

    def test_products_and_convolutions_by_libraries(self):
        """The stand-ins for cuBLASLt and cuDNN refuse what the libraries would."""
        cases = pathlib.Path(__file__).parents[1] / "cuda_on_host" / "products.json"
        for variant in ([], ["--strided"], ["--empty"], ["--nhwc"], ["--fill", "special"], ["--jobs", "1"]):
            with self.subTest(variant=variant):
                run = self.expect(0, "test", "--impl", LIBRARY, "--cases", str(cases), "--json", *variant)
                self.assertGreater(run.json["counts"]["passed"], 15, run.json["counts"])


if __name__ == "__main__":
    unittest.main()
