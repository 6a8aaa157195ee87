"""Calls brought to the form a module was traced in."""

import json
import unittest

import built  # noqa: F401  (puts python/ on the path)
import torch

from fact._call import Signature, check_value, describe


def kept(function, count):
    """As it comes back from a manifest."""
    return Signature(json.loads(json.dumps(describe(function))), count)


class Call(unittest.TestCase):
    def test_arguments_take_their_places(self):
        signature = kept(lambda x, y, scale=2.0: None, 2)
        for args, kwargs in (((1, 2), {}), ((1,), {"y": 2}), ((), {"y": 2, "x": 1}), ((1, 2, 2.0), {})):
            self.assertEqual(tuple(signature.arrange(args, kwargs)), (1, 2))
        self.assertEqual([signature.name(0), signature.name(1)], ["'x'", "'y'"])

    def test_a_traced_argument_may_be_left_to_its_default(self):
        self.assertEqual(kept(lambda x, flag=True: None, 2).arrange((1,), {}), (1, True))

    def test_defaults_that_json_cannot_hold(self):
        def forward(x, dtype=torch.float32, shape=(1, 2), limit=float("inf")):
            pass

        defaults = {"dtype": torch.float32, "shape": (1, 2), "limit": float("inf")}
        self.assertEqual(kept(forward, 1).arrange((1,), defaults), (1,))
        self.assertEqual(kept(forward, 4).arrange((1,), {}), (1, *defaults.values()))
        with self.assertRaisesRegex(ValueError, "'shape' was .1, 2. .* got .1, 3."):
            kept(forward, 1).arrange((1,), {"shape": (1, 3)})

    def test_defaults_that_nobody_can_keep(self):
        def forward(x, like=torch.ones(1)):
            pass

        self.assertNotIn("default", describe(forward)[1])
        untouched = kept(forward, 1)
        self.assertEqual(untouched.arrange((), {"x": 1}), (1,))
        with self.assertRaisesRegex(TypeError, "'like' had its default"):
            untouched.arrange((1,), {"like": torch.ones(1)})
        with self.assertRaisesRegex(TypeError, "'like' must be given"):
            kept(forward, 2).arrange((), {"x": 1})

    def test_only_the_same_value_of_the_same_kind(self):
        traced = {"whole": 3, "part": 0.5, "flag": True, "none": None, "nan": float("nan")}
        for name, value in traced.items():
            check_value(name, value, value)
        for value, other in ((3, 3.0), (3.0, 3), (True, 1), (1, True), (None, 0), ("3", 3), ((1,), [1])):
            with self.assertRaisesRegex(ValueError, "x was"):
                check_value("x", other, value)

    def test_values_without_a_name(self):
        signature = kept(lambda x, *more, **named: None, 3)
        self.assertEqual(signature.arrange((1, 2, 3), {}), (1, 2, 3))
        self.assertEqual([signature.name(0), signature.name(2)], ["'x'", "argument 3"])
        with self.assertRaisesRegex(TypeError, "'\\*more' held 2 values .* got 1"):
            signature.arrange((1, 2), {})
        with self.assertRaisesRegex(TypeError, "'other' was not given"):
            signature.arrange((1, 2, 3), {"other": 4})


if __name__ == "__main__":
    unittest.main()
