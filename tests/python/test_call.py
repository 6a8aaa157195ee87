"""Calls brought to the form a module was traced in."""

import json
import unittest

import built  # noqa: F401  (puts python/ on the path)
import torch

from fact._call import Signature, describe


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

        self.assertEqual(["default" in row for row in describe(forward)], [False] * 4)
        untouched = kept(forward, 1)
        self.assertEqual(untouched.arrange((), {"x": 1}), (1,))
        with self.assertRaisesRegex(TypeError, "'dtype' had its default"):
            untouched.arrange((1,), {"dtype": torch.float32})
        with self.assertRaisesRegex(TypeError, "'dtype' must be given"):
            kept(forward, 2).arrange((), {"x": 1})

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
