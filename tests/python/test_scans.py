"""Running sums and products, and flips: found, and what their texts compute compared with torch."""

import unittest

from discovered import Discovered

MODEL = """
import torch

class Running(torch.nn.Module):
    def forward(self, x, mask):
        along = [x.cumsum(dim) for dim in (0, 1, 2)]
        products = (1 + 0.01 * x).cumprod(1), torch.cumprod(1 + 0.01 * torch.tanh(x), dim=0)
        return *along, *products, (x * mask).cumsum(-1), (x.cumsum(1) + x).softmax(1)

class Turned(torch.nn.Module):
    def forward(self, x):
        back = x.flip(1).cumsum(1).flip(1)
        both = x.cumsum(2) - x.cumsum(2).flip(2)
        return back, both, torch.flip(x, (0, 2)) * 2, x.flip(-1).cumprod(0)

class Pooled(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool1d(x, 3, 2).flip(2) * 2, torch.flip(x, (1,)) + x

class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(16, 24)
    def forward(self, x):
        shares = torch.softmax(self.up(x), dim=-1)
        kept = shares.cumsum(-1) < 0.9
        return torch.where(kept, shares, 0.0), x.transpose(0, 2).cumsum(1).sum(0)

class Left(torch.nn.Module):
    def forward(self, numbers, x):
        sums = numbers.cumsum(1), x.cumsum(1), x.cumsum(0, dtype=torch.float64)
        return *sums, x.cumsum(0, dtype=torch.bfloat16), torch.flip(torch.tanh(x), ()) * 2

def inputs():
    return torch.randn(3, 40, 16)

def running():
    return Running(), (inputs(), torch.rand(3, 40, 16) > 0.5)

def turned():
    return Turned(), (inputs(),)

def deep():
    return Deep(), (inputs(),)

def pooled():
    return Pooled(), (inputs(),)

def left():
    return Left(), (torch.randint(0, 9, (4, 8)), torch.randn(4, 1))
"""


class Scans(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "model.py").write_text(MODEL)

    def proven(self, module, *options):
        """What is left alone of the module; what is found computes what torch does."""
        name = "_".join([module, *options[1:]])
        found = self.discover(f"model:{module}", name, *options)
        for pattern in found["patterns"]:
            with self.subTest(name, pattern=pattern["id"]):
                self.check(self.folder / name / "calls" / f"{pattern['id']}.json", pattern)
        return [(one["target"].split(".")[1], one["reason"]) for one in found["left_alone"]]

    def test_what_is_found_computes_what_torch_does(self):
        for module, options in ("running", ()), ("running", ("--dtype", "bf16")), ("turned", ()), ("deep", ()), ("pooled", ()):
            self.assertEqual(self.proven(module, *options), [])

    def test_what_is_left_alone_has_a_reason(self):
        left = self.proven("left")
        self.assertEqual([target for target, _ in left if target == "cumsum"], ["cumsum"] * 4)
        reasons = " ".join(reason for _, reason in left)
        for part in "computes integers", "along a dimension of one element", "f64", "rounds its input to bf16", "no dimension":
            self.assertIn(part, reasons)


if __name__ == "__main__":
    unittest.main()
