"""Checks the table from ATen to the standard against the headers, and on single calls. Needs no PyTorch."""
import re
import unittest

import numpy as np

import form
from capture import mapping, standard, table
from capture.mapping import GENERATOR, View
from capture.recipes import recipe_of

PAGE = form.SOURCE / "docs/capture_torch.md"
MATRIX = View(0, "float32", (2, 3), (3, 1), 0)
OTHER = View(1, "float32", (2, 3), (3, 1), 0)
OUT = View(2, "float32", (2, 3), (3, 1), 0)
TEMPORARY = View(3, "float32", (2, 3), (3, 1), 0)


def mapped(overload, results=(OUT,), **arguments):
    return mapping.map_call(overload, arguments, list(results), lambda view: TEMPORARY, lambda view: 7)


class TableTest(unittest.TestCase):
    def rows(self):
        return [row for rows in table.FAMILIES.values() for row in rows]

    def test_every_row_gives_the_arguments_of_its_function_in_order(self):
        for row in self.rows():
            for function, text in row.calls:
                given = [name for name, _ in mapping.sources(text)]
                signature = [name for _, name in form.signatures()[function]]
                lengths = {p.name for p in standard.functions()[function] if p.length_of} - set(given)
                self.assertEqual(given, [name for name in signature if name not in lengths], row.overloads)

    def test_every_row_of_the_way_back_gives_the_arguments_of_its_function_in_order(self):
        rows = [row for text in table.texts() for row in table.ROW.findall(text) if row[0] in ("BACK", "AND", "GRADIENT")]
        self.assertGreater(len(rows), 80)
        for _, overloads, function, text, _ in rows:
            given = list(dict.fromkeys(name for name, _ in mapping.sources(table.text_of(text))))
            signature = [name for _, name in form.signatures()[function]]
            lengths = {p.name for p in standard.functions()[function] if p.length_of} - set(given)
            self.assertEqual(given, [name for name in signature if name not in lengths], overloads)

    def test_every_function_of_the_standard_has_a_row_or_a_reason(self):
        told = {function for text in table.texts() for function in re.findall(r"\bATEN_\w+\([^\n]*?(diopi\w+)", text)}
        told |= {function for text in table.texts() for function in re.findall(r'^\s+(diopi\w+),$', text, re.MULTILINE)}
        header = (standard.LIBRARY / "include/diopi/functions.inc").read_text()
        core = set(re.findall(r"\bdiopi\w+(?=\()", header)) & set(standard.functions())
        self.assertGreater(len(core), 390)
        self.assertEqual(core - told, set())

    def test_the_headers_agree_with_the_list_of_signatures(self):
        for function, parameters in standard.functions().items():
            self.assertEqual([p.name for p in parameters], [name for _, name in form.signatures()[function]], function)

    def test_the_page_shows_the_table(self):
        self.assertIn(mapping.document(), PAGE.read_text(),
                      "docs/capture_torch.md is behind: put in what scripts/capture_torch.py --print-mapping prints")


class CallTest(unittest.TestCase):
    def test_a_number_and_a_tensor_take_different_functions(self):
        self.assertEqual(mapped("add.Tensor", self=MATRIX, other=OTHER, alpha=2),
                         [("diopiAdd", {"out": OUT, "input": MATRIX, "other": OTHER, "alpha": 2})])
        self.assertEqual(mapped("add.Tensor", self=MATRIX, other=0.5, alpha=1),
                         [("diopiAddScalar", {"out": OUT, "input": MATRIX, "other": 0.5, "alpha": 1})])

    def test_calls_without_a_row_or_with_other_types_are_not_mapped(self):
        self.assertIsNone(mapped("digamma", self=MATRIX))
        self.assertIsNone(mapped("mm", self=MATRIX, mat2=None))
        self.assertIsNone(mapped("pow.Scalar", self=[1.0], exponent=MATRIX))

    def test_one_call_may_become_several(self):
        self.assertEqual(mapped("rsub.Scalar", self=MATRIX, other=1, alpha=3), [
            ("diopiMulScalar", {"out": OUT, "input": MATRIX, "other": -3}),
            ("diopiAddInpScalar", {"input": OUT, "other": 1, "alpha": 1})])

    def test_a_list_becomes_a_call_per_element(self):
        calls = mapped("_foreach_addcdiv_.ScalarList", results=(None,), self=[MATRIX, OTHER], tensor1=[OTHER, MATRIX],
                       tensor2=[OUT, OUT], scalars=[0.5, 2.0])
        self.assertEqual([(function, args["input"], args["value"]) for function, args in calls],
                         [("diopiAddcdivInp", MATRIX, 0.5), ("diopiAddcdivInp", OTHER, 2.0)])

    def test_the_length_of_a_list_is_filled_in(self):
        self.assertEqual(mapped("cat", tensors=[MATRIX, OTHER], dim=1),
                         [("diopiCat", {"out": OUT, "tensors": [MATRIX, OTHER], "num_inputs": 2, "dim": 1})])

    def test_in_place_without_a_row_goes_through_a_temporary(self):
        self.assertEqual(mapped("lerp_.Scalar", results=(MATRIX,), self=MATRIX, end=OTHER, weight=0.1), [
            ("diopiLerpScalar", {"out": TEMPORARY, "input": MATRIX, "end": OTHER, "weight": 0.1}),
            ("diopiCopyInp", {"src": TEMPORARY, "dest": MATRIX})])

    def test_gradients_that_are_not_requested_are_null(self):
        image = View(0, "float32", (1, 2, 4, 4), (32, 16, 4, 1), 0)
        (function, args), = mapped(
            "convolution_backward", results=(None, image, None), grad_output=image, input=image, weight=image,
            bias_sizes=None, stride=[1, 1], padding=[0, 0], dilation=[1, 1], transposed=False, output_padding=[0, 0],
            groups=1, output_mask=[False, True, False])
        self.assertEqual(function, "diopiConvolution2dBackward")
        self.assertEqual([args["grad_input"], args["grad_weight"], args["grad_bias"]], [None, image, None])

    def test_one_spatial_dim_becomes_two(self):
        line = View(0, "float32", (1, 2, 8), (16, 8, 1), 4)
        (function, args), = mapped("convolution", results=(line,), input=line, weight=line, bias=None, stride=[2],
                                   padding=[1], dilation=[1], transposed=False, output_padding=[0], groups=1)
        self.assertEqual((function, args["stride"], args["padding"]), ("diopiConvolution2d", [1, 2], [0, 1]))
        self.assertEqual(args["input"], View(0, "float32", (1, 2, 1, 8), (16, 8, 8, 1), 4))

    def test_the_step_of_fused_adam_is_read_from_its_tensor(self):
        lists = {name: [MATRIX] for name in ("self", "grads", "exp_avgs", "exp_avg_sqs", "state_steps")}
        (function, args), = mapped("_fused_adam_", results=(None,), **lists, max_exp_avg_sqs=[], lr=0.1, beta1=0.9,
                                   beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
                                   grad_scale=None, found_inf=None)
        self.assertEqual((function, args["step"], args["max_exp_avg_sq"]), ("diopiAdam", 7, None))

    def test_a_word_of_python_may_be_an_argument(self):
        (_, args), = mapped("uniform_", results=(MATRIX,), self=MATRIX, **{"from": -1.0}, to=1.0)
        self.assertEqual(args, {"inout": MATRIX, "from": -1.0, "to": 1.0, "generator": GENERATOR})


