"""Places of extremes and losses of class numbers: found, and what their texts compute compared with torch."""

import json
import math
import unittest

import torch
from discovered import Discovered

try:
    import numpy
except ImportError:
    numpy = None

MODEL = """
import torch
import torch.nn.functional as F

class Places(torch.nn.Module):
    def forward(self, x, image):
        largest, at = x.max(dim=1)
        rows = x.argmax(dim=1), x.argmin(dim=0, keepdim=True), largest, at, x.min(dim=0).indices
        return *rows, x.argmax(), image.argmax(dim=1), image.argmin(dim=2), image.argmax(dim=-1)

class Classes(torch.nn.Module):
    def forward(self, x, image, numbers, labels):
        plain = F.cross_entropy(x, numbers), F.nll_loss(F.log_softmax(x, dim=1), numbers)
        each = F.cross_entropy(x, numbers, reduction="none", label_smoothing=0.1)
        picture = F.cross_entropy(image, labels, ignore_index=1, label_smoothing=0.2)
        total = F.nll_loss(image, labels, ignore_index=1, reduction="sum")
        return *plain, each, picture, total, F.cross_entropy(x[0], numbers[0], ignore_index=-1)

class Distances(torch.nn.Module):
    def forward(self, a, b, c):
        plain = F.triplet_margin_loss(a, b, c), F.pairwise_distance(a, b)
        swapped = F.triplet_margin_loss(a, b, c, margin=0.5, p=1, swap=True, reduction="sum")
        each = F.triplet_margin_loss(a, b, c, swap=True, reduction="none")
        single = F.mse_loss(a, b, reduction="none").sum(1), F.smooth_l1_loss(a, c, reduction="none").amax(1)
        return *plain, swapped, each, *single, F.pairwise_distance(a, c, p=1, keepdim=True)

class Left(torch.nn.Module):
    def forward(self, x, numbers, shares, weight):
        weighted = F.nll_loss(x, numbers, weight=weight)
        return weighted, F.cross_entropy(x, shares), F.pairwise_distance(x, shares, p=3.0), x.t().argmin()

class Special(torch.nn.Module):
    def forward(self, x):
        return x.argmax(dim=1), x.argmin(dim=1)

class Computed(torch.nn.Module):
    def forward(self, x):
        shares = torch.softmax(x, dim=1)
        return shares, shares.argmax(dim=1)

def images():
    return torch.randn(12, 40), torch.randn(3, 5, 6, 7)

def places():
    return Places(), images()

def classes():
    return Classes(), (*images(), torch.randint(0, 40, (12,)), torch.randint(0, 5, (3, 6, 7)))

def distances():
    return Distances(), tuple(torch.randn(12, 40) for _ in range(3))

def special():
    return Special(), (torch.randn(6, 40),)

def computed():
    return Computed(), (torch.randn(12, 40),)

def left():
    return Left(), (torch.randn(12, 40), torch.randint(0, 40, (12,)), torch.rand(12, 40), torch.rand(40))
"""


class Places(Discovered):
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
        return {one["target"].split(".")[1]: one["reason"] for one in found["left_alone"]}

    def test_what_is_found_computes_what_torch_does(self):
        for module in "places", "classes", "distances":
            for options in (), ("--dtype", "bf16"):
                self.assertEqual(self.proven(module, *options), {})

    def test_what_is_left_alone_has_a_reason(self):
        left = self.proven("left")
        self.assertEqual(left["nll_loss_nd"], "its losses are weighted")
        self.assertIn("a share for each class", left["cross_entropy_loss"])
        self.assertIn("norms 1 and 2 only", left["pairwise_distance"])
        self.assertIn("in another order", left["argmin"])

    @unittest.skipUnless(numpy, "needs numpy")
    def test_places_of_nan_and_of_equal_numbers(self):
        x = torch.randn(6, 40)
        x[0, 7] = x[0, 9] = math.nan
        x[1, 5] = x[1, 3] = math.inf
        x[2, 8], x[2, 30] = math.inf, math.nan
        x[3, :] = 1.5
        x[4, :] = -math.inf
        numpy.save(self.folder / "x.npy", x.numpy())
        self.assertEqual(self.proven("special"), {})
        found = json.loads((self.folder / "special" / "discovery.json").read_text())
        places = {}
        for pattern in found["patterns"]:
            (self.folder / "text.fact").write_text(pattern["kernel"])
            names = [(one["tensor"], one["value"]) for one in pattern["results"]]
            files = [argument for tensor, value in names for argument in ("--out", f"{tensor}={value}.npy")]
            self.fact("kernel", "run", "text.fact", "--in", "x=x.npy", *files)
            places.update({value: torch.from_numpy(numpy.load(self.folder / f"{value}.npy")) for _, value in names})
        for name, expected in ("argmax", x.argmax(dim=1)), ("argmin", x.argmin(dim=1)):
            self.assertEqual(places[name].long().tolist(), expected.tolist(), name)

    # Numbers that are computed in another order than torch's may have another largest one.
    def test_places_are_found_in_what_torch_reads(self):
        self.assertEqual(self.proven("computed"), {})
        found = json.loads((self.folder / "computed" / "discovery.json").read_text())
        self.assertEqual([len(pattern["nodes"]) for pattern in found["patterns"]], [1, 1])


if __name__ == "__main__":
    unittest.main()
