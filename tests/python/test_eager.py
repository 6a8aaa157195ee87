"""Calls of the original module that others are compared with."""

import unittest

import torch
from fact import _eager


class Repeating(unittest.TestCase):
    def test_sums_in_another_order_repeat_and_random_numbers_do_not(self):
        x = torch.linspace(-3, 3, 1000)

        def repeats(*results):
            left = list(results)
            return _eager.repeats(lambda: left.pop(0), _eager.Buffers(torch.nn.Module()))

        self.assertTrue(repeats(x, x * (1 + 2**-22)))
        self.assertTrue(repeats(x.bfloat16(), (x * (1 + 2**-7)).bfloat16()))
        self.assertFalse(repeats(x, x + 1e-4 * torch.rand(1000)))
        self.assertFalse(repeats(x, torch.nn.functional.dropout(x)))
        self.assertFalse(repeats(torch.arange(3), torch.arange(3) + 1))


if __name__ == "__main__":
    unittest.main()