class RecipeTest(unittest.TestCase):
    def recipe(self, values, dtype):
        recipe = recipe_of(np.array(values, dtype), dtype)
        self.assertIsNone(form.recipe_problem(recipe, 0))
        return {name: value for name, value in recipe.items() if name != "dtype"}

    def test_equal_values_are_a_constant(self):
        self.assertEqual(self.recipe([0.1, 0.1], "float64"), {"kind": "constant", "value": 0.1})
        self.assertEqual(self.recipe([7], "int64"), {"kind": "constant", "value": 7})
        self.assertEqual(self.recipe([np.inf, np.inf], "float32"), {"kind": "constant", "value": "inf"})
        self.assertEqual(self.recipe([np.nan, np.nan], "float32"), {"kind": "constant", "value": "nan"})
        self.assertEqual(self.recipe([True, True], "bool"), {"kind": "constant", "value": 1})

    def test_both_signs_are_normal(self):
        self.assertEqual(self.recipe([-1, 0, 0, 5], "float32"), {"kind": "normal", "mean": 1.0, "std": 2.34521})

    def test_one_sign_stays(self):
        """A variance or a probability: its root or logarithm must work."""
        self.assertEqual(self.recipe([0.25, 4], "float32"), {"kind": "uniform", "low": 0.25, "high": 4.0})
        self.assertEqual(self.recipe([0, 1e-12], "float64")["low"], 0)
        recipe = self.recipe([-3, -1], "float32")
        self.assertEqual((recipe["kind"], recipe["low"]), ("uniform", -3))
        self.assertLess(recipe["high"], 0)

    def test_narrow_ranges_are_not_empty(self):
        for low, high in ((1.0, 1.0 + 1e-9), (-1.0, -1.0 + 1e-9), (1e30, 1.0000001e30)):
            recipe = self.recipe([low, high], "float64")
            self.assertLess(recipe.get("low", -1), recipe.get("high", 1))

    def test_integers_keep_within_their_range(self):
        self.assertEqual(self.recipe([3, 9, 4], "int64"), {"kind": "integers", "low": 3, "high": 10})
        self.assertEqual(self.recipe([True, False], "bool"), {"kind": "integers", "low": 0, "high": 2})

    def test_values_that_are_not_finite_do_not_count(self):
        self.assertEqual(self.recipe([-np.inf, 0, 2], "float32"), {"kind": "uniform", "low": 0.0, "high": 2.0})


class StandardTest(unittest.TestCase):
    def roles(self, function, role):
        return [p.name for p in standard.functions()[function] if p.kind == "tensor" and getattr(p, role)]

    def test_roles_follow_the_rows(self):
        self.assertEqual(self.roles("diopiBatchNorm", "writes"),
                         ["out", "save_mean", "save_invstd", "running_mean", "running_var"])
        self.assertEqual(self.roles("diopiBatchNorm", "reads"),
                         ["input", "weight", "bias", "running_mean", "running_var"])

    def test_fill_and_copy_do_not_read_what_they_overwrite(self):
        self.assertEqual((self.roles("diopiFill", "reads"), self.roles("diopiFill", "writes")), ([], ["input"]))
        self.assertEqual((self.roles("diopiCopyInp", "reads"), self.roles("diopiCopyInp", "writes")),
                         (["src"], ["dest"]))


if __name__ == "__main__":
    unittest.main()
